"""One of K classes."""

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from ...numerics.compiling import compiled
from ..base import Observation
from ..targets.support import CLASSES
from ..tuning import TUNING

#: Steps of the trapezoidal rule: Gumbel's density is analytic in a strip of half-width π/2, so
#: that its error is e^(−π²/step).
STEP = 0.4
#: Where exp(−e^−x) is neither nothing nor one to 1e-11, in steps.
FIRST, LAST = -10, 64
#: Deviations of a normal that count, and all that numbers can tell from nothing; the deviation up
#: to which Gauss–Hermite nodes are used.
ENDS, FARTHEST, NARROW = 9.0, 39.0, 0.5
ROOT_2PI = float(np.sqrt(2.0 * np.pi))


@dataclass(frozen=True)
class Softmax(Observation):
    """p(y = k | f) = e^(f_k)/Σⱼ e^(fⱼ), f (n, K)."""

    classes: int = 3  # K

    support = CLASSES
    name = "softmax"

    @property
    def latents(self):
        return self.classes

    def check(self, y):
        super().check(y)
        if (y[:, 0] >= self.classes).any():
            raise ValueError(f"y of Softmax must be classes below {self.classes}")

    def log_density(self, y, f):
        """−log(1 + Σ_{j≠y} e^(fⱼ − f_y)): with digits left where y is all but sure."""
        gap = f - np.take_along_axis(f, _codes(y), axis=-1)
        top = np.maximum(gap.max(axis=-1, keepdims=True), 0.0)
        others = np.where(np.arange(f.shape[-1]) == _codes(y), 0.0, np.exp(gap - top)).sum(axis=-1)
        top = top[..., 0]
        return np.where(top > 0.0, -top - np.log(np.exp(-top) + others), -np.log1p(others))

    def derivatives(self, y, f):
        """In each f_k: 1[y = k] − π, −π(1 − π), −π(1 − π)(1 − 2π)."""
        p = softmax(f, axis=-1)
        q = np.where(p > 0.5, 0.0, 1.0 - p)
        for k in range(f.shape[-1]):  # 1 − π without cancelling where π is nearly one
            rest = np.delete(p, k, axis=-1).sum(axis=-1)
            q[..., k] = np.where(p[..., k] > 0.5, rest, q[..., k])
        own = np.arange(f.shape[-1]) == _codes(y)
        return np.where(own, q, -p), -p * q, p * q * (p - q)

    def curvature_vjp(self, y, f, W_bar):
        """∂W_c/∂f_k = π_c(1 − 2π_c)(1[c = k] − π_k)."""
        p = softmax(f, axis=-1)
        t = W_bar * p * (1.0 - 2.0 * p)
        return t - p * t.sum(axis=-1, keepdims=True)

    def inverse_link(self, f):
        """Probabilities of the classes."""
        return softmax(f, axis=-1)

    def probability(self, m, v):
        """p(y = k), f_k ~ N(m_k, v_k) independent: m, v (n, K) -> (n, K).

        Softmax is the chance that f_k + G_k is the largest, G independent Gumbels. With
        Fⱼ(t) = E[exp(−e^(fⱼ − t))] the distribution function of fⱼ + Gⱼ, that is
        p_k = ∫ F_k′(t) Π_{j≠k} Fⱼ(t) dt: integrals in one dimension only, and good to their
        last digits down to the smallest of numbers.
        """
        m, v = np.broadcast_arrays(np.asarray(m, dtype=float), np.clip(v, 0.0, TUNING.widest))
        if not (np.isfinite(m).all() and np.isfinite(v).all()):
            raise ValueError("means and variances of latent functions must be finite")
        m, p = _within_reach(m, v), np.empty(m.shape)
        x = STEP * np.arange(FIRST, LAST)
        nodes, weights = np.polynomial.hermite_e.hermegauss(24)
        _probabilities(
            np.ascontiguousarray(m), np.ascontiguousarray(v), np.exp(-np.exp(-x)),
            np.exp(-x - np.exp(-x)), FIRST, nodes, weights / weights.sum(), p,
        )  # fmt: skip
        return p / p.sum(axis=1, keepdims=True)

    def log_predictive(self, y, m, v):
        p = np.take_along_axis(self.probability(m, v), _codes(y), axis=-1)[..., 0]
        return np.log(np.maximum(p, np.finfo(float).tiny))


