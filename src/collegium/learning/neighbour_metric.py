"""Which columns make rows alike? A metric whose nearest rows agree about the targets.

Under much noise a few hundred rows of a large set show little, and nothing at all of what holds
for rows of one day, one place or one batch: hardly two of them share it. The nearest rows among
thousands do, and whether a metric is one to go by they say at once, by their agreement: the
correlation of targets between rows and those nearest to them, which tends to the share of the
targets' variance that is a function of the columns that count in the metric. (Nearest rows as a
measure of dependence: Azadkia & Chatterjee 2021, Annals of Statistics 49.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from ..rows.metric import Metric
from ..rows.nearest import nearest_others

Array = np.ndarray

#: Nearest rows that are compared with a row, and the most rows that they are found for.
NEAREST, ASKED = 4, 6000
#: Factors by which the weight of a column is tried to change, in turn, and rounds of each.
FACTORS, ROUNDS = (8.0, 3.0), 3
#: A change has to bring so much more agreement: less is chance.
LEAST = 2e-3


@dataclass(frozen=True, eq=False)
class Closer:
    """A metric, and the agreement of nearest rows before and by it."""

    lengths: Array  # of each column: as far as the tenth nearest row is  (d,)
    before: float
    after: float


def closer(metric: Metric, X: Array, y: Array, stop: Callable[[], bool] = lambda: False) -> Closer:
    """The best that is found from there, one column after the other, as long as that helps."""
    S = _scattered(metric.forward(X))
    before = agreement(S, y)
    factors, after = _climb(S, y, before, stop)
    return Closer(_reach(S * factors) / (metric.weights * factors), before, after)


def _scattered(S: Array) -> Array:
    """Moved a little: ties fall as they may."""
    return S + 1e-9 * np.random.default_rng(0).normal(size=S.shape)


def _reach(S: Array) -> float:
    """How far the tenth nearest row is, in the middle."""
    distances = cKDTree(S).query(S, [min(11, S.shape[0])])[0]
    return max(float(np.median(distances)), 1e-9)


def agreement(S: Array, y: Array) -> float:
    """Correlation of y between rows and those nearest to them in S; outputs count alike.

    Of many rows the first ASKED are asked, so these come in random order.
    """
    z = y - y.mean(axis=0)
    z /= np.maximum(np.sqrt((z**2).mean(axis=0)), 1e-300)
    asked = np.arange(min(S.shape[0], ASKED))
    near = nearest_others(S, asked, min(NEAREST, S.shape[0] - 1))
    return float(np.einsum("np,nkp->", z[asked], z[near]) / max(1, near.size * y.shape[1]))


def _climb(S: Array, y: Array, best: float, stop: Callable[[], bool]) -> tuple[Array, float]:
    """Factors of the columns of S, and the agreement by them."""
    factors = np.ones(S.shape[1])
    for factor in FACTORS:
        for _ in range(ROUNDS):
            start = best
            for j in range(factors.size):
                for step in (factor, 1.0 / factor):
                    if stop():
                        return factors, best
                    tried = factors.copy()
                    tried[j] *= step
                    found = agreement(S * tried, y)
                    if found > best + LEAST:
                        factors, best = tried, found
                        break
            if best == start:
                break
    return factors, best
