"""Likelihoods p(y | f) of one row, as a Gaussian belief about f meets them.

With f ~ N(m, v) before the row is heard, log Z = log E[p(y | f)] and its derivatives

    q = ∂ log Z/∂m        r = ∂² log Z/∂m²  (−1/v ≤ r ≤ 0 where p is log-concave in f)

are all that moment matching needs: the mean becomes m + qv, the variance v + rv². A likelihood
is a record with a `code` for the compiled loops, which call `site` on numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numba import njit
from scipy.special import log_ndtr, ndtr

from ..numerics.linalg import LOG_2PI
from .count_quantiles import LARGEST_EXPONENT, count_quantile

Array = np.ndarray
exact_leaf: Any = njit(nogil=True, cache=True)

GAUSSIAN, PROBIT, POISSON = 0, 1, 2
#: Points of the trapezoidal rule, at least, and its longest step on the scale of log rates: the
#: edge that e^−rate cuts there is resolved to 1e-10.
POINTS, LONGEST_STEP = 128, 0.4
_HALF_LOG_2PI = 0.5 * LOG_2PI


class Likelihood(Protocol):
    """What the online GP asks of a likelihood."""

    code: ClassVar[int]

    @property
    def parameter(self) -> float:
        """The number that `site` knows the likelihood by."""

    def site(self, y: Array, m: Array, v: Array) -> tuple[Array, Array, Array]:
        """q, r, log Z of each row."""

    def predict(self, m: Array, v: Array) -> tuple[Array, Array]:
        """Mean and variance of a new y, f ~ N(m, v)."""


@dataclass(frozen=True)
class Gaussian:
    """N(y; f, σ²): q = (y − m)/(σ² + v), r = −1/(σ² + v)."""

    noise: float  # σ²

    code: ClassVar[int] = GAUSSIAN

    @property
    def parameter(self) -> float:
        return self.noise

    def site(self, y: Array, m: Array, v: Array) -> tuple[Array, Array, Array]:
        return _sites(self, y, m, v)

    def predict(self, m: Array, v: Array) -> tuple[Array, Array]:
        return m, v + self.noise


@dataclass(frozen=True)
class Probit:
    """Φ(yf), y = ±1: log Z = log Φ(z), z = ym/√(1 + v)."""

    code: ClassVar[int] = PROBIT

    @property
    def parameter(self) -> float:
        return 0.0

    def site(self, y: Array, m: Array, v: Array) -> tuple[Array, Array, Array]:
        return _sites(self, y, m, v)

    def probability(self, m: Array, v: Array) -> Array:
        """p(y = 1)."""
        return ndtr(m / np.sqrt(1.0 + v))

    def log_probability(self, m: Array, v: Array) -> Array:
        """log p(y = 1)."""
        return log_ndtr(m / np.sqrt(1.0 + v))

    def predict(self, m: Array, v: Array) -> tuple[Array, Array]:
        """Of the label ±1."""
        z = m / np.sqrt(1.0 + v)
        return ndtr(z) - ndtr(-z), 4.0 * ndtr(z) * ndtr(-z)


@dataclass(frozen=True)
class Poisson:
    """Counts with the rate e^(b + f): b is the log rate that the prior expects."""

    offset: float = 0.0  # b

    code: ClassVar[int] = POISSON

    @property
    def parameter(self) -> float:
        return self.offset

    def site(self, y: Array, m: Array, v: Array) -> tuple[Array, Array, Array]:
        return _sites(self, y, m, v)

    def rate(self, m: Array, v: Array) -> tuple[Array, Array]:
        """Mean e^(b + m + v/2) and variance mean²(e^v − 1) of the rate, a log-normal."""
        log_mean = np.minimum(self.offset + m + 0.5 * v, LARGEST_EXPONENT)
        variance = np.exp(np.minimum(2.0 * log_mean + _log_expm1(v), 2.0 * LARGEST_EXPONENT))
        return np.exp(log_mean), variance

    def rate_at(self, f: Array) -> Array:
        """e^(b + f)."""
        return np.exp(np.minimum(self.offset + f, LARGEST_EXPONENT))

    def rate_covariance(self, m: Array, v: Array, C: Array) -> Array:
        """Of rates at several points, cov f = C with diagonal v: E[λᵢ]E[λⱼ](e^Cᵢⱼ − 1)."""
        mean = self.rate(m, v)[0]
        return mean[:, None] * np.expm1(np.minimum(C, 0.1 * LARGEST_EXPONENT)) * mean

    def predict(self, m: Array, v: Array) -> tuple[Array, Array]:
        mean, variance = self.rate(m, v)
        return mean, mean + variance

    def log_probability(self, y: Array, m: Array, v: Array) -> Array:
        """log p(y), rates integrated out."""
        return self.site(y, m, v)[2]

    def quantile(self, level: float, m: Array, v: Array) -> Array:
        """The smallest count whose distribution function reaches `level`."""
        return count_quantile(level, self.offset + m, v)


def _log_expm1(v: Array) -> Array:
    """log(e^v − 1), v ≥ 0."""
    with np.errstate(divide="ignore"):
        return np.where(v > 1.0, v + np.log1p(-np.exp(-v)), np.log(np.expm1(np.minimum(v, 1.0))))


def _sites(likelihood: Likelihood, y: Array, m: Array, v: Array) -> tuple[Array, Array, Array]:
    y, m, v = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (y, m, v)))
    out = np.empty((3, y.size))
    _fill_sites(likelihood.code, likelihood.parameter, y.ravel(), m.ravel(), v.ravel(), out)
    q, r, log_z = out.reshape(3, *y.shape)
    return q, r, log_z


@exact_leaf
def gaussian_site(y, m, v, noise):
    total = noise + v
    error = y - m
    q = error / total
    return q, -1.0 / total, -0.5 * (error * q + math.log(total)) - _HALF_LOG_2PI


@exact_leaf
def probit_site(y, m, v):
    """With h = φ(z)/Φ(z): q = yh/√(1 + v), r = −h(z + h)/(1 + v)."""
    root = math.sqrt(1.0 + v)
    z = y * m / root
    if z > -5.0:
        tail = 0.5 * math.erfc(abs(z) / math.sqrt(2.0))
        log_z = math.log1p(-tail) if z > 0.0 else math.log(tail)
        h = math.exp(-0.5 * z * z - _HALF_LOG_2PI - log_z)
        rest = z + h
    else:  # h = x + 1/(x + 2/(x + 3/(x + …))), x = −z: nothing cancels (Laplace)
        x, below = -z, -z
        for k in range(60, 1, -1):
            below = x + k / below
        rest = 1.0 / below
        h = x + rest
        log_z = -0.5 * z * z - _HALF_LOG_2PI - math.log(h)
    return y * h / root, -h * rest / (root * root), log_z


@exact_leaf
def poisson_site(y, m, v):
    """Tilted by the count, f has its mode at f₀: y − e^f₀ = (f₀ − m)/v, and with δ = f − f₀

        log p(y | f)N(f; m, v) = log p(y | f₀)N(f₀; m, v) − u(δ)
        u(δ) = δ²/2v + e^f₀ (e^δ − 1 − δ)

    A trapezoidal rule where u ≤ 40 is used: Gauss–Hermite nodes at the mode miss the long tail
    of a zero count under a vague belief.
    """
    v = max(v, 1e-30)
    w = lambert(math.log(v) + m + v * y)  # v e^f₀
    mode = math.log(w / v) if w > 1e-200 else m + v * y
    rate = math.exp(mode)
    c = 40.0 / max(rate, 1e-300)
    gauss, step = math.sqrt(80.0 * v), math.sqrt(2.0 * c)
    low, high = -min(gauss, c + step), min(gauss, math.log1p(c + step))
    points = max(POINTS, int((high - low) / LONGEST_STEP) + 1)
    h = (high - low) / (points - 1)
    total, first, second, g1, g2, curve = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(points):
        d = low + i * h
        growth = math.expm1(d)
        p = math.exp(-0.5 * d * d / v - rate * _beyond_line(d, growth))
        g = rate * growth
        total += p
        first += p * d
        second += p * d * d
        g1 += p * g
        g2 += p * g * g
        curve += p * (rate + g)
    first, second = first / total, second / total
    g1, g2, curve = g1 / total, g2 / total, curve / total
    if w > 1.0:  # the row says more than the belief: by the moments of f
        q = (mode - m + first) / v
        r = ((second - first * first) / v - 1.0) / v
    else:  # by those of ∂ log p/∂f = y − e^f, where differences of variances would cancel
        q = y - rate - g1
        r = g2 - g1 * g1 - curve
    away = mode - m
    log_z = (
        _log_poisson(y, mode, rate) - 0.5 * away * away / v
        - 0.5 * math.log(v) - _HALF_LOG_2PI + math.log(total * h)
    )  # fmt: skip
    return q, r, log_z


@exact_leaf
def _log_poisson(y, log_rate, rate):
    """log p(y); of a large count by Stirling's series, where nothing of its size cancels."""
    if y < 16.0:
        return y * log_rate - rate - math.lgamma(y + 1.0)
    gap, x = log_rate - math.log(y), 1.0 / (y * y)
    series = (1 / 12 - x * (1 / 360 - x * (1 / 1260 - x * (1 / 1680 - x / 1188)))) / y
    return -y * _beyond_line(gap, math.expm1(gap)) - 0.5 * math.log(y) - _HALF_LOG_2PI - series


