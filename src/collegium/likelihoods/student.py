"""Noise with heavy tails."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp, ndtr, ndtri, stdtrit

from ..numerics.linalg import LOG_2PI
from ..rows.scaling import Scaling
from .base import Scalar
from .poisson import log_stirling
from .targets.support import REALS
from .targets.units import Units
from .tuning import TUNING


@dataclass(frozen=True)
class StudentT(Scalar):
    """y − f over σ is Student's t with ν degrees of freedom: robust regression.

    Not log-concave: with r = y − f and s = νσ², rows with r² > s have −∂² < 0, and W is zero
    there (see `curvature`): an outlier moves the answer, but does not narrow its error bars. With
    ν ≤ 2 the variance of y is infinite; intervals come from quantiles and still hold.
    """

    dof: float = 4.0  # ν
    noise: float = 1.0  # σ²

    support = REALS
    name = "student-t"
    tree_loss = "absolute_error"
    free = ("noise",)
    identity = True
    takes_noise = True
    corrected = True

    def _parts(self, y, f):
        """ν + 1, s, r, s + r²."""
        s, r = self.dof * self.noise, y[..., 0] - f
        return self.dof + 1.0, s, r, s + r * r

    def log_density(self, y, f):
        a, s, r, _ = self._parts(y, f)
        constant = _half_step(0.5 * self.dof) - 0.5 * np.log(np.pi * s)
        return constant - 0.5 * a * np.log1p(r * r / s)

    def derivatives(self, y, f):
        a, s, r, D = self._parts(y, f)
        first, curve = a * r / D, (s - r * r) / D
        return first, -a / D * curve, -2.0 * first / D * (3.0 * s - r * r) / D

    def bound(self, y, f):
        """(ν + 1)/(s + r²): a normal with this precision at y, up to a constant, lies below p and
        touches it at f."""
        a, _, _, D = self._parts(y, f)
        return a / D

    def theta_derivatives(self, y, f):
        a, s, r, D = self._parts(y, f)
        terms = (
            0.5 * (a * r * r / D - 1.0),
            -a * r / D * s / D,
            -a / D * (s / D) * (3.0 * r * r - s) / D,
        )
        return tuple(term[None][: len(self._names())] for term in terms)

    def mean(self, f):
        return f

    def variance(self, f):
        return np.full_like(f, self._spread())

    def predict(self, m, v):
        return m, v + self._spread()

    def function(self, m, v):
        return m, v

    def units(self, y, w):
        """Centred and scaled by medians."""
        return Units(Scaling.robust(y, w), standard=True)

    def _mixture(self, ratio):
        """Student's t is N(f, σ²/τ), τ ~ Gamma(ν/2, ν/2): nodes of x = log τ, and logs of their
        weights, wide enough for squared errors up to ratio·σ², where τ is small."""
        a = 0.5 * self.dof
        step = TUNING.mixture_step * min(1.0, np.sqrt(1.0 / a))
        high = min(np.sqrt(45.0 / a), np.log1p(45.0 / a)) + 1.0
        low = 45.0 / a + np.log1p(ratio) + 1.0
        near = 2.0 * np.sqrt(90.0 / a) + 2.0 * ratio / a  # −a(expm1(x) − x) ≤ −a x²/3, |x| < 1
        x = np.arange(-min(low, near) if near < 1.0 else -low, high if near >= 1.0 else near, step)
        if a > TUNING.stirling:
            constant = np.log(a) - log_stirling(a)
        else:
            constant = a * (np.log(a) - 1.0) - gammaln(a)
        return x, constant - a * (np.expm1(x) - x) + np.log(step)

    def _noises(self):
        """σ²/τ at the nodes, and their weights."""
        x, log_weights = self._mixture(0.0)
        kept = log_weights > -50.0
        weights = np.exp(log_weights[kept])
        return self.noise * np.exp(-x[kept]), weights / weights.sum()

    def distribution(self, y, m, v):
        """P(Y ≤ y) = E_τ[Φ((y − m)/√(v + σ²/τ))]."""
        noises, weights = self._noises()
        v, out = np.broadcast_to(v, np.shape(m)), np.empty(np.shape(m))
        for part in np.array_split(np.arange(out.size), 1 + out.size * noises.size // TUNING.block):
            s = np.sqrt(v[part, None] + noises)
            out[part] = ndtr((y - m)[part, None] / s) @ weights
        return out

    def quantile(self, level, m, v):
        """P(y > m + q) = E_τ[Φ(−q/√(v + σ²/τ))] solved for q ≥ 0 by halving; else by symmetry."""
        m, v = np.broadcast_arrays(np.asarray(m, dtype=float), np.asarray(v, dtype=float))
        tail, (noises, weights) = min(level, 1.0 - level), self._noises()
        # each of the two exceeds its part with half that probability
        far = -np.sqrt(self.noise) * stdtrit(self.dof, 0.5 * tail)
        high, low = far - np.sqrt(v) * ndtri(0.5 * tail), np.zeros(m.shape)
        for part in np.array_split(np.arange(m.size), 1 + m.size * noises.size // TUNING.block):
            s = np.sqrt(v[part, None] + noises)
            for _ in range(TUNING.halvings):
                middle = 0.5 * (low[part] + high[part])
                beyond = ndtr(-middle[:, None] / s) @ weights > tail
                low[part] = np.where(beyond, middle, low[part])
                high[part] = np.where(beyond, high[part], middle)
        q = np.where(tail == 0.5, 0.0, 0.5 * (low + high))
        return m + q if level > 0.5 else m - q

    def draw(self, f, rng):
        return f + np.sqrt(self.noise) * rng.standard_t(self.dof, size=f.shape)

    def log_predictive(self, y, m, v):
        """log E_τ[N(y; m, v + σ²/τ)], by a trapezoidal rule in log τ, for any v and ν."""
        out, r2 = np.empty(np.shape(m)), (y[..., 0] - m) ** 2
        x, prior = self._mixture(r2.max(initial=0.0) / self.noise)
        for part in np.array_split(np.arange(out.size), 1 + out.size * x.size // TUNING.block):
            total = np.broadcast_to(v, m.shape)[part, None] + self.noise * np.exp(-x)
            terms = prior - 0.5 * (r2[part, None] / total + np.log(total) + LOG_2PI)
            out[part] = logsumexp(terms, axis=1)
        return out

    def log_tempered(self, y, m, v, w):
        """log ∫ p(y | f)ʷ N(f; m, v) df of each row, 0 < w ≤ 1.

        (1 + r²/s)^−a = E[e^(−τr²/s)], τ ~ Gamma(a, 1), a = w(ν + 1)/2: a trapezoidal rule in log τ,
        below which the integrand falls like τᵃ.
        """
        s, r2, out = self.dof * self.noise, (y[..., 0] - m) ** 2, np.empty(np.shape(m))
        a = 0.5 * np.broadcast_to(w, m.shape) * (self.dof + 1.0)
        b, c = np.broadcast_to(v, m.shape) / s, r2 / s
        high = np.log1p(45.0 / a + 10.0 / np.sqrt(a))  # of x = log τ/a
        low = -np.log1p(c) - 45.0 / a - 15.0 / np.sqrt(a)
        low = np.maximum(low, -np.log(a * (1.0 + c + b)) - 35.0)
        step = TUNING.mixture_step * np.minimum(1.0, np.sqrt(1.0 / a))
        count = int(np.max((high - low) / step, initial=1.0)) + 2
        step, nodes = (high - low) / (count - 1), np.arange(count)
        for part in np.array_split(np.arange(out.size), 1 + out.size * count // TUNING.block):
            A, x = a[part, None], low[part, None] + step[part, None] * nodes
            tau = A * np.exp(x)
            wide = 1.0 + 2.0 * b[part, None] * tau
            terms = A * (x - np.expm1(x)) - 0.5 * np.log(wide) - c[part, None] * tau / wide
            terms[:, 0] -= np.log(-np.expm1(-a[part] * step[part]))  # all nodes below
            out[part] = logsumexp(terms, axis=1)
        constant = a * (np.log(a) - 1.0) - gammaln(a) + np.log(step)
        return out + constant + w * self.log_density(y, y[..., 0])

    def _spread(self):
        """νσ²/(ν − 2), infinite for ν ≤ 2."""
        return self.noise * self.dof / (self.dof - 2.0) if self.dof > 2.0 else np.inf


def _half_step(x):
    """log Γ(x + ½) − log Γ(x), by its series where the two would cancel."""
    if x < TUNING.series:
        return gammaln(x + 0.5) - gammaln(x)
    return 0.5 * np.log(x) - (1.0 / 8.0 - (1.0 / 192.0 - 1.0 / (640.0 * x * x)) / (x * x)) / x
