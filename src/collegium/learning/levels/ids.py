"""Find whole numbers that are names (ids, codes) and not quantities, by held-out rows.

Neighbouring quantities are alike; neighbouring names need not be. Where targets agree between rows
with the same number but not between adjacent numbers, the column is a candidate. A kernel with the
column as levels is fitted to the same clusters as one without, and is used if it gives clusters and
held-out rows a higher density.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..pool import Pool
from ..tuning import TUNING
from .trials import Trials

Array = np.ndarray


def candidates(X: Array, y: Array, levels: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Columns of whole numbers where adjacent values agree much less than equal ones, those of
    the largest difference first."""
    t, n, rng = TUNING.levels, X.shape[0], np.random.default_rng(0)
    some = rng.permutation(n)[: t.looked_at]
    X, y = X[some], y[some]
    z = (y - y.mean(axis=0)) / np.maximum(y.std(axis=0), 1e-300)
    least, found = t.apart + t.chance * np.sqrt(2.0 / some.size), {}
    for k, column in enumerate(X.T):
        if k in levels or not (column == np.floor(column)).all():
            continue
        same, next_to = agreements(column, z, rng)
        if same - next_to > least:
            found[k] = same - next_to
    return tuple(sorted(found, key=lambda k: -found[k])[: t.offered])


def agreements(column: Array, z: Array, rng: np.random.Generator) -> tuple[float, float]:
    """Correlation of standardised targets z (n, p) in pairs of rows with equal and with adjacent
    numbers; zeros where there are too few of either."""
    t = TUNING.levels
    order = np.argsort(column, kind="stable")
    values, start, count = np.unique(column[order], return_index=True, return_counts=True)
    repeated = int((count - 1).sum())
    few = values.size < t.fewest or column.size < t.repeated * values.size
    if few or repeated < t.enough:
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
    """Add to `levels` the columns of whole numbers that held-out rows support.

    Candidates are tried one after the other, beside those taken before.
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
