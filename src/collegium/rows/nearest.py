"""The rows nearest to a query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from .metric import Metric
from .tuning import TUNING

Array = np.ndarray


def nearest(tree: cKDTree, Xs: Array, k: int) -> Array:
    """The k rows nearest to each query, nearest first  (n, k)."""
    _, index = tree.query(Xs, k=k)
    return np.atleast_1d(index).reshape(Xs.shape[0], k)


def nearest_others(X: Array, rows: Array, k: int) -> Array:
    """The k other rows nearest to each of some rows (q,), nearest first  (q, k)."""
    found = nearest(cKDTree(X), X[rows], k + 1)
    own = found == rows[:, None]
    own[~own.any(axis=1), -1] = True  # not found among its duplicates: drop the farthest
    return found[~own].reshape(rows.size, k)


@dataclass(frozen=True, eq=False)
class AmongLevels:
    """Rank candidates by the kernel's own distance, if many levels have random directions.

    These directions bring some pairs of levels nearer than others, which the kernel does not. So a
    tree without them gives candidates too, and the nearest of all candidates are taken.
    """

    tree: cKDTree  # of the exact coordinates
    S: Array  # exact coordinates of all rows  (n, e)
    codes: Array  # (n, c)
    squares: Array  # squared distance of a mismatch  (c,)

    @classmethod
    def of(cls, metric: Metric, X: Array, S: Array) -> AmongLevels | None:
        """Index rows; None if all coordinates are exact."""
        columns, squares, exact = metric.many_levels()
        if not columns:
            return None
        own = np.ascontiguousarray(S[:, exact])
        return cls(cKDTree(own), own, X[:, columns], np.array(squares))

    def nearest(self, metric: Metric, Xs: Array, first: Array, k: int) -> Array:
        """The k nearest of the candidates `first` and of those of the tree  (n, k)."""
        columns, _, exact = metric.many_levels()
        Ss = metric.forward(Xs)[:, exact]
        found = np.sort(np.hstack([first, nearest(self.tree, Ss, first.shape[1])]), axis=1)
        again = np.zeros(found.shape, dtype=bool)
        again[:, 1:] = found[:, 1:] == found[:, :-1]
        D = ((self.S[found] - Ss[:, None]) ** 2).sum(axis=2)
        D += (self.codes[found] != Xs[:, None, columns]) @ self.squares
        D[again] = np.inf
        return np.take_along_axis(found, np.argsort(D, axis=1, kind="stable")[:, :k], axis=1)


@dataclass(frozen=True, eq=False)
class Nearby:
    """Find the rows in memory nearest in a metric."""

    metric: Metric
    tree: cKDTree
    among: AmongLevels | None = None

    @classmethod
    def of(cls, metric: Metric, X: Array) -> Nearby:
        S = metric.forward(X)
        return cls(metric, cKDTree(S), AmongLevels.of(metric, X, S))

    def __len__(self) -> int:
        return self.tree.n

    def nearest(self, Xs: Array, k: int) -> Array:
        """Numbers of the k rows nearest to each query, nearest first  (n, k)."""
        if self.among is None:
            return nearest(self.tree, self.metric.forward(Xs), k)
        more = min(TUNING.candidates * k, self.tree.n)
        parts = [Xs[i : i + TUNING.batch] for i in range(0, Xs.shape[0], TUNING.batch)]
        return np.concatenate(
            [
                self.among.nearest(
                    self.metric, part, nearest(self.tree, self.metric.forward(part), more), k
                )
                for part in parts
            ]
        )
