"""Errors of training rows as if hyperparameters had not seen them: like those of new rows."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from .mixture import Mixture

Array = np.ndarray


def shares_without(mixture: Mixture, y: Array, together: Array | None = None) -> Array:
    """p(θ | y without yᵢ) ∝ p(θ | y) / p(yᵢ | the others, θ), as shares of the parts  (n, k).

    Gelfand, Dey and Chang (1992); row i of the mixture is predicted from the other rows. Factors
    are cut at √k times their mean (Ionides 2008), because few points represent all θ. `together`:
    log p of the group of each row given all others, where rows were left out by group  (n, k).
    """
    log_factors = -(mixture.log_densities(y) if together is None else together)
    factors = np.exp(log_factors - log_factors.max(axis=1, keepdims=True))
    mean = (factors @ mixture.shares)[:, None]
    shares = mixture.shares * np.minimum(factors, np.sqrt(mixture.shares.size) * mean)
    return shares / shares.sum(axis=1, keepdims=True)


def as_unseen(mixture: Mixture, y: Array, together: Array | None = None) -> tuple[Array, Array]:
    """Move y to y′ with (y′ − m)/s = (y − mᵢ)/sᵢ, and compute log p(y′)  (n,).

    m and s are the mean and standard deviation of the mixture, mᵢ and sᵢ those with the shares
    without yᵢ. These depend on y, so that a scale could read the error from them; m and s do not,
    and are like those of new rows.
    """
    shares = shares_without(mixture, y, together)
    mean = (shares * mixture.means).sum(axis=1)
    spread = mixture.variances + (mixture.means - mean[:, None]) ** 2
    ratio = mixture.std() / np.sqrt((shares * spread).sum(axis=1))
    log_density = logsumexp(mixture.log_densities(y), b=shares, axis=1)
    return mixture.mean() + ratio * (y - mean), log_density - np.log(ratio)
