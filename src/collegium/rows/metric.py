"""Scales of inputs: standard deviations of columns, and the metric of a kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..kernels import Kernel
from ..kernels.base import nearest_to_zero
from ..kernels.embedding import Embedding, Levels, merge_embeddings
from ..numerics.records import record
from .order import varying
from .tuning import TUNING

Array = np.ndarray


def column_scales(X: Array) -> Array:
    """Standard deviations of columns, at least 1e-150; for a constant column its magnitude."""
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

    Levels and places on a globe have further coordinates after these.
    """

    origin: Array  # (d,)
    weights: Array  # (d,)
    embeddings: tuple[Embedding, ...] = ()  # further coordinates, of levels and places

    @classmethod
    def of(cls, kernel: Kernel, X: Array) -> Metric:
        """Make the metric of a kernel; columns without a length scale get almost no weight."""
        scales = column_scales(X)
        with np.errstate(over="ignore", divide="ignore"):
            embeddings = merge_embeddings(kernel.embeddings(X.shape[1]))
            weights = np.sqrt(np.minimum(kernel.inverse_squares(X.shape[1]), 1e304))
        if not ((weights > 0).any() or embeddings):
            weights = 1.0 / scales
        weights = np.maximum(weights, 1e-152)  # `backward` divides by them
        if not embeddings:
            return cls(nearest_to_zero(X), weights / (weights * scales)[varying(X)].max())
        near = [_variances(one, X) for one in embeddings if not one.apart]
        own = np.where(varying(X), np.minimum(weights * scales, 1e70), 0.0)
        shares = np.concatenate([own**2, *near])
        embeddings = [_enlarged(one, X, shares) for one in embeddings]
        largest = max(shares.max(), *(_variances(one, X).max() for one in embeddings), 1e-300)
        scaled = tuple(one.of(X).times(1.0 / largest) for one in embeddings)
        return cls(nearest_to_zero(X), weights / np.sqrt(largest), scaled)

    @property
    def width(self) -> int:
        """Number of coordinates that count in a search."""
        known = {k for one in self.embeddings for k in one.columns}
        return self.weights.size - len(known) + sum(one.width for one in self.embeddings)

    def column_of_coordinate(self) -> Array:
        """Column of each coordinate, the first if it has several; appended ones are d and more."""
        own = [np.full(one.width, self._columns_of(one)[0]) for one in self.embeddings]
        return np.concatenate([np.arange(self.weights.size), *own])

    def sizes(self) -> Array:
        """Length in the metric of one unit of each column, or of a mismatch  (d and more,)."""
        more = sum(one.appended is not None for one in self.embeddings)
        found = np.concatenate([self.weights, np.ones(more)])
        for one in self.embeddings:
            found[self._columns_of(one)] = np.sqrt(one.inverse_square)
        return found

    def _columns_of(self, one: Embedding) -> list[int]:
        return list(one.columns) if one.appended is None else [self.weights.size + one.appended]

    def many_levels(self) -> tuple[list[int], list[float], Array]:
        """Columns with too many levels for exact distances in the metric, the squared distance of
        a mismatch in each, and whether each coordinate is exact."""
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
        """Map X to the metric, clipped so that squared distances are finite."""
        with np.errstate(over="ignore"):
            S = np.clip((X - self.origin) * self.weights, -1e100, 1e100)
        if not self.embeddings:
            return S
        return np.hstack([S, *(np.sqrt(e.inverse_square) * e.forward(X) for e in self.embeddings)])

    def backward(self, S: Array) -> Array:
        """Map back to X; a column of levels gets the nearest level."""
        at = self.weights.size
        X = S[..., :at] / self.weights + self.origin
        for one in self.embeddings:
            P = S[..., at : at + one.width] / np.sqrt(max(one.inverse_square, 1e-300))
            X[..., list(one.columns)] = one.backward(np.atleast_2d(P)).reshape(*P.shape[:-1], -1)
            at += one.width
        return X


def _enlarged(one: Embedding, X: Array, shares: Array) -> Embedding:
    """Enlarge the weight of a group, or of many levels of few rows, so that about `own_group` rows
    of it come before those of others: further rows that are near in all else would say the same
    again, and nothing about the effect of the group.

    The other coordinates, of variances `shares`, have squared distances of up to about `farthest`
    times their sum, which fall with the number of rows as in their effective dimension. The weight
    of a group of little effect grows by at most `most_enlarged`.
    """
    some = shares[shares > 1e-9 * shares.max(initial=1e-290)]
    if not isinstance(one, Levels) or not some.size:
        return one
    levels = np.unique(X[:, one.columns[0]]).size
    size = X.shape[0] / max(1, levels)
    if not one.apart and (levels <= TUNING.many_levels or size > TUNING.own_group):
        return one
    dimension = some.sum() ** 2 / (some**2).sum()
    fall = min(1.0, TUNING.own_group / max(size, 1.0)) ** (2.0 / dimension)
    reach = TUNING.farthest * some.sum() * fall
    least = one.inverse_square
    return replace(one, inverse_square=float(np.clip(reach, least, TUNING.most_enlarged * least)))


def _variances(one: Embedding, X: Array) -> Array:
    """Variances of the coordinates of an embedding, with its weight  (width,)."""
    some = X[:: 1 + X.shape[0] // TUNING.enough_rows]
    each = one.forward(some).var(axis=0) if some.size else np.ones(one.width)
    return min(one.inverse_square, 1e140) * each
