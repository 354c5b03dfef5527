"""Give each level a score, so that levels can be alike: from the predictions of a first model.

The first model treats levels as equal or not. It predicts some rows with every level in turn: a
vector of means for each level. The direction in which these vectors differ most gives the scores
(the first left singular vector). Unlike means of y by level they exclude what other columns
explain: the clearest diamonds are the smallest, and not the cheapest of their size. Held-out rows
that the scores have not seen decide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...answers.local import Shared
from ...kernels.wrapped.scored import LevelScores
from ...rows.rows import Rows
from ..families import no_anchors
from ..optimise import Learnt
from ..pool import Pool
from ..tuning import TUNING
from .trials import Trials

Array = np.ndarray


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
    name = f"levels of the columns {[one.column for one in scores]} as numbers too"
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
