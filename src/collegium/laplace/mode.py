"""Mode of latent values f under a likelihood, and Gaussian sites at the mode.

With f ~ N(m, P) and f = m + Pa, Newton's method maximises the log posterior

    ψ(a) = log p(y | f) − ½ aᵀPa        g = ∂ log p,  W = −∂² log p
    Δa = (I + WP)⁻¹(g − a) = (I − AP)(g − a),   A = (P + W⁻¹)⁻¹

(Rasmussen & Williams 2006, Alg. 3.1 in another form), halving a step until ψ rises. The first
form of Δa is computed (`covariances.solve_damped`): the second has no digits left where
WP > 1e16, as with counts of 1e9 under a vague prior. At the mode a = g. A row of weight w counts
as w equal rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..likelihoods.base import Observation
from ..likelihoods.labels.softmax import Softmax
from ..messages.message import Message
from ..numerics import linalg
from ..numerics.records import record
from .covariances import Factored, Prior, Residual
from .tuning import TUNING

Array = np.ndarray
#: Iterates over a loop; see `Progress.each`.
Each = Callable[[Iterable], Iterator]


@record("laplace.sites/1")
@dataclass(frozen=True, eq=False)
class Sites:
    """log p(y | f) ≈ log p(y | f̂) + g(f − f̂) − ½W(f − f̂)², row by row."""

    f: Array  # f̂  (n, K)
    g: Array  # (n, K)
    W: Array  # never negative  (n, K)
    log_density: float  # Σ log p(y | f̂)
    converged: bool = True

    def message(self, V: Array, Q: Residual) -> tuple[Message, ...]:
        """Send one message about v per latent function, f | v ~ N(Vᵀv, Q); with u = (I + WQ)⁻¹g

            Λ = VAVᵀ    h = V(Af̂ + u)    c = log p(y | f̂) − ½f̂ᵀAf̂ − uᵀf̂ + ½gᵀQu − ½ log|B|

        A = (Q + W⁻¹)⁻¹. The first of the K messages carries log p.
        """
        logs = [self.log_density] + [0.0] * (self.f.shape[1] - 1)
        columns = zip(self.f.T, self.g.T, self.W.T, logs)
        return tuple(_message(V, Q, *column) for column in columns)

    def log_evidence(self, factored: Sequence[Factored]) -> float:
        """Σ c of these messages; `factored`: Q and W of each latent function."""
        columns = zip(factored, self.f.T, self.g.T)
        return self.log_density + sum(_shift_and_scale(*column)[1] for column in columns)


def _message(V: Array, Q: Residual, f: Array, g: Array, W: Array, log_p: float) -> Message:
    factored = Q.factorise(W)
    weights, log_scale = _shift_and_scale(factored, f, g)
    S = factored.whiten(V.T)  # SᵀS = VAVᵀ
    return Message(linalg.gram(S.T), (V @ weights)[:, None], np.array([log_p + log_scale]))


def _shift_and_scale(factored: Factored, f: Array, g: Array) -> tuple[Array, float]:
    """Af̂ + u, and c without log p."""
    Af, (u, Qu) = factored.solve(f), factored.solve_damped(g)
    return Af + u, 0.5 * (g @ Qu - f @ Af - factored.log_det()) - f @ u


def find_sites(
    likelihood: Observation, y: Array, w: Array, means: Array, priors: Sequence[Prior],
    start: Array | None = None, tolerance: float = TUNING.modes.tolerance, each: Each = iter,
) -> Sites:  # fmt: skip
    """Find the sites at the mode of K latent functions, f_k ~ N(means[:, k], priors[k]).

    `start`: a first guess of g  (n, K), such as that of an earlier mode. `each` iterates over the
    K functions, and may report progress.
    """
    return _newton(log_posterior(likelihood, y, w, means, priors, each), start, tolerance)


def log_posterior(
    likelihood: Observation, y: Array, w: Array, means: Array, priors: Sequence[Prior],
    each: Each = iter,
) -> LogPosterior:  # fmt: skip
    """ψ of one latent function, or of several that the likelihood couples."""
    kind = CoupledLogPosterior if likelihood.latents > 1 else LogPosterior
    return kind(likelihood, y, w, means, tuple(priors), each)


@dataclass(frozen=True, eq=False)
class LogPosterior:
    """ψ of one latent function, its derivatives and Newton steps."""

    likelihood: Observation
    y: Array  # (n, c)
    w: Array  # (n,)
    means: Array  # (n, 1)
    priors: tuple[Prior, ...]
    each: Each = iter

    def latent(self, a: Array) -> Array:
        """f − m = Pa  (n, K)."""
        return np.stack([P.times(x) for P, x in zip(self.priors, a.T)], axis=1)

    def log_density(self, f: Array) -> float:
        """Σ w log p(y | f)."""
        with np.errstate(over="ignore"):
            return float(self.w @ self.likelihood.log_density(self.y, self.shaped(f)))

    def derivatives(self, f: Array) -> tuple[Array, Array]:
        """g and W of the sites  (n, K)."""
        f = self.shaped(f)
        first = self.likelihood.derivatives(self.y, f)[0].reshape(self.means.shape)
        W = self.likelihood.curvature(self.y, f)[0].reshape(self.means.shape)
        return self.w[:, None] * first, self.w[:, None] * W

    def step(self, f: Array, ascent: Array) -> tuple[Array, Array]:
        """Δa of Newton's method and PΔa; ascent = g − a.

        Where p is not log-concave a bound replaces W: then ψ is sure to rise along Δa, but slowly
        near the mode, where −∂² log p itself is used.
        """
        P, r = self.priors[0], ascent[:, 0]
        bound = self.w * self.likelihood.bound(self.y, f[:, 0])
        step, P_step = P.factorise(bound).solve_damped(r)
        if r @ P_step < TUNING.modes.near and (bound > self._curvature(f)).any():
            full = self.solve(f, ascent)[:, 0]
            P_full = P.times(full)
            if r @ P_full > 0.0:
                step, P_step = full, P_full
        return step[:, None], P_step[:, None]

    def solve(self, f: Array, x: Array) -> Array:
        """(I − ∂² log p · P)⁻¹x  (n, K): the change of a at the mode f when g changes by x."""
        P, curvature = self.priors[0], self._curvature(f)
        if curvature.min(initial=0.0) < 0.0:
            return P.solve_indefinite(curvature, x[:, 0])[:, None]
        return P.factorise(np.maximum(curvature, 0.0)).solve_damped(x[:, 0])[0][:, None]

    def _curvature(self, f: Array) -> Array:
        """−∂² log p, of any sign  (n,)."""
        return -self.w * self.likelihood.derivatives(self.y, f[:, 0])[1]

    def expansion_point(self, f: Array) -> Array:
        """f̂ of the sites if the mode is f."""
        return f

    def shaped(self, f: Array) -> Array:
        """f in the shape that the likelihood takes."""
        return f[:, 0]


class CoupledLogPosterior(LogPosterior):
    """ψ of K latent functions, independent a priori and coupled by the likelihood (softmax)."""

    def step(self, f: Array, ascent: Array) -> tuple[Array, Array]:
        step = self.solve(f, ascent)
        return step, self.latent(step)

    def solve(self, f: Array, x: Array) -> Array:
        """Rasmussen & Williams (2006), Alg. 3.3: −∂² log p = D − D𝟙w⁻¹𝟙ᵀD with D = wπ of a row.
        Gradients of a softmax, and so x, sum to zero over classes; with u_k = (I + D_kP_k)⁻¹x_k

        Δa_k = u_k − A_k z,  z = (Σ A_k)⁻¹ Σ u_k,  A_k = (P_k + D_k⁻¹)⁻¹.

        All K matrices A_k are held at once: forming them twice would take twice as long.
        """
        assert isinstance(self.likelihood, Softmax)
        D = self.w[:, None] * self.likelihood.inverse_link(f)
        A, total = [], np.zeros((x.shape[0], x.shape[0]))
        u = np.empty_like(x)
        for k in self.each(range(len(self.priors))):
            factored = self.priors[k].factorise(D[:, k])
            u[:, k] = factored.solve_damped(x[:, k])[0]
            A.append(factored.matrix())
            total += A[-1]
        L, _ = linalg.cholesky(
            total, float(total.diagonal().max(initial=0.0)) or 1.0, overwrite=True
        )
        z = linalg.solve_posdef(L, u.sum(axis=1))
        return u - np.stack([Ak @ z for Ak in A], axis=1)

    def expansion_point(self, f: Array) -> Array:
        """f centred over classes.

        Softmax and its derivatives are the same at f + s𝟙 for any s. With equal priors for all
        classes the joint mode of all chunks has zero sums; starting there saves many sweeps.
        """
        return f - f.mean(axis=1, keepdims=True)

    def shaped(self, f: Array) -> Array:
        return f


def _newton(posterior: LogPosterior, start: Array | None, tolerance: float) -> Sites:
    """Run Newton's method with line search, from `start` or the prior mean."""
    tuning = TUNING.modes
    a, Pa, value = _first_point(posterior, start)
    converged, n_small = False, 0
    for _ in range(tuning.max_iter):
        f = posterior.means + Pa
        ascent = posterior.derivatives(f)[0] - a
        step, P_step = posterior.step(f, ascent)
        decrement = float((ascent * P_step).sum())
        found = None
        if decrement > 0.0:
            found = _line_search(posterior, a, Pa, value, step, P_step, decrement)
        size = 1.0 + abs(value)
        small = (
            abs(decrement) < 100.0 * tuning.rounding * size
        )  # no gain shows in ψ, but f̂ may move
        n_small += small
        enough = small if found is None else decrement <= tolerance * size
        converged = n_small > tuning.max_small or enough
        a, Pa, value = found or (a, Pa, value)
        if converged or found is None:
            break
    f = posterior.expansion_point(posterior.means + Pa)
    g, W = posterior.derivatives(f)
    return Sites(f, g, W, posterior.log_density(f), converged)


