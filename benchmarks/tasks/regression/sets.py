"""The data sets of `make bench`: how each is cut into training and test rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from common import Split, load, random_split, standardised
from plan import FILES

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Task:
    """A standardised split, and what one unit of its y was before."""

    split: Split
    unit: float  # standard deviation of the training rows' y
    rule: str  # how the rows were cut


def task(folder: str, name: str) -> Task:
    return RULES.get(name, _tenth)(load(folder, FILES.get(name, name)))


def thinned(split: Split, size: int, seed: int = 1) -> Split:
    """A random subset of the training rows."""
    keep = np.random.default_rng(seed).permutation(split.y.size)[:size]
    return Split(split.X[keep], split.y[keep], split.X_test, split.y_test)


def _tenth(arrays: dict[str, Array]) -> Task:
    y = arrays["y"].astype(float)
    split = random_split(arrays)
    train = np.random.default_rng(0).permutation(y.size)[int(0.1 * y.size) :]
    return Task(split, float(y[train].std()), "a random tenth for testing")


def _abalone(arrays: dict[str, Array]) -> Task:
    """The sex, coded 1, 2, 3 in the first column, has no order: a column for each."""
    sex = arrays["X"][:, :1] == np.array([1, 2, 3])
    return _tenth({"X": np.hstack([sex, arrays["X"][:, 1:]]), "y": arrays["y"]})


def _distinct(arrays: dict[str, Array]) -> Task:
    """Copies of test rows among the training rows reward whoever believes in no noise."""
    first = np.sort(np.unique(arrays["X"], axis=0, return_index=True)[1])
    found = _tenth({"X": arrays["X"][first], "y": arrays["y"][first]})
    return replace(found, rule="one row of each input, a random tenth for testing")


def _published(arrays: dict[str, Array]) -> Task:
    test = arrays["test_index_std"]
    train = np.setdiff1d(np.arange(arrays["y"].size), test)
    return _cut(arrays, train, test, "the published split")


def _million(arrays: dict[str, Array]) -> Task:
    order = np.random.default_rng(0).permutation(arrays["y"].size)
    words = "100,000 random rows for testing, 1,500,000 of the others for training"
    return _cut(arrays, order[100_000:1_600_000], order[:100_000], words)


def _cut(arrays: dict[str, Array], train: Array, test: Array, rule: str) -> Task:
    X, y = arrays["X"].astype(float), arrays["y"].astype(float)
    return Task(standardised(X, y, train, test), float(y[train].std()), rule)


RULES: dict[str, Callable[[dict[str, Array]], Task]] = {
    "abalone": _abalone,
    "wine_red_distinct": _distinct,
    "heaton_satellite": _published,
    "chm_simes": _million,
}
