"""Adaptive conformal inference (Gibbs and Candès 2021): coverage of a stream that changes.

    α₁ = 1 − c,   α_{t+1} = α_t + γ(1 − c − err_t)

Row t has the corrected (1 − α_t)-quantile of the scores before it as its bound, and err_t is one
where its score is larger. Whatever the stream does, the mean of err_1 … err_T differs from 1 − c
by at most (max(c, 1 − c) + γ)/(γT): their proposition 4.1.
"""

from __future__ import annotations

from bisect import insort

import numpy as np

from .quantiles import rank

Array = np.ndarray
#: γ: how far a row moves the level.
RATE = 0.02
#: Scores that are kept of a stream, the last ones.
KEPT = 500
#: Scores before the first one that is compared with a bound.
BEFORE = 20
#: Scores from which intervals are given.
ENOUGH = 100


def kept_scores(before: Array | None, new: Array) -> Array:
    """Append scores, and keep the last, in single precision; NaN before the first, so that memory
    is constant."""
    start = np.full(KEPT, np.nan, dtype=np.float32) if before is None else before
    most = np.finfo(np.float32).max
    return np.concatenate([start, np.minimum(new, most).astype(np.float32)])[-KEPT:]


def known_scores(kept: Array | None) -> Array:
    """Scores that have come, in their order."""
    return np.empty(0) if kept is None else kept[~np.isnan(kept)]


def adaptive_bound(scores: Array, coverage: float, rate: float = RATE) -> tuple[float, Array]:
    """Bound for the score of the next row, and err_t of those after the first `BEFORE`.

    Infinite where the level is not above zero: too many rows were missed of late.
    """
    seen = sorted(scores[:BEFORE].tolist())
    level, errors = 1.0 - coverage, []
    for score in scores[BEFORE:].tolist():
        missed = score > _bound(seen, level)
        errors.append(missed)
        level += rate * (1.0 - coverage - missed)
        insort(seen, score)
    return _bound(seen, level), np.array(errors, dtype=float)


def _bound(seen: list[float], level: float) -> float:
    """Corrected quantile of sorted scores; −∞ where every row may be missed."""
    if level >= 1.0:
        return -np.inf
    r = rank(len(seen), 1.0 - level)
    return seen[r - 1] if r <= len(seen) else np.inf
