"""Rows as if hyperparameters had not seen them: what errors at new rows will be."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from .mixture import Mixture

Array = np.ndarray


def shares_without(mixture: Mixture, y: Array) -> Array:
    """Shares of the parts without row i, of which the mixture has the answers of the others (n, k).

    p(θ | y without yᵢ) ∝ p(θ | y) / p(yᵢ | the others, θ) (Gelfand, Dey and Chang 1992): θ that
    suit yᵢ were chosen by it too. No factor is above √k of their mean (Ionides 2008): few points
    stand for all θ.
    """
    log_factors = -mixture.log_densities(y)
    factors = np.exp(log_factors - log_factors.max(axis=1, keepdims=True))
    mean = (factors @ mixture.shares)[:, None]
    shares = mixture.shares * np.minimum(factors, np.sqrt(mixture.shares.size) * mean)
    return shares / shares.sum(axis=1, keepdims=True)


def as_unseen(mixture: Mixture, y: Array) -> tuple[Array, Array]:
    """y moved to y′, and log p(y′)  (n,): (y′ − m)/s = (y − mᵢ)/sᵢ.

    m and s are the mean and standard deviation of the mixture, mᵢ and sᵢ those by the shares
    without yᵢ. These depend on y, so that a scale could read the error from them; m and s do not,
    and are like those of new rows.
    """
    shares = shares_without(mixture, y)
    mean = (shares * mixture.means).sum(axis=1)
    spread = mixture.variances + (mixture.means - mean[:, None]) ** 2
    ratio = mixture.std() / np.sqrt((shares * spread).sum(axis=1))
    log_density = logsumexp(mixture.log_densities(y), b=shares, axis=1)
    return mixture.mean() + ratio * (y - mean), log_density - np.log(ratio)
