"""Values that y takes again and again, and the cell of each: y is rounded, or discrete."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..numerics.records import record
from .tuning import TUNING

Array = np.ndarray


@record("scale.values/1")
@dataclass(frozen=True, eq=False)
class Values:
    """Values of one output, ascending, and the ends of their cells, which do not overlap.

    A value stands for all numbers of its cell. Where the values are multiples of a step Δ, cells
    are y ± Δ/2; else they meet in the middle between neighbouring values.
    """

    values: Array | None  # in the units of the user; None: y may take others between them  (k,)
    seen: Array  # the same as a model sees them, transformed and scaled  (k,)
    lower: Array  # ends of cells, as a model sees them  (k,)
    upper: Array  # (k,)

    @classmethod
    def of(cls, y: Array, forward: Callable[[Array], Array] = lambda y: y) -> Values | None:
        """Find the values of y (n,); None where fewer than half of the rows share theirs with
        others. `forward`: from the units of the user to those of the model, increasing."""
        t = TUNING.values
        values, count = np.unique(y, return_counts=True)
        if not 1 < values.size <= t.most or count[count > 1].sum() < t.tied * y.size:
            return None
        gaps = np.diff(values)
        below, above = np.append(gaps[0], gaps), np.append(gaps, gaps[-1])
        step = float(np.quantile(gaps, t.odd))
        regular = is_lattice(gaps, step)
        if regular:
            below, above = np.minimum(below, step), np.minimum(above, step)
        lower, upper = values - 0.5 * below, values + 0.5 * above
        if values[0] > 0.0:  # so that its end has a logarithm too
            lower[0] = max(lower[0], 0.5 * values[0])
        upper[:-1] = np.minimum(upper[:-1], lower[1:])
        own = values if regular or values.size <= t.few else None
        return cls(own, forward(values), forward(lower), forward(upper))

    def moved(self, ratio: float, shift: float) -> Values:
        """Adapt to targets ratio·y + shift of the model."""
        ends = (ratio * one + shift for one in (self.seen, self.lower, self.upper))
        return replace(self, **dict(zip(("seen", "lower", "upper"), ends)))

    def cell(self, y: Array) -> tuple[Array, Array]:
        """Ends of the cell that holds each y, as the model sees it; NaN where none does."""
        at = np.maximum(np.searchsorted(self.lower, y, side="right") - 1, 0)
        low, high = self.lower[at], self.upper[at]
        inside = (y >= low) & (y <= high)
        return np.where(inside, low, np.nan), np.where(inside, high, np.nan)

    def nearest(self, y: Array) -> Array:
        """Number of the value whose cell holds y, or whose cell is nearest."""
        edges = 0.5 * (self.upper[:-1] + self.lower[1:])
        return np.searchsorted(edges, y, side="left")

    def width(self, y: Array) -> Array:
        """Width of the cell of the nearest value, as the model sees it."""
        return (self.upper - self.lower)[self.nearest(y)]

    def typical_width(self, y: Array) -> float:
        """Median width of the cells of y (n,)."""
        return float(np.median(self.width(y)))


def is_lattice(gaps: Array, step: float) -> bool:
    """Whether nearly all gaps are multiples of a step."""
    t, times = TUNING.values, gaps / step
    off = np.abs(times - np.round(times))
    return bool(np.mean(off <= t.off * np.maximum(times, 1.0)) >= t.regular)


def seen_apart(values: Values | None, y: Array, errors: Array) -> Values | None:
    """Keep values where cells matter: errors are not far larger than cells, and not all of them
    far smaller, as those of a planned experiment whose levels a smooth function meets."""
    if values is None:
        return None
    t, size = TUNING.values, np.abs(errors)
    hidden = values.typical_width(y) / float(np.sqrt(12.0))
    if np.quantile(size, t.planned) < hidden or hidden < t.fine * np.median(size):
        return None
    return values