@exact_leaf
def _beyond_line(d, growth):
    """e^d − 1 − d, growth = e^d − 1."""
    if abs(d) < 0.03:
        return d * d * (0.5 + d * (1.0 / 6.0 + d * (1.0 / 24.0 + d * (1.0 / 120.0 + d / 720.0))))
    return growth - d


@exact_leaf
def lambert(x):
    """W(e^x): w + log w = x, by Newton steps on log w."""
    if x < -30.0:
        return math.exp(x)
    log_w = x if x < 1.0 else math.log(x)
    for _ in range(40):
        w = math.exp(log_w)
        step = (w + log_w - x) / (w + 1.0)
        log_w -= step
        if abs(step) <= 1e-16 * max(1.0, abs(log_w)):
            break
    return math.exp(log_w)


@exact_leaf
def site(code, parameter, y, m, v):
    """q, r, log Z of one row under the likelihood with this code and parameter."""
    if code == GAUSSIAN:
        return gaussian_site(y, m, v, parameter)
    if code == PROBIT:
        return probit_site(y, m, v)
    return poisson_site(y, m + parameter, v)


@exact_leaf
def _fill_sites(code, parameter, y, m, v, out):
    for i in range(y.size):
        out[0, i], out[1, i], out[2, i] = site(code, parameter, y[i], m[i], v[i])
