"""Columns whose differences are no distances, as points among which nearest rows are searched.

A kernel gives the columns and how much they count (`Kernel.embeddings`); `rows.metric.Metric`
places rows by them. Any set of neighbours is valid: the points only say which rows to look at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from ..numerics.records import record

Array = np.ndarray
#: Coordinates of a level, and degrees of a radian.
WIDTH, DEGREES = 8, 180.0 / np.pi
#: Mean squared distance of levels in random directions.
FARTHER = 3.0


@dataclass(frozen=True, eq=False)
class Embedding:
    """Points of some columns, at distances in the units in which `inverse_square` is given."""

    columns: tuple[int, ...]
    inverse_square: float  # of those units, times the variance
    apart: bool = False  # a term that is zero between levels, not a part of a distance
    appended: int | None = None  # of a column behind those of X its number there
    width: ClassVar[int]  # coordinates of a point

    @property
    def exact(self) -> bool:
        """Whether distances of points are those meant."""
        return True

    def times(self, factor: float) -> Self:
        return replace(self, inverse_square=self.inverse_square * factor)

    def at(self, positions: Sequence[int]) -> Self:
        """The same of rows whose column `positions[k]` is column k here."""
        return replace(self, columns=tuple(positions[k] for k in self.columns))

    def of(self, X: Array) -> Self:
        """With what `backward` has to know of the rows."""
        return self

    def forward(self, X: Array) -> Array:
        """Points of rows  (n, width)."""
        raise TypeError("abstract embedding")

    def backward(self, P: Array) -> Array:
        """Values of the columns that are nearest to points P (n, width)  (n, len(columns))."""
        raise TypeError("abstract embedding")


@record("kernels.levels/1")
@dataclass(frozen=True, eq=False)
class Levels(Embedding):
    """Levels of one column: 0 to 7 on the axes, others in random directions.

    The first are exactly 1 apart. Others have directions in eight dimensions that depend on the
    level alone, and squared distances of FARTHER on average: with 1 the nearest of many levels
    would be so near that they displace rows of the same level.
    """

    width = WIDTH

    known: Array = field(default_factory=lambda: np.zeros(1))

    @property
    def exact(self) -> bool:
        return self.known.size <= WIDTH and bool(((self.known >= 0) & (self.known < WIDTH)).all())

    def of(self, X: Array) -> Self:
        return replace(self, known=np.unique(X[:, self.columns[0]])) if X.size else self

    def forward(self, X: Array) -> Array:
        codes = np.ascontiguousarray(X[:, self.columns[0]], dtype=float)
        return points(codes)

    def backward(self, P: Array) -> Array:
        U, found = points(self.known), np.empty(P.shape[0], dtype=int)
        half = 0.5 * (U**2).sum(axis=1)
        for part in np.array_split(np.arange(P.shape[0]), 1 + P.shape[0] * U.shape[0] // 10**7):
            found[part] = (P[part] @ U.T - half).argmax(axis=1)
        return self.known[found][:, None]


@record("kernels.globe/1")
@dataclass(frozen=True, eq=False)
class Globe(Embedding):
    """Longitude and latitude in degrees as points of a globe, chords in degrees of arc."""

    width = 3

    def forward(self, X: Array) -> Array:
        return on_globe(X[:, list(self.columns)])

    def backward(self, P: Array) -> Array:
        across = np.hypot(P[:, 0], P[:, 1])
        angles = np.arctan2(P[:, 1], P[:, 0]), np.arctan2(P[:, 2], across)
        return np.column_stack(angles) * DEGREES


def on_globe(X: Array) -> Array:
    """Points of a globe with the radius 180/π: short chords are degrees of arc  (n, 3)."""
    longitude, latitude = np.fmod(X[:, 0], 360.0) / DEGREES, X[:, 1] / DEGREES
    across = np.cos(latitude)
    points = across * np.cos(longitude), across * np.sin(longitude), np.sin(latitude)
    return DEGREES * np.column_stack(points)


def merged(embeddings: Sequence[Embedding]) -> list[Embedding]:
    """One embedding of each kind for the same columns."""
    found: dict[tuple, Embedding] = {}
    for one in embeddings:
        key = type(one), one.columns, one.apart
        total = one.inverse_square + (found[key].inverse_square if key in found else 0.0)
        found[key] = replace(one, inverse_square=total)
    return list(found.values())


def points(codes: Array) -> Array:
    """A point for each number, the same wherever it comes up  (n, WIDTH)."""
    bits = (codes + 0.0).view(np.uint64)[:, None]  # −0.0 becomes 0.0
    h = bits + np.arange(1, WIDTH + 1, dtype=np.uint64) * np.uint64(0x9E37_79B9_7F4A_7C15)
    # the finaliser of SplitMix64 (Steele, Lea & Flood 2014)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
    h ^= h >> np.uint64(31)
    quarters = h.view(np.uint16).reshape(*h.shape, 4).astype(float)
    U = quarters.sum(axis=2) - 2.0 * 65535.0 + 0.5  # nearly normal
    U *= np.sqrt(0.5 * FARTHER / (U**2).sum(axis=1, keepdims=True))
    first = (codes >= 0.0) & (codes < WIDTH) & (codes == np.floor(codes))
    U[first] = np.sqrt(0.5) * np.eye(WIDTH)[codes[first].astype(int)]
    return U
