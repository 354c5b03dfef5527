"""Counts."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from ..numerics.linalg import LOG_2PI
from . import lognormal
from .base import Scalar
from .count_quantiles import LARGEST_EXPONENT, count_distribution, count_quantile
from .sites import POISSON
from .units import log_exposure, log_link_units

#: Counts above this are large.
STIRLING = 16.0
#: Rates beyond are drawn from as if they were this.
LARGEST_COUNT = 1e15
#: Stands for no counts at all in the log of their mean.
HALF_A_COUNT = 0.5


@dataclass(frozen=True)
class Poisson(Scalar):
    """Counts y with the rate e·e^f. A second column of y is the exposure e > 0, else it is one.

    Moments are those of exposure one; add log e to m for others.
    """

    support = "counts"
    name = "poisson"
    takes_exposure = True
    code = POISSON

    def check(self, y):
        super().check(y)
        if y.shape[1] > 2 or (y[:, 1:] <= 0).any():
            raise ValueError("y of Poisson has counts and, in a second column, exposures > 0")

    def accept(self, y):
        """Numbers between counts too, for which the density is defined as well."""
        if not ((y >= 0) & (y <= LARGEST_COUNT)).all():
            raise ValueError(
                f"y must be counts between 0 and {LARGEST_COUNT:.0e} with likelihood='poisson'"
            )

    def log_density(self, y, f):
        """For a large count y, with δ = log rate − log y, −y(e^δ − 1 − δ) − log y! + y log y − y:
        nothing of the size of y cancels."""
        y, log_rate = y[..., 0], f + log_exposure(y)
        many = y > STIRLING
        count = np.where(many, y, STIRLING)
        gap = np.minimum(log_rate - np.log(count), LARGEST_EXPONENT)
        far = -count * (np.expm1(gap) - gap) - log_stirling(count)
        return np.where(many, far, y * log_rate - lognormal.rate(log_rate) - gammaln(y + 1.0))

    def derivatives(self, y, f):
        rate = lognormal.rate(f + log_exposure(y))
        return y[..., 0] - rate, -rate, -rate

    def mean(self, f):
        return lognormal.rate(f)

    def variance(self, f):
        return lognormal.rate(f)

    def predict(self, m, v):
        """Rates are log-normal: mean e^(m + v/2), variance mean + mean²(e^v − 1)."""
        mean, variance = lognormal.moments(m, v)
        return mean, mean + variance

    def function(self, m, v):
        """Of the rate."""
        return lognormal.moments(m, v)

    def covariance(self, m, v, C):
        return lognormal.covariance(m, v, C)

    def quantile(self, level, m, v):
        return count_quantile(level, m, v)

    def distribution(self, y, m, v):
        return np.where(y < 0.0, 0.0, count_distribution(np.maximum(np.floor(y), 0.0), m, v))

    def draw(self, f, rng):
        return rng.poisson(np.minimum(self.mean(f), LARGEST_COUNT)).astype(float)

    def log_predictive(self, y, m, v):
        return self.site(y[..., 0], m + log_exposure(y), v)[2]

    def units(self, y, w):
        """Rates relative to their mean."""
        return log_link_units(y, w, HALF_A_COUNT)


def log_stirling(y):
    """log y! − y log y + y, y ≥ 16."""
    x = 1.0 / y**2
    series = (1 / 12 - x * (1 / 360 - x * (1 / 1260 - x * (1 / 1680 - x / 1188)))) / y
    return 0.5 * (LOG_2PI + np.log(y)) + series
