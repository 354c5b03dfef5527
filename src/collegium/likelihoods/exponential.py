"""Waiting times."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from .integrals import lognormal
from .integrals.counts import count_distribution
from .integrals.sites import POISSON, sites
from .log_link import LogLink
from .targets.support import POSITIVE
from .targets.units import log_exposure
from .tuning import TUNING


@dataclass(frozen=True)
class Exponential(LogLink):
    """p(y | f) = e^(−f − y e^−f), y > 0: waiting times of mean e·e^f.

    A time beyond y is no event up to y: with the rate e^−f, P(Y > y) is the probability that a
    Poisson count of rate y e^−f is zero, and y p(y | f) that it is one.
    """

    support = POSITIVE
    name = "exponential"
    tree_loss = "gamma"
    called = "times"

    def log_density(self, y, f):
        return -(f + log_exposure(y)) - _relative(y, f)

    def derivatives(self, y, f):
        """With x = y e^−f: x − 1, −x, x."""
        x = _relative(y, f)
        return x - 1.0, -x, x

    def variance(self, f):
        return lognormal.rate(f) ** 2

    def predict(self, m, v):
        """Mean μ = e^(m + v/2), variance E[e^2f] + var e^f = μ²(2e^v − 1)."""
        mean, variance = lognormal.moments(m, v)
        return mean, mean**2 + 2.0 * variance

    def quantile(self, level, m, v):
        """log y = m + t, P(Y > y) = E[exp(−e^(t − z√v))] = 1 − level, solved for t by halving."""
        m, v = np.broadcast_arrays(*np.atleast_1d(m, v))
        s, tail = np.sqrt(np.maximum(v, 0.0)), 1.0 - level
        # f and Y given f each exceed their bound with half of the probability
        low = s * ndtri(0.5 * level) + np.log(-np.log1p(-0.5 * level))
        high = -s * ndtri(0.5 * tail) + np.log(-np.log(0.5 * tail))
        for _ in range(TUNING.halvings):
            middle = 0.5 * (low + high)
            beyond = count_distribution(np.zeros(m.shape), middle, v) > tail
            low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
        return lognormal.rate(m + high)

    def distribution(self, y, m, v):
        """P(Y ≤ y) = 1 − E[exp(−y e^−f)]."""
        log_y = np.log(np.maximum(y, np.finfo(float).tiny))
        none = count_distribution(np.zeros(m.shape), log_y - m, v)
        return np.where(y <= 0.0, 0.0, 1.0 - none)

    def draw(self, f, rng):
        return np.maximum(self.mean(f) * rng.standard_exponential(f.shape), np.finfo(float).tiny)

    def log_predictive(self, y, m, v):
        log_y = np.log(y[..., 0])
        return sites(POISSON, 0.0, 1.0, log_y - m - log_exposure(y), v)[2] - log_y


def _relative(y, f):
    """y e^−f/e."""
    return lognormal.rate(np.log(y[..., 0]) - f - log_exposure(y))
