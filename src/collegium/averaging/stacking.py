"""Weight models by the density that each gives to rows that were left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from ..answers.leave_one_out import left_out
from ..numerics.linalg import LOG_2PI
from .model import SmallTable, noise_variance
from .tuning import TUNING

Array = np.ndarray


def leave_one_out_densities(table: SmallTable, theta: Array) -> Array:
    """log p(yᵢ | the other rows, θ)  (n,).

    For a row with w > 1 copies one copy is left out, and the others inform f; but all rows of a
    group are left out together.
    """
    found, noise = table.factor(theta), noise_variance(theta)
    out = left_out(found.L, found.alpha[:, None], table.group)  # all copies
    off, variance = out.off[:, 0], np.maximum(out.variance - noise / table.w, 0.0)  # of f
    others = np.maximum(table.w - 1.0, 0.0) if table.group is None else 0.0
    shrink = noise / (noise + others * variance)
    spread = noise + shrink * variance
    return -0.5 * ((shrink * off) ** 2 / spread + np.log(spread) + LOG_2PI)


def log_scores(table: SmallTable, points: Array) -> Array:
    """log of the leave-one-out density of each row, averaged over the points of a model  (n,)."""
    each = np.stack([leave_one_out_densities(table, theta) for theta in points])
    return logsumexp(each, axis=0) - np.log(len(points))


def stack(scores: Array, w: Array, prior: Array) -> Array:
    """Maximise Σᵢ wᵢ log Σₘ πₘpₘᵢ + Σₘ aₘ log πₘ over π by EM; scores are log p  (m,).

    π is the posterior mode under a Dirichlet prior with parameters 1 + a.
    """
    pi = prior / prior.sum()
    for _ in range(TUNING.rounds):
        joint = np.log(pi)[:, None] + scores
        taken = np.exp(joint - logsumexp(joint, axis=0))  # p(model | row)  (m, n)
        new = taken @ w + prior
        new /= new.sum()
        change, pi = np.abs(new - pi).max(), new
        if change < TUNING.tolerance:
            break
    return pi


def model_weights(scores: Sequence[Array], evidences: Array, w: Array) -> Array:
    """Weight each model; zero where the evidence is far below the best  (m,)."""
    kept = evidences >= evidences.max() - TUNING.far_below
    pi = np.zeros(len(scores))
    own = np.array(TUNING.shares[: len(scores)])[kept]
    own *= TUNING.pseudo_rows / own.sum()
    pi[kept] = stack(np.stack([one for one, k in zip(scores, kept) if k]), w, own)
    return pi
