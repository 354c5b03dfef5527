"""Merges equal rows, weights rows for learning, centres and scales targets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .distinct import first_of_equals
from .rows import Rows

Array = np.ndarray


#: Largest size of scaled targets: squares beyond it overflow.
LARGEST = 1e152
#: A row may count as so many equal ones, beyond which sites of a Laplace approximation lose all
#: digits of the others.
MOST_COPIES = 1e12


def merged(rows: Rows, labels: Array | None, *, in_order: bool) -> tuple[Rows, Array | None]:
    """Drop rows of weight zero; merge rows of equal x, y and label, adding their weights.

    Rows are sorted by value unless their order matters (`in_order`). So a weight of two and a
    repeated row, and any order of the same rows, give the same model to the last bit.
    """
    positive = rows.w > 0
    own = () if labels is None else (labels,)
    table = np.column_stack([rows.X, rows.y, *own])[positive]
    w = rows.w[positive]
    first, number = first_of_equals(table)
    weight = np.bincount(number, weights=w)
    if in_order:
        order = np.argsort(first)
        first, weight = first[order], weight[order]
    kept = np.flatnonzero(positive)[first]
    return Rows(rows.X[kept], rows.y[kept], weight), None if labels is None else labels[kept]


def for_learning(rows: Rows) -> Rows:
    """Rows with the weights to learn hyperparameters by.

    w copies of a row have equal targets, and would show zero noise. So the weights of inputs
    with a single target are divided by their mean; inputs with several targets, which do show
    the noise, keep their weights.
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
    """y = centre + scale · (scaled targets), one centre and one scale per output."""

    centre: Array  # (p,)
    scale: Array  # (p,)

    @classmethod
    def of(cls, y: Array, w: Array) -> Scaling:
        """Weighted mean and standard deviation; y is divided by its largest magnitude first."""
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
        """Weighted median and median absolute deviation of one output, times 1.4826 as for a
        normal; if more than half of the values are equal, the mean absolute deviation."""
        size = float(np.abs(y).max()) or 1.0
        unit = y[:, 0] / size
        middle = _median(unit, w)
        away = np.abs(unit - middle)
        spread = 1.4826 * _median(away, w)
        rounding = 1e-13 * abs(middle)  # of the median: outliers do not change the other digits
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
        """Scales with the given ratios to the first, and the same geometric mean of scale/ratio."""
        own = self.scale / ratios
        return Scaling(self.centre, np.exp(np.log(own).mean()) * ratios)


def _median(values: Array, w: Array) -> float:
    """The weighted median: half of the weight lies on either side."""
    order = np.argsort(values, kind="stable")
    ranked, share = values[order], np.cumsum(w[order])
    half = 0.5 * share[-1]
    low = np.searchsorted(share, half * (1.0 - 1e-12))
    high = np.searchsorted(share, half * (1.0 + 1e-12))
    return 0.5 * float(ranked[low] + ranked[min(high, ranked.size - 1)])
