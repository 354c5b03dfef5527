"""Finitely many values of y, whose probabilities are added up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import Given
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True)
class FiniteValues:
    """P(Y ≤ y) = Σ p(value), over the values up to y."""

    values: tuple[float, ...]  # in order

    def quantile(self, given: Given, level: float, m: Array, v: Array) -> Array:
        m, v = np.broadcast_arrays(np.asarray(m, dtype=float), np.asarray(v, dtype=float))
        reached = self._cumulated(given, m.ravel(), v.ravel())
        return self._at((reached < level).sum(axis=1)).reshape(m.shape)

    def distribution(self, given: Given, y: Array, m: Array, v: Array) -> Array:
        reached = np.pad(self._cumulated(given, m, np.broadcast_to(v, m.shape)), ((0, 0), (1, 0)))
        up_to = np.searchsorted(np.array(self.values), y, side="right")
        return np.take_along_axis(reached, up_to[:, None], axis=1)[:, 0]

    def draw(self, given: Given, f: Array, rng: Any) -> Array:
        flat = f.ravel()
        reached = self._cumulated(given, flat, np.zeros(flat.size))
        below = (reached < rng.uniform(size=f.shape).reshape(-1, 1)).sum(axis=1)
        return self._at(below).reshape(f.shape)

    def _at(self, position: Array) -> Array:
        return np.array(self.values)[np.minimum(position, len(self.values) - 1)]

    def _cumulated(self, given: Given, m: Array, v: Array) -> Array:
        """P(Y ≤ value) of each row and value  (n, values)."""
        out = np.empty((m.size, len(self.values)))
        for part in np.array_split(np.arange(m.size), 1 + out.size // TUNING.block):
            for j, value in enumerate(self.values):
                y = np.full((part.size, 1), value)
                out[part, j] = np.exp(given.log_predictive(y, m[part], v[part]))
        total = np.cumsum(out, axis=1)
        return total / total[:, -1:]
