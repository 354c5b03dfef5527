"""Whole numbers that are names: ids, codes and the like, told from quantities by held-out rows.

A number says that its neighbours are alike; a name says nothing of other names. Where targets of
rows with the same number agree, and those of the next number do not, the column is offered as one
of levels: a kernel that takes it so is fitted to the same clusters as one that does not, and has
its place if it gives more density to the clusters and to rows held out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .pool import Pool
from .trials import Trials

Array = np.ndarray
#: A column has at least so many numbers, and on average so many rows of each.
FEWEST, REPEATED = 3, 2.0
#: Rows that are looked at, and the least of them.
LOOKED_AT, ENOUGH = 10_000, 200
#: Pairs of the same number correlate by so much more than pairs of adjacent ones, and by so many
#: standard errors; of several columns those that do so most are offered.
APART, CHANCE, OFFERED = 0.03, 3.0, 3


def candidates(X: Array, y: Array, levels: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Columns of whole numbers whose adjacent values agree much less than equal ones, those of
    the largest difference first."""
    n, rng = X.shape[0], np.random.default_rng(0)
    some = rng.permutation(n)[:LOOKED_AT]
    X, y = X[some], y[some]
    z = (y - y.mean(axis=0)) / np.maximum(y.std(axis=0), 1e-300)
    least, found = APART + CHANCE * np.sqrt(2.0 / some.size), {}
    for k, column in enumerate(X.T):
        if k in levels or not (column == np.floor(column)).all():
            continue
        same, next_to = agreements(column, z, rng)
        if same - next_to > least:
            found[k] = same - next_to
    return tuple(sorted(found, key=lambda k: -found[k])[:OFFERED])


def agreements(column: Array, z: Array, rng: np.random.Generator) -> tuple[float, float]:
    """Correlation of standardised targets z (n, p) in pairs of rows with equal and with adjacent
    numbers; zeros where there are too few of either."""
    order = np.argsort(column, kind="stable")
    values, start, count = np.unique(column[order], return_index=True, return_counts=True)
    repeated = int((count - 1).sum())
    if values.size < FEWEST or column.size < REPEATED * values.size or repeated < ENOUGH:
        return 0.0, 0.0
    z = z[order]
    equal = np.flatnonzero(np.diff(column[order]) == 0.0)
    same = float((z[equal] * z[equal + 1]).mean())
    own = np.repeat(np.arange(values.size), count)
    rows = np.flatnonzero(own < values.size - 1)
    after = own[rows] + 1
    other = start[after] + np.floor(rng.random(rows.size) * count[after]).astype(int)
    return same, float((z[rows] * z[other]).mean())


def levels_by_held_out(
    pool: Pool, levels: tuple[int, ...], noise: float | None, engine: Any,
    stop: Callable[[], bool], say: Callable[[str], None],
) -> tuple[int, ...]:  # fmt: skip
    """`levels`, and the columns of whole numbers that rows held out would rather have as such.

    One is offered after the other, beside those taken before.
    """
    offered = candidates(pool.sample.X, pool.sample.y, levels)
    if not offered or stop():
        return levels
    trials = Trials.of(pool, noise, engine, levels, offered)
    best = trials.attempt(levels)
    for k in offered:
        new = trials.attempt(tuple(sorted((*best.levels, k))))
        if new.better(best, f"column {k} as levels", say):
            best = new
        if stop():
            break
    return best.levels
