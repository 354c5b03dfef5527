"""Noise with heavy tails."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from .base import Scalar


@dataclass(frozen=True)
class StudentT(Scalar):
    """y − f over σ is Student's t with ν degrees of freedom: robust regression.

    Not log-concave: with r = y − f and s = νσ², rows with r² > s have −∂² < 0, and W is zero
    there (see `curvature`): an outlier pulls, but does not make the answer surer.
    """

    dof: float = 4.0  # ν
    noise: float = 1.0  # σ²

    support = "reals"
    free = ("noise",)

    def _parts(self, y, f):
        """ν + 1, s, r, s + r²."""
        s, r = self.dof * self.noise, y[..., 0] - f
        return self.dof + 1.0, s, r, s + r * r

    def log_density(self, y, f):
        a, s, r, _ = self._parts(y, f)
        constant = gammaln(0.5 * a) - gammaln(0.5 * self.dof) - 0.5 * np.log(np.pi * s)
        return constant - 0.5 * a * np.log1p(r * r / s)

    def derivatives(self, y, f):
        a, s, r, D = self._parts(y, f)
        return a * r / D, -a * (s - r * r) / D**2, -2.0 * a * r * (3.0 * s - r * r) / D**3

    def bound(self, y, f):
        """(ν + 1)/(s + r²): a normal with this precision at y, up to a constant, lies below p and
        touches it at f."""
        a, _, _, D = self._parts(y, f)
        return a / D

    def theta_derivatives(self, y, f):
        a, s, r, D = self._parts(y, f)
        terms = (
            0.5 * (a * r * r / D - 1.0),
            -a * r * s / D**2,
            -a * s * (3.0 * r * r - s) / D**3,
        )
        return tuple(term[None][: len(self._names())] for term in terms)

    def mean(self, f):
        return f

    def variance(self, f):
        return np.full_like(f, self._spread())

    def predict(self, m, v):
        return m, v + self._spread()

    def _spread(self):
        """νσ²/(ν − 2), infinite for ν ≤ 2."""
        return self.noise * self.dof / (self.dof - 2.0) if self.dof > 2.0 else np.inf
