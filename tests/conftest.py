"""A small problem with nothing at its default: weights, two outputs, unequal chunks, ARD."""

from collections import defaultdict
from dataclasses import dataclass
from math import gcd

import numpy as np
import pytest

import reference
from collegium.kernels import Kernel, Matern32
from collegium.messages.basis import Anchors
from collegium.rows.chunk import Chunk

LONGEST_CHECK = "CommitteeRegressor(random_state=0)-check_regressor_data_not_an_array"
np.set_printoptions(threshold=20, edgeitems=2)  # a failure shows few numbers


def pytest_pycollect_makeitem(collector, name, obj):
    """Builds no items of a function marked slow where `-m "not slow"` would drop all of them."""
    if collector.config.option.markexpr == "not slow" and collector.istestfunction(obj, name):
        if any(mark.name == "slow" for mark in getattr(obj, "pytestmark", ())):
            return []


def off_diagonals(cross, every):
    """Whether each item of a cross of parameters lies off every n-th diagonal, (items,).

    Items are numbered in their order, as if a parameter with a factor in common with n had one
    value more: so no parameter is held at one value while others are gone through.
    """
    number = np.zeros(len(cross), int)
    for ids in zip(*(item.callspec._idlist for item in cross)):
        values = list(dict.fromkeys(ids))
        size = len(values) + (gcd(len(values), every) > 1)
        number = size * number + [values.index(one) for one in ids]
    return number % every > 0


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Of a cross of parameters marked `diagonal` only every third diagonal is fast, or every n-th
    with `diagonal(n)`.

    Of scikit-learn's checks those that repeat another on read-only arrays are slow, and so is the
    longest one of the default model, which a smaller committee passes too.
    """
    crosses = defaultdict(list)
    for item in items:
        if item.get_closest_marker("diagonal"):
            crosses[item.parent, item.originalname].append(item)
        if "readonly_memmap=True" in item.name or LONGEST_CHECK in item.name:
            item.add_marker(pytest.mark.slow)
    for cross in crosses.values():
        every = (*cross[0].get_closest_marker("diagonal").args, 3)[0]
        for item, off in zip(cross, off_diagonals(cross, every)):
            if off:
                item.add_marker(pytest.mark.slow)


@dataclass(frozen=True)
class Problem:
    kernel: Kernel
    noise: float
    chunks: list[Chunk]
    Z: np.ndarray
    Xs: np.ndarray

    @property
    def basis(self):
        return Anchors.at(self.kernel, self.Z)

    @property
    def rows(self):
        """X, y, w, and the positions of each chunk's rows."""
        return reference.stack(self.chunks)

    @property
    def merged(self):
        X, y, w, _ = self.rows
        return Chunk(0, X, y, w)


def draw(sizes, *, p=2, d=2, m=6, q=7, kernel=None, noise=0.23, weighted=True, seed=11):
    rng = np.random.default_rng(seed)
    chunks = [
        Chunk(
            i,
            rng.uniform(-2, 2, (n, d)),
            rng.normal(size=(n, p)),
            rng.uniform(0.4, 3.0, n) if weighted else np.ones(n),
        )
        for i, n in enumerate(sizes)
    ]
    if kernel is None:
        kernel = Matern32(variance=1.7, length_scale=np.linspace(0.8, 1.9, d))
    return Problem(kernel, noise, chunks, rng.uniform(-2, 2, (m, d)), rng.uniform(-2, 2, (q, d)))


@pytest.fixture
def problem():
    return draw((9, 1, 14, 6))


@pytest.fixture
def make():
    """The factory itself, for tests that need other sizes."""
    return draw
