"""Posterior means as sums of kernels: f(x) = Σⱼ k(x, pⱼ)wⱼ, without triangular solves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..kernels.trend import Coefficients
from ..numerics.tiles import by_tiles
from ..rows.partition import blocks

Array = np.ndarray
#: Points of one block of kernel values, so that it stays in a core's cache with a tile of queries.
POINTS = 2_048
#: Kernel values of one batch, the work of one worker at a time, and its queries, at least.
BATCH, LEAST = 2_000_000, 256


@dataclass(frozen=True, eq=False)
class Expansion:
    """x ↦ K(x, P)W, and a line where there is one."""

    kernel: Kernel
    points: Array  # P  (n, d)
    weights: Array  # W  (n, p)
    line: Coefficients | None = None
    slopes: Array | None = None  # E[β], whitened  (t, p)

    @property
    def nbytes(self) -> int:
        return self.points.nbytes + self.weights.nbytes

    def mean(self, Xs: Array, engine: Any) -> Array:
        """K(X*, P)W  (q, p), in batches that an engine runs."""
        size = int(np.clip(BATCH // max(1, self.points.shape[0]), LEAST, 16 * LEAST))
        parts = engine.map(lambda part: self.at(Xs[part]), blocks(Xs.shape[0], size))
        return np.concatenate(parts)

    def at(self, Xs: Array) -> Array:
        """K(X*, P)W  (q, p), in this thread."""
        return by_tiles(lambda tile: (self._tile(tile),), Xs)[0]

    def _tile(self, Xs: Array) -> Array:
        total = np.zeros((Xs.shape[0], self.weights.shape[1]))
        for here in blocks(self.points.shape[0], POINTS):
            total += self.kernel.value(Xs, self.points[here]) @ self.weights[here]
        return total if self.line is None else total + self.trend(Xs)

    def trend(self, Xs: Array) -> Array:
        """The line  (q, p)."""
        assert self.line is not None
        return self.line.design(Xs).T @ self.slopes
