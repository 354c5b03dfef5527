"""The Laplace evidence of chunks that are independent of each other, and its gradient.

    log Z = log p(y | f̂) − ½gᵀf̂ − ½ log|I + W^½KW^½|,   f̂ = Kg

The mode moves with the hyperparameters, and W with the mode (Rasmussen & Williams 2006, 5.5.1):
with s = ∂ log Z/∂f̂ = −½ var(f) ∂W/∂f and u = (I − ∂² log p · K)⁻¹s,

    K̄ = ½ggᵀ − ½A + ½(ugᵀ + guᵀ),   A = (K + W⁻¹)⁻¹,   var(f) = diag(K − KAK).

Without u the gradient is that of frozen sites, and wrong. Of K latent functions the terms add
up; the determinant is that of the sites, which leave out what ties the functions together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..learning.optimise import Objective
from ..likelihoods.base import Observation
from ..numerics import linalg
from ..rows.chunk import Chunk
from .covariances import Dense
from .mode import TOLERANCE, Single, Sites, find_sites, hill_of

Array = np.ndarray


#: Slopes at the modes of each chunk, one array (n, K) a likelihood, by the chunk's number.
Slopes = dict[int, list[Array]]


@dataclass(frozen=True, eq=False)
class Term:
    """A log evidence and its gradient, as a term of a sum."""

    value: float
    kernel: Array  # (q,)
    likelihood: Array
    slopes: Slopes

    def __add__(self, other: Term) -> Term:
        return Term(
            self.value + other.value,
            self.kernel + other.kernel,
            self.likelihood + other.likelihood,
            self.slopes | other.slopes,
        )

    @property
    def gradient(self) -> Array:
        return np.append(self.kernel, self.likelihood)


def factorised(
    kernel: Kernel, likelihood: Observation, chunks: Sequence[Chunk], engine: Any
) -> tuple[float, Array]:
    """Σᵢ log Zᵢ and its gradient in (θ of the kernel, θ of the likelihood)."""
    total = factorised_together(kernel, [likelihood], chunks, engine)
    return total.value, total.gradient


def factorised_together(
    kernel: Kernel, likelihoods: Sequence[Observation], chunks: Sequence[Chunk], engine: Any,
    slopes: Slopes | None = None, tolerance: float = TOLERANCE,
) -> Term:  # fmt: skip
    """The same, summed over likelihoods of one kind, each of its share of the columns of y and
    all with the same θ. `slopes`: those found by another kernel, near this one."""
    nothing = Term(0.0, np.zeros(kernel.theta.size), np.zeros(likelihoods[0].theta.size), {})
    send = partial(own_evidence, kernel, likelihoods, slopes=slopes or {}, tolerance=tolerance)
    return engine.sum(send, chunks, nothing)


def objective(likelihood: Observation, chunks: Sequence[Chunk], engine: Any) -> Objective:
    """For `optimise.maximise`: the evidence at (kernel, σ²) and its gradient in their logs.

    Where the likelihood has no noise to learn the last entry is zero: fix it.
    """

    def at(kernel: Kernel, noise: float) -> tuple[float, Array]:
        noisy = bool(likelihood.theta.size)
        own = likelihood.with_theta(np.log([noise])) if noisy else likelihood
        value, gradient = factorised(kernel, own, chunks, engine)
        return value, gradient if noisy else np.append(gradient, 0.0)

    return at


def own_evidence(
    kernel: Kernel, likelihoods: Sequence[Observation], chunk: Chunk, slopes: Slopes,
    tolerance: float,
) -> Term:  # fmt: skip
    """log Z of one chunk and its gradient."""
    X, y, w = chunk.load()
    K = Dense(linalg.mirror(kernel.value(X)))
    value, A, own = 0.0, np.zeros_like(K.C), np.zeros(likelihoods[0].theta.size)
    found, moves = [], []  # g and u
    starts = slopes.get(chunk.id, [None] * len(likelihoods))
    for likelihood, part, start in zip(likelihoods, np.hsplit(y, len(likelihoods)), starts):
        priors = [K] * likelihood.latents
        hill = hill_of(likelihood, part, w, np.zeros((X.shape[0], likelihood.latents)), priors)
        sites = find_sites(likelihood, part, w, hill.means, priors, start, tolerance)
        met = [K.meet(W) for W in sites.W.T]
        known = [(one.whiten(K.C) ** 2).sum(axis=0) for one in met]  # diag(KAK)
        variance = np.stack([K.C.diagonal() - one for one in known], axis=1)
        u = _through_mode(hill, sites, variance)
        value += sites.log_evidence(met)
        for one in met:
            A += one.matrix()
        own += likelihood_part(likelihood, part, w, sites, variance[:, 0], hill.latent(u)[:, 0])
        found.append(sites.g)
        moves.append(u)
    g = np.hstack(found)
    ug = np.hstack(moves) @ g.T
    K_bar = 0.5 * (g @ g.T + ug + ug.T - A)
    return Term(value, kernel.vjp(X, None, K_bar), own, {chunk.id: found})


def _through_mode(hill: Single, sites: Sites, variance: Array) -> Array:
    """u of each latent function  (n, K)."""
    f = hill.shaped(sites.f)
    W_bar = -0.5 * hill.w[:, None] * variance
    s = hill.likelihood.curvature_vjp(hill.y, f, W_bar.reshape(f.shape)).reshape(sites.f.shape)
    return hill.respond(sites.f, s)


def likelihood_part(
    likelihood: Observation, y: Array, w: Array, sites: Sites, variance: Array, moved: Array
) -> Array:
    """∂ log Z/∂θ of the likelihood's own θ: through log p, through W, and through the mode, whose
    slope changes by ∂g; moved = Ku  (n,)."""
    if not likelihood.theta.size:
        return np.zeros(0)
    log_p, slope, second = likelihood.theta_derivatives(y, sites.f[:, 0])
    W_theta = np.where(sites.W[:, 0] > 0.0, -second, 0.0)
    return (log_p - 0.5 * variance * W_theta + moved * slope) @ w
