"""Log density of Student's t and its derivatives, of errors that are known, and of errors known up
to a cell; ν = ∞ is the normal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import digamma, gammaln, ndtr, stdtr

from ..numerics.linalg import LOG_2PI

Array = np.ndarray
#: Larger squared standardised errors are cut to this, so that nothing overflows.
LARGEST = 1e200
#: Cells narrower than this, relative to their place in scales, have the density of their middle.
NARROW = 1e-4
#: Smaller probabilities are the density at the nearer end times the width that counts there.
LEAST = 1e-280
#: Step of differences, in g and relative in ν.
STEP = 1e-4


def squared(z: Array, g: Array | float) -> Array:
    """ζ = z²e^(−g), at most LARGEST."""
    with np.errstate(over="ignore", divide="ignore"):
        return np.exp(np.minimum(2.0 * np.log(np.abs(z)) - g, np.log(LARGEST)))


def log_t_density(zeta: Array, g: Array | float, nu: float) -> Array:
    """log t_ν(z; 0, e^(g/2)), ζ = z²e^(−g)."""
    if np.isinf(nu):
        return -0.5 * (LOG_2PI + g + zeta)
    constant = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu) - 0.5 * np.log(np.pi * nu)
    return constant - 0.5 * g - 0.5 * (nu + 1.0) * np.log1p(zeta / nu)


def slope(zeta: Array, nu: float) -> Array:
    """∂ log t_ν/∂g = ½((ν + 1)ζ/(ν + ζ) − 1); log t_ν is concave in g."""
    if np.isinf(nu):
        return 0.5 * (zeta - 1.0)
    return 0.5 * ((nu + 1.0) * (zeta / (nu + zeta)) - 1.0)


def bend(zeta: Array, nu: float) -> Array:
    """−∂² log t_ν/∂g² = ½(ν + 1)νζ/(ν + ζ)², never negative."""
    if np.isinf(nu):
        return 0.5 * zeta
    return 0.5 * (nu + 1.0) * (nu / (nu + zeta)) * (zeta / (nu + zeta))


def nu_slope(zeta: Array, nu: float) -> Array:
    """∂ log t_ν/∂ν."""
    constant = digamma(0.5 * (nu + 1.0)) - digamma(0.5 * nu) - 1.0 / nu
    return 0.5 * (constant - np.log1p(zeta / nu) + (nu + 1.0) / nu * (zeta / (nu + zeta)))


@dataclass(frozen=True, eq=False)
class Points:
    """Standardised errors z."""

    z: Array  # (n,)

    def take(self, index: Array) -> Points:
        return Points(self.z[index])

    def log_density(self, g: Array | float, nu: float) -> Array:
        """log t_ν(z; 0, e^(g/2))."""
        return log_t_density(squared(self.z, g), g, nu)

    def slope(self, g: Array | float, nu: float) -> Array:
        """∂/∂g."""
        return slope(squared(self.z, g), nu)

    def with_slope(self, g: Array, nu: float) -> tuple[Array, Array]:
        """Compute the log density and ∂/∂g together."""
        zeta = squared(self.z, g)
        return log_t_density(zeta, g, nu), slope(zeta, nu)

    def bend(self, g: Array | float, nu: float) -> Array:
        """−∂²/∂g²."""
        return bend(squared(self.z, g), nu)

    def nu_slope(self, g: Array | float, nu: float) -> Array:
        """∂/∂ν."""
        return nu_slope(squared(self.z, g), nu)


@dataclass(frozen=True, eq=False)
class Intervals:
    """Standardised errors between two ends: log P(low < z < high) − log(high − low)."""

    low: Array  # (n,)
    high: Array  # (n,)

    def take(self, index: Array) -> Intervals:
        return Intervals(self.low[index], self.high[index])

    def log_density(self, g: Array | float, nu: float) -> Array:
        """log P − log width, the mean density of t_ν(0, e^(g/2)) in the cell."""
        s = np.exp(-0.5 * np.asarray(g))
        return log_between(s * self.low, s * self.high, nu) - np.log(self.high - self.low)

    def slope(self, g: Array | float, nu: float) -> Array:
        """∂/∂g = −½(x₂t(x₂) − x₁t(x₁))/P with the ends x in scales."""
        return self.with_slope(g, nu)[1]

    def with_slope(self, g: Array | float, nu: float) -> tuple[Array, Array]:
        """Compute the log density and ∂/∂g together."""
        s = np.exp(-0.5 * np.asarray(g))
        near, far = _upward(s * self.low, s * self.high)
        log_p = log_between(near, far, nu)
        value = log_p - np.log(self.high - self.low)
        found = 0.5 * (_share(near, log_p, nu) - _share(far, log_p, nu))
        narrow, rare = _narrow(near, far), log_p < np.log(LEAST)
        at = squared(np.where(narrow, 0.5 * (near + far), near), 0.0)
        return value, np.where(narrow | rare, slope(at, nu), found)

    def bend(self, g: Array | float, nu: float) -> Array:
        """−∂²/∂g² by differences; zero where it is negative."""
        found = self.slope(g - STEP, nu) - self.slope(g + STEP, nu)
        return np.maximum(found / (2.0 * STEP), 0.0)

    def nu_slope(self, g: Array | float, nu: float) -> Array:
        """∂/∂ν by differences."""
        step = STEP * nu
        found = self.log_density(g, nu + step) - self.log_density(g, nu - step)
        return found / (2.0 * step)


#: What is known of standardised errors.
Seen: TypeAlias = Points | Intervals


def as_seen(z: Array | Seen) -> Seen:
    """Take an array as points."""
    return Points(z) if isinstance(z, np.ndarray) else z


def log_between(low: Array, high: Array, nu: float) -> Array:
    """log P(low < t_ν < high), to nearly full relative precision in either tail."""
    near, far = _upward(low, high)
    with np.errstate(under="ignore"):
        p = ndtr(-near) - ndtr(-far) if np.isinf(nu) else stdtr(nu, -near) - stdtr(nu, -far)
    narrow, width = _narrow(near, far), far - near
    found, rough = np.log(np.maximum(p, LEAST)), narrow | (p < LEAST)
    if not rough.any():
        return found
    at = np.where(narrow, 0.5 * (near + far), np.maximum(near, 1e-300))
    zeta = squared(at, 0.0)
    hazard = zeta if np.isinf(nu) else (nu + 1.0) * (zeta / (nu + zeta))  # times x, far out
    counts = np.where(narrow, width, np.minimum(width, at / np.maximum(hazard, 1e-300)))
    other = log_t_density(zeta, 0.0, nu) + np.log(np.maximum(counts, 1e-300))
    return np.where(rough, other, found)


def _upward(low: Array, high: Array) -> tuple[Array, Array]:
    """Mirror intervals whose middle is below zero."""
    flip = low + high < 0.0
    return np.where(flip, -high, low), np.where(flip, -low, high)


def _narrow(near: Array, far: Array) -> Array:
    return far - near < NARROW * np.maximum(1.0, near)


def _share(x: Array, log_p: Array, nu: float) -> Array:
    """x t(x)/P."""
    return x * np.exp(np.minimum(log_t_density(squared(x, 0.0), 0.0, nu) - log_p, 600.0))
