"""Counts of which mean and variance given f are known: negative binomials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betainc

from .base import Given
from .mixture import SHARES, in_blocks, nodes
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True)
class CountMoments:
    """y − low is negative binomial given f, with the moments of y."""

    low: float = 0.0  # the smallest y

    def quantile(self, given: Given, level: float, m: Array, v: Array) -> Array:
        return self.low + in_blocks(lambda f: _search(level, *self._shapes(given, f)), m, v)

    def distribution(self, given: Given, y: Array, m: Array, v: Array) -> Array:
        k = y - self.low
        found = _reached(np.maximum(np.floor(k), 0.0), *self._shapes(given, nodes(m, v)))
        return np.where(k < 0.0, 0.0, found)

    def draw(self, given: Given, f: Array, rng: Any) -> Array:
        r, p = self._shapes(given, f)
        rate = rng.standard_gamma(r) * ((1.0 - p) / p)
        return self.low + rng.poisson(np.minimum(rate, TUNING.largest_count)).astype(float)

    def _shapes(self, given: Given, f: Array) -> tuple[Array, Array]:
        """r and p of the negative binomial with the moments at f."""
        mean = np.clip(given.mean(f) - self.low, 1e-300, TUNING.largest_count)
        p = np.minimum(mean / np.maximum(given.variance(f), 1e-300), 1.0 - TUNING.wider)
        return mean * p / (1.0 - p), p


def _reached(k: Array, r: Array, p: Array) -> Array:
    return betainc(r, k[:, None] + 1.0, p) @ SHARES


def _search(level: float, r: Array, p: Array) -> Array:
    """The smallest k ≥ 0 whose distribution function reaches `level`  (n,)."""

    def reached(k: Array, rows: Array) -> Array:
        return _reached(k, r[rows], p[rows]) >= level

    low, high = np.full(r.shape[0], -1.0), np.zeros(r.shape[0])
    rows = np.arange(r.shape[0])
    while rows.size:  # low < quantile ≤ high
        rows = rows[~reached(high[rows], rows) & (high[rows] < TUNING.largest_count)]
        low[rows], high[rows] = high[rows], 2.0 * high[rows] + 1.0
    while (rows := np.flatnonzero(high - low > 1.0)).size:
        middle = np.floor(0.5 * (low[rows] + high[rows]))
        enough = reached(middle, rows)
        high[rows[enough]], low[rows[~enough]] = middle[enough], middle[~enough]
    return high
