"""Columns whose differences are not distances, mapped to points for the nearest-row search.

A kernel gives the columns and their weights (`Kernel.embeddings`); `rows.metric.Metric` places
rows by them. Any set of neighbours is valid: the points only decide which rows are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from ..numerics.records import record
from .tuning import TUNING

Array = np.ndarray
#: Degrees per radian.
DEGREES = 180.0 / np.pi


@dataclass(frozen=True, eq=False)
class Embedding:
    """Points for some columns, at distances in the units of `inverse_square`."""

    columns: tuple[int, ...]
    inverse_square: float  # 1/unit², times the variance
    apart: bool = False  # a term that is zero between levels, not part of a distance
    appended: int | None = None  # number of a column appended to X, where it is one
    width: ClassVar[int]  # coordinates of a point

    @property
    def exact(self) -> bool:
        """Whether distances between points are the intended ones."""
        return True

    def times(self, factor: float) -> Self:
        return replace(self, inverse_square=self.inverse_square * factor)

    def at(self, positions: Sequence[int]) -> Self:
        """Renumber the columns: column k becomes `positions[k]`."""
        return replace(self, columns=tuple(positions[k] for k in self.columns))

    def of(self, X: Array) -> Self:
        """Learn from rows what `backward` needs."""
        return self

    def forward(self, X: Array) -> Array:
        """Points of rows  (n, width)."""
        raise TypeError("abstract embedding")

    def backward(self, P: Array) -> Array:
        """Values of the columns nearest to points P (n, width)  (n, len(columns))."""
        raise TypeError("abstract embedding")


@record("kernels.levels/1")
@dataclass(frozen=True, eq=False)
class Levels(Embedding):
    """Levels of one column: 0 to 7 on the axes, others in random directions.

    The first are exactly 1 apart. Others have directions in eight dimensions that depend on the
    level alone, at squared distances of `level_distance` on average: with 1, the nearest of many
    levels would be so near that they displace rows of the same level.
    """

    width = TUNING.level_coordinates

    known: Array = field(default_factory=lambda: np.zeros(1))

    @property
    def exact(self) -> bool:
        few = self.known.size <= self.width
        return few and bool(((self.known >= 0) & (self.known < self.width)).all())

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
    """Longitude and latitude in degrees as points on a globe, chords in degrees of arc."""

    width = 3

    def forward(self, X: Array) -> Array:
        return on_globe(X[:, list(self.columns)])

    def backward(self, P: Array) -> Array:
        across = np.hypot(P[:, 0], P[:, 1])
        angles = np.arctan2(P[:, 1], P[:, 0]), np.arctan2(P[:, 2], across)
        return np.column_stack(angles) * DEGREES


def on_globe(X: Array) -> Array:
    """Place (longitude, latitude) on a globe of radius 180/π: short chords are degrees  (n, 3)."""
    longitude, latitude = np.fmod(X[:, 0], 360.0) / DEGREES, X[:, 1] / DEGREES
    across = np.cos(latitude)
    points = across * np.cos(longitude), across * np.sin(longitude), np.sin(latitude)
    return DEGREES * np.column_stack(points)


def merge_embeddings(embeddings: Sequence[Embedding]) -> list[Embedding]:
    """Merge embeddings of one kind that share their columns: inverse squares add up."""
    found: dict[tuple, Embedding] = {}
    for one in embeddings:
        key = type(one), one.columns, one.apart
        total = one.inverse_square + (found[key].inverse_square if key in found else 0.0)
        found[key] = replace(one, inverse_square=total)
    return list(found.values())


def points(codes: Array) -> Array:
    """Point of each code, a function of the code alone  (n, width)."""
    width = TUNING.level_coordinates
    bits = (codes + 0.0).view(np.uint64)[:, None]  # −0.0 becomes 0.0
    h = bits + np.arange(1, width + 1, dtype=np.uint64) * np.uint64(0x9E37_79B9_7F4A_7C15)
    # the finaliser of SplitMix64 (Steele, Lea & Flood 2014)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
    h ^= h >> np.uint64(31)
    quarters = h.view(np.uint16).reshape(*h.shape, 4).astype(float)
    U = quarters.sum(axis=2) - 2.0 * 65535.0 + 0.5  # nearly normal
    U *= np.sqrt(0.5 * TUNING.level_distance / (U**2).sum(axis=1, keepdims=True))
    first = (codes >= 0.0) & (codes < width) & (codes == np.floor(codes))
    U[first] = np.sqrt(0.5) * np.eye(width)[codes[first].astype(int)]
    return U
