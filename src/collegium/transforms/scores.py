"""Normal scores: Φ⁻¹ of the share of rows below, as a piecewise linear function."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from ..numerics.records import record
from .tuning import TUNING

Array = np.ndarray
#: Largest number that is returned.
LARGEST = 1e306


@record("transforms.scores/1")
@dataclass(frozen=True, eq=False)
class NormalScores:
    """Piecewise linear through (unit · knots, scores), with one more slope beyond each end.

    Slopes are of scores over knots, which are at most one in absolute value.
    """

    unit: float
    knots: Array  # increasing  (k,)
    scores: Array  # increasing  (k,)
    low: float  # slope below the first knot
    high: float  # slope above the last

    @classmethod
    def of(cls, values: Array, w: Array) -> NormalScores:
        """Make scores from values (n,) with weights w; the same in any order of them."""
        unit = float(np.abs(values).max(initial=0.0)) or 1.0
        knots, scores = ranked(values / unit, w)
        if knots.size == 1:
            knots, scores = knots + np.array([-1.0, 1.0]), np.array([-1.0, 1.0])
        most = int(np.clip(w.sum() / TUNING.knot_rows, 4, TUNING.knots))
        if knots.size > most:
            grid = np.linspace(scores[0], scores[-1], most)
            knots, scores = np.interp(grid, scores, knots), grid
            apart = np.append(True, np.diff(knots) > 0.0)  # up to rounding
            knots, scores = knots[apart], scores[apart]
        edge = -ndtri(TUNING.end)
        low = _secant(knots, scores, knots[0], np.interp(-edge, scores[1:], knots[1:]))
        high = _secant(knots, scores, np.interp(edge, scores[:-1], knots[:-1]), knots[-1])
        return cls(unit, knots, scores, low, high)

    def forward(self, values: Array) -> Array:
        v = values / self.unit
        t = np.interp(v, self.knots, self.scores)
        below, above = np.minimum(v - self.knots[0], 0.0), np.maximum(v - self.knots[-1], 0.0)
        with np.errstate(over="ignore"):
            return np.clip(t + self.low * below + self.high * above, -LARGEST, LARGEST)

    def backward(self, t: Array) -> Array:
        """Invert `forward`; finite for all finite t."""
        v = np.interp(t, self.scores, self.knots)
        below, above = np.minimum(t - self.scores[0], 0.0), np.maximum(t - self.scores[-1], 0.0)
        with np.errstate(over="ignore"):
            return np.clip(
                self.unit * (v + below / self.low + above / self.high), -LARGEST, LARGEST
            )

    def log_slope(self, values: Array) -> Array:
        """log of the slope of `forward`; at a knot the one on its right."""
        inner = np.log(np.diff(self.scores)) - np.log(np.diff(self.knots))
        slopes = np.concatenate([[np.log(self.low)], inner, [np.log(self.high)]])
        at = np.searchsorted(self.knots, values / self.unit, side="right")
        return slopes[at] - np.log(self.unit)


def ranked(values: Array, w: Array) -> tuple[Array, Array]:
    """Sort distinct values, with Φ⁻¹ of the share of weight below each plus half its own."""
    order = np.lexsort((w, values))
    distinct, where = np.unique(values[order], return_inverse=True)
    weight = np.bincount(where, w[order] / w.max())
    seen = weight > 0.0
    distinct, weight = distinct[seen], weight[seen]
    share = (np.cumsum(weight) - 0.5 * weight) / weight.sum()
    scores = ndtri(share)
    new = np.append(True, np.diff(scores) > 0.0)  # a weight may vanish beside the others
    return distinct[new], scores[new]


def _secant(knots: Array, scores: Array, low: float, high: float) -> float:
    """Mean slope between two places; of all knots where these are equal."""
    if not high > low:
        low, high = knots[0], knots[-1]
    ends = np.interp([low, high], knots, scores)
    return float((ends[1] - ends[0]) / (high - low))
