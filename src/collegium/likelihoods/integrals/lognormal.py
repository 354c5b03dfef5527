"""Rates e^f, f Gaussian: moments of log-normal variables that stay finite."""

from __future__ import annotations

import numpy as np

from .tuning import TUNING

Array = np.ndarray


def rate(f: Array) -> Array:
    """e^f."""
    return np.exp(np.minimum(f, TUNING.largest_exponent))


def moments(m: Array, v: Array) -> tuple[Array, Array]:
    """Mean e^(m + v/2) and variance mean²(e^v − 1)."""
    log_mean = np.minimum(m + 0.5 * v, TUNING.largest_exponent)
    variance = np.exp(np.minimum(2.0 * log_mean + _log_expm1(v), 2.0 * TUNING.largest_exponent))
    return np.exp(log_mean), variance


def rate_covariance(m: Array, v: Array, C: Array) -> Array:
    """E[λᵢ]E[λⱼ](e^Cᵢⱼ − 1), cov f = C with diagonal v."""
    mean = moments(m, v)[0]
    return mean[:, None] * np.expm1(np.minimum(C, 0.1 * TUNING.largest_exponent)) * mean


def _log_expm1(v: Array) -> Array:
    """log(e^v − 1), v ≥ 0."""
    with np.errstate(divide="ignore"):
        return np.where(v > 1.0, v + np.log1p(-np.exp(-v)), np.log(np.expm1(np.minimum(v, 1.0))))
