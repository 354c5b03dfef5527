"""Latent functions by rows left out: a factor of their means, and one of their variances.

Laplace's approximation knows the mode; where a latent function is large its mean lies beyond the
mode and its variance is overstated, so that probabilities are too timid. Two numbers mend most
of that: f ~ N(am, a²bv). They are chosen by rows that are left out one at a time, which costs
nothing: without its own site, exp(bf − ½Wf²) with b = g + Wf̂, a row's latent value N(m, v) is

    v₋ = v/(1 − Wv)        m₋ = v₋(m/v − b)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from ..rows.rows import Prediction, SiteRows

Array = np.ndarray
#: Normal priors of log a and log b, in standard deviations, as heavy as this many rows.
SPREAD, ROWS = np.array([1.0, 2.0]), 3.0
#: Bounds of both logs.
LARGEST = np.array([3.0, 7.0])
#: A row's site has no more than all but this share of what is known about its latent value.
LEAST_SHARE = 1e-3


@dataclass(frozen=True)
class LatentScale:
    """f ~ N(am, a²bv)."""

    mean: float = 1.0  # a
    variance: float = 1.0  # b

    def of(self, found: Prediction) -> Prediction:
        return Prediction(self.mean * found.mean, self.mean**2 * self.variance * found.variance)


def left_out(found: Prediction, rows: SiteRows) -> Prediction:
    """What all other rows say about the latent values of these, found with all of them."""
    open_share = np.maximum(1.0 - rows.W * found.variance, LEAST_SHARE)
    v = found.variance / open_share
    shift = rows.g[:, 0] + rows.W * rows.f[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        m = v * (found.mean[:, 0] / found.variance - shift)
    sure = found.variance > 0.0  # else nothing is to be learnt about it
    return Prediction(np.where(sure, m, found.mean[:, 0])[:, None], np.where(sure, v, 0.0))


def best_scale(loss: Callable[[list[Prediction]], float], found: list[Prediction]) -> LatentScale:
    """Where the mean loss of rows left out is least, priors added; as it was, unless better."""
    n = found[0].mean.shape[0]

    def at(logs: Array) -> LatentScale:
        a, b = np.exp(np.clip(logs, -LARGEST, LARGEST))
        return LatentScale(float(a), float(b))

    def objective(logs: Array) -> float:
        scale = at(logs)
        penalty = 0.5 * float(((logs / SPREAD) ** 2).sum()) * ROWS / n
        return loss([scale.of(one) for one in found]) + penalty

    start = objective(np.zeros(2))
    result = minimize(
        objective, np.zeros(2), method="Nelder-Mead",
        options={"maxfev": 120, "xatol": 1e-2, "fatol": 1e-5,
                 "initial_simplex": [[0.0, 0.0], [0.5, 0.0], [0.0, -1.5]]},
    )  # fmt: skip
    return at(result.x) if result.fun < start else LatentScale()
