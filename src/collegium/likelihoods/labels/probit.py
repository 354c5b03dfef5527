"""Labels by the normal distribution function."""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr

from ..base import Scalar
from ..integrals.sites import PROBIT
from ..targets.support import SIGNS


@dataclass(frozen=True)
class Probit(Scalar):
    """p(y | f) = Φ(yf), y = ±1."""

    support = SIGNS
    name = "probit"
    code = PROBIT

    def log_density(self, y, f):
        return self.site(y[..., 0], f, 0.0)[2]

    def derivatives(self, y, f):
        """With z = yf, h = φ(z)/Φ(z) and r = z + h: yh, −hr, yh(r² + hr − 1)."""
        y = y[..., 0]
        first, second, _ = self.site(y, f, 0.0)
        h, z = y * first, y * f
        with np.errstate(divide="ignore", invalid="ignore"):
            r = np.where(z > -5.0, z + h, -second / h)
        return first, second, first * (r**2 - second - 1.0)

    def mean(self, f):
        return ndtr(f) - ndtr(-f)

    def variance(self, f):
        return 4.0 * ndtr(f) * ndtr(-f)

    def predict(self, m, v):
        z = m / np.sqrt(1.0 + v)
        return ndtr(z) - ndtr(-z), 4.0 * ndtr(z) * ndtr(-z)

    def log_predictive(self, y, m, v):
        return self.log_probability(y[..., 0] * m, v)

    def probability(self, m, v):
        """p(y = 1) = Φ(m/√(1 + v))."""
        return ndtr(m / np.sqrt(1.0 + v))

    def log_probability(self, m, v):
        """log p(y = 1)."""
        return log_ndtr(m / np.sqrt(1.0 + v))