def _first_point(posterior: LogPosterior, start: Array | None) -> tuple[Array, Array, float]:
    """a, Pa and ψ at `start` or at the prior mean, whichever has the larger ψ."""
    a = np.zeros_like(posterior.means)
    best = a, a, posterior.log_density(posterior.means)
    if start is not None:
        Pa = posterior.latent(start)
        value = posterior.log_density(posterior.means + Pa) - 0.5 * float((start * Pa).sum())
        if value > best[2]:
            best = start, Pa, value
    return best


def _line_search(
    posterior: LogPosterior, a: Array, Pa: Array, value: float, step: Array, P_step: Array,
    decrement: float,
) -> tuple[Array, Array, float] | None:  # fmt: skip
    """Take the first of the steps 1, ½, ¼, … that meets Armijo's condition; None if none does.

    Far from the mode Newton's steps are too short: if 1 meets it, 2, 4, … are tried while ψ
    rises.
    """
    tuning = TUNING.modes
    slack = tuning.rounding * (1.0 + abs(value))

    def at(size: float) -> tuple[Array, Array, float]:
        a_new, Pa_new = a + size * step, Pa + size * P_step
        new = posterior.log_density(posterior.means + Pa_new)
        return a_new, Pa_new, new - 0.5 * float((a_new * Pa_new).sum())

    for size in 0.5 ** np.arange(tuning.halvings):
        best = at(size)
        if best[2] >= value + tuning.gain * size * decrement - slack:  # false for NaN
            break
    else:
        return None
    while size >= 1.0 and decrement > tuning.near:
        size *= 2.0
        longer = at(size)
        if not longer[2] > best[2]:
            break
        best = longer
    return best
