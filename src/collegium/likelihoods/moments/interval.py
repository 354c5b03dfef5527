"""y between two bounds, of which mean and variance given f are known: beta distributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betainc, expit

from .base import Given
from .mixture import NODES, SHARES, halving, in_blocks, nodes
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True)
class IntervalMoments:
    """(y − low)/(high − low) is beta distributed given f, with the moments of y."""

    low: float
    high: float

    def quantile(self, given: Given, level: float, m: Array, v: Array) -> Array:
        return self._inside(in_blocks(lambda f: _search(level, *self._shapes(given, f)), m, v))

    def distribution(self, given: Given, y: Array, m: Array, v: Array) -> Array:
        u = np.clip((y - self.low) / (self.high - self.low), 0.0, 1.0)
        return _reached(u, *self._shapes(given, nodes(m, v)))

    def draw(self, given: Given, f: Array, rng: Any) -> Array:
        a, b = self._shapes(given, f)
        return self._inside(rng.beta(a, b))

    def _shapes(self, given: Given, f: Array) -> tuple[Array, Array]:
        """Both shapes of the beta distribution with the moments at f."""
        width, least = self.high - self.low, 1.0 / TUNING.largest
        mean = np.clip((given.mean(f) - self.low) / width, least, 1.0 - np.finfo(float).epsneg)
        share = mean * (1.0 - mean) / np.maximum(given.variance(f) / width**2, least)
        total = np.clip(share - 1.0, TUNING.least_shape, 1.0 / TUNING.close)
        return mean * total, (1.0 - mean) * total

    def _inside(self, u: Array) -> Array:
        """y at these shares of the interval, never one of its ends."""
        y = self.low + (self.high - self.low) * u
        return np.clip(y, np.nextafter(self.low, np.inf), np.nextafter(self.high, -np.inf))


def _reached(u: Array, a: Array, b: Array) -> Array:
    return betainc(a, b, u[:, None]) @ SHARES


def _search(level: float, a: Array, b: Array) -> Array:
    """The share of the interval where the distribution function is `level`, by its logit  (n,)."""

    def reached(t: Array, rows: Array) -> Array:
        return _reached(expit(t), a[rows], b[rows]) >= level

    middle = NODES.size // 2
    return expit(halving(reached, np.log(a[:, middle]) - np.log(b[:, middle])))
