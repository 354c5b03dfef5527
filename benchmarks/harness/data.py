"""Data sets: read from the data folder, split and standardised."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

Array = np.ndarray
TENTH = "a random tenth for testing"


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows; standardised on the training part but for classes and counts."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array
    unit: float = 1.0  # what y was divided by
    units: str = ""  # its name, where the RMSE is reported in it, too
    rule: str = TENTH  # how the rows were cut


def stored(folder: Path | str, name: str) -> dict[str, Array] | None:
    """The arrays of a data set; None, and a word on the console, where the folder lacks it."""
    path = Path(folder) / f"{name}.npz"
    if not path.exists():
        print(f"skipped {name}: no {path.name} in {folder}; give the data folder as an argument")
        return None
    with np.load(path) as arrays:
        return {key: arrays[key] for key in arrays.files}


def load(folder: Path | str, name: str) -> dict[str, Array]:
    """The arrays of a data set; the script ends where the folder lacks it."""
    arrays = stored(folder, name)
    if arrays is None:
        sys.exit(0)
    return arrays


def rows(folder: Path | str, name: str) -> tuple[Array, Array] | None:
    """X and y of a data set, where the folder has it."""
    arrays = stored(folder, name)
    return None if arrays is None else floats(arrays)


def floats(arrays: dict[str, Array]) -> tuple[Array, Array]:
    return arrays["X"].astype(float), arrays["y"].astype(float)


def centre_and_scale(X: Array) -> tuple[Array, Array]:
    """Means and standard deviations of columns; constant columns are not scaled."""
    scale = X.std(axis=0)
    scale[scale == 0.0] = 1.0
    return X.mean(axis=0), scale


def standardised(X: Array, y: Array, train: Array, test: Array, rule: str = TENTH) -> Split:
    """Standardise with the statistics of the training rows."""
    centre, scale = centre_and_scale(X[train])
    X, unit = (X - centre) / scale, y[train].std()
    y = (y - y[train].mean()) / unit
    return Split(X[train], y[train], X[test], y[test], float(unit), rule=rule)


def random_split(arrays: dict[str, Array], most: int | None = None, seed: int = 0) -> Split:
    """A random tenth for testing, at most so many of the others for training."""
    train, test = _tenth(arrays, most, seed)
    return standardised(*floats(arrays), train, test)


def labelled_split(arrays: dict[str, Array], most: int | None = None) -> Split:
    """Split rows at random and standardise inputs; targets stay classes or counts."""
    (train, test), y = _tenth(arrays, most), arrays["y"]
    X = arrays["X"].astype(float)
    centre, scale = centre_and_scale(X[train])
    X = (X - centre) / scale
    return Split(X[train], y[train], X[test], y[test])


def _tenth(arrays: dict[str, Array], most: int | None, seed: int = 0) -> tuple[Array, Array]:
    n = arrays["y"].size
    test, train = np.split(np.random.default_rng(seed).permutation(n), [int(0.1 * n)])
    return train[:most], test


def thinned(split: Split, most: int | None) -> Split:
    """A random subset of the training rows where there are more."""
    if most is None or split.y.size <= most:
        return split
    keep = np.random.default_rng(1).permutation(split.y.size)[:most]
    return replace(split, X=split.X[keep], y=split.y[keep])
