"""Monotone transforms of inputs, column by column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numerics.records import record
from .scores import NormalScores

Array = np.ndarray
#: Fewer distinct values are levels, not numbers, and stay as they are.
FEWEST = 30
#: A column is skewed above this, in absolute value.
SKEWED = 3.0


@record("transforms.input/1")
@dataclass(frozen=True, eq=False)
class InputTransform:
    """Normal scores of some columns; None: a column as it is."""

    columns: tuple[NormalScores | None, ...]

    @classmethod
    def of(cls, X: Array, w: Array, columns: Array | None = None) -> InputTransform:
        """Scores of the columns named, or of all; those with few distinct values stay."""
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
        """X as the kernel sees it  (n, d)."""
        return self._by_column(X, "forward")

    def backward(self, X: Array) -> Array:
        """The inverse of `forward`."""
        return self._by_column(X, "backward")

    def _by_column(self, X: Array, way: str) -> Array:
        found = np.array(X, dtype=float)
        for j, one in enumerate(self.columns):
            if one is not None:
                found[:, j] = getattr(one, way)(X[:, j])
        return found


def many_values(column: Array) -> bool:
    """Whether there are at least FEWEST distinct ones; some rows may be enough to tell."""
    few = column[:1_000]
    return np.unique(few).size >= FEWEST or np.unique(column).size >= FEWEST


def skewness(values: Array, w: Array) -> Array:
    """Σw(v − mean)³/(Σw sd³) of every column of values (n, k); of a constant zero."""
    share = (w / w.sum())[:, None]
    size = np.abs(values).max(axis=0, initial=0.0)
    unit = values / np.where(size > 0.0, size, 1.0)
    off = unit - (share * unit).sum(axis=0)
    sd = np.sqrt((share * off**2).sum(axis=0))
    flat = sd <= 1e-13
    sd[flat] = 1.0
    return np.where(flat, 0.0, (share * (off / sd) ** 3).sum(axis=0))


def skewed(X: Array, w: Array) -> Array:
    """Which columns are skewed enough for scores to be worth a try  (d,)."""
    wide = np.abs(skewness(X, w)) > SKEWED
    wide[wide] = [many_values(column) for column in X.T[wide]]
    return wide
