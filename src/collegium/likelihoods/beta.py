"""Proportions."""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, digamma, expit, log_expit, logit, logsumexp, polygamma

from ..numerics.linalg import LOG_2PI
from .base import Scalar
from .targets.support import UNIT
from .tuning import TUNING


@dataclass(frozen=True)
class Beta(Scalar):
    """y ~ Beta(φμ, φ(1 − μ)), 0 < y < 1, μ = 1/(1 + e^−f): variance μ(1 − μ)/(1 + φ).

    Not log-concave where y is far from μ (see `curvature`).
    """

    precision: float = 10.0  # φ

    support = UNIT
    name = "beta"
    free = ("precision",)

    def log_density(self, y, f):
        """With a = φμ, b = φ(1 − μ) and B(a, b) = B(1 + a, 1 + b)φ(φ + 1)/ab."""
        y, phi = y[..., 0], self.precision
        a, b = phi * expit(f), phi * expit(-f)
        constant = np.log(phi) - np.log1p(phi) + log_expit(f) + log_expit(-f)
        return (
            constant - betaln(1.0 + a, 1.0 + b) + (a - 1.0) * np.log(y) + (b - 1.0) * np.log1p(-y)
        )

    def _parts(self, y, f):
        """a, b, ν = φμ(1 − μ), τ = 1 − 2μ, T = logit y + ψ(1 + b) − ψ(1 + a), and
        S = ψ′(1 + a) + ψ′(1 + b)."""
        mu, rest = expit(f), expit(-f)
        a, b = self.precision * mu, self.precision * rest
        T = logit(y[..., 0]) + digamma(1.0 + b) - digamma(1.0 + a)
        S = polygamma(1, 1.0 + a) + polygamma(1, 1.0 + b)
        return a, b, a * rest, rest - mu, T, S

    def derivatives(self, y, f):
        """νT + τ;  ντT − ν²S − 2ν/φ;
        ν(1 − 6ν/φ)T − 3ν²τS − ν³(ψ″(1 + a) − ψ″(1 + b)) − 2ντ/φ."""
        a, b, nu, tau, T, S = self._parts(y, f)
        share = nu / self.precision
        skew = polygamma(2, 1.0 + a) - polygamma(2, 1.0 + b)
        third = nu * (1.0 - 6.0 * share) * T - 3.0 * nu**2 * tau * S - nu**3 * skew
        return nu * T + tau, nu * tau * T - nu**2 * S - 2.0 * share, third - 2.0 * share * tau

    def bound(self, y, f):
        """(φ + 2)/4 + φ |logit y|/6√3 ≥ −∂² log p at any f: as ν²S ≤ ν ≤ φ/4, |ντ| ≤ φ/6√3, and
        τ(ψ(1 + b) − ψ(1 + a)) ≥ 0."""
        slope = np.abs(logit(y[..., 0])) / (6.0 * np.sqrt(3.0))
        return np.broadcast_to(0.25 * (self.precision + 2.0) + self.precision * slope, f.shape)

    def theta_derivatives(self, y, f):
        phi = self.precision
        a, b, nu, tau, T, S = self._parts(y, f)
        logs = a * np.log(y[..., 0]) + b * np.log1p(-y[..., 0])
        T_bar = b * polygamma(1, 1.0 + b) - a * polygamma(1, 1.0 + a)  # ∂T/∂ log φ
        S_bar = a * polygamma(2, 1.0 + a) + b * polygamma(2, 1.0 + b)
        terms = (
            phi * digamma(phi) + 2.0 - a * digamma(1.0 + a) - b * digamma(1.0 + b) + logs,
            nu * (T + T_bar),
            nu * tau * (T + T_bar) - nu**2 * (2.0 * S + S_bar),
        )
        return tuple(term[None][: len(self._names())] for term in terms)

    def mean(self, f):
        return expit(f)

    def variance(self, f):
        return expit(f) * expit(-f) / (1.0 + self.precision)

    def log_predictive(self, y, m, v):
        """log E[p(y | f)] by quadrature; where p(y | f) is narrow, by nodes about its peak."""
        y, m, v = np.broadcast_arrays(y[..., 0], m, v)
        narrow = self.precision * y * (1.0 - y) > 1.0 / TUNING.narrow_peak
        out = np.empty(m.shape)
        out[~narrow] = super().log_predictive(y[~narrow][:, None], m[~narrow], v[~narrow])
        out[narrow] = self._about_peak(y[narrow], m[narrow], v[narrow])
        return out

    def _about_peak(self, y, m, v):
        """p(y | f) is about N(f; logit y, s²), s² = 1/φy(1 − y): nodes of its product with N(m, v).

        With z of that product, (f − m)/√v = √v(logit y − m)/(v + s²) + zs/√(v + s²).
        """
        s2 = 1.0 / (self.precision * y * (1.0 - y))
        z, step = np.linspace(-TUNING.peak_ends, TUNING.peak_ends, TUNING.peak_nodes, retstep=True)
        total, away = v + s2, logit(y) - m
        f = (m + v * away / total)[:, None] + np.sqrt(v * s2 / total)[:, None] * z
        r = (np.sqrt(v) * away / total)[:, None] + np.sqrt(s2 / total)[:, None] * z
        terms = self.log_density(np.repeat(y[:, None, None], z.size, axis=1), f) - 0.5 * r**2
        return logsumexp(terms, axis=1) + np.log(step) + 0.5 * (np.log(s2 / total) - LOG_2PI)
