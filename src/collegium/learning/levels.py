"""Columns of codes: find those that hold levels, and give levels scores, by held-out rows.

Columns are tried as numbers, levels or scores on the same clusters and held-out rows. Whole numbers
may be names (ids, codes) and not quantities: neighbouring quantities are alike, neighbouring names
need not be. Where targets agree between rows with the same number but not between adjacent numbers,
the column is a candidate. A kernel with the column as levels is fitted to the same clusters as one
without, and is used if it gives clusters and held-out rows a higher density.

Scores make levels alike. A first model treats levels as equal or not, and predicts some rows with
every level in turn: a vector of means for each level. The direction in which these vectors differ
most gives the scores (the first left singular vector). Unlike means of y by level they exclude what
other columns explain: the clearest diamonds are the smallest, and not the cheapest of their size.
Held-out rows that the scores have not seen decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..answers.local import Shared
from ..kernels import Kernel
from ..kernels.base import columns_told
from ..kernels.wrapped.scored import LevelScores, Scored
from ..rows.chunk import cut_rows
from ..rows.rows import Rows
from .families import near_check, no_anchors
from .optimise import Learnt, Scales, maximise_chunks
from .pool import Pool
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Tried:
    """A kernel fitted to clusters, and log densities of held-out rows  (n,)."""

    levels: tuple[int, ...]
    learnt: Learnt  # its kernel is the whole one
    density: Array

    def better(
        self, old: Tried, name: str, say: Callable[[str], None], *, together: bool = False
    ) -> bool:
        """Whether held-out rows gain enough, and clusters do not lose more than that.

        `together`: or both together gain enough, and held-out rows lose no more than by chance.
        """
        t = TUNING.trials
        gain = np.clip(self.density - old.density, -t.most, t.most)
        mean, error = float(gain.mean()), float(gain.std() / np.sqrt(gain.size))
        clusters = self.learnt.value - old.learnt.value
        least = max(t.least, t.errors * error)
        taken = mean > least and clusters > -mean
        taken |= together and mean + clusters > least and mean > -error
        say(
            f"{name}: log density of held-out rows {mean:+.3f} ± {error:.3f}, of clusters "
            f"{clusters:+.3f}; {'used' if taken else 'not used'}"
        )
        return taken


@dataclass(frozen=True, eq=False)
class Trials:
    """Clusters and held-out rows that all attempts share."""

    pool: Pool
    noise: float | None
    engine: Any
    groups: list[Array]
    held: Array

    @classmethod
    def of(
        cls, pool: Pool, noise: float | None, engine: Any, levels: tuple[int, ...],
        offered: tuple[int, ...] = (),
    ) -> Trials:  # fmt: skip
        """Make half the clusters with columns as they are, half with the offered ones as levels."""
        t, X, rng = TUNING.trials, pool.sample.X, np.random.default_rng(0)
        held = rng.choice(X.shape[0], min(X.shape[0], t.held_out), replace=False)
        both = [Scales.of(X, own).kernel("Matern32") for own in (levels, (*levels, *offered))]
        groups = [g for k in both for g in pool.clusters(k, t.size, t.clusters // 2, rng)]
        return cls(pool, noise, engine, groups, held)

    def attempt(self, levels: tuple[int, ...], scores: tuple[LevelScores, ...] = ()) -> Tried:
        """Fit a Matérn 3/2 to the clusters, and predict the held-out rows."""
        scales = Scales.of(self.pool.sample.X, levels).with_scores(len(scores))
        chunks = cut_rows(self.pool.rows, self.groups)
        kernel, noise = scales.kernel("Matern32"), self.noise

        found = maximise_chunks(
            chunks, self.engine, kernel, 0.1 if noise is None else noise, scales.prior(kernel),
            whole=lambda k: with_scores(k, scores), noise_fixed=noise is not None,
            max_iter=TUNING.trials.iterations,
        )  # fmt: skip
        whole = Learnt(with_scores(found.kernel, scores), found.noise, found.value)
        near = self.pool.near(whole.kernel, self.held, TUNING.trials.near)
        check = near_check(whole.kernel, whole.noise, self.pool.rows, self.held, near, self.engine)
        return Tried(levels, whole, -check.each.sum(axis=1))


def with_scores(kernel: Kernel, scores: tuple[LevelScores, ...]) -> Kernel:
    """Let a kernel also see scores, as columns behind the others, if there are any."""
    return Scored(kernel, scores) if scores else kernel


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


def scores_by_held_out(
    pool: Pool, levels: tuple[int, ...], noise: float | None, engine: Any,
    stop: Callable[[], bool], say: Callable[[str], None],
) -> tuple[LevelScores, ...]:  # fmt: skip
    """Make scores for columns of levels, if held-out rows gain by them."""
    t = TUNING.scores
    if not levels or pool.sample.w.size < t.enough or stop():
        return ()
    trials = Trials.of(pool, noise, engine, levels)
    old = trials.attempt(levels)
    rest = np.setdiff1d(np.arange(pool.sample.w.size), trials.held)
    unseen = np.setdiff1d(rest, np.concatenate(trials.groups))
    apart = unseen.size >= t.enough  # then scores and clusters have no rows in common
    some = np.random.default_rng(1).permutation(unseen if apart else rest)[: t.known]
    scores = level_scores(old.learnt, pool.sample.take(some), levels)
    if not scores or stop():
        return ()
    name = f"levels of {columns_told(say, [one.column for one in scores])} as numbers too"
    new = trials.attempt(levels, scores)
    return scores if new.better(old, name, say, together=apart) else ()


def level_scores(learnt: Learnt, rows: Rows, levels: tuple[int, ...]) -> tuple[LevelScores, ...]:
    """Make scores for the columns that have several levels, and enough rows of each."""
    t = TUNING.scores
    basis, belief = no_anchors(learnt.kernel, rows)
    shared = Shared.of(basis, learnt.noise, rows)
    found = []
    for column in levels:
        codes, count = np.unique(rows.X[:, column], return_counts=True)
        if t.fewest <= codes.size <= t.most and rows.w.size >= t.repeated * codes.size:
            asked = rows.X[: t.asked]
            Xs = np.repeat(asked[None], codes.size, axis=0)
            Xs[:, :, column] = codes[:, None]
            means = shared.predict(basis, belief, Xs.reshape(-1, rows.X.shape[1])).mean
            values = main_direction(means.reshape(codes.size, -1), count / count.sum())
            if values is not None:
                found.append(LevelScores(column, codes, values))
    return tuple(found)


def main_direction(F: Array, share: Array) -> Array | None:
    """Scores of the rows of F (L, q), with mean 0 and variance 1 under their shares (L,); None
    where all are alike."""
    F = F - share @ F
    U, s, _ = np.linalg.svd(np.sqrt(share)[:, None] * F, full_matrices=False)
    if s[0] / np.sqrt(F.shape[1]) < TUNING.scores.least_spread:
        return None
    values = U[:, 0] / np.sqrt(share)
    return values * np.sign(values[np.abs(values).argmax()])
