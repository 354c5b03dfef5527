"""Learn the weights of the basis by Fisher scoring, its hyperparameters by Laplace evidence.

With r = ∂ log p(z | g)/∂g and the expected curvature a = ½ν/(ν + 3) of a row,

    w ← w + A⁻¹(Bᵀr − w)      A = I + a BᵀΩB      evidence = log p(z | Bw) − ½wᵀw − ½ log|A|

A does not depend on w, and the first two terms are stationary at the mode: the gradient of the
evidence is that at fixed w.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from ..numerics import linalg
from .basis import ScaleBasis
from .density import Seen, as_seen
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class ScaleMode:
    """The mode of the weights, and its log joint density and precision."""

    w: Array  # (m,)
    g: Array  # Bw  (n,)
    log_joint: float  # log p(z | w) − ½wᵀw
    factor: Array  # L, LLᵀ = A  (m, m)


@dataclass(frozen=True, eq=False)
class ScaleEvidence:
    """Log evidence and log prior of (θ, η), their gradient, and the mode."""

    value: float
    gradient: Array  # (q + 1,)
    mode: ScaleMode


@dataclass(frozen=True, eq=False)
class LearntScale:
    """Hyperparameters, and the mode of the weights at them."""

    theta: Array  # (q,)
    nu: float
    B: Array  # (n, m)
    mode: ScaleMode


def curvature(nu: float) -> float:
    """a = ½ν/(ν + 3), the expected −∂² log p/∂g² of a row."""
    return 0.5 if np.isinf(nu) else 0.5 * nu / (nu + 3.0)


def precision_factor(B: Array, curvatures: Array) -> Array:
    """L, LLᵀ = I + Bᵀ diag(a) B  (m, m)."""
    A = linalg.gram((B * np.sqrt(curvatures)[:, None]).T)
    return linalg.cholesky(linalg.add_diagonal(A, 1.0), 1.0, overwrite=True)[0]


def find_mode(
    B: Array, z: Array | Seen, weight: Array, nu: float, start: Array | None = None
) -> ScaleMode:
    """Find the weights of largest posterior density; where errors are known, it is log-concave
    and there is one mode.

    Where the expected curvature is far from the observed one (outliers, and ν large), steps with
    the latter follow.
    """
    t, seen = TUNING.search, as_seen(z)
    L = expected = precision_factor(B, weight * curvature(nu))

    def joint(w: Array) -> tuple[float, Array, Array]:
        g = B @ w
        each, slope = seen.with_slope(g, nu)
        return float(weight @ each) - 0.5 * float(w @ w), g, slope

    w = np.zeros(B.shape[1]) if start is None else start
    value, g, slope = joint(w)
    for i in range(t.steps):
        if i and i % t.each == 0:
            L = precision_factor(B, weight * seen.bend(g, nu))
        gradient = B.T @ (weight * slope) - w
        step = linalg.solve_posdef(L, gradient)
        for _ in range(t.halvings):
            new_value, new_g, new_slope = joint(w + step)
            if new_value >= value - 1e-13 * abs(value):
                break
            step *= 0.5
        else:
            break
        w, value, g, slope = w + step, new_value, new_g, new_slope
        if step @ step <= t.small * (1.0 + w @ w):
            break
    return ScaleMode(w, g, value, expected)


def scale_evidence(
    basis: ScaleBasis, z: Array | Seen, weight: Array, parameters: Array,
    start: Array | None = None,
) -> ScaleEvidence:  # fmt: skip
    """Evidence of (θ, η), with adjoints: ℓ gives B̄ = rwᵀ, −½ log|A| gives B̄ = −a ΩBA⁻¹."""
    least = TUNING.priors.least_nu
    theta, nu = parameters[:-1], least + np.exp(parameters[-1])
    B, a = basis.design(theta), curvature(nu)
    seen = as_seen(z)
    mode = find_mode(B, seen, weight, nu, start)
    covariance = linalg.solve_posdef(mode.factor, np.eye(mode.w.size))  # A⁻¹
    spread = weight[:, None] * (B @ covariance)  # ΩBA⁻¹
    B_bar = np.outer(weight * seen.slope(mode.g, nu), mode.w) - a * spread
    a_bar = -0.5 * float(np.vdot(spread, B))  # −½ tr(A⁻¹BᵀΩB)
    nu_bar = float(weight @ seen.nu_slope(mode.g, nu)) + a_bar * 1.5 / (nu + 3.0) ** 2
    gradient = np.append(basis.design_vjp(theta, B, B_bar), nu_bar * (nu - least))
    centre, sd = scale_prior(basis)
    away = (parameters - centre) / sd
    value = mode.log_joint - 0.5 * linalg.log_det(mode.factor) - 0.5 * float(away @ away)
    return ScaleEvidence(value, gradient - away / sd, mode)


def scale_prior(basis: ScaleBasis) -> tuple[Array, Array]:
    """Means and standard deviations of (θ, η)."""
    centre, sd = np.vstack([basis.prior, TUNING.priors.eta]).T
    return centre, sd


def learn_scale(basis: ScaleBasis, z: Array | Seen, weight: Array) -> LearntScale:
    """Maximise the evidence from the prior's mean; weights are at their mode."""
    t = TUNING.priors
    centre, sd = scale_prior(basis)
    best: list[ScaleEvidence] = []

    def negative(parameters: Array) -> tuple[float, Array]:
        start = best[0].mode.w if best else None
        found = scale_evidence(basis, z, weight, parameters, start)
        if not best or found.value > best[0].value:
            best[:] = [found]
        return -found.value / weight.size, -found.gradient / weight.size

    bounds = list(zip(centre - t.widest * sd, centre + t.widest * sd))
    result = minimize(
        negative, centre, jac=True, method="L-BFGS-B", bounds=bounds,
        options={"maxiter": TUNING.search.iterations, "ftol": 1e-6},
    )  # fmt: skip
    theta, nu = result.x[:-1], float(t.least_nu + np.exp(result.x[-1]))
    B = basis.design(theta)
    return LearntScale(theta, nu, B, find_mode(B, z, weight, nu, best[0].mode.w))
