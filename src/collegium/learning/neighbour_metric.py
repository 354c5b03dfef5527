"""A metric in which the nearest rows have similar targets.

Under much noise a few hundred rows of a large set show little of what holds for the rows of one
day, one place or one batch: hardly two of them share it. Among thousands of rows the nearest
ones do. A metric is scored by the correlation of targets between nearest rows, which tends to
the share of the targets' variance that is a function of the columns that count in the metric.
(Nearest rows as a measure of dependence: Azadkia & Chatterjee 2021, Annals of Statistics 49.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from ..rows.metric import Metric
from ..rows.nearest import nearest_others

Array = np.ndarray

#: Neighbours that a row is compared with, and the most rows that are compared.
NEAREST, COMPARED = 4, 6000
#: Factors by which the weight of a column is multiplied or divided, and rounds of each.
FACTORS, ROUNDS = (8.0, 3.0), 3
#: A smaller rise of the correlation counts as chance.
LEAST = 2e-3


@dataclass(frozen=True, eq=False)
class NeighbourMetric:
    """Length scales of a metric, and the correlation of targets between nearest rows in it."""

    lengths: Array  # (d,)  in these units the tenth nearest row is at distance one
    agreement: float


def find_neighbour_metric(
    metric: Metric, X: Array, y: Array, stop: Callable[[], bool] = lambda: False
) -> NeighbourMetric:
    """Coordinate search from `metric`: rescale one column at a time while the score rises."""
    S, column = break_ties(metric.forward(X)), metric.column_of_coordinate()
    factors, best = _search(S, y, agreement(S, y), stop, column)
    return NeighbourMetric(_reach(S * factors[column]) / (metric.sizes() * factors), best)


def break_ties(S: Array) -> Array:
    """S with a small random shift of each row, the same in every call."""
    return S + 1e-9 * np.random.default_rng(0).normal(size=S.shape)


def _reach(S: Array) -> float:
    """Median distance from a row to its tenth nearest."""
    distances = cKDTree(S).query(S, [min(11, S.shape[0])])[0]
    return max(float(np.median(distances)), 1e-9)


def agreement(S: Array, y: Array) -> float:
    """Correlation of y between rows and those nearest to them in S, averaged over outputs.

    Of many rows the first COMPARED are compared: give them in random order.
    """
    z = y - y.mean(axis=0)
    z /= np.maximum(np.sqrt((z**2).mean(axis=0)), 1e-300)
    some = np.arange(min(S.shape[0], COMPARED))
    near = nearest_others(S, some, min(NEAREST, S.shape[0] - 1))
    return float(np.einsum("np,nkp->", z[some], z[near]) / max(1, near.size * y.shape[1]))


def _search(
    S: Array, y: Array, best: float, stop: Callable[[], bool], column: Array
) -> tuple[Array, float]:
    """Factors of columns of X, and the agreement with them; `best`: that without.

    `column`: of which column of X each of S is.
    """
    factors = np.ones(column.max() + 1)
    for factor in FACTORS:
        for _ in range(ROUNDS):
            start = best
            for j in range(factors.size):
                for step in (factor, 1.0 / factor):
                    if stop():
                        return factors, best
                    tried = factors.copy()
                    tried[j] *= step
                    found = agreement(S * tried[column], y)
                    if found > best + LEAST:
                        factors, best = tried, found
                        break
            if best == start:
                break
    return factors, best
