"""Gaussian noise."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from ..numerics.linalg import LOG_2PI
from .base import Scalar
from .integrals.sites import GAUSSIAN
from .targets.support import REALS


@dataclass(frozen=True)
class Gaussian(Scalar):
    """N(y; f, σ²). Without noise, σ² = 0, y is f itself: it has answers, but no density."""

    noise: float = 1.0  # σ²

    support = REALS
    name = "gaussian"
    free = ("noise",)
    may_be_zero = ("noise",)
    identity = True
    code = GAUSSIAN

    @property
    def parameter(self):
        return self.noise

    def log_density(self, y, f):
        return -0.5 * ((y[..., 0] - f) ** 2 / self.noise + np.log(self.noise) + LOG_2PI)

    def derivatives(self, y, f):
        first = (y[..., 0] - f) / self.noise
        return first, np.full_like(first, -1.0 / self.noise), np.zeros_like(first)

    def theta_derivatives(self, y, f):
        r = (y[..., 0] - f) / self.noise
        terms = 0.5 * (self.noise * r * r - 1.0), -r, np.full_like(r, 1.0 / self.noise)
        return tuple(term[None][: len(self._names())] for term in terms)

    def mean(self, f):
        return f

    def variance(self, f):
        return np.full_like(f, self.noise)

    def predict(self, m, v):
        return m, v + self.noise

    def function(self, m, v):
        return m, v

    def covariance(self, m, v, C):
        return C

    def quantile(self, level, m, v):
        return m + np.sqrt(v + self.noise) * ndtri(level)

    def draw(self, f, rng):
        return f + np.sqrt(self.noise) * rng.standard_normal(f.shape)

    def log_predictive(self, y, m, v):
        total = v + self.noise
        return -0.5 * ((y[..., 0] - m) ** 2 / total + np.log(total) + LOG_2PI)
