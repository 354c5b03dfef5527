"""Which columns matter: total effects on the variance of the mean function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...numerics.threads import single_threaded
from ...rows.partition import evenly_spaced

Array = np.ndarray
#: Rows that effects are averaged over where means cost little and where they do not; fewer where
#: that takes more predictions than for CHEAP_COLUMNS columns, but not below FEWEST.
ROWS, COSTLY_ROWS, CHEAP_COLUMNS, FEWEST = 1_000, 300, 20, 100
#: A function whose variance is a smaller share of its mean square is constant to rounding.
ROUNDING = 1e-18
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


def importances(estimator: Any) -> Array:
    """Shares of the variance of the function that each column explains."""
    model, engine = estimator.model_, estimator._engine()
    with single_threaded():
        predictor = model.for_means().predictor()

        def f(X: Array) -> Array:
            found = predictor.mean(X, engine)
            return np.hstack(found) if isinstance(found, list) else found

        X = model.some_inputs()
        groups = columns_together(X.shape[1], getattr(estimator, "encoding_", None))
        some = evenly_spaced(X.shape[0], rows_for(len(groups), costly=model.costly_means))
        return shares(f, X[some], groups)


def rows_for(columns: int, *, costly: bool) -> int:
    """Rows to average over."""
    most = COSTLY_ROWS if costly else ROWS
    return min(most, max(FEWEST, most * CHEAP_COLUMNS // max(columns, 1)))


def columns_together(width: int, encoding: Any) -> list[list[int]]:
    """Columns that a model sees, for each column of the table: itself, and where it has gaps."""
    if encoding is None:
        return [[j] for j in range(width)]
    d = len(encoding.columns)
    return [[j, *(d + i for i, k in enumerate(encoding.filled) if k == j)] for j in range(d)]


def shares(f: Callable[[Array], Array], X: Array, groups: Sequence[list[int]]) -> Array:
    """Total effects of groups of columns on f (n, p) at the rows X, divided by their sum; zeros
    where f is constant."""
    before = f(X)
    effects = total_effects(f, before, X, groups)
    total = float(effects.sum())
    if total <= ROUNDING * float((before**2).mean()):
        return np.zeros(len(groups))
    return effects / total


def total_effects(
    f: Callable[[Array], Array], before: Array, X: Array, groups: Sequence[list[int]]
) -> Array:
    """T_j = ½ E[(f(x) − f(x with group j of another row))²], summed over outputs."""
    n = X.shape[0]
    effects = np.zeros(len(groups))
    for j, group in enumerate(groups):
        moved = X.copy()
        moved[:, group] = X[donors(X[:, j])][:, group]
        change = (moved != X).any(axis=1)
        if change.any():
            step = f(moved[change]) - before[change]
            effects[j] = 0.5 * float((step**2).sum()) / n
    return effects


def donors(x: Array) -> Array:
    """Another row for each, whose value of x is as if drawn at random from all  (n,).

    Ranks (r, rg mod n) with g about n times the golden section are a lattice that fills the square
    evenly, so that averages over such pairs are closer than over random ones.
    """
    n = x.size
    order = np.argsort(x, kind="stable")
    step = next(g for g in range(round(GOLDEN * n), 2 * n + 2) if np.gcd(g, n) == 1)
    other = np.empty(n, dtype=int)
    other[order] = order[(step * np.arange(n) + n // 2) % n]
    return other
