"""Compiled moment matching: p(y | f) of one row, under a Gaussian belief about f.

With f ~ N(m, v) before the row, log Z = log E[p(y | f)] and its derivatives

    q = ∂ log Z/∂m        r = ∂² log Z/∂m²  (−1/v ≤ r ≤ 0 where p is log-concave in f)

are all that is needed: the mean becomes m + qv, the variance v + rv². A likelihood has a code and
a branch in `site`, which compiled loops call on numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...numerics.compiling import compiled
from ...numerics.linalg import LOG_2PI

Array = np.ndarray
exact_leaf: Any = compiled()

GAUSSIAN, PROBIT, POISSON = 0, 1, 2
#: Points of the trapezoidal rule, at least, and its longest step on the scale of log rates: the
#: edge that e^−rate cuts there is resolved to 1e-10.
POINTS, LONGEST_STEP = 128, 0.4
_HALF_LOG_2PI = 0.5 * LOG_2PI


@exact_leaf
def gaussian_site(y, m, v, noise):
    """N(y; f, σ²): q = (y − m)/(σ² + v), r = −1/(σ² + v)."""
    total = noise + v
    error = y - m
    q = error / total
    return q, -1.0 / total, -0.5 * (error * q + math.log(total)) - _HALF_LOG_2PI


@exact_leaf
def probit_site(y, m, v):
    """Φ(yf): log Z = log Φ(z), z = ym/√(1 + v).

    With h = φ(z)/Φ(z): q = yh/√(1 + v), r = −h(z + h)/(1 + v).
    """
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
    """log p(y); for a large count by Stirling's series, where nothing of its size cancels."""
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
    return poisson_site(y, m, v)


@exact_leaf
def shifted_site(code, parameter, shift, y, m, v):
    """q, r, log Z of one row, f ~ N(m + shift, v)."""
    return site(code, parameter, y, m + shift, v)


@exact_leaf
def _fill_sites(code, parameter, y, m, v, out):
    for i in range(y.size):
        out[0, i], out[1, i], out[2, i] = site(code, parameter, y[i], m[i], v[i])


def sites(code: int, parameter: float, y: Array, m: Array, v: Array) -> tuple[Array, Array, Array]:
    """q, r, log Z of each y, m and v."""
    y, m, v = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (y, m, v)))
    out = np.empty((3, y.size))
    _fill_sites(code, parameter, y.ravel(), m.ravel(), v.ravel(), out)
    q, r, log_z = out.reshape(3, *y.shape)
    return q, r, log_z
