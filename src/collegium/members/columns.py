"""Columns as trees see them: levels numbered from 0, columns of very many levels by means of y."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numerics.records import record
from .tuning import TUNING

Array = np.ndarray


@record("members.known_levels/1")
@dataclass(frozen=True, eq=False)
class KnownLevels:
    """Codes in ascending order, by their number; others are NaN."""

    codes: Array  # (k,)

    def __call__(self, x: Array) -> Array:
        at, known = _found(self.codes, x)
        return np.where(known, at.astype(float), np.nan)


@record("members.level_means/1")
@dataclass(frozen=True, eq=False)
class LevelMeans:
    """(Σwy + k·m)/(Σw + k) of each code, m the mean of all rows; others have m."""

    codes: Array  # (k,)
    means: Array  # (k,)
    other: float

    @classmethod
    def of(cls, x: Array, y: Array, w: Array) -> LevelMeans:
        codes, where = np.unique(x, return_inverse=True)
        prior, mean = TUNING.growing.prior_rows * float(w.mean()), float(np.average(y, weights=w))
        total, count = np.bincount(where, w * y), np.bincount(where, w)
        return cls(codes, (total + prior * mean) / (count + prior), mean)

    def __call__(self, x: Array) -> Array:
        at, known = _found(self.codes, x)
        return np.where(known, self.means[at], self.other)


@record("members.columns/1")
@dataclass(frozen=True, eq=False)
class TreeColumns:
    """Columns in the order in which trees see them: those of levels first."""

    order: Array  # (d,)
    levels: tuple[KnownLevels, ...]  # of the first columns
    means: tuple[LevelMeans | None, ...]  # of the others; None: numbers as they are

    @classmethod
    def of(cls, X: Array, y: Array, w: Array, codes: tuple[int, ...]) -> TreeColumns:
        """Read the levels of the columns `codes` from rows, one output (n,)."""
        distinct = {k: np.unique(X[:, k]) for k in codes}
        few = [k for k in codes if distinct[k].size <= TUNING.growing.most_levels]
        others = [k for k in range(X.shape[1]) if k not in few]
        means = tuple(LevelMeans.of(X[:, k], y, w) if k in distinct else None for k in others)
        order = np.array([*few, *others], dtype=np.int64)
        return cls(order, tuple(KnownLevels(distinct[k]) for k in few), means)

    def __call__(self, X: Array) -> Array:
        seen: list[Any] = [*self.levels, *self.means]
        return np.column_stack([
            X[:, k] if one is None else one(X[:, k]) for k, one in zip(self.order, seen)
        ])  # fmt: skip

    def for_growing(self, X: Array, y: Array, w: Array, fold: Array) -> Array:
        """Encode the rows that trees are grown from: means of a level are those of other folds."""
        found = self(X)
        first = len(self.levels)
        for j, (k, own) in enumerate(zip(self.order[first:], self.means), first):
            if own is None:
                continue
            for number in np.unique(fold):
                here = fold == number
                rest = ~here
                mean = LevelMeans.of(X[rest, k], y[rest], w[rest]) if rest.any() else own
                found[here, j] = mean(X[here, k])
        return found


def _found(codes: Array, x: Array) -> tuple[Array, Array]:
    """Position of each value among sorted codes, and whether it is one of them."""
    at = np.minimum(np.searchsorted(codes, x), codes.size - 1)
    return at, codes[at] == x
