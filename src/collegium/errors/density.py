"""Student's t with a location and a scale per row; ν = ∞ is the normal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln, ndtr, ndtri, stdtr, stdtrit

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


@dataclass(frozen=True, eq=False)
class Margins:
    """y = location + scale · t_ν, row by row; each output has its own ν."""

    location: Array  # (n, p)
    scale: Array  # (n, p)
    nu: Array  # (p,)

    def _standard(self, y: Array) -> Array:
        return (y - self.location) / self.scale

    def log_density(self, y: Array) -> Array:
        """log p(y)  (n, p)."""
        zeta = squared(self._standard(y), 0.0)
        each = [log_t_density(zeta[:, k], 0.0, nu) for k, nu in enumerate(self.nu)]
        return np.stack(each, axis=1) - np.log(self.scale)

    def cdf(self, y: Array) -> Array:
        """P(Y ≤ y)  (n, p)."""
        t = self._standard(y)
        return np.where(np.isinf(self.nu), ndtr(t), stdtr(self._finite(), t))

    def normal_scores(self, y: Array) -> Array:
        """Φ⁻¹(P(Y ≤ y)), by the nearer tail: N(0, 1) where the density is right  (n, p)."""
        t = self._standard(y)
        below = np.maximum(stdtr(self._finite(), -np.abs(t)), 1e-300)
        return np.where(np.isinf(self.nu), t, -ndtri(below) * np.sign(t))

    def quantile(self, probability: Array | float) -> Array:
        """Quantile of y at this probability  (n, p)."""
        u = np.broadcast_to(ndtri(probability), self.scale.shape)
        return self.from_normal(u)

    def from_normal(self, u: Array) -> Array:
        """Compute y from its normal score u: correlated u make a Gaussian copula of y."""
        tail = -stdtrit(self._finite(), ndtr(-np.abs(u))) * np.sign(u)
        return self.location + self.scale * np.where(np.isinf(self.nu), u, tail)

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Draw independently  (count, n, p)."""
        return self.from_normal(rng.standard_normal((count, *self.scale.shape)))

    def _finite(self) -> Array:
        return np.where(np.isinf(self.nu), 1.0, self.nu)
