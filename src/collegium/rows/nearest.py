"""The rows nearest to a query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from .metric import Metric

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
class Nearby:
    """Finds rows in memory that are near in a metric."""

    metric: Metric
    tree: cKDTree

    @classmethod
    def of(cls, metric: Metric, X: Array) -> Nearby:
        return cls(metric, cKDTree(metric.forward(X)))

    def nearest(self, Xs: Array, k: int) -> Array:
        """Numbers of the k rows nearest to each query, nearest first  (n, k)."""
        return nearest(self.tree, self.metric.forward(Xs), k)
