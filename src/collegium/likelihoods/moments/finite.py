"""Finitely many values of y, whose probabilities are added up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import Given

Array = np.ndarray


@dataclass(frozen=True)
class FiniteValues:
    """P(Y ≤ y) = Σ p(value), over the values up to y."""

    values: tuple[float, ...]  # in order

    def quantile(self, given: Given, level: float, m: Array, v: Array) -> Array:
        m, v = np.broadcast_arrays(np.asarray(m, dtype=float), np.asarray(v, dtype=float))
        reached = self._cumulated(given.log_predictive, m.ravel(), v.ravel())
        return self._at((reached < level).sum(axis=1)).reshape(m.shape)

    def distribution(self, given: Given, y: Array, m: Array, v: Array) -> Array:
        reached = self._cumulated(given.log_predictive, m, np.broadcast_to(v, m.shape))
        up_to = np.searchsorted(np.array(self.values), y, side="right")
        return np.take_along_axis(np.pad(reached, ((0, 0), (1, 0))), up_to[:, None], axis=1)[:, 0]

    def draw(self, given: Given, f: Array, rng: Any) -> Array:
        reached = self._cumulated(given.log_density, f.ravel())
        below = (reached < rng.uniform(size=f.shape).reshape(-1, 1)).sum(axis=1)
        return self._at(below).reshape(f.shape)

    def _at(self, position: Array) -> Array:
        return np.array(self.values)[np.minimum(position, len(self.values) - 1)]

    def _cumulated(self, log_p: Callable[..., Array], *latent: Array) -> Array:
        """P(Y ≤ value) of each row and value, from log p(value, *latent)  (n, values)."""
        n = latent[0].size
        p = [np.exp(log_p(np.full((n, 1), value), *latent)) for value in self.values]
        total = np.cumsum(p, axis=0).T
        return total / total[:, -1:]
