"""Find a metric in which the nearest rows have similar targets.

Under much noise a few hundred rows of a large set show little of an effect of the day, the place
or the batch: hardly two of them share it. Among thousands of rows the nearest ones do. A
metric is scored by the correlation of targets between nearest rows, which tends to the share of the
targets' variance that is a function of the columns that count in the metric.
(Nearest rows as a measure of dependence: Azadkia & Chatterjee 2021, Annals of Statistics 49.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from ..rows.metric import Metric
from ..rows.nearest import nearest_others
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class NeighbourMetric:
    """Length scales of a metric, and the correlation of targets between nearest rows in it."""

    lengths: Array  # (d,)  in these units the tenth nearest row is at distance one
    agreement: float


def find_neighbour_metric(
    metric: Metric, X: Array, y: Array, stop: Callable[[], bool] = lambda: False
) -> NeighbourMetric:
    """Search from `metric`, rescaling one column at a time while the score rises."""
    S, column = break_ties(metric.forward(X)), metric.column_of_coordinate()
    factors, best = _search(S, y, agreement(S, y), stop, column)
    return NeighbourMetric(_reach(S * factors[column]) / (metric.sizes() * factors), best)


def break_ties(S: Array) -> Array:
    """Shift each row by a small random amount, the same in every call."""
    return S + 1e-9 * np.random.default_rng(0).normal(size=S.shape)


def _reach(S: Array) -> float:
    """Median distance from a row to its tenth nearest."""
    distances = cKDTree(S).query(S, [min(11, S.shape[0])])[0]
    return max(float(np.median(distances)), 1e-9)


def agreement(S: Array, y: Array) -> float:
    """Correlation of y between rows and those nearest to them in S, averaged over outputs.

    Only the first rows are compared (`TUNING.metric.compared`): give them in random order.
    """
    z = y - y.mean(axis=0)
    z /= np.maximum(np.sqrt((z**2).mean(axis=0)), 1e-300)
    some = np.arange(min(S.shape[0], TUNING.metric.compared))
    near = nearest_others(S, some, min(TUNING.metric.nearest, S.shape[0] - 1))
    return float(np.einsum("np,nkp->", z[some], z[near]) / max(1, near.size * y.shape[1]))


def _search(
    S: Array, y: Array, best: float, stop: Callable[[], bool], column: Array
) -> tuple[Array, float]:
    """Find factors for the columns of X, and the agreement with them; `best`: without them.

    `column`: the column of X that each column of S belongs to.
    """
    t, factors = TUNING.metric, np.ones(column.max() + 1)
    for factor in t.factors:
        for _ in range(t.rounds):
            start = best
            for j in range(factors.size):
                for step in (factor, 1.0 / factor):
                    if stop():
                        return factors, best
                    tried = factors.copy()
                    tried[j] *= step
                    found = agreement(S * tried[column], y)
                    if found > best + t.least:
                        factors, best = tried, found
                        break
            if best == start:
                break
    return factors, best
