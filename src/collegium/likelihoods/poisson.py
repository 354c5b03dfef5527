"""Counts."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from ..numerics.linalg import LOG_2PI
from .integrals import lognormal
from .integrals.counts import count_distribution, count_quantile
from .integrals.sites import POISSON
from .integrals.tuning import TUNING as INTEGRALS
from .log_link import LogLink
from .targets.support import COUNTS
from .targets.units import log_exposure
from .tuning import TUNING


@dataclass(frozen=True)
class Poisson(LogLink):
    """Counts y with the rate e·e^f."""

    support = COUNTS
    name = "poisson"
    tree_loss = "poisson"
    called = "counts"
    least_total = TUNING.half_a_count
    code = POISSON

    def accept(self, y):
        """Accept numbers between counts too, with a warning: the density is defined for them."""
        if not ((y >= 0) & (y <= TUNING.largest_count)).all():
            raise ValueError(
                f"y must be counts between 0 and {TUNING.largest_count:.0e} with "
                "likelihood='poisson'"
            )
        if (y[:, 0] != np.floor(y[:, 0])).any():
            warnings.warn(
                "y has fractions, and likelihood='poisson' is of counts: means are those of "
                "rates, but error bars and quantiles are of whole numbers. Of rates, give the "
                "counts and their exposure=…; amounts have likelihood='gamma'",
                stacklevel=2,
            )

    def log_density(self, y, f):
        """For a large count y, with δ = log rate − log y, −y(e^δ − 1 − δ) − log y! + y log y − y:
        nothing of the size of y cancels."""
        y, log_rate = y[..., 0], f + log_exposure(y)
        many = y > TUNING.stirling
        count = np.where(many, y, TUNING.stirling)
        gap = np.minimum(log_rate - np.log(count), INTEGRALS.largest_exponent)
        far = -count * (np.expm1(gap) - gap) - log_stirling(count)
        return np.where(many, far, y * log_rate - lognormal.rate(log_rate) - gammaln(y + 1.0))

    def derivatives(self, y, f):
        rate = lognormal.rate(f + log_exposure(y))
        return y[..., 0] - rate, -rate, -rate

    def variance(self, f):
        return lognormal.rate(f)

    def predict(self, m, v):
        """Rates are log-normal: mean e^(m + v/2), variance mean + mean²(e^v − 1)."""
        mean, variance = lognormal.moments(m, v)
        return mean, mean + variance

    def quantile(self, level, m, v):
        return count_quantile(level, m, v)

    def distribution(self, y, m, v):
        return np.where(y < 0.0, 0.0, count_distribution(np.maximum(np.floor(y), 0.0), m, v))

    def draw(self, f, rng):
        return rng.poisson(np.minimum(self.mean(f), TUNING.largest_count)).astype(float)

    def log_predictive(self, y, m, v):
        return self.site(y[..., 0], m + log_exposure(y), v)[2]


def log_stirling(y):
    """log y! − y log y + y, y ≥ 16."""
    x = 1.0 / y**2
    series = (1 / 12 - x * (1 / 360 - x * (1 / 1260 - x * (1 / 1680 - x / 1188)))) / y
    return 0.5 * (LOG_2PI + np.log(y)) + series
