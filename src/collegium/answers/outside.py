"""Tell which queries are extrapolations: beyond the rows, or where they tell little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..kernels import Kernel
from ..kernels.trend import split_trend
from .tuning import TUNING

Array = np.ndarray


class ExtrapolationWarning(UserWarning):
    """Most queries of a call lie beyond the rows that a model was fitted to."""


@dataclass(frozen=True, eq=False)
class Ranges:
    """Ranges of the columns of rows, a little enlarged."""

    low: Array  # (d,)
    high: Array  # (d,)

    @classmethod
    def of(cls, X: Array, margin: float, codes: Sequence[int] = ()) -> Ranges:
        """Enlarge ranges by a share of them; columns of codes have no order, and no bounds."""
        if not X.size:
            return cls(np.full(X.shape[1], -np.inf), np.full(X.shape[1], np.inf))
        low, high = X.min(axis=0), X.max(axis=0)
        more = margin * (high / 2.0 - low / 2.0) * 2.0
        low, high = low - more, high + more
        low[list(codes)], high[list(codes)] = -np.inf, np.inf
        return cls(low, high)

    @classmethod
    def of_anchors(cls, Z: Array, codes: Sequence[int] = ()) -> Ranges:
        """Enlarge the ranges of m anchors by half of their distance on a grid: rows reach as far
        beyond them."""
        m, d = Z.shape
        return cls.of(Z, 0.5 * max(m, 1) ** (-1.0 / max(d, 1)), codes)

    def leaves(self, X: Array) -> Array:
        """Whether some column is beyond its range  (n,)."""
        return np.asarray(((X < self.low) | (X > self.high)).any(axis=1))


def little_known(kernel: Kernel, variance: Array, X: Array) -> Array:
    """Whether var[f] (n, p) is above half of its prior, trends apart  (n, p)."""
    return variance > TUNING.outside.share * split_trend(kernel)[0].diag(X)[:, None]
