"""Sets by name: how each is read or made, split and standardised.

Where the test set has fewer than 1,000 rows there are five splits: random tenths of a file, new
draws of a made table. Split 0 is that of `make bench`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.data import Split, random_split, standardised, stored, thinned
from benchmarks.studies.never_behind.synthetic import TABLES
from benchmarks.tasks.regression.plan import TASK
from benchmarks.tasks.regression.sets import RULES

Array = np.ndarray
#: Splits of sets with fewer test rows than MANY.
SPLITS, MANY = 5, 1_000
#: Files that are compared by default: smallest first.
FILES = (
    "yacht", "autompg", "boston", "forest", "stock", "pendulum", "energy", "concrete", "solar",
    "airfoil", "wine_red", "wine_red_distinct", "na_rainfall", "skillcraft", "abalone",
    "parkinsons", "kin8nm", "pumadyn32nm", "powerplant", "naval", "pol", "elevators", "bike_hour",
    "cal_housing", "kin40k", "protein",
)  # fmt: skip
#: Files that are compared where they are named.
MORE = (
    "mcycle", "ozone_environmental", "airquality", "mauna_loa_co2", "sarcos_test", "gas", "bike",
    "tamielectric", "fried", "keggdirected", "keggundirected", "protein_evans", "jacksboro_dem",
    "heaton_satellite", "flights_nyc13",
)  # fmt: skip
DEFAULT = (*TABLES, *FILES)
NAMES = (*DEFAULT, *MORE)


@dataclass(frozen=True, eq=False)
class Part:
    """One split of a set. Frames are kept for methods that read them; `rows` has numbers."""

    rows: Split
    X: Any  # as users would give it
    X_test: Any
    categories: tuple[int, ...] = ()  # columns of `rows.X` that hold codes of words


def count(test_rows: int) -> int:
    """Number of splits."""
    return SPLITS if test_rows < MANY else 1


def part(folder: Path, name: str, index: int, most: int | None) -> Part | None:
    """Split `index` of a set, at most so many training rows; None where its file is absent."""
    if name in TABLES:
        X, y = TABLES[name](index)
        return from_frame(X, y, index, most) if hasattr(X, "columns") else plain(X, y, index, most)
    arrays = stored(folder, TASK.file(name) or name)
    if arrays is None:
        return None
    if name in RULES:
        rows = RULES[name](arrays, seed=index)
        rows = thinned(rows, most)
        return Part(rows, rows.X, rows.X_test)
    X, y = arrays["X"].astype(float), arrays["y"].astype(float)
    known = ~(np.isnan(X).any(axis=1) | np.isnan(y))
    return plain(X[known], y[known], index, most)


def plain(X: Array, y: Array, seed: int, most: int | None) -> Part:
    """A random tenth for testing, all columns numbers."""
    rows = thinned(random_split({"X": X, "y": y}, seed=seed), most)
    return Part(rows, rows.X, rows.X_test)


def from_frame(X: Any, y: Array, seed: int, most: int | None) -> Part:
    """A random tenth for testing; words become codes in `rows`, missing values NaN."""
    test, train = np.split(np.random.default_rng(seed).permutation(y.size), [y.size // 10])
    if most is not None:
        train = train[:most]
    numbers, categories = np.empty(X.shape), []
    for j, name in enumerate(X.columns):
        column = X[name]
        if column.dtype.kind in "biuf":
            numbers[:, j] = column.astype(float)
            continue
        known = {
            word: code for code, word in enumerate(sorted(column.iloc[train].dropna().unique()))
        }
        numbers[:, j] = column.map(known).astype(float)  # a word that is new is missing
        categories.append(j)
    rows = replace(standardised(np.zeros((y.size, 1)), y, train, test),
                   X=numbers[train], X_test=numbers[test])  # fmt: skip
    return Part(rows, X.iloc[train], X.iloc[test], tuple(categories))
