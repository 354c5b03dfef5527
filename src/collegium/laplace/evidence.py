"""Laplace evidence of chunks that are independent of each other, and its gradient.

    log Z = log p(y | f̂) − ½gᵀf̂ − ½ log|I + W^½KW^½|,   f̂ = Kg

The mode moves with the hyperparameters, and W with the mode (Rasmussen & Williams 2006, 5.5.1):
with s = ∂ log Z/∂f̂ = −½ var(f) ∂W/∂f and u = (I − ∂² log p · K)⁻¹s,

    K̄ = ½ggᵀ − ½A + ½(ugᵀ + guᵀ),   A = (K + W⁻¹)⁻¹,   var(f) = diag(K − KAK).

The terms with u follow the mode; without them the gradient is wrong. For K latent functions
the terms are summed; the determinant ignores covariances between functions. Where the evidence is
corrected row by row (`correction`), with v̄ = ∂/∂var(f) and S = K − KAK also

    K̄ += (I − AK)diag(v̄)(I − KA),   W̄ᵢ −= Σⱼ Sᵢⱼ²v̄ⱼ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..likelihoods.base import Observation
from ..numerics import linalg
from ..rows.chunk import Chunk
from .correction import correct
from .covariances import DenseCovariance
from .mode import Each, LogPosterior, Sites, find_sites, log_posterior
from .tuning import TUNING

Array = np.ndarray


#: g = ∂ log p at the mode of each chunk, by chunk id: one array (n, K) per likelihood.
Gradients = dict[int, list[Array]]


@dataclass(frozen=True, eq=False)
class EvidenceTerm:
    """Log evidence and its gradient, as a term of a sum."""

    value: float
    kernel: Array  # (q,)
    likelihood: Array
    modes: Gradients

    def __add__(self, other: EvidenceTerm) -> EvidenceTerm:
        return EvidenceTerm(
            self.value + other.value,
            self.kernel + other.kernel,
            self.likelihood + other.likelihood,
            self.modes | other.modes,
        )

    @property
    def gradient(self) -> Array:
        return np.append(self.kernel, self.likelihood)


def evidence_together(
    kernel: Kernel, likelihoods: Sequence[Observation], chunks: Sequence[Chunk], engine: Any,
    start: Gradients | None = None, tolerance: float = TUNING.modes.tolerance, *,
    corrected: bool = False,
) -> EvidenceTerm:  # fmt: skip
    """Σᵢ log Zᵢ summed over likelihoods of one kind with equal θ; y holds their columns side by
    side. `start`: where to start the search for modes, such as those of a similar kernel.
    `corrected`: with the correction of likelihoods that ask for it."""
    own = np.zeros(likelihoods[0].theta.size)
    nothing = EvidenceTerm(0.0, np.zeros(kernel.theta.size), own, {})
    send = partial(
        chunk_evidence, kernel, likelihoods, start=start or {}, tolerance=tolerance,
        each=getattr(engine, "each", iter), corrected=corrected,
    )  # fmt: skip
    return engine.sum(send, chunks, nothing)


def chunk_evidence(
    kernel: Kernel, likelihoods: Sequence[Observation], chunk: Chunk, start: Gradients,
    tolerance: float, each: Each = iter, *, corrected: bool = False,
) -> EvidenceTerm:  # fmt: skip
    """log Z of one chunk and its gradient."""
    X, y, w = chunk.load()
    K = DenseCovariance(linalg.mirror(kernel.value(X)))
    value, A, own = 0.0, np.zeros_like(K.C), np.zeros(likelihoods[0].theta.size)
    modes, responses = [], []  # g and u
    starts = start.get(chunk.id, [None] * len(likelihoods))
    parts = zip(likelihoods, np.hsplit(y, len(likelihoods)), starts)
    for likelihood, part, guess in each(parts):
        priors, means = [K] * likelihood.latents, np.zeros((X.shape[0], likelihood.latents))
        posterior = log_posterior(likelihood, part, w, means, priors, each)
        sites = find_sites(likelihood, part, w, means, priors, guess, tolerance, each)
        factored = [K.factorise(W) for W in sites.W.T]
        known = [(one.whiten(K.C) ** 2).sum(axis=0) for one in factored]  # diag(KAK)
        variance = np.stack([K.C.diagonal() - one for one in known], axis=1)
        W_bar, f_bar = -0.5 * w[:, None] * variance, np.zeros_like(variance)
        value += sites.log_evidence(factored)
        for one in factored:
            A += one.matrix()
        if corrected and likelihood.corrected:
            more = correct(likelihood, part, w, sites.f[:, 0], variance[:, 0])
            K_more, W_more = _through_variance(K.C, factored[0], more.v_bar)
            value, own, A = value + more.value, own + more.theta_bar, A - 2.0 * K_more
            W_bar[:, 0] += w * W_more
            f_bar[:, 0] = more.f_bar
        u = _through_mode(posterior, sites, W_bar, f_bar)
        Ku = posterior.latent(u)[:, 0]
        own += _likelihood_gradient(likelihood, part, w, sites, W_bar[:, 0], Ku)
        modes.append(sites.g)
        responses.append(u)
    g = np.hstack(modes)
    ug = np.hstack(responses) @ g.T
    K_bar = 0.5 * (g @ g.T + ug + ug.T - A)
    return EvidenceTerm(value, kernel.vjp(X, None, K_bar), own, {chunk.id: modes})


def _through_variance(C: Array, factored: Any, v_bar: Array) -> tuple[Array, Array]:
    """K̄ and W̄ of var(f) = diag(K − KAK), from v̄."""
    M = -(factored.matrix() @ C)
    linalg.add_diagonal(M, 1.0)  # I − AK = K⁻¹S
    B = factored.whiten(C)
    S = C - B.T @ B
    return (M * v_bar) @ M.T, -(S**2 @ v_bar)


def _through_mode(posterior: LogPosterior, sites: Sites, W_bar: Array, f_bar: Array) -> Array:
    """u per latent function  (n, K)."""
    f = posterior.shaped(sites.f)
    s = posterior.likelihood.curvature_vjp(posterior.y, f, W_bar.reshape(f.shape))
    return posterior.solve(sites.f, s.reshape(sites.f.shape) + f_bar)


def _likelihood_gradient(
    likelihood: Observation, y: Array, w: Array, sites: Sites, W_bar: Array, Ku: Array
) -> Array:
    """∂ log Z/∂θ, θ of the likelihood: through log p, through W, and through g to the mode."""
    if not likelihood.theta.size:
        return np.zeros(0)
    log_p, first, second = likelihood.theta_derivatives(y, sites.f[:, 0])
    W_theta = np.where(sites.W[:, 0] > 0.0, -second, 0.0)
    return (log_p + Ku * first) @ w + W_theta @ W_bar
