"""The mode of latent values under a likelihood, and the Gaussian sites there.

With f ~ N(m, P) and f = m + Pa, Newton's method climbs

    ψ(a) = log p(y | f) − ½ aᵀPa        g = ∂ log p,  W = −∂² log p
    Δa = (I + WP)⁻¹(g − a) = (I − AP)(g − a),   A = (P + W⁻¹)⁻¹

(Rasmussen & Williams 2006, Alg. 3.1 in another form), halving a step until ψ rises. The first of
the two is what is computed (`meeting`): the difference has no digits left where WP > 1e16, as
with counts of 1e9 under a vague prior. At the mode a = g. A row of weight w is w equal rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..likelihoods.base import Observation
from ..likelihoods.softmax import Softmax
from ..messages.message import Message
from ..numerics import linalg
from .covariances import Left, Met, Prior

Array = np.ndarray
#: Newton's method ends where a step is worth so little: 1e-9 posterior deviations.
TOLERANCE = 1e-18
#: The end is near where it is worth so little.
NEAR = 1e-2
MAX_ITER, LATE, HALVINGS = 200, 20, 60
#: A step must gain so much of what its slope promises (Armijo), but for rounding.
GAIN, ROUNDING = 1e-4, 1e-14


@dataclass(frozen=True, eq=False)
class Sites:
    """log p(y | f) ≈ log p(y | f̂) + g(f − f̂) − ½W(f − f̂)², row by row."""

    f: Array  # f̂  (n, K)
    g: Array  # (n, K)
    W: Array  # never negative  (n, K)
    log_density: float  # Σ log p(y | f̂)
    converged: bool = True

    def message(self, V: Array, Q: Left) -> tuple[Message, ...]:
        """About v, f | v ~ N(Vᵀv, Q), one message a latent function; with u = (I + WQ)⁻¹g

            Λ = VAVᵀ    h = V(Af̂ + u)    c = log p(y | f̂) − ½f̂ᵀAf̂ − uᵀf̂ + ½gᵀQu − ½ log|B|

        A = (Q + W⁻¹)⁻¹. The first of K messages carries log p.
        """
        logs = [self.log_density] + [0.0] * (self.f.shape[1] - 1)
        columns = zip(self.f.T, self.g.T, self.W.T, logs)
        return tuple(_message(V, Q, *column) for column in columns)

    def log_evidence(self, met: Sequence[Met]) -> float:
        """Σ c of those messages; `met`: Q and W of each latent function."""
        columns = zip(met, self.f.T, self.g.T)
        return self.log_density + sum(_weigh(*column)[1] for column in columns)


def _message(V: Array, Q: Left, f: Array, g: Array, W: Array, log_p: float) -> Message:
    met = Q.meet(W)
    pull, log_scale = _weigh(met, f, g)
    S = met.whiten(V.T)  # SᵀS = VAVᵀ
    return Message(linalg.gram(S.T), (V @ pull)[:, None], np.array([log_p + log_scale]))


def _weigh(met: Met, f: Array, g: Array) -> tuple[Array, float]:
    """Af̂ + u, and c without log p."""
    Af, (u, Qu) = met.solve(f), met.damp(g)
    return Af + u, 0.5 * (g @ Qu - f @ Af - met.log_det()) - f @ u


def find_sites(
    likelihood: Observation, y: Array, w: Array, means: Array, priors: Sequence[Prior],
    start: Array | None = None, tolerance: float = TOLERANCE,
) -> Sites:  # fmt: skip
    """Sites at the mode, f_k ~ N(means[:, k], priors[k]) of K latent functions.

    `start`: a first guess of g  (n, K), as of a mode found before.
    """
    return _climb(hill_of(likelihood, y, w, means, priors), start, tolerance)


def hill_of(
    likelihood: Observation, y: Array, w: Array, means: Array, priors: Sequence[Prior]
) -> Single:
    kind = Coupled if likelihood.latents > 1 else Single
    return kind(likelihood, y, w, means, tuple(priors))


@dataclass(frozen=True, eq=False)
class Single:
    """ψ of one latent function."""

    likelihood: Observation
    y: Array  # (n, c)
    w: Array  # (n,)
    means: Array  # (n, 1)
    priors: tuple[Prior, ...]

    def latent(self, a: Array) -> Array:
        """f − m = Pa  (n, K)."""
        return np.stack([P.times(x) for P, x in zip(self.priors, a.T)], axis=1)

    def log_density(self, f: Array) -> float:
        with np.errstate(over="ignore"):
            return float(self.w @ self.likelihood.log_density(self.y, self.shaped(f)))

    def slopes(self, f: Array) -> tuple[Array, Array]:
        """g and W of the sites  (n, K)."""
        f = self.shaped(f)
        first = self.likelihood.derivatives(self.y, f)[0].reshape(self.means.shape)
        W = self.likelihood.curvature(self.y, f)[0].reshape(self.means.shape)
        return self.w[:, None] * first, self.w[:, None] * W

    def direction(self, f: Array, uphill: Array) -> tuple[Array, Array]:
        """Δa of Newton's method and PΔa, uphill = g − a. Where p is not log-concave W's place is
        taken by a bound: sure to lead uphill, but slow at the end, where −∂² log p is used."""
        P, r = self.priors[0], uphill[:, 0]
        bound = self.w * self.likelihood.bound(self.y, f[:, 0])
        step, P_step = P.meet(bound).damp(r)
        if r @ P_step < NEAR and (bound > self._bend(f)).any():
            full = self.respond(f, uphill)[:, 0]
            P_full = P.times(full)
            if r @ P_full > 0.0:
                step, P_step = full, P_full
        return step[:, None], P_step[:, None]

    def respond(self, f: Array, x: Array) -> Array:
        """(I − ∂² log p · P)⁻¹x  (n, K): Δa of a mode f whose slope changes by x."""
        P, bend = self.priors[0], self._bend(f)
        if bend.min(initial=0.0) < 0.0:
            return P.unbend(bend, x[:, 0])[:, None]
        return P.meet(np.maximum(bend, 0.0)).damp(x[:, 0])[0][:, None]

    def _bend(self, f: Array) -> Array:
        """−∂² log p, of any sign  (n,)."""
        return -self.w * self.likelihood.derivatives(self.y, f[:, 0])[1]

    def tangent(self, f: Array) -> Array:
        """Where sites touch the likelihood, the mode being f."""
        return f

    def shaped(self, f: Array) -> Array:
        return f[:, 0]


class Coupled(Single):
    """ψ of K latent functions that the likelihood alone ties together (softmax)."""

    def direction(self, f: Array, uphill: Array) -> tuple[Array, Array]:
        step = self.respond(f, uphill)
        return step, self.latent(step)

    def respond(self, f: Array, x: Array) -> Array:
        """Rasmussen & Williams (2006), Alg. 3.3: −∂² log p = D − D𝟙w⁻¹𝟙ᵀD with D = wπ of a row;
        slopes of a softmax, and x, have no sum over classes: with u_k = (I + D_kP_k)⁻¹x_k

        Δa_k = u_k − A_k z,  z = (Σ A_k)⁻¹ Σ u_k,  A_k = (P_k + D_k⁻¹)⁻¹.

        K matrices A_k are held at once: to form them twice would take twice as long.
        """
        assert isinstance(self.likelihood, Softmax)
        D = self.w[:, None] * self.likelihood.inverse_link(f)
        A, total = [], np.zeros((x.shape[0], x.shape[0]))
        u = np.empty_like(x)
        for k, P in enumerate(self.priors):
            met = P.meet(D[:, k])
            u[:, k] = met.damp(x[:, k])[0]
            A.append(met.matrix())
            total += A[-1]
        L, _ = linalg.cholesky(
            total, float(total.diagonal().max(initial=0.0)) or 1.0, overwrite=True
        )
        z = linalg.solve_posdef(L, u.sum(axis=1))
        return u - np.stack([Ak @ z for Ak in A], axis=1)

    def tangent(self, f: Array) -> Array:
        """Softmax is the same at f + s𝟙, and the sites' slopes too: any s will do. With equal
        priors of all classes the mode of all chunks has zero sums; sites that say so from the
        start save many sweeps."""
        return f - f.mean(axis=1, keepdims=True)

    def shaped(self, f: Array) -> Array:
        return f


def _climb(hill: Single, start: Array | None, tolerance: float) -> Sites:
    a, Pa, value = _begin(hill, start)
    converged, late = False, 0
    for _ in range(MAX_ITER):
        f = hill.means + Pa
        uphill = hill.slopes(f)[0] - a
        step, P_step = hill.direction(f, uphill)
        worth = float((uphill * P_step).sum())
        found = _halved(hill, a, Pa, value, step, P_step, worth) if worth > 0.0 else None
        size = 1.0 + abs(value)
        small = abs(worth) < 100.0 * ROUNDING * size  # ψ shows no gain any more, but f̂ may move
        late += small
        converged = late > LATE or (small if found is None else worth <= tolerance * size)
        a, Pa, value = found or (a, Pa, value)
        if converged or found is None:
            break
    f = hill.tangent(hill.means + Pa)
    g, W = hill.slopes(f)
    return Sites(f, g, W, hill.log_density(f), converged)


def _begin(hill: Single, start: Array | None) -> tuple[Array, Array, float]:
    """The better of a guess and the prior's mean."""
    a = np.zeros_like(hill.means)
    best = a, a, hill.log_density(hill.means)
    if start is not None:
        Pa = hill.latent(start)
        value = hill.log_density(hill.means + Pa) - 0.5 * float((start * Pa).sum())
        if value > best[2]:
            best = start, Pa, value
    return best


def _halved(
    hill: Single, a: Array, Pa: Array, value: float, step: Array, P_step: Array, worth: float
) -> tuple[Array, Array, float] | None:
    """The longest of the steps 1, ½, ¼, … that gains what its slope promises, or a longer one
    that gains more than the step of 1: far from the mode steps are too short."""
    slack = ROUNDING * (1.0 + abs(value))

    def go(size: float) -> tuple[Array, Array, float]:
        a_new, Pa_new = a + size * step, Pa + size * P_step
        new = hill.log_density(hill.means + Pa_new) - 0.5 * float((a_new * Pa_new).sum())
        return a_new, Pa_new, new

    for size in 0.5 ** np.arange(HALVINGS):
        best = go(size)
        if best[2] >= value + GAIN * size * worth - slack:  # not so where it is not a number
            break
    else:
        return None
    while size >= 1.0 and worth > NEAR:
        size *= 2.0
        longer = go(size)
        if not longer[2] > best[2]:
            break
        best = longer
    return best
