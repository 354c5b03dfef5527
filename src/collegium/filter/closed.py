"""H, C and c(x) in closed form: bumps or waves, normal density, squared-exponential prior.

In each column p = N(μ, s²) and V₀ = σ₁² exp(−Δ²/2ℓ²); integrals are products over columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numerics.records import record

Array = np.ndarray


@record("filter.bump-integrals/1")
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

    def length_vjp(self, variance: float, lengths: Array, C_bar: Array) -> Array:
        """Σ C̄ ∂C/∂ log ℓ, ∂ log C/∂ log ℓ = 1 − ℓ²/T + (c′ᵢ − c′ⱼ)²ℓ²/T², T = ℓ² + 2t²  (d,)."""
        _, c, t = self._tilted()
        weighted = C_bar * self.covariance(variance, lengths)
        share = lengths**2 / (lengths**2 + 2.0 * t)
        found = (1.0 - share) * weighted.sum()
        for k in range(t.size):
            gap = (c[:, k, None] - c[:, k]) ** 2
            found[k] += share[k] / (lengths[k] ** 2 + 2.0 * t[k]) * (weighted * gap).sum()
        return found

    def cross(self, variance: float, lengths: Array, X: Array) -> Array:
        log_alpha, c, t = self._tilted()
        total = lengths**2 + t
        log_c = log_alpha + 0.5 * np.log(lengths**2 / total).sum() + np.zeros((X.shape[0], 1))
        for k in range(t.size):
            gap = np.clip(X[:, k, None] - c[:, k], -1e150, 1e150)
            log_c = log_c - gap**2 / (2.0 * total[k])
        return variance * np.exp(np.maximum(log_c, -700.0))


@record("filter.wave-integrals/1")
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
        """C from ∬ p p V₀ e^(i(aξ₁ + bξ₂)).

        (ξ₁, ξ₂) has precision s⁻² + ℓ⁻² on the diagonal and −ℓ⁻² off it.
        """
        plus, minus = self._correlated(lengths)
        return variance * _parts(plus, minus)

    def _correlated(self, lengths: Array) -> tuple[Array, Array]:
        """Integrals of e^(i(ωξ₁ + ω′ξ₂)) and of e^(i(ωξ₁ − ω′ξ₂)), σ₁² = 1  (k, k)."""
        w, s2 = self.frequencies, self.sd**2
        ratio = (self.sd / lengths) ** 2
        own, mixed = s2 * (1.0 + ratio) / (1.0 + 2.0 * ratio), s2 * ratio / (1.0 + 2.0 * ratio)
        log_scale = -0.5 * np.log1p(2.0 * ratio).sum()

        def value(b: Array) -> Array:
            a = w[:, None]
            quadratic = (own * (a**2 + b**2) + 2.0 * mixed * a * b).sum(axis=-1)
            return np.exp(1j * ((a + b) @ self.mean) - 0.5 * quadratic + log_scale)

        return value(w), value(-w)

    def length_vjp(self, variance: float, lengths: Array, C_bar: Array) -> Array:
        """Σ C̄ ∂C/∂ log ℓ  (d,).

        With ρ = s²/ℓ² the log of each wave has the derivative 2ρ/(1 + 2ρ) −
        ρs²(ω ∓ ω′)²/(1 + 2ρ)².
        """
        w, plus_minus = self.frequencies, self._correlated(lengths)
        ratio = (self.sd / lengths) ** 2
        found = np.empty(lengths.size)
        for k in range(lengths.size):
            a, b = w[:, None, k], w[:, k]
            rise = 2.0 * ratio[k] / (1.0 + 2.0 * ratio[k])
            fall = ratio[k] * self.sd[k] ** 2 / (1.0 + 2.0 * ratio[k]) ** 2
            parts = (v * (rise - fall * gap**2) for v, gap in zip(plus_minus, (a - b, a + b)))
            found[k] = variance * (C_bar * _parts(*parts)).sum()
        return found

    def cross(self, variance: float, lengths: Array, X: Array) -> Array:
        w, s2 = self.frequencies, self.sd**2
        ratio = (self.sd / lengths) ** 2
        gap = np.clip(X - self.mean, -1e150, 1e150)
        far = np.clip(gap / np.sqrt(s2 + lengths**2), -1e150, 1e150)
        log_scale = -0.5 * np.log1p(ratio).sum() - 0.5 * (far**2).sum(axis=1)
        phase = (self.mean + gap * ratio / (1.0 + ratio)) @ w.T
        size = np.exp(np.maximum(log_scale, -700.0)[:, None] - 0.5 * (w**2) @ (s2 / (1.0 + ratio)))
        return variance * np.hstack([size * np.cos(phase), size * np.sin(phase)])


def _parts(plus: Array, minus: Array) -> Array:
    """Block matrix of cos cos, cos sin, sin cos, sin sin, from e^(i(a + b)) and e^(i(a − b))."""
    cc, ss = 0.5 * (minus + plus).real, 0.5 * (minus - plus).real
    cs = 0.5 * (plus - minus).imag  # cos a sin b
    sc = 0.5 * (plus + minus).imag  # sin a cos b
    return np.block([[cc, cs], [sc, ss]])
