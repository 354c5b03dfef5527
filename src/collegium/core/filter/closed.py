"""Gaussian integrals: bumps and waves under a normal density, squared-exponential prior.

With p = N(μ, s²) in every column and V₀ = σ₁² exp(−Δ²/2ℓ²), products over columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class BumpIntegrals:
    """φᵢ = exp(−(x − cᵢ)²/2b²);  φᵢp = αᵢ N(c′ᵢ, t²), t² = b²s²/(b² + s²)."""

    mean: Array  # μ  (d,)
    sd: Array  # s  (d,)
    centres: Array  # c  (m, d)
    widths: Array  # b  (d,)

    def gram(self) -> Array:
        """H: φᵢφⱼ is a bump of width b/√2 between the two centres."""
        half, c = 0.5 * self.widths**2, self.centres
        total = half + self.sd**2
        log_h = np.full((c.shape[0], c.shape[0]), 0.5 * np.log(half / total).sum())
        for k in range(self.mean.size):
            gap = c[:, k, None] - c[:, k]
            middle = 0.5 * (c[:, k, None] + c[:, k]) - self.mean[k]
            log_h -= gap**2 / (8.0 * half[k]) + middle**2 / (2.0 * total[k])
        return np.exp(log_h)

    def _tilted(self) -> tuple[Array, Array, Array]:
        """log αᵢ  (m,), c′ᵢ  (m, d), t²  (d,)."""
        b, s = self.widths**2, self.sd**2
        log_alpha = 0.5 * np.log(b / (b + s)) - (self.centres - self.mean) ** 2 / (2.0 * (b + s))
        return (
            log_alpha.sum(axis=1), (self.centres * s + self.mean * b) / (b + s), b * s / (b + s),
        )  # fmt: skip

    def covariance(self, variance: float, lengths: Array) -> Array:
        log_alpha, c, t = self._tilted()
        total = lengths**2 + 2.0 * t
        log_c = log_alpha[:, None] + log_alpha + 0.5 * np.log(lengths**2 / total).sum()
        for k in range(t.size):
            log_c -= (c[:, k, None] - c[:, k]) ** 2 / (2.0 * total[k])
        return variance * np.exp(log_c)

    def cross(self, variance: float, lengths: Array, X: Array) -> Array:
        log_alpha, c, t = self._tilted()
        total = lengths**2 + t
        log_c = log_alpha + 0.5 * np.log(lengths**2 / total).sum() + np.zeros((X.shape[0], 1))
        for k in range(t.size):
            gap = np.clip(X[:, k, None] - c[:, k], -1e150, 1e150)
            log_c = log_c - gap**2 / (2.0 * total[k])
        return variance * np.exp(np.maximum(log_c, -700.0))


@dataclass(frozen=True, eq=False)
class WaveIntegrals:
    """cos ωᵀx and sin ωᵀx, as the parts of e^(iωᵀx)."""

    mean: Array  # μ  (d,)
    sd: Array  # s  (d,)
    frequencies: Array  # ω  (k, d)

    def gram(self) -> Array:
        """E[e^(iaᵀx)] = e^(iaᵀμ − ½ Σ a²s²) at a = ω ± ω′."""
        w = self.frequencies

        def value(a: Array) -> Array:
            return np.exp(1j * (a @ self.mean) - 0.5 * (a**2) @ self.sd**2)

        plus, minus = value(w[:, None] + w), value(w[:, None] - w)
        return _parts(plus, minus)

    def covariance(self, variance: float, lengths: Array) -> Array:
        """∬ p p e^(i(aξ₁ + bξ₂)) V₀: the precision of (ξ₁, ξ₂) is s⁻² on the diagonal and ℓ⁻²
        between them.
        """
        w, s, inner = self.frequencies, self.sd**-2.0, lengths**-2.0
        det = s**2 + 2.0 * s * inner
        own, mixed = (s + inner) / det, inner / det
        log_scale = (np.log(s) - 0.5 * np.log(det)).sum()

        def value(b: Array) -> Array:
            a = w[:, None]
            quadratic = (own * (a**2 + b**2) + 2.0 * mixed * a * b).sum(axis=-1)
            return np.exp(1j * ((a + b) @ self.mean) - 0.5 * quadratic + log_scale)

        return variance * _parts(value(w), value(-w))

    def cross(self, variance: float, lengths: Array, X: Array) -> Array:
        w, s, inner = self.frequencies, self.sd**-2.0, lengths**-2.0
        tau = s + inner
        gap = np.clip(X - self.mean, -1e150, 1e150)
        log_scale = 0.5 * np.log(s / tau).sum() - 0.5 * (gap**2) @ (s * inner / tau)
        phase = (self.mean + gap * inner / tau) @ w.T
        size = np.exp(np.maximum(log_scale, -700.0)[:, None] - 0.5 * (w**2) @ (1.0 / tau))
        return variance * np.hstack([size * np.cos(phase), size * np.sin(phase)])


def _parts(plus: Array, minus: Array) -> Array:
    """From E[e^(i(a + b))] and E[e^(i(a − b))]: cos cos, cos sin, sin cos, sin sin."""
    cc, ss = 0.5 * (minus + plus).real, 0.5 * (minus - plus).real
    cs = 0.5 * (plus - minus).imag  # cos a sin b
    sc = 0.5 * (plus + minus).imag  # sin a cos b
    return np.block([[cc, cs], [sc, ss]])
