"""Strategies: small tables with the flaws that real ones have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

Array = np.ndarray

#: Rows of a table: a fit of the exact GP takes milliseconds.
LEAST_ROWS, MOST_ROWS = 2, 40
#: Decimal exponents of the units of columns and targets.
DECADES = (-12, 12)
#: What is added to inputs and targets, in their units.
SHIFTS = (0.0, 1.0, 100.0)

INPUTS = ("uniform", "normal", "heavy", "rounded", "clustered", "few", "constant", "equal columns")
TARGETS = ("smooth", "noise", "constant", "labels", "outliers", "line", "step")
WEIGHTS = ("one", "whole", "fractions", "one heavy", "extreme", "zeros")


@dataclass(frozen=True, eq=False)
class Table:
    """Rows, and queries among, beside and far from them; units is (that of y, those of X)."""

    X: Array  # (n, d)
    y: Array  # (n,)
    w: Array  # (n,)
    counts: Array  # (n,), above zero
    labels: Array  # (n,), of two classes
    Xs: Array  # (q, d)
    units: tuple[float, Array]
    made: tuple  # the arguments of `table`

    def __repr__(self) -> str:
        return f"table{self.made}"

    def take(self, rows: Array) -> Table:
        """Some of the rows, in that order."""
        kept = {name: getattr(self, name)[rows] for name in ("X", "y", "w", "counts", "labels")}
        return replace(self, **kept)


def inputs(kind: str, n: int, d: int, rng: np.random.Generator) -> Array:
    """Rows of the order of one."""
    X = rng.uniform(-2.0, 2.0, (n, d))
    if kind == "normal":
        X = rng.normal(size=(n, d))
    elif kind == "heavy":
        X = rng.standard_t(1.5, (n, d))
    elif kind == "rounded":
        X = np.round(X)
    elif kind == "clustered":
        X = np.where(rng.uniform(size=(n, 1)) < 0.5, -2.0, 2.0) + 1e-6 * X
    elif kind == "few":
        X = X[rng.integers(0, max(1, n // 5), n)]
    elif kind == "constant":
        X[:, 0] = 1.25
    elif kind == "equal columns":
        X[:] = X[:, :1]
    return X


def targets(kind: str, X: Array, rng: np.random.Generator) -> Array:
    """Of the order of one, but for outliers."""
    n = X.shape[0]
    y = np.sin(X[:, 0]) + 0.3 * X[:, -1] + 0.1 * rng.normal(size=n)
    if kind == "noise":
        y = rng.normal(size=n)
    elif kind == "constant":
        y = np.full(n, 0.75)
    elif kind == "labels":
        y = np.where(rng.uniform(size=n) < 0.7, 0.0, 1.0)
    elif kind == "outliers":
        y[rng.integers(0, n)] += 1e6
    elif kind == "line":
        y = 2.0 * X[:, 0] - 1.0
    elif kind == "step":
        y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    return y


def weights(kind: str, n: int, rng: np.random.Generator) -> Array:
    w = np.ones(n)
    if kind == "whole":
        w = rng.integers(1, 6, n).astype(float)
    elif kind == "fractions":
        w = rng.uniform(0.1, 3.0, n)
    elif kind == "one heavy":
        w[0] = 1e6
    elif kind == "extreme":
        w = 10.0 ** rng.uniform(-6.0, 6.0, n)
    elif kind == "zeros":
        w[1::2] = 0.0
    return w


@st.composite
def tables(
    draw, X=INPUTS, y=TARGETS, w=WEIGHTS, decades=DECADES, shifts=SHIFTS, least=LEAST_ROWS
) -> Table:
    """A table of some of the kinds."""
    n, d = draw(st.integers(least, MOST_ROWS)), draw(st.integers(1, 4))
    seed = draw(st.integers(0, 2**16))
    kinds = tuple(draw(st.sampled_from(kinds)) for kinds in (X, y, w))
    powers = draw(st.lists(st.integers(*decades), min_size=d + 1, max_size=d + 1))
    return table(n, d, seed, kinds, powers, draw(st.sampled_from(shifts)))


def table(n: int, d: int, seed: int, kinds: tuple, powers: list[int], shift: float) -> Table:
    """The table of a description: kinds of X, y and w; decimal exponents of the units of y and of
    the columns; what is added to X and y before they are scaled."""
    rng = np.random.default_rng(seed)
    X = inputs(kinds[0], n, d, rng)
    y, w = targets(kinds[1], X, rng), weights(kinds[2], n, rng)
    Xs = np.concatenate([X[:3], rng.uniform(-2.5, 2.5, (3, d)), np.full((1, d), 1e3)])
    unit, *scales = 10.0 ** np.array(powers, dtype=float)
    made = (n, d, seed, kinds, powers, shift)
    rank = np.argsort(np.argsort(y, kind="stable"), kind="stable")
    return Table((X + shift) * scales, (y + shift) * unit, w, 1.0 + rank // 3,
                 np.where(rank < n // 2, "low", "up"), (Xs + shift) * scales,
                 (float(unit), np.array(scales)), made)  # fmt: skip


def simpler(one: Table) -> Iterator[Table]:
    """Tables with fewer flaws, the simplest first."""
    n, d, seed, kinds, powers, shift = one.made
    plain = ("uniform", "smooth", "one")
    for k, kind in enumerate(plain):
        if kinds[k] != kind:
            yield table(n, d, seed, (*kinds[:k], kind, *kinds[k + 1 :]), powers, shift)
    if any(powers):
        yield table(n, d, seed, kinds, [0] * (d + 1), shift)
    if shift:
        yield table(n, d, seed, kinds, powers, 0.0)
    for fewer in range(1, d):
        yield table(n, fewer, seed, kinds, powers[: fewer + 1], shift)
    for fewer in sorted({LEAST_ROWS, n // 4, n // 2, n - 4, n - 1}):
        if LEAST_ROWS <= fewer < n:
            yield table(fewer, d, seed, kinds, powers, shift)
