"""The model of few rows: its kernel, weak priors, and the evidence with its gradient.

θ = (log ℓ, log s_f, log σ, log s_l, δ₁ … δ_d); without the δ there is one length scale for all
columns. X and y are standardised; columns of codes of levels (`levels`) are not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..kernels.stationary.matern import Matern52
from ..learning.optimise import Prior
from ..numerics.linalg import (
    LOG_2PI,
    add_diagonal,
    cholesky,
    inverse_posdef,
    log_det,
    solve_lower,
    solve_posdef,
)
from .tuning import TUNING

Array = np.ndarray
#: Positions of columns of codes.
Levels = tuple[int, ...]
#: Positions of log ℓ, log s_f, log σ and log s_l in θ; from SHARED on the δ of the columns.
LENGTH, SIGNAL, NOISE, SLOPE, SHARED = range(5)
#: Smallest and largest log σ.
NOISE_RANGE = (-6.0, 1.0)
#: Bounds of the other parameters, in prior standard deviations from the centre.
REACH = 6.0


def weak_prior(d: int, tau: float) -> Prior:
    """log ℓ ~ N(½ log d + .7, 1), log s_f ~ N(0, 1), log σ ~ N(−1.5, 1.5²) within [−6, 1],
    log s_l ~ N(−1, 1.5²), δⱼ ~ N(0, τ²); τ = 0: no δ."""
    own = d if tau else 0
    centre = np.concatenate([[0.5 * np.log(d) + 0.7, 0.0, -1.5, -1.0], np.zeros(own)])
    spread = np.concatenate([[1.0, 1.0, 1.5, 1.5], np.full(own, float(tau))])
    low, high = centre - REACH * spread, centre + REACH * spread
    low[NOISE], high[NOISE] = NOISE_RANGE
    return Prior(centre, spread, low, high)


def smooth(theta: Array, levels: Levels = ()) -> Matern52:
    """s_f² Matérn 5/2 with log ℓⱼ = log ℓ + δⱼ; a mismatch of levels is a difference of 1."""
    length = np.exp(theta[LENGTH] + theta[SHARED:]) if theta.size > SHARED else None
    return Matern52(
        variance=float(np.exp(2.0 * theta[SIGNAL])),
        length_scale=float(np.exp(theta[LENGTH])) if length is None else length,
        categories=levels,
    )


def clipped(X: Array, levels: Levels = ()) -> Array:
    """c(x): numbers clipped, so that the linear term is bounded outside; 0 in place of codes."""
    found = np.clip(X, -TUNING.clip, TUNING.clip)
    found[:, list(levels)] = 0.0
    return found


def linear(X: Array, Z: Array, levels: Levels = ()) -> Array:
    """(c(x)ᵀc(z) + Σ 1[xⱼ = zⱼ])/d, the sum over columns of levels: each has its own effect."""
    found = clipped(X, levels) @ clipped(Z, levels).T
    for k in levels:
        found += X[:, k, None] == Z[None, :, k]
    return found / X.shape[1]


def plus_linear(theta: Array, K: Array, line: Array) -> Array:
    """K + s_l² line + 1, in place; line = linear(x, z)."""
    K += np.exp(2.0 * theta[SLOPE]) * line
    K += 1.0
    return K


def prior_covariance(theta: Array, X: Array, Z: Array | None = None, levels: Levels = ()) -> Array:
    """k(x, z) = s_f² Matérn 5/2 + s_l² linear(x, z) + 1, without noise  (n, m)."""
    line = linear(X, X if Z is None else Z, levels)
    return plus_linear(theta, smooth(theta, levels).value(X, Z), line)


def linear_squares(X: Array, levels: Levels = ()) -> Array:
    """linear(x, x)  (n,)."""
    return (clipped(X, levels) ** 2).mean(axis=1) + len(levels) / X.shape[1]


def prior_variances(theta: Array, squares: Array) -> Array:
    """k(x, x), with squares = linear(x, x)  (n,)."""
    return np.exp(2.0 * theta[SIGNAL]) + np.exp(2.0 * theta[SLOPE]) * squares + 1.0


def noise_variance(theta: Array) -> float:
    """σ²."""
    return float(np.exp(2.0 * theta[NOISE]))


@dataclass(frozen=True, eq=False)
class Factor:
    """A = K + σ²/w at one θ, factorised."""

    L: Array  # LLᵀ = A  (n, n)
    alpha: Array  # A⁻¹y  (n,)


@dataclass(frozen=True, eq=False)
class SmallTable:
    """Standardised rows, and the term that all evaluations share."""

    X: Array  # (n, d)
    y: Array  # (n,)
    w: Array  # number of copies of each row  (n,)
    levels: Levels = ()
    group: Array | None = None  # code of the group that each row came in  (n,)

    @cached_property
    def gram(self) -> Array:
        """Linear term without its variance  (n, n)."""
        return linear(self.X, self.X, self.levels)

    def factor(self, theta: Array) -> Factor:
        K = plus_linear(theta, smooth(theta, self.levels).value(self.X), self.gram)
        scale = float(K.diagonal().max())
        add_diagonal(K, noise_variance(theta) / self.w)
        L, _ = cholesky(K, scale, overwrite=True)
        return Factor(L, solve_posdef(L, self.y))

    def log_evidence(self, theta: Array) -> tuple[float, Array]:
        """log p(y | X, θ) where row i was seen wᵢ times, and its gradient.

        N(y | f, σ²)ʷ = N(y | f, σ²/w) (2πσ²)^{−(w−1)/2} w^{−½}.
        """
        found, noise = self.factor(theta), noise_variance(theta)
        n, copies = self.y.size, float((self.w - 1.0).sum())
        value = -0.5 * (self.y @ found.alpha + log_det(found.L) + n * LOG_2PI)
        value -= 0.5 * (copies * (LOG_2PI + 2.0 * theta[NOISE]) + np.log(self.w).sum())
        A_bar = inverse_posdef(found.L)  # ½(ααᵀ − A⁻¹), lower triangle
        A_bar *= -0.5
        A_bar += np.multiply.outer(0.5 * found.alpha, found.alpha)
        diagonal = A_bar.diagonal().copy()
        variance_bar, *length_bars = smooth(theta, self.levels).vjp(self.X, None, A_bar)
        # the lower triangle represents both: entries off the diagonal count twice
        twice = 2.0 * np.vdot(np.tril(A_bar, -1), self.gram) + diagonal @ self.gram.diagonal()
        gradient = np.empty_like(theta)
        gradient[LENGTH] = sum(length_bars)
        gradient[SIGNAL] = 2.0 * variance_bar
        gradient[NOISE] = 2.0 * noise * (diagonal @ (1.0 / self.w)) - copies
        gradient[SLOPE] = 2.0 * np.exp(2.0 * theta[SLOPE]) * twice
        gradient[SHARED:] = length_bars[: theta.size - SHARED]
        return float(value), gradient

    def log_posterior(self, theta: Array, prior: Prior) -> tuple[float, Array]:
        """log p(y | θ) − ½‖(θ − centre)/spread‖², and its gradient."""
        value, gradient = self.log_evidence(theta)
        log_prior, prior_gradient = prior.log_density(theta)
        return value + log_prior, gradient + prior_gradient

    def information(self, theta: Array) -> Array:
        """½ VᵀA⁻¹V, V = [∂A/∂θᵢ α]: the average of the observed and the expected information
        (Gilmour, Thompson & Cullis 1995); length scales by differences  (q, q)."""
        found, own = self.factor(theta), smooth(theta, self.levels)
        alpha, d, step = found.alpha, self.X.shape[1], 2.0**-13
        signal = own.value(self.X) @ alpha
        more = 1.0 + step * np.eye(d) if theta.size > SHARED else [1.0 + step]
        stretched = [replace(own, length_scale=own.length_scale * one) for one in more]
        each = [(one.value(self.X) @ alpha - signal) / np.log1p(step) for one in stretched]
        V = np.empty((alpha.size, theta.size))
        V[:, LENGTH] = np.sum(each, axis=0)
        V[:, SIGNAL] = 2.0 * signal
        V[:, NOISE] = 2.0 * noise_variance(theta) / self.w * alpha
        V[:, SLOPE] = 2.0 * np.exp(2.0 * theta[SLOPE]) * (self.gram @ alpha)
        if theta.size > SHARED:
            V[:, SHARED:] = np.stack(each, axis=1)
        white = solve_lower(found.L, V)
        return 0.5 * white.T @ white
