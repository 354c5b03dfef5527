"""Scales of inputs: standard deviations of columns, and the metric of a kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..kernels import Kernel
from ..kernels.base import nearest_to_zero
from ..kernels.embedding import Embedding, Levels, merge_embeddings
from ..numerics.records import record

Array = np.ndarray
#: Rows of the same group that are to be found before others, where a kernel has groups; a group of
#: little effect counts so many times as much at most.
OWN_GROUP, FARTHEST, MOST_TIMES = 50, 24.0, 100.0
#: More levels than so many, of fewer rows than that on average, are treated alike.
MANY_LEVELS = 20
#: Rows that show how far coordinates of another kind spread.
ENOUGH_ROWS = 10_000


def column_scales(X: Array) -> Array:
    """Standard deviations of columns, at least 1e-150; of a constant column its magnitude."""
    size = np.abs(X).max(axis=0, initial=0.0)
    size[size == 0.0] = 1.0
    centred = X / size
    centred = centred - centred.mean(axis=0) if X.shape[0] else centred
    sd = np.sqrt((centred**2).mean(axis=0)) if X.shape[0] else np.ones(X.shape[1])
    scale = sd * size
    return np.maximum(np.where(sd <= 1e-14, size, scale), 1e-150)


@record("rows.metric/1")
@dataclass(frozen=True, eq=False)
class Metric:
    """s = (x − origin)·weights: distances in s are those of a kernel, up to one factor.

    Levels and places on a globe have coordinates of their own behind these.
    """

    origin: Array  # (d,)
    weights: Array  # (d,)
    embeddings: tuple[Embedding, ...] = ()  # further coordinates, of columns of another kind

    @classmethod
    def of(cls, kernel: Kernel, X: Array) -> Metric:
        """The metric of a kernel; columns without a length scale get almost no weight."""
        scales = column_scales(X)
        with np.errstate(over="ignore", divide="ignore"):
            embeddings = merge_embeddings(kernel.embeddings(X.shape[1]))
            weights = np.sqrt(np.minimum(kernel.inverse_squares(X.shape[1]), 1e304))
        if not ((weights > 0).any() or embeddings):
            weights = 1.0 / scales
        weights = np.maximum(weights, 1e-152)  # `backward` divides by them
        if not embeddings:
            return cls(nearest_to_zero(X), weights / (weights * scales).max())
        near = [_variances(one, X) for one in embeddings if not one.apart]
        shares = np.concatenate([np.minimum(weights * scales, 1e70) ** 2, *near])
        embeddings = [_enlarged(one, X, shares) for one in embeddings]
        largest = max(shares.max(), *(_variances(one, X).max() for one in embeddings), 1e-300)
        own = tuple(one.of(X).times(1.0 / largest) for one in embeddings)
        return cls(nearest_to_zero(X), weights / np.sqrt(largest), own)

    @property
    def width(self) -> int:
        """Coordinates that count in a search."""
        known = {k for one in self.embeddings for k in one.columns}
        return self.weights.size - len(known) + sum(one.width for one in self.embeddings)

    def column_of_coordinate(self) -> Array:
        """The column that each coordinate is of, the first where it is of several; a column
        behind those of X is d and more."""
        own = [np.full(one.width, self._columns_of(one)[0]) for one in self.embeddings]
        return np.concatenate([np.arange(self.weights.size), *own])

    def sizes(self) -> Array:
        """What one unit of each column, or a mismatch in it, is in the metric  (d and more,)."""
        more = sum(one.appended is not None for one in self.embeddings)
        found = np.concatenate([self.weights, np.ones(more)])
        for one in self.embeddings:
            found[self._columns_of(one)] = np.sqrt(one.inverse_square)
        return found

    def _columns_of(self, one: Embedding) -> list[int]:
        return list(one.columns) if one.appended is None else [self.weights.size + one.appended]

    def many_levels(self) -> tuple[list[int], list[float], Array]:
        """Columns of so many levels that their distances are not exact in the metric, what a
        mismatch adds in each, and which coordinates are exact."""
        exact, columns, squares = [np.ones(self.weights.size, dtype=bool)], [], []
        for one in self.embeddings:
            exact.append(np.full(one.width, one.exact))
            if not one.exact:
                columns.append(one.columns[0])
                squares.append(one.inverse_square)
        return columns, squares, np.concatenate(exact)

    def level_columns(self) -> list[int]:
        """Columns of X that hold codes of levels or groups."""
        own = [one.columns for one in self.embeddings if isinstance(one, Levels)]
        return sorted({k for columns in own for k in columns})

    def forward(self, X: Array) -> Array:
        """X in the metric, clipped so that squared distances are finite."""
        with np.errstate(over="ignore"):
            S = np.clip((X - self.origin) * self.weights, -1e100, 1e100)
        if not self.embeddings:
            return S
        return np.hstack([S, *(np.sqrt(e.inverse_square) * e.forward(X) for e in self.embeddings)])

    def backward(self, S: Array) -> Array:
        """X from its values in the metric; a column of levels has the nearest level."""
        at = self.weights.size
        X = S[..., :at] / self.weights + self.origin
        for one in self.embeddings:
            P = S[..., at : at + one.width] / np.sqrt(max(one.inverse_square, 1e-300))
            X[..., list(one.columns)] = one.backward(np.atleast_2d(P)).reshape(*P.shape[:-1], -1)
            at += one.width
        return X


def _enlarged(one: Embedding, X: Array, shares: Array) -> Embedding:
    """A group, or one of many levels of few rows, counts so much that about OWN_GROUP rows of it
    come before those of others: rows that are near in all else tell the same, and nothing of its
    own effect.

    The other coordinates, of variances `shares`, have squared distances of up to some FARTHEST
    times their sum, which fall with the number of rows as in their effective dimension. A group of
    little effect counts MOST_TIMES what it should among rows that are near, at most.
    """
    some = shares[shares > 1e-9 * shares.max(initial=1e-290)]
    if not isinstance(one, Levels) or not some.size:
        return one
    levels = np.unique(X[:, one.columns[0]]).size
    size = X.shape[0] / max(1, levels)
    if not one.apart and (levels <= MANY_LEVELS or size > OWN_GROUP):
        return one
    dimension = some.sum() ** 2 / (some**2).sum()
    reach = FARTHEST * some.sum() * min(1.0, OWN_GROUP / max(size, 1.0)) ** (2.0 / dimension)
    least = one.inverse_square
    return replace(one, inverse_square=float(np.clip(reach, least, MOST_TIMES * least)))


def _variances(one: Embedding, X: Array) -> Array:
    """Of the coordinates of an embedding, with its weight  (width,)."""
    some = X[:: 1 + X.shape[0] // ENOUGH_ROWS]
    each = one.forward(some).var(axis=0) if some.size else np.ones(one.width)
    return min(one.inverse_square, 1e140) * each
