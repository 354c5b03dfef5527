"""Rows merged, weighed for learning, and targets centred and scaled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .rows import Rows

Array = np.ndarray


#: Squares of values beyond this leave the range of floats, and so do those of its inverse.
LARGEST = 1e152
#: A row may count as so many equal ones, beyond which sites of a Laplace approximation lose all
#: digits of the others.
MOST_COPIES = 1e12


def merged(rows: Rows, labels: Array | None, *, in_order: bool) -> tuple[Rows, Array | None]:
    """Rows without zero weights, equal ones (x, y, label) as one with the sum of their weights.

    Sorted by value unless the order means something: so a weight and a repetition, and any
    order of the same rows, give the same model to the last bit.
    """
    positive = rows.w > 0
    own = () if labels is None else (labels,)
    table = np.column_stack([rows.X, rows.y, *own])[positive]
    w = rows.w[positive]
    _, first, inverse = np.unique(table, axis=0, return_index=True, return_inverse=True)
    weight = np.bincount(inverse.reshape(-1), weights=w)
    if in_order:
        order = np.argsort(first)
        first, weight = first[order], weight[order]
    kept = np.flatnonzero(positive)[first]
    return Rows(rows.X[kept], rows.y[kept], weight), None if labels is None else labels[kept]


def for_learning(rows: Rows) -> Rows:
    """Rows with weights by which hyperparameters are learnt: of mean one.

    w equal rows agree to the last bit, and would say that there is no noise. Where an input
    has one target only, its copies are therefore counted relative to the other rows' copies;
    inputs with several targets keep their counts.
    """
    if (rows.w == 1.0).all():
        return rows
    _, inverse, count = np.unique(rows.X, axis=0, return_inverse=True, return_counts=True)
    single = count[inverse.reshape(-1)] == 1
    if not single.any():
        return rows
    w = rows.w.copy()
    w[single] /= w[single].mean()
    return Rows(rows.X, rows.y, w)


@dataclass(frozen=True, eq=False)
class Scaling:
    """y = centre + scale · (what the core sees), one of each an output."""

    centre: Array  # (p,)
    scale: Array  # (p,)

    @classmethod
    def of(cls, y: Array, w: Array) -> Scaling:
        """Weighted mean and standard deviation, by the largest magnitude first."""
        size = np.abs(y).max(axis=0)
        size[size == 0.0] = 1.0
        unit = y / size
        share = (w / w.max())[:, None]
        mean = (share * unit).sum(axis=0) / share.sum()
        sd = np.sqrt((share * (unit - mean) ** 2).sum(axis=0) / share.sum())
        sd[sd <= 1e-13] = 1.0  # constant to rounding
        return cls(mean * size, np.maximum(sd * size, 1.0 / LARGEST))

    @classmethod
    def robust(cls, y: Array, w: Array) -> Scaling:
        """Weighted median and median absolute deviation of one output, as a normal's; where more
        than half are equal the mean absolute deviation."""
        size = float(np.abs(y).max()) or 1.0
        unit = y[:, 0] / size
        middle = _median(unit, w)
        away = np.abs(unit - middle)
        spread = 1.4826 * _median(away, w)
        rounding = 1e-13 * abs(middle)  # an outlier says nothing about the others' digits
        if spread <= rounding:
            spread = 1.2533 * float(away @ w) / float(w.sum())
        spread = spread if spread > rounding else 1.0
        return cls(np.array([middle * size]), np.array([max(spread * size, 1.0 / LARGEST)]))

    @classmethod
    def none(cls) -> Scaling:
        return cls(np.zeros(1), np.ones(1))

    def forward(self, y: Array) -> Array:
        with np.errstate(over="ignore"):
            scaled = (y - self.centre) / self.scale
        if np.abs(scaled).max(initial=0.0) > LARGEST:
            raise ValueError(
                f"y has values {LARGEST:.0e} times the scale of the rows it was first fitted to: "
                "fit again, or give y in other units"
            )
        return scaled

    def mean(self, mean: Array) -> Array:
        return self.centre + self.scale * mean

    def relative_to_first(self, ratios: Array) -> Scaling:
        """One scale for all outputs, but for the given ratios to the first."""
        own = self.scale / ratios
        return Scaling(self.centre, np.exp(np.log(own).mean()) * ratios)


def _median(values: Array, w: Array) -> float:
    """Half of the weight lies on either side."""
    order = np.argsort(values, kind="stable")
    ranked, share = values[order], np.cumsum(w[order])
    half = 0.5 * share[-1]
    low = np.searchsorted(share, half * (1.0 - 1e-12))
    high = np.searchsorted(share, half * (1.0 + 1e-12))
    return 0.5 * float(ranked[low] + ranked[min(high, ranked.size - 1)])
