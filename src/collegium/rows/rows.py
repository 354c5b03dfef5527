"""Rows in memory, and predictions at rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..numerics.records import record
from ..numerics.tiles import by_tiles
from .groups import apart

Array = np.ndarray


@record("rows.rows/1", rows="X")
@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with targets and weights."""

    X: Array  # (n, d)
    y: Array  # (n, p)
    w: Array  # how often each was seen  (n,)
    extra: Array | None = None  # known noise variance of each, added to σ²; None: none  (n,)
    group: Array | None = None  # code of the group that each came in; None: there are none  (n,)

    def __add__(self, other: Rows) -> Rows:
        some = self.extra is not None or other.extra is not None
        return Rows(
            np.concatenate([self.X, other.X]),
            np.concatenate([self.y, other.y]),
            np.concatenate([self.w, other.w]),
            np.concatenate([self.known(), other.known()]) if some else None,
            _joined(self, other),
        )

    def fields(self) -> tuple[Array, Array, Array]:
        return self.X, self.y, self.w

    def take(self, index: Array | slice) -> Rows:
        extra = None if self.extra is None else self.extra[index]
        group = None if self.group is None else self.group[index]
        return Rows(self.X[index], self.y[index], self.w[index], extra, group)

    def not_in(self, other: Rows) -> Array:
        """Whether each row differs from all the others in some bit  (n,)."""
        gone = {one.tobytes() for one in np.column_stack([*other.fields(), other.known()])}
        own = np.column_stack([*self.fields(), self.known()])
        return np.array([one.tobytes() not in gone for one in own], dtype=bool)

    def known(self) -> Array:
        """e, the known noise variance of each row, added to σ²  (n,)."""
        return np.zeros(self.w.size) if self.extra is None else self.extra

    def psi(self, noise: float) -> Array:
        """(σ² + e)/w, the noise variance of each row."""
        return (noise if self.extra is None else noise + self.extra) / self.w

    def as_weights(self, noise: float) -> tuple[Rows, float]:
        """Express v by weights: rows with the same Ψ and no v, and their σ²."""
        if self.extra is None:
            return self, noise
        total = noise + self.extra
        least = max(float(total.min()), 1e-12 * float(total.max()), 1e-300)
        return Rows(self.X, self.y, self.w * least / np.maximum(total, least)), least


def _joined(first: Rows, second: Rows) -> Array | None:
    """Concatenate the groups of rows; rows that came without are groups of their own."""
    one, two = first.group, second.group
    if one is not None and two is not None:
        return np.concatenate([one, two])
    if one is not None:
        return np.concatenate([one, apart(one, second.w.size)])
    return None if two is None else np.concatenate([apart(two, first.w.size), two])


@record("rows.sites/1", rows="X")
@dataclass(frozen=True, eq=False)
class SiteRows:
    """Rows with Gaussian sites: log p(y | f) ≈ log p(y | f̂) + g(f − f̂) − ½W(f − f̂)²."""

    X: Array  # (n, d)
    f: Array  # f̂, the mode of the latent values  (n, 1)
    g: Array  # (n, 1)
    W: Array  # may be zero  (n,)

    def take(self, index: Array | slice) -> SiteRows:
        return SiteRows(self.X[index], self.f[index], self.g[index], self.W[index])


AnyRows = Rows | SiteRows


@dataclass(frozen=True, eq=False)
class Prediction:
    """Means and variances of f at queries; p outputs share the variance."""

    mean: Array  # (n, p)
    variance: Array  # (n,)

    @classmethod
    def joined(cls, parts: Sequence[Prediction]) -> Prediction:
        """Concatenate the predictions of several batches."""
        return cls(
            np.concatenate([part.mean for part in parts]),
            np.concatenate([part.variance for part in parts]),
        )

    @classmethod
    def by_tiles(cls, answer: Callable[[Array], Prediction], X: Array) -> Prediction:
        """answer(X), each answer independent of the other queries: see `tiles`."""

        def fields(tile: Array) -> tuple[Array, Array]:
            found = answer(tile)
            return found.mean, found.variance

        return cls(*by_tiles(fields, X))

    def take(self, index: Array) -> Prediction:
        return Prediction(self.mean[index], self.variance[index])
