"""Posterior means as sums of kernels: f(x) = Σⱼ k(x, pⱼ)wⱼ, without triangular solves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..engines.local import share
from ..kernels import Kernel
from ..kernels.base import To
from ..kernels.stationary.leaves import summing_leaf
from ..kernels.trend import Coefficients
from ..numerics.tiles import by_tiles
from ..rows.partition import blocks

Array = np.ndarray
#: Points per block of kernel values, which stays in a core's cache with a tile of queries.
POINTS = 2_048
#: Kernel values per batch, the work of one worker at a time, and minimum number of its queries.
BATCH, LEAST = 2_000_000, 256


@dataclass(frozen=True, eq=False)
class Expansion:
    """x ↦ K(x, P)W, plus a line if there is a trend."""

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
        size = share(engine, Xs.shape[0], size)
        parts = engine.map(lambda part: self.at(Xs[part]), blocks(Xs.shape[0], size))
        return np.concatenate(parts)

    def at(self, Xs: Array) -> Array:
        """K(X*, P)W  (q, p), in this thread."""
        return by_tiles(lambda tile: (self._tile(tile),), Xs)[0]

    def _tile(self, Xs: Array) -> Array:
        total = np.zeros((Xs.shape[0], self.weights.shape[1]))
        for here, values in zip(blocks(self.points.shape[0], POINTS), self._prepared.parts):
            total += values(Xs) @ self.weights[here]
        return total if self.line is None else total + self.trend(Xs)

    def trend(self, Xs: Array) -> Array:
        """Evaluate the line  (q, p)."""
        assert self.line is not None
        return self.line.design(Xs).T @ self.slopes

    def row_by_row(self) -> RowByRow:
        """Prepare the expansion for many calls with few queries."""
        return self._prepared

    @cached_property
    def _prepared(self) -> RowByRow:
        parts = blocks(self.points.shape[0], POINTS)
        return RowByRow(self, tuple(self.kernel.to(self.points[here]) for here in parts))


@dataclass(frozen=True, eq=False)
class RowByRow:
    """An expansion whose points are prepared; a single query does not fill up a tile."""

    own: Expansion
    parts: tuple[To, ...]  # of POINTS points each

    def mean(self, Xs: Array, engine: Any) -> Array:
        size = int(np.clip(BATCH // max(1, self.own.points.shape[0]), 1, LEAST))
        size = share(engine, Xs.shape[0], size)
        parts = engine.map(lambda part: self._at(Xs[part]), blocks(Xs.shape[0], size))
        return np.concatenate([np.zeros((0, self.own.weights.shape[1])), *parts])

    def _at(self, X: Array) -> Array:
        total, weights = np.zeros((X.shape[0], self.own.weights.shape[1])), self.own.weights
        part = np.empty_like(total)
        for k, values in enumerate(self.parts):
            weighed(values(X), weights[k * POINTS : (k + 1) * POINTS], part)
            total += part
        if self.own.line is None:
            return total
        return total + by_tiles(lambda tile: (self.own.trend(tile),), X)[0]


@summing_leaf
def weighed(K, W, out):
    """KW, row by row  (q, p)."""
    for i in range(K.shape[0]):
        for c in range(W.shape[1]):
            total = 0.0
            for j in range(K.shape[1]):
                total += K[i, j] * W[j, c]
            out[i, c] = total