def _within_reach(m, v):
    """Means relative to the largest; −∞ for classes with no chance against some other.

    With d ~ N(−g, v) the difference of two, E[1/(1 + e^−d)] ≤ E[e^λd] for all 0 ≤ λ ≤ 1.
    """
    with np.errstate(over="ignore"):
        m = m - m.max(axis=1, keepdims=True)
    m = np.maximum(m, -np.finfo(float).max)
    log_chance = np.zeros(m.shape)
    for j in range(m.shape[1]):
        g, both = np.maximum(m[:, j : j + 1] - m, 0.0), v[:, j : j + 1] + v
        power = np.minimum(g / np.maximum(both, 1e-300), 1.0)
        log_chance = np.minimum(log_chance, power * (0.5 * power * both - g))
    return np.where(log_chance < TUNING.impossible, -np.inf, m)


def _codes(y):
    return y[..., :1].astype(int)


@compiled()
def _probabilities(m, v, table, slope, first, nodes, weights, out):
    """`table` and `slope`: Gumbel's distribution function and density at (first + r) STEP; it is
    nothing before and one after."""
    K = m.shape[1]
    for i in range(m.shape[0]):
        low, high, gap = -np.inf, -np.inf, 0.0
        for k in range(K):
            if m[i, k] > -np.inf:
                gap = max(gap, -m[i, k])
        for k in range(K):  # below `low` some F is nothing; above `high` all are one
            if m[i, k] > -np.inf:
                far = _reach(v[i, k], gap)
                low = max(low, m[i, k] - far + first * STEP)
                high = max(high, m[i, k] + far + (first + table.size) * STEP)
        points = int((high - low) / STEP) + 2
        F, D = np.empty((K, points)), np.empty((K, points))
        for k in range(K):
            s = np.sqrt(v[i, k])
            if m[i, k] == -np.inf:
                F[k], D[k] = 1.0, 0.0
            elif s > NARROW:
                _on_lattice(m[i, k], s, _reach(v[i, k], gap), low, table, slope, first, F[k], D[k])
            else:
                _by_nodes(m[i, k] + s * nodes, weights, low, F[k], D[k])
        out[i] = 0.0
        for j in range(points):
            together = STEP
            for k in range(K):
                together *= F[k, j]
            if together > 0.0:
                for k in range(K):
                    out[i, k] += together * D[k, j] / F[k, j]


@compiled()
def _reach(v, gap):
    """Distance from its mean within which a normal counts, where means are `gap` apart: tails that
    fall as e^−t meet e^(−t²/2v) where t = v."""
    s = np.sqrt(v)
    return min(ENDS * s + min(v, gap), FARTHEST * s)


@compiled()
def _by_nodes(f, weights, low, F, D):
    """F(t) and F′(t) of a narrow normal, by Gauss–Hermite nodes f."""
    for j in range(F.size):
        t, total, density = low + j * STEP, 0.0, 0.0
        for i in range(f.size):
            rate = np.exp(min(f[i] - t, 50.0))
            p = weights[i] * np.exp(-rate)
            total += p
            density += p * rate
        F[j], D[j] = total, density


@compiled()
def _on_lattice(m, s, far, low, table, slope, first, F, D):
    """F(t) and F′(t) of a wide normal, by a trapezoidal rule on the lattice of t. Beyond the
    table Gumbel's density is e^−x: its sum there, `rest`, falls by e^−STEP from one t to the next.
    """
    start = int(np.floor((m - far - low) / STEP))
    count = int(2.0 * far / STEP) + 2
    w = np.empty(count)
    below = np.zeros(count + 1)  # Σ of the first weights
    for i in range(count):
        z = (low + (start + i) * STEP - m) / s
        w[i] = STEP / (s * ROOT_2PI) * np.exp(-0.5 * z * z)
        below[i + 1] = below[i] + w[i]
    rest, counted = 0.0, 0
    for j in range(F.size):
        last = j - first - start  # node i is at r = last − i of the table
        done = min(max(last - table.size + 1, 0), count)
        rest *= np.exp(-STEP)
        for i in range(counted, done):
            rest += w[i] * np.exp(-STEP * (j - start - i))
        counted = done
        total, density = below[done], rest
        for i in range(done, min(last + 1, count)):
            total += w[i] * table[last - i]
            density += w[i] * slope[last - i]
        F[j], D[j] = total, density
