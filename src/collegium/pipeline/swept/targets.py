"""Rows on disk as latent functions see them: targets of each likelihood, weights of classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...likelihoods.units import Units, signs
from ...numerics.records import record
from ...rows.rows import Rows
from ..kept.disk import OnDisk

Array = np.ndarray


@record("committee.targets/1")
@dataclass(frozen=True, eq=False)
class Targets:
    """From y of a store to what each likelihood is to explain.

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
        """Weights of rows that count as their classes do."""
        return w * self.weights[y[:, 0].astype(int)] if self.classes else w


def weight_of(chunk: Any, sees: Targets) -> float:
    """Of all rows of a chunk."""
    _, y, w = chunk.load()
    return float(sees.weigh(y, w).sum())


@dataclass(frozen=True, eq=False)
class TargetsOnDisk(OnDisk):
    """Rows of a store, the targets of all likelihoods side by side; to learn from."""

    sees: Targets

    def take(self, positions: Array) -> Rows:
        X, y, w = (np.asarray(part, np.float64) for part in self.store.take(positions))
        return Rows(X, np.hstack(self.sees(y)), w)
