"""Tell which queries are extrapolations: beyond the rows, or where they tell little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..kernels import Kernel
from ..kernels.trend import split_trend
from .tuning import TUNING

Array = np.ndarray
#: Four times the largest relative error of a number that was rounded to float32.
ROUNDING = 2.0**-22


class ExtrapolationWarning(UserWarning):
    """Most queries of a call lie beyond the rows that a model was fitted to."""


@dataclass(frozen=True, eq=False)
class Ranges:
    """Ranges of the columns of rows, a little enlarged."""

    low: Array  # (d,)
    high: Array  # (d,)
    chance: float = 0.0  # columns that a new row like the others may leave

    @classmethod
    def of(cls, X: Array, margin: float, codes: Sequence[int] = ()) -> Ranges:
        """Enlarge ranges by a share of them, and by the rounding of float32; columns of codes have
        no order, and no bounds."""
        if not X.size:
            return cls(np.full(X.shape[1], -np.inf), np.full(X.shape[1], np.inf))
        low, high = X.min(axis=0), X.max(axis=0)
        more = margin * (high / 2.0 - low / 2.0) * 2.0 + ROUNDING * np.abs(X).max(axis=0)
        low, high = low - more, high + more
        low[list(codes)], high[list(codes)] = -np.inf, np.inf
        return cls(low, high, left_by_chance(*X.shape))

    @classmethod
    def of_anchors(cls, Z: Array, codes: Sequence[int] = ()) -> Ranges:
        """Enlarge the ranges of m anchors by half of their distance on a grid: rows reach as far
        beyond them."""
        m, d = Z.shape
        return replace(cls.of(Z, 0.5 * max(m, 1) ** (-1.0 / max(d, 1)), codes), chance=0.0)

    def leaves(self, X: Array) -> Array:
        """Whether more columns are beyond their ranges than by chance  (n,)."""
        return np.asarray(((X < self.low) | (X > self.high)).sum(axis=1) > self.chance)


def left_by_chance(n: int, d: int) -> float:
    """Bound the number of ranges of n rows that one more row of the same kind leaves.

    It is the smallest or largest of n + 1 in a column with probability q = 2/(n + 1); the bound is
    dq + 2√(dq(1 − q)), the mean and two standard deviations where columns are independent. Below
    one, as with a hundred rows of up to ten columns, a single column is enough to be beyond.
    """
    q = min(2.0 / (n + 1), 1.0)
    return float(d * q + 2.0 * np.sqrt(d * q * (1.0 - q)))


def little_known(kernel: Kernel, variance: Array, X: Array) -> Array:
    """Whether var[f] (n, p) is above half of its prior, trends apart  (n, p)."""
    return variance > TUNING.outside.share * split_trend(kernel)[0].diag(X)[:, None]
