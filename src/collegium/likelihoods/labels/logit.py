"""Labels by the logistic function."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit

from ..base import Scalar
from ..integrals.quadrature import trapezoid
from ..targets.support import SIGNS


@dataclass(frozen=True)
class Logit(Scalar):
    """p(y | f) = 1/(1 + e^−yf), y = ±1."""

    support = SIGNS
    name = "logit"

    def log_density(self, y, f):
        return log_expit(y[..., 0] * f)

    def derivatives(self, y, f):
        s, t = expit(f), expit(-f)
        return y[..., 0] * expit(-y[..., 0] * f), -s * t, s * t * (s - t)

    def mean(self, f):
        return np.tanh(0.5 * f)

    def variance(self, f):
        return 4.0 * expit(f) * expit(-f)

    def predict(self, m, v):
        p, q = self.probability(m, v), self.probability(-m, v)
        return p - q, 4.0 * p * q

    def log_predictive(self, y, m, v):
        return self.log_probability(y[..., 0] * m, v)

    def probability(self, m, v):
        """p(y = 1)."""
        return np.exp(self.log_probability(m, v))

    def log_probability(self, m, v):
        """log p(y = 1), to relative precision in p however small.

        For m ≤ 0 and any θ, E[σ(f)] = e^(θm + θ²v/2) E[e^−θf σ(f)], the last f ~ N(m + θv, v);
        θ = min(−m/v, 1) puts that normal where the integrand is.
        """
        m, v = np.broadcast_arrays(np.asarray(m, dtype=float), np.asarray(v, dtype=float))
        below = -np.abs(m)
        tilt = np.minimum(-below / np.maximum(v, 1e-300), 1.0)
        rest = trapezoid(
            lambda f, t: np.exp(log_expit(f) - t * f), below + tilt * v, v, tilt
        )  # between e^−|f| and 1
        log_p = tilt * below + 0.5 * tilt**2 * v + np.log(rest)
        with np.errstate(divide="ignore"):
            return np.where(m > 0.0, np.log1p(-np.exp(log_p)), log_p)
