"""Calibrates latent functions on held-out rows: a factor of their means, one of their variances.

Laplace's approximation is centred at the mode. Where a latent function is large its posterior
mean lies beyond the mode and its variance is overstated, so that probabilities are too close to
one half. Two numbers correct most of that: f ~ N(am, a²bv). They are chosen on rows held out one
at a time, which needs no refitting: without its own site, exp(hf − ½Wf²) with h = g + Wf̂, a row's
latent value N(m, v) becomes

    v₋ = v/(1 − Wv)        m₋ = v₋(m/v − h)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from ..likelihoods.base import Scalar
from ..numerics.records import record
from ..rows.rows import Prediction, SiteRows
from .tuning import TUNING

Array = np.ndarray


@record("laplace.scale/1")
@dataclass(frozen=True)
class LatentScale:
    """f ~ N(am, a²bv)."""

    mean: float = 1.0  # a
    variance: float = 1.0  # b

    def of(self, found: Prediction) -> Prediction:
        return Prediction(self.mean * found.mean, self.mean**2 * self.variance * found.variance)


def without_own_site(found: Prediction, rows: SiteRows) -> Prediction:
    """Latent values of each row given all other rows; `found`: given all rows."""
    others = np.maximum(1.0 - rows.W * found.variance, TUNING.calibration.least_share)
    v = found.variance / others
    shift = rows.g[:, 0] + rows.W * rows.f[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        m = v * (found.mean[:, 0] / found.variance - shift)
    uncertain = found.variance > 0.0
    mean = np.where(uncertain, m, found.mean[:, 0])[:, None]
    return Prediction(mean, np.where(uncertain, v, 0.0))


def best_scale(loss: Callable[[list[Prediction]], float], found: list[Prediction]) -> LatentScale:
    """Minimise the mean loss of held-out rows + prior; (1, 1) if nothing is better."""
    n, tuning = found[0].mean.shape[0], TUNING.calibration
    largest = np.array(tuning.largest)

    def at(logs: Array) -> LatentScale:
        a, b = np.exp(np.clip(logs, -largest, largest))
        return LatentScale(float(a), float(b))

    def objective(logs: Array) -> float:
        scale = at(logs)
        penalty = 0.5 * float(((logs / np.array(tuning.spread)) ** 2).sum()) * tuning.rows / n
        return loss([scale.of(one) for one in found]) + penalty

    start = objective(np.zeros(2))
    result = minimize(
        objective, np.zeros(2), method="Nelder-Mead",
        options={"maxfev": tuning.evaluations, "xatol": 1e-2, "fatol": 1e-5,
                 "initial_simplex": [[0.0, 0.0], [0.5, 0.0], [0.0, -1.5]]},
    )  # fmt: skip
    return at(result.x) if result.fun < start else LatentScale()


def covering_noise(likelihood: Scalar, y: Array, w: Array, found: Prediction) -> float:
    """Find the least factor ≥ 1 of the noise with which intervals cover enough rows.

    A density rewards rows that agree to the last digit without limit, so that ties in the targets
    suggest too little noise; a share of rows is robust to ties. Rows count w times; one standard
    error below the wanted share is near enough. The noise does not exceed the variance of y.
    """
    mean, share, tuning = found.mean[:, 0], w / w.sum(), TUNING.calibration
    covered = tuning.covered

    def held(log_factor: float) -> float:
        own = likelihood.with_theta(likelihood.theta + log_factor)
        far = own.quantile(0.5 + 0.5 * covered, mean, found.variance) - mean
        return float(share @ (np.abs(y[:, 0] - mean) <= far))

    error = np.sqrt(covered * (1.0 - covered) * float(share @ share))
    if held(0.0) >= covered - error:
        return 1.0
    with np.errstate(over="ignore", divide="ignore"):
        log_variance = np.log(float(share @ (y[:, 0] - share @ y[:, 0]) ** 2))
    low, high = 0.0, float(np.clip(log_variance - likelihood.theta[0], 0.0, tuning.largest_log))
    for _ in range(tuning.halvings):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if held(middle) >= covered else (middle, high)
    return float(np.exp(high))
