"""Counts."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from ..numerics.linalg import LOG_2PI
from . import sites as likelihoods
from .base import Scalar
from .sites import LARGEST_EXPONENT

_POISSON = likelihoods.Poisson()
#: Counts above this are large.
STIRLING = 16.0
#: Rates beyond are drawn from as if they were this.
LARGEST_COUNT = 1e15


@dataclass(frozen=True)
class Poisson(Scalar):
    """Counts y with the rate e·e^f. A second column of y is the exposure e > 0, else it is one.

    Moments are those of exposure one; add log e to m for others.
    """

    support = "counts"

    def check(self, y):
        super().check(y)
        if y.shape[1] > 2 or (y[:, 1:] <= 0).any():
            raise ValueError("y of Poisson has counts and, in a second column, exposures > 0")

    def log_density(self, y, f):
        """For a large count y, with δ = log rate − log y, −y(e^δ − 1 − δ) − log y! + y log y − y:
        nothing of the size of y cancels."""
        y, log_rate = y[..., 0], f + _log_exposure(y)
        many = y > STIRLING
        count = np.where(many, y, STIRLING)
        gap = np.minimum(log_rate - np.log(count), LARGEST_EXPONENT)
        far = -count * (np.expm1(gap) - gap) - log_stirling(count)
        return np.where(many, far, y * log_rate - _POISSON.rate_at(log_rate) - gammaln(y + 1.0))

    def derivatives(self, y, f):
        rate = _POISSON.rate_at(f + _log_exposure(y))
        return y[..., 0] - rate, -rate, -rate

    def mean(self, f):
        return _POISSON.rate_at(f)

    def variance(self, f):
        return _POISSON.rate_at(f)

    def predict(self, m, v):
        """Rates are log-normal: mean e^(m + v/2), variance mean + mean²(e^v − 1)."""
        return _POISSON.predict(m, v)

    def function(self, m, v):
        """Of the rate."""
        return _POISSON.rate(m, v)

    def covariance(self, m, v, C):
        return _POISSON.rate_covariance(m, v, C)

    def quantile(self, level, m, v):
        return _POISSON.quantile(level, m, v)

    def draw(self, f, rng):
        return rng.poisson(np.minimum(self.mean(f), LARGEST_COUNT)).astype(float)

    def log_predictive(self, y, m, v):
        return _POISSON.log_probability(y[..., 0], m + _log_exposure(y), v)


def log_stirling(y):
    """log y! − y log y + y, y ≥ 16."""
    x = 1.0 / y**2
    series = (1 / 12 - x * (1 / 360 - x * (1 / 1260 - x * (1 / 1680 - x / 1188)))) / y
    return 0.5 * (LOG_2PI + np.log(y)) + series


def _log_exposure(y):
    return np.log(y[..., 1]) if y.shape[-1] > 1 else 0.0
