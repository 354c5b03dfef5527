"""Values that y takes again and again, of which no continuous distribution can be right."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from .tuning import TUNING

Array = np.ndarray


class PointMassWarning(UserWarning):
    """Many rows have one and the same y, which intervals cannot take into account."""


@dataclass(frozen=True)
class PointMass:
    """A value of y, and the share of all rows that has it."""

    value: float
    share: float

    @classmethod
    def of(cls, y: Array, w: Array) -> PointMass | None:
        """Find the most frequent value of y (n,); None where it is no mass among other values.

        Of fewer than three values none is: y is constant then, or a label.
        """
        values, where = np.unique(y, return_inverse=True)
        share = np.bincount(where.reshape(-1), w) / w.sum()
        most = int(share.argmax())
        if y.size < TUNING.mass.fewest or values.size < 3 or share[most] < TUNING.mass.share:
            return None
        return cls(float(values[most]), float(share[most]))

    def __str__(self) -> str:
        return f"{self.share:.0%} of the rows have y = {self.value:.6g}".replace("%", " %")


def masses(y: Array, w: Array) -> list[PointMass]:
    """Find the point masses of all outputs (n, p)."""
    return [found for column in y.T if (found := PointMass.of(column, w)) is not None]


def warn_of_masses(y: Array, w: Array) -> None:
    for found in masses(y, w):
        warnings.warn(
            f"{found}: a continuous distribution has no such mass, so intervals, and those of "
            "small coverage above all, hold too few rows or too many. Classify first whether y is "
            f"{found.value:.6g} (CommitteeClassifier), then fit the other rows; give counts "
            "likelihood='poisson'",
            PointMassWarning,
            stacklevel=2,
        )
