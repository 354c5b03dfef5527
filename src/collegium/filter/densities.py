"""Densities p(x) of inputs, which weigh the projection onto a basis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtri

from ..numerics.records import record
from ..rows.metric import column_scales
from .tuning import TUNING

Array = np.ndarray


class Density(Protocol):
    """Interface of a density p."""

    def nodes(self, q: int) -> tuple[Array, Array]:
        """About q points (·, d) and weights ω that sum to one: ∫ g p ≈ Σ ω g."""

    def covers(self, X: Array) -> Array:
        """Whether inputs lie where p expects them  (n,)."""

    def box(self) -> tuple[Array, Array]:
        """Corners of a box with nearly all of p."""


@record("density.uniform/1")
@dataclass(frozen=True, eq=False)
class UniformBox:
    """p(x) = 1/volume for low ≤ x ≤ high."""

    low: Array  # (d,)
    high: Array  # (d,)

    def __post_init__(self) -> None:
        vectors(self, low=self.low, high=self.high)
        if self.low.shape != self.high.shape or not (self.low < self.high).all():
            raise ValueError("low must be below high of UniformBox, one number per column")

    @classmethod
    def around(cls, X: Array) -> UniformBox:
        low, high = X.min(axis=0), X.max(axis=0)
        width = high - low
        width = np.where(width > 0.0, width, 2.0 * column_scales(X))
        margin = TUNING.margin * width
        return cls(low - margin, np.maximum(high + margin, low + 0.5 * width))

    def nodes(self, q: int) -> tuple[Array, Array]:
        d = self.low.size
        if d > 2:
            return self.low + (self.high - self.low) * _spread(q, d), np.full(q, 1.0 / q)
        each = max(1, round(q ** (1.0 / d) / 8))
        grids = [legendre(np.linspace(a, b, each + 1), 8) for a, b in zip(self.low, self.high)]
        points, weights = tensor(grids)
        return points, weights / weights.sum()

    def covers(self, X: Array) -> Array:
        return np.all((X >= self.low) & (X <= self.high), axis=1)

    def box(self) -> tuple[Array, Array]:
        return self.low, self.high


@record("density.normal/1")
@dataclass(frozen=True, eq=False)
class NormalInputs:
    """Independent normal columns."""

    mean: Array  # (d,)
    sd: Array  # (d,)

    def __post_init__(self) -> None:
        vectors(self, mean=self.mean, sd=self.sd)
        if self.mean.shape != self.sd.shape or not (self.sd > 0.0).all():
            raise ValueError("mean and sd of NormalInputs: one number per column, sd above 0")

    @classmethod
    def around(cls, X: Array) -> NormalInputs:
        return cls(X.mean(axis=0), column_scales(X))

    def nodes(self, q: int) -> tuple[Array, Array]:
        d = self.mean.size
        if d > 2:
            return self.mean + self.sd * ndtri(_spread(q, d)), np.full(q, 1.0 / q)
        each = max(1, round(q ** (1.0 / d) / 8))  # panels: functions may have kinks
        z, weight = legendre(np.linspace(-TUNING.whole, TUNING.whole, each + 1), 8)
        weight = weight * np.exp(-0.5 * z * z)
        grids = [(mean + sd * z, weight) for mean, sd in zip(self.mean, self.sd)]
        points, weights = tensor(grids)
        return points, weights / weights.sum()

    def covers(self, X: Array) -> Array:
        return np.all(np.abs(X - self.mean) <= TUNING.covered * self.sd, axis=1)

    def box(self) -> tuple[Array, Array]:
        return self.mean - TUNING.covered * self.sd, self.mean + TUNING.covered * self.sd


@record("density.empirical/1")
@dataclass(frozen=True, eq=False)
class Empirical:
    """Empirical distribution of given inputs."""

    points: Array  # (q, d)

    def __post_init__(self) -> None:
        points = np.array(self.points, dtype=float)
        if points.ndim != 2 or not points.size or not np.isfinite(points).all():
            raise ValueError("points of Empirical must be finite, of shape (q, d)")
        object.__setattr__(self, "points", points)

    def nodes(self, q: int) -> tuple[Array, Array]:
        points = self.points
        if points.shape[0] > q:  # evenly spaced in their order
            points = points[np.linspace(0, points.shape[0] - 1, q).astype(int)]
        return points, np.full(points.shape[0], 1.0 / points.shape[0])

    def covers(self, X: Array) -> Array:
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        margin = TUNING.beyond_sample * (high - low)
        low, high = low - margin, high + margin
        return np.all((X >= low) & (X <= high), axis=1)

    def box(self) -> tuple[Array, Array]:
        found = UniformBox.around(self.points)
        return found.low, found.high


def vectors(record, **given) -> None:
    """Set fields of a frozen record to finite vectors."""
    for name, value in given.items():
        array = np.atleast_1d(np.array(value, dtype=float))
        if array.ndim != 1 or not np.isfinite(array).all():
            raise ValueError(
                f"{name} of {type(record).__name__} must be finite numbers, one per column"
            )
        object.__setattr__(record, name, array)


def typical(X: Array) -> Array:
    """Whether rows are free of glitches in every column; all, if half would be glitches  (n,)."""
    low, high = np.quantile(X, [0.25, 0.75], axis=0)
    reach = np.where(high > low, TUNING.fence * (high - low), np.inf)
    found = np.all((X >= low - reach) & (X <= high + reach), axis=1)
    return found if 2 * found.sum() > X.shape[0] else np.ones(X.shape[0], dtype=bool)


def legendre(edges: Array, order: int) -> tuple[Array, Array]:
    """Gauss–Legendre points and weights on each panel between edges, panel by panel."""
    t, weight = np.polynomial.legendre.leggauss(order)
    half = 0.5 * np.diff(edges)
    points = edges[:-1, None] + half[:, None] * (1.0 + t)
    return points.ravel(), (half[:, None] * weight).ravel()


def tensor(grids: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Tensor product of one-dimensional rules: points (q, d) and weights (q,)."""
    points = np.stack(np.meshgrid(*[g[0] for g in grids], indexing="ij"), axis=-1)
    weights = grids[0][1]
    for _, weight in grids[1:]:
        weights = np.multiply.outer(weights, weight)
    return points.reshape(-1, len(grids)), weights.ravel()


def _spread(q: int, d: int) -> Array:
    """Spread q points evenly over the unit cube, none on its border  (q, d).

    Multiples of 1/g, 1/g², … modulo one, where g^(d+1) = g + 1 (Roberts 2018).
    """
    g = 2.0
    for _ in range(60):
        g = (1.0 + g) ** (1.0 / (d + 1.0))
    points = (0.5 + np.arange(1, q + 1)[:, None] * g ** -np.arange(1.0, d + 1.0)) % 1.0
    return np.clip(points, 0.5 / q, 1.0 - 0.5 / q)


DENSITIES: dict[str, Callable[[Array], Density]] = {
    "uniform": UniformBox.around,
    "gaussian": NormalInputs.around,
    "empirical": Empirical,
}
