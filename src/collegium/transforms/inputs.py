"""Monotone transforms of inputs, one per column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numerics.records import record
from .scores import NormalScores
from .tuning import TUNING

Array = np.ndarray


@record("transforms.input/1")
@dataclass(frozen=True, eq=False)
class InputTransform:
    """Normal scores of some columns; None: the column stays as it is."""

    columns: tuple[NormalScores | None, ...]

    @classmethod
    def of(cls, X: Array, w: Array, columns: Array | None = None) -> InputTransform:
        """Make scores of the given columns, or of all; those with few distinct values stay."""
        wanted = np.ones(X.shape[1], bool) if columns is None else columns
        return cls(
            tuple(
                NormalScores.of(column, w) if want and many_values(column) else None
                for column, want in zip(X.T, wanted)
            )
        )

    @property
    def any(self) -> bool:
        """Whether it changes anything."""
        return any(one is not None for one in self.columns)

    def forward(self, X: Array) -> Array:
        """Transform X for the kernel  (n, d)."""
        return self._by_column(X, "forward")

    def backward(self, X: Array) -> Array:
        """Invert `forward`."""
        return self._by_column(X, "backward")

    def _by_column(self, X: Array, way: str) -> Array:
        found = np.array(X, dtype=float)
        for j, one in enumerate(self.columns):
            if one is not None:
                found[:, j] = getattr(one, way)(X[:, j])
        return found


def many_values(column: Array) -> bool:
    """Whether a column has enough distinct values; its first rows may show it."""
    few, least = column[:1_000], TUNING.distinct
    return np.unique(few).size >= least or np.unique(column).size >= least


def skewness(values: Array, w: Array) -> Array:
    """Σw(v − mean)³/(Σw sd³) of every column of values (n, k); zero for a constant."""
    share = (w / w.sum())[:, None]
    size = np.abs(values).max(axis=0, initial=0.0)
    unit = values / np.where(size > 0.0, size, 1.0)
    off = unit - (share * unit).sum(axis=0)
    sd = np.sqrt((share * off**2).sum(axis=0))
    flat = sd <= 1e-13
    sd[flat] = 1.0
    return np.where(flat, 0.0, (share * (off / sd) ** 3).sum(axis=0))


def skewed(X: Array, w: Array) -> Array:
    """Whether each column is skewed enough to try scores  (d,)."""
    wide = np.abs(skewness(X, w)) > TUNING.skewed_input
    wide[wide] = [many_values(column) for column in X.T[wide]]
    return wide
