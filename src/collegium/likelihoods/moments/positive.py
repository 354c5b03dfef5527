"""y on one side of an edge, of which mean and variance given f are known: gamma distributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammainc, gammaincc

from .base import Given
from .mixture import NODES, SHARES, halving, in_blocks, nodes
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True)
class PositiveMoments:
    """sign · (y − edge) is gamma distributed given f, with the moments of y."""

    edge: float = 0.0
    sign: float = 1.0  # 1.0: y lies above the edge; -1.0: below it

    def quantile(self, given: Given, level: float, m: Array, v: Array) -> Array:
        tail = level if self.sign > 0.0 else 1.0 - level
        return self._inside(in_blocks(lambda f: _search(tail, *self._shapes(given, f)), m, v))

    def distribution(self, given: Given, y: Array, m: Array, v: Array) -> Array:
        k, scale = self._shapes(given, nodes(m, v))
        away = np.maximum(self.sign * (y - self.edge), 0.0)
        return (gammainc if self.sign > 0.0 else gammaincc)(k, away[:, None] / scale) @ SHARES

    def draw(self, given: Given, f: Array, rng: Any) -> Array:
        k, scale = self._shapes(given, f)
        return self._inside(np.maximum(rng.standard_gamma(k) * scale, np.finfo(float).tiny))

    def _shapes(self, given: Given, f: Array) -> tuple[Array, Array]:
        """Shape k and scale of the gamma distribution with the moments at f."""
        mean = self.sign * (given.mean(f) - self.edge)
        mean = np.clip(mean, 1.0 / TUNING.largest, TUNING.largest)
        sd = np.sqrt(np.clip(given.variance(f), 1.0 / TUNING.largest, TUNING.largest))
        k = np.clip((mean / sd) ** 2, TUNING.least_shape, 1.0 / TUNING.close)
        return k, mean / k

    def _inside(self, away: Array) -> Array:
        """y at these distances from the edge, never the edge itself."""
        y = self.edge + self.sign * away
        return np.where(y == self.edge, np.nextafter(self.edge, self.sign * np.inf), y)


def _search(level: float, k: Array, scale: Array) -> Array:
    """The distance whose distribution function is `level`, searched for in its log  (n,)."""

    def distance(log_y: Array) -> Array:
        return np.exp(np.clip(log_y, -690.0, 690.0))

    def reached(log_y: Array, rows: Array) -> Array:
        return gammainc(k[rows], distance(log_y)[:, None] / scale[rows]) @ SHARES >= level

    middle = NODES.size // 2
    return distance(halving(reached, np.log(k[:, middle] * scale[:, middle])))
