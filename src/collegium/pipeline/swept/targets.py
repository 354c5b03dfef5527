"""Rows as latent functions see them: targets of each likelihood, weights of classes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...likelihoods.targets.units import Units, signs
from ...numerics.records import record
from ...rows.rows import Rows
from ...rows.scaling import MOST_COPIES

Array = np.ndarray


@record("pipeline.targets/1")
@dataclass(frozen=True, eq=False)
class Targets:
    """y of rows -> targets of each likelihood.

    Of a regressor y is in the units of the user, with exposures beside counts; of a classifier
    it is a position among the classes.
    """

    units: Units
    classes: int = 0  # 0: y is no label
    coupled: bool = False  # one likelihood has all classes
    weights: Array = field(default_factory=lambda: np.ones(0))  # of the classes

    def __call__(self, y: Array) -> list[Array]:
        """y of each likelihood  (n, c)."""
        if not self.classes:
            return [self.units.forward(y)]
        if self.coupled:
            return [y]
        return signs(y, 1 if self.classes == 2 else self.classes)

    def weigh(self, y: Array, w: Array) -> Array:
        """Multiply weights of rows by those of their classes."""
        return w * self.weights[y[:, 0].astype(int)] if self.classes else w

    def counting(self, rows: Rows) -> Rows:
        """Take the rows of classes that count."""
        return rows.take(self.weights[rows.y[:, 0].astype(int)] > 0.0) if self.classes else rows

    def weighted(self, rows: Rows) -> Rows:
        """Let rows count as their classes do; y stays as it is."""
        w = self.weigh(rows.y, rows.w)
        if self.classes and w.max(initial=0.0) > MOST_COPIES:
            raise ValueError(
                f"sample_weight times class_weight goes beyond {MOST_COPIES:.0e}: give smaller ones"
            )
        return Rows(rows.X, rows.y, w)


@dataclass(frozen=True, eq=False)
class AllTargets:
    """y of a store -> the targets of all likelihoods side by side; to learn from."""

    sees: Targets

    def __call__(self, y: Array) -> Array:
        return np.hstack(self.sees(y))
