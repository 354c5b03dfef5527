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

from ..kernels import Kernel
from ..messages.evidence import factorised
from ..rows.chunk import cut
from .families import near_check
from .optimise import Learnt, Scales, maximise
from .pool import Pool

Array = np.ndarray
#: A column has at least so many numbers, and on average so many rows of each.
FEWEST, REPEATED = 3, 2.0
#: Rows that are looked at, and the least of them.
LOOKED_AT, ENOUGH = 10_000, 200
#: Pairs of the same number correlate by so much more than pairs of adjacent ones, and by so many
#: standard errors; of several columns those that do so most are offered.
APART, CHANCE, OFFERED = 0.03, 3.0, 3
#: Clusters and their size; iterations of a fit; rows held out and the rows nearest to each.
CLUSTERS, SIZE, ITERATIONS, HELD_OUT, NEAR = 6, 300, 25, 150, 200
#: Gains of held-out rows count up to this, either way; levels are taken where their mean exceeds
#: LEAST and ERRORS of its standard errors, and clusters do not lose more than that.
MOST, LEAST, ERRORS = 1.0, 0.01, 2.0


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
    X = pool.sample.X
    offered = candidates(X, pool.sample.y, levels)
    if not offered or stop():
        return levels
    rng = np.random.default_rng(0)
    held = rng.choice(X.shape[0], min(X.shape[0], HELD_OUT), replace=False)
    both = [Scales.of(X, own).kernel("Matern32") for own in (levels, (*levels, *offered))]
    groups = [g for k in both for g in pool.clusters(k, SIZE, CLUSTERS // 2, rng)]

    def attempt(own: tuple[int, ...]) -> tuple[Learnt, Array]:
        found = _fit(pool, own, noise, groups, engine)
        return found, _density(pool, found, held, engine)

    old = attempt(levels)
    for k in offered:
        more = tuple(sorted((*levels, k)))
        new = attempt(more)
        if _better(new, old, f"column {k}", say):
            levels, old = more, new
        if stop():
            break
    return levels


def _better(
    new: tuple[Learnt, Array], old: tuple[Learnt, Array], name: str, say: Callable[[str], None]
) -> bool:
    """Whether held-out rows gain enough, and clusters lose no more than these gain."""
    gain = np.clip(new[1] - old[1], -MOST, MOST)
    mean, error = float(gain.mean()), float(gain.std() / np.sqrt(gain.size))
    clusters = new[0].value - old[0].value
    taken = mean > max(LEAST, ERRORS * error) and clusters > -mean
    say(
        f"{name} as levels: log density of held-out rows {mean:+.3f} ± {error:.3f}, of clusters "
        f"{clusters:+.3f}; {'used' if taken else 'not used'}"
    )
    return taken


def _fit(
    pool: Pool, levels: tuple[int, ...], noise: float | None, groups: list[Array], engine: Any
) -> Learnt:
    """A Matérn 3/2 by the evidence of some clusters."""
    scales, chunks = Scales.of(pool.sample.X, levels), cut(*pool.rows.fields(), groups)
    kernel = scales.kernel("Matern32")

    def objective(k: Kernel, s: float) -> tuple[float, Array]:
        return factorised(k, s, chunks, engine)

    return maximise(
        objective, kernel, 0.1 if noise is None else noise, scales.prior(kernel),
        float(sum(chunk.w.sum() for chunk in chunks)), noise_fixed=noise is not None,
        max_iter=ITERATIONS,
    )  # fmt: skip


def _density(pool: Pool, learnt: Learnt, held: Array, engine: Any) -> Array:
    """Log densities of rows held out, each given the rows nearest to it  (n,)."""
    near = pool.near(learnt.kernel, held, NEAR)
    check = near_check(learnt.kernel, learnt.noise, pool.rows, held, near, engine)
    return -check.each.sum(axis=1)
