"""The histogram of u = P(Y ≤ y) over rows: flat, if predictive distributions are right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .coverage import binomial_band

Array = np.ndarray
BINS = 20


@dataclass(frozen=True, eq=False)
class PitHistogram:
    """Shares of rows in equal bins of [0, 1], and the band that all lie in by chance (95 %)."""

    shares: Array  # (bins,)
    low: float
    high: float
    n: int

    @property
    def flat(self) -> bool:
        return bool(((self.shares >= self.low) & (self.shares <= self.high)).all())


def pit_histogram(pit: Array, bins: int = BINS) -> PitHistogram:
    """Count u in equal bins; fewer bins where there are fewer than 100 rows."""
    n = len(pit)
    bins = max(2, min(bins, n // 5)) if n else bins
    at = np.minimum((np.asarray(pit) * bins).astype(int), bins - 1)
    low, high = binomial_band(n, 1.0 / bins, bins) if n else (0.0, 1.0)
    return PitHistogram(np.bincount(at, minlength=bins) / max(n, 1), low, high, n)


def randomised_pit(below: Array, upto: Array, seed: int = 0) -> Array:
    """u = P(Y < y) + v P(Y = y), v uniform: uniform for counts too, if distributions are right.

    `below` is P(Y < y), `upto` P(Y ≤ y) (Czado, Gneiting and Held 2009, Biometrics 65).
    """
    v = np.random.default_rng(seed).uniform(size=np.shape(upto))
    return np.clip(below + v * (np.asarray(upto) - below), 0.0, 1.0)
