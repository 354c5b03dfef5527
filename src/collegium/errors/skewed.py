"""Two-piece Student's t: scale e^s above its mode and e^(−s) below, with mean zero.

    p(x) = 2/(a + b) · t_ν((x − mode)/a) above the mode, … /b) below        a = e^s, b = e^(−s)

The density is continuous; a/(a + b) of the probability is above the mode, which is at
−E|t_ν|(a − b), so that the mean is zero (Fernández and Steel 1998). s = 0 is Student's t.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, ndtr, ndtri, stdtr, stdtrit

from .density import log_between, log_t_density, squared

Array = np.ndarray


def mean_size(nu: float) -> float:
    """E|t_ν| = √(ν/π) Γ((ν − 1)/2)/Γ(ν/2)."""
    if np.isinf(nu):
        return float(np.sqrt(2.0 / np.pi))
    return float(np.sqrt(nu / np.pi) * np.exp(gammaln(0.5 * (nu - 1.0)) - gammaln(0.5 * nu)))


def mode(nu: float, skew: float) -> float:
    """Place of the mode where the mean is zero."""
    return -2.0 * float(np.sinh(skew)) * mean_size(nu)


def log_skewed_density(x: Array, nu: float, skew: float) -> Array:
    """log p(x)."""
    u = x - mode(nu, skew)
    u = u * np.exp(np.where(u < 0.0, skew, -skew))
    return log_t_density(squared(u, 0.0), 0.0, nu) - np.log(np.cosh(skew))


def log_skewed_between(low: Array, high: Array, nu: float, skew: float) -> Array:
    """log P(low < x < high)."""
    low, high = low - mode(nu, skew), high - mode(nu, skew)
    parts = []
    for s, cut in ((-skew, np.minimum), (skew, np.maximum)):  # below, above
        start, stop = (cut(end, 0.0) * np.exp(-s) for end in (low, high))
        found = log_between(start, stop, nu) + s - np.log(np.cosh(skew))
        parts.append(np.where(start < stop, found, -np.inf))
    return np.logaddexp(parts[0], parts[1])


def tails(x: Array, nu: float, skew: float) -> tuple[Array, Array]:
    """P(X ≤ x) and P(X > x), each to full relative precision where it is small."""
    u = x - mode(nu, skew)
    low, high = np.minimum(u, 0.0) * np.exp(skew), np.maximum(u, 0.0) * np.exp(-skew)
    below = _cdf(low, nu) * np.exp(-skew) / np.cosh(skew)
    above = _cdf(-high, nu) * np.exp(skew) / np.cosh(skew)
    return np.where(u < 0.0, below, 1.0 - above), np.where(u < 0.0, 1.0 - below, above)


def skewed_quantile(u: Array, nu: float, skew: float) -> Array:
    """x with P(X ≤ x) = Φ(u)."""
    c = np.cosh(skew)
    below, above = (ndtr(end) * c * np.exp(s) for end, s in ((u, skew), (-u, -skew)))
    left = np.exp(-skew) * _inverse(np.minimum(below, 0.5), nu)
    right = -np.exp(skew) * _inverse(np.minimum(above, 0.5), nu)
    return mode(nu, skew) + np.where(below < 0.5, left, right)


def _cdf(x: Array, nu: float) -> Array:
    return ndtr(x) if np.isinf(nu) else stdtr(nu, x)


def _inverse(p: Array, nu: float) -> Array:
    return ndtri(p) if np.isinf(nu) else stdtrit(nu, p)
