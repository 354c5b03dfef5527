"""The data sets of `make bench`: how each is cut into training and test rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.harness.data import (
    Array,
    Split,
    floats,
    load,
    random_split,
    standardised,
    thinned,
)
from benchmarks.tasks.regression.plan import ORIGINAL_UNITS, TASK


def split(folder: Path | str, name: str, most: int | None = None, seed: int = 0) -> Split:
    """Standardised rows; at most so many for training. `seed` is that of a random tenth."""
    found = RULES.get(name, random_split)(load(folder, TASK.file(name)), seed=seed)
    return thinned(replace(found, units=ORIGINAL_UNITS.get(name, "")), most)


def one_hot_sex(X: Array) -> Array:
    """Abalone: the sex, coded 1, 2, 3 in the first column, has no order; a column for each."""
    return np.hstack([X[:, :1] == np.array([1, 2, 3]), X[:, 1:]])


def _abalone(arrays: dict[str, Array], seed: int = 0) -> Split:
    return random_split({"X": one_hot_sex(arrays["X"]), "y": arrays["y"]}, seed=seed)


def _distinct(arrays: dict[str, Array], seed: int = 0) -> Split:
    """Copies of test rows among the training rows reward a model that takes the noise for zero."""
    first = np.sort(np.unique(arrays["X"], axis=0, return_index=True)[1])
    found = random_split({"X": arrays["X"][first], "y": arrays["y"][first]}, seed=seed)
    return replace(found, rule="one row of each input, a random tenth for testing")


def _published(arrays: dict[str, Array], seed: int = 0) -> Split:
    """The split that others published: one, whatever the seed."""
    test = arrays["test_index_std"]
    train = np.setdiff1d(np.arange(arrays["y"].size), test)
    return standardised(*floats(arrays), train, test, "the published split")


def _million(arrays: dict[str, Array], seed: int = 0) -> Split:
    order = np.random.default_rng(seed).permutation(arrays["y"].size)
    rule = "100,000 random rows for testing, 1,500,000 of the others for training"
    return standardised(*floats(arrays), order[100_000:1_600_000], order[:100_000], rule)


RULES: dict[str, Callable[..., Split]] = {
    "abalone": _abalone,
    "wine_red_distinct": _distinct,
    "keggdirected_distinct": _distinct,
    "heaton_satellite": _published,
    "chm_simes": _million,
}
