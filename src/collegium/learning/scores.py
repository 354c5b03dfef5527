"""Levels that are alike: a number for each, from what a first model says of it.

The first model knows levels as equal or not. Asked for some rows with every level in turn, its
means are a row of numbers for each level; the direction in which these rows differ most gives the
scores (the first left singular vector). Unlike means of y by level they are free of what other
columns explain: of diamonds the clearest are the smallest, and not the cheapest of their size.
Held-out rows decide, none of which the scores have seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..answers.local import Shared
from ..kernels.wrapped.scored import LevelScores
from ..rows.rows import Rows
from .families import no_anchors
from .optimise import Learnt
from .pool import Pool
from .trials import Trials

Array = np.ndarray
#: Rows from which on scores are tried, rows that the first model knows, and rows that it is asked
#: about with every level.
ENOUGH, KNOWN, ASKED = 1_000, 1_500, 60
#: Levels of a column, and rows that it has of each on average.
FEWEST, MOST, REPEATED = 3, 100, 20.0
#: Scores of a smaller spread, with y of variance one, are chance.
LEAST_SPREAD = 0.01


def scores_by_held_out(
    pool: Pool, levels: tuple[int, ...], noise: float | None, engine: Any,
    stop: Callable[[], bool], say: Callable[[str], None],
) -> tuple[LevelScores, ...]:  # fmt: skip
    """Scores of columns of levels, if rows held out gain by them."""
    if not levels or pool.sample.w.size < ENOUGH or stop():
        return ()
    trials = Trials.of(pool, noise, engine, levels)
    old = trials.attempt(levels)
    rest = np.setdiff1d(np.arange(pool.sample.w.size), trials.held)
    unseen = np.setdiff1d(rest, np.concatenate(trials.groups))
    apart = unseen.size >= ENOUGH  # then clusters have not seen the scores' rows either
    some = np.random.default_rng(1).permutation(unseen if apart else rest)[:KNOWN]
    scores = level_scores(old.learnt, pool.sample.take(some), levels)
    if not scores or stop():
        return ()
    name = f"levels of the columns {[one.column for one in scores]} as numbers too"
    new = trials.attempt(levels, scores)
    return scores if new.better(old, name, say, together=apart) else ()


def level_scores(learnt: Learnt, rows: Rows, levels: tuple[int, ...]) -> tuple[LevelScores, ...]:
    """Of those of the columns that have several levels, and enough rows of each."""
    basis, belief = no_anchors(learnt.kernel, rows)
    shared = Shared.of(basis, learnt.noise, rows)
    found = []
    for column in levels:
        codes, count = np.unique(rows.X[:, column], return_counts=True)
        if FEWEST <= codes.size <= MOST and rows.w.size >= REPEATED * codes.size:
            asked = rows.X[:ASKED]
            Xs = np.repeat(asked[None], codes.size, axis=0)
            Xs[:, :, column] = codes[:, None]
            means = shared.predict(basis, belief, Xs.reshape(-1, rows.X.shape[1])).mean
            values = main_direction(means.reshape(codes.size, -1), count / count.sum())
            if values is not None:
                found.append(LevelScores(column, codes, values))
    return tuple(found)


def main_direction(F: Array, share: Array) -> Array | None:
    """Scores of the rows of F (L, q), of mean 0 and variance 1 by their shares (L,); None: all are
    alike."""
    F = F - share @ F
    U, s, _ = np.linalg.svd(np.sqrt(share)[:, None] * F, full_matrices=False)
    if s[0] / np.sqrt(F.shape[1]) < LEAST_SPREAD:
        return None
    values = U[:, 0] / np.sqrt(share)
    return values * np.sign(values[np.abs(values).argmax()])
