"""Positive numbers whose relative spread is constant."""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammainc, gammainccinv, gammaincinv, gammaln, ndtri

from .integrals import lognormal
from .integrals.counts import beyond_line, count_distribution
from .integrals.quadrature import trapezoid
from .integrals.sites import POISSON, sites
from .integrals.tuning import TUNING as INTEGRALS
from .log_link import LogLink
from .poisson import log_stirling
from .targets.support import POSITIVE
from .targets.units import log_exposure
from .tuning import TUNING


@dataclass(frozen=True)
class Gamma(LogLink):
    """p(y | f) ∝ y^(k−1) e^(−k y e^−f), y > 0: mean e·e^f, variance mean²/k. Shape one is
    `Exponential`."""

    shape: float = 2.0  # k

    support = POSITIVE
    name = "gamma"
    tree_loss = "gamma"
    free = ("shape",)

    def log_density(self, y, f):
        """With d = log y − f: −k(e^d − 1 − d) + k log k − k − log Γ(k) − log y."""
        return self.shape * -beyond_line(_log_ratio(y, f)) + self._constant() - np.log(y[..., 0])

    def derivatives(self, y, f):
        """With x = y e^−f: k(x − 1), −kx, kx."""
        x = np.exp(_log_ratio(y, f))
        return self.shape * (x - 1.0), -self.shape * x, self.shape * x

    def theta_derivatives(self, y, f):
        k, d = self.shape, _log_ratio(y, f)
        terms = k * (np.log(k) - digamma(k) - beyond_line(d)), k * np.expm1(d), -k * np.exp(d)
        return tuple(term[None][: len(self._names())] for term in terms)

    def variance(self, f):
        return lognormal.rate(f) ** 2 / self.shape

    def predict(self, m, v):
        """Mean μ = e^(m + v/2), variance E[e^2f]/k + var e^f."""
        mean, variance = lognormal.moments(m, v)
        return mean, (mean**2 + variance) / self.shape + variance

    def quantile(self, level, m, v):
        """log y = m + t, P(Y ≤ y) = level, solved for t by halving."""
        m, v = np.broadcast_arrays(*np.atleast_1d(m, v))
        k, s, tail = self.shape, np.sqrt(np.maximum(v, 0.0)), 1.0 - level
        with np.errstate(divide="ignore"):  # f and Y given f exceed bounds with half of the tail
            low = s * ndtri(0.5 * level) + np.log(gammaincinv(k, 0.5 * level) / k)
        low = np.maximum(low, -2.0 * INTEGRALS.largest_exponent)
        high = -s * ndtri(0.5 * tail) + np.log(gammainccinv(k, 0.5 * tail) / k)
        for _ in range(TUNING.halvings):
            middle = 0.5 * (low + high)
            reached = self._reached(middle, v) >= level
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return np.maximum(lognormal.rate(m + high), np.finfo(float).tiny)

    def distribution(self, y, m, v):
        log_y = np.log(np.maximum(y, np.finfo(float).tiny))
        return np.where(y <= 0.0, 0.0, self._reached(log_y - m, v))

    def _reached(self, t, v):
        """P(log Y − m ≤ t) = E[P(G ≤ k e^(t − z√v))], G ~ Gamma(k)."""
        k = self.shape
        if k >= 1.0:  # a Poisson count of the rate k e^(t − z√v) is at least k
            return 1.0 - count_distribution(np.full(np.shape(t), k - 1.0), np.log(k) + t, v)
        return trapezoid(lambda f: gammainc(k, k * lognormal.rate(f)), t, v)

    def draw(self, f, rng):
        drawn = self.mean(f) * (rng.standard_gamma(self.shape, f.shape) / self.shape)
        return np.maximum(drawn, np.finfo(float).tiny)

    def log_predictive(self, y, m, v):
        """y p(y | f)/k is the probability of k as a Poisson count of the rate k y e^−f."""
        k, log_y = self.shape, np.log(y[..., 0])
        return sites(POISSON, 0.0, k, np.log(k) + log_y - m - log_exposure(y), v)[2] + (
            np.log(k) - log_y
        )

    def _constant(self):
        """k log k − k − log Γ(k)."""
        k = self.shape
        if k > TUNING.stirling:
            return np.log(k) - log_stirling(k)
        return k * (np.log(k) - 1.0) - gammaln(k)


def _log_ratio(y, f):
    """log y − f − log e, within the exponents that are used."""
    d = np.log(y[..., 0]) - f - log_exposure(y)
    return np.minimum(d, INTEGRALS.largest_exponent)
