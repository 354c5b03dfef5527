"""Reliability of probabilities: of rows with p near 0.8, do eight of ten come true?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray
#: Draws of rows, for the interval of the error, and of outcomes, for what chance gives.
DRAWS = 200


@dataclass(frozen=True, eq=False)
class Reliability:
    """Rows in bins of about equal numbers, by predicted probability.

    The expected calibration error is Σ (n_b / n) |share_b − probability_b|. It is positive by
    chance too: `by_chance` is its 95 % quantile where probabilities are right.
    """

    count: Array  # (bins,)
    probability: Array  # mean predicted
    share: Array  # that came true
    low: Array  # 95 % of the shares by chance, each bin by itself
    high: Array
    error: float
    error_low: float  # 95 % interval of the error, by drawing rows again
    error_high: float
    by_chance: float


def reliability(probability: Array, true: Array, bins: int = 10, seed: int = 0) -> Reliability:
    """Compare probabilities (n,) with what came true (n,), in bins.

    Parameters
    ----------
    probability : array of shape (n,)
        Predicted, of one class, or of the most probable one.
    true : bool array of shape (n,)
        Whether the row is of that class.
    bins : int, default=10
        Equal probabilities are in one bin.
    seed : int, default=0
    """
    from scipy.stats import binom

    p, hit = np.asarray(probability, dtype=float), np.asarray(true, dtype=float)
    if not p.size:
        raise ValueError("probability has no rows: give at least one")
    edges = np.unique(np.quantile(p, np.linspace(0.0, 1.0, bins + 1)[1:-1]))
    code = np.searchsorted(edges, p, side="left")
    names, code = np.unique(code, return_inverse=True)
    count = np.bincount(code, minlength=names.size)
    predicted = np.bincount(code, p) / count
    share = np.bincount(code, hit) / count
    low, high = binom.ppf([[0.025], [0.975]], count, np.clip(predicted, 0.0, 1.0)) / count
    draws = _drawn_errors(code, p, hit, seed)
    return Reliability(count, predicted, share, low, high, _gap(code, p, hit), *draws)


def _gap(code: Array, p: Array, hit: Array) -> float:
    """Σ_b |Σ_{i in b} (hit_i − p_i)| / n."""
    return float(np.abs(np.bincount(code, hit - p)).sum() / p.size)


def _drawn_errors(code: Array, p: Array, hit: Array, seed: int) -> tuple[float, float, float]:
    """Ends of the interval by rows drawn again, and the quantile by outcomes drawn from p."""
    rng = np.random.default_rng(seed)
    again, chance = np.empty(DRAWS), np.empty(DRAWS)
    for k in range(DRAWS):
        some = rng.integers(0, p.size, p.size)
        again[k] = _gap(code[some], p[some], hit[some])
        chance[k] = _gap(code, p, (rng.uniform(size=p.size) < p).astype(float))
    low, high = np.quantile(again, [0.025, 0.975])
    return float(low), float(high), float(np.quantile(chance, 0.95))
