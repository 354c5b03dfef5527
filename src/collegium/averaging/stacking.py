"""Weights of models by the density that each gives to rows it has not seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from ..numerics.linalg import LOG_2PI, inverse_posdef
from .model import Table, noise_variance

Array = np.ndarray
#: Rows that count as if shared out before any was seen, and the shares of τ = 0, 1, 2.
PSEUDO_ROWS, SHARES = 10.0, (0.5, 0.25, 0.25)
#: A model whose evidence is so many nats below the best is left out.
FAR_BELOW = 20.0
MOST_ROUNDS, TOLERANCE = 1_000, 1e-6


def left_out(table: Table, theta: Array) -> Array:
    """log p(yᵢ | the other rows, θ)  (n,).

    Rasmussen & Williams eqs 5.10–5.12: without row i, yᵢ − αᵢ/A⁻¹ᵢᵢ is its mean and 1/A⁻¹ᵢᵢ its
    variance. Of a row that was seen w > 1 times one copy is left out, and the others tell f.
    """
    found, noise = table.factor(theta), noise_variance(theta)
    precision = inverse_posdef(found.L).diagonal()
    off = found.alpha / precision  # yᵢ less its mean, all copies left out
    variance = np.maximum(1.0 / precision - noise / table.w, 0.0)  # of f
    others = np.maximum(table.w - 1.0, 0.0)
    shrink = noise / (noise + others * variance)
    spread = noise + shrink * variance
    return -0.5 * ((shrink * off) ** 2 / spread + np.log(spread) + LOG_2PI)


def log_scores(table: Table, points: Array) -> Array:
    """log of the density of each row left out, averaged over the points of a model  (n,)."""
    each = np.stack([left_out(table, theta) for theta in points])
    return logsumexp(each, axis=0) - np.log(len(points))


def stack(scores: Array, w: Array, prior: Array) -> Array:
    """The π that maximise Σᵢ wᵢ log Σₘ πₘpₘᵢ + Σₘ aₘ log πₘ, by EM; scores are log p  (m,).

    π may be read as the posterior mode under a Dirichlet prior with parameters 1 + a.
    """
    pi = prior / prior.sum()
    for _ in range(MOST_ROUNDS):
        joint = np.log(pi)[:, None] + scores
        taken = np.exp(joint - logsumexp(joint, axis=0))  # p(model | row)  (m, n)
        new = taken @ w + prior
        new /= new.sum()
        change, pi = np.abs(new - pi).max(), new
        if change < TOLERANCE:
            break
    return pi


def weights(scores: Sequence[Array], evidences: Array, w: Array) -> Array:
    """Weight of each model, zero of those FAR_BELOW the best evidence  (m,)."""
    kept = evidences >= evidences.max() - FAR_BELOW
    pi = np.zeros(len(scores))
    own = np.array(SHARES[: len(scores)])[kept]
    own *= PSEUDO_ROWS / own.sum()
    pi[kept] = stack(np.stack([one for one, k in zip(scores, kept) if k]), w, own)
    return pi
