"""Counts."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from .. import likelihoods
from .base import Scalar

_POISSON = likelihoods.Poisson()


@dataclass(frozen=True)
class Poisson(Scalar):
    """Counts y with the rate e·e^f. A second column of y is the exposure e > 0, else it is one.

    Predictions are those of exposure one; add log e to m for others.
    """

    support = "counts"

    def check(self, y):
        super().check(y)
        if y.shape[1] > 2 or (y[:, 1:] <= 0).any():
            raise ValueError("y of Poisson has counts and, in a second column, exposures > 0")

    def log_density(self, y, f):
        log_rate = f + _log_exposure(y)
        return y[..., 0] * log_rate - _POISSON.rate_at(log_rate) - gammaln(y[..., 0] + 1.0)

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

    def log_probability(self, y, m, v):
        """log p(y) of counts, rates integrated out."""
        return _POISSON.log_probability(y, m, v)


def _log_exposure(y):
    return np.log(y[..., 1]) if y.shape[-1] > 1 else 0.0
