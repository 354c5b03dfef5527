"""Log density of Student's t and its derivatives; ν = ∞ is the normal."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln

from ..numerics.linalg import LOG_2PI

Array = np.ndarray
#: Larger squared standardised errors are cut to this, so that nothing overflows.
LARGEST = 1e200


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
