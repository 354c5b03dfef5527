"""Mixtures of Gaussians, the predictions of an averaged model; and errors of training rows as if
hyperparameters had not seen them, like those of new rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri

from ..numerics.linalg import LOG_2PI
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Mixture:
    """Σₖ πₖ N(mₖ, vₖ) at each of q queries."""

    means: Array  # m  (q, k)
    variances: Array  # v  (q, k)
    shares: Array  # π  (k,)

    def mean(self) -> Array:
        return self._mixed(self.means)

    def variance(self) -> Array:
        """Σₖ πₖ(vₖ + (mₖ − m̄)²)."""
        between = (self.means - self.mean()[:, None]) ** 2
        return self._mixed(self.variances + between)

    def std(self) -> Array:
        return np.sqrt(self.variance())

    def log_density(self, y: Array) -> Array:
        """log p(y), one y per query  (q,)."""
        return logsumexp(self.log_densities(y), b=self.shares, axis=1)

    def log_densities(self, y: Array) -> Array:
        """log N(y; mₖ, vₖ), one y per query  (q, k)."""
        z2 = (y[:, None] - self.means) ** 2 / self.variances
        return -0.5 * (z2 + np.log(self.variances) + LOG_2PI)

    def cdf(self, y: Array) -> Array:
        """P(Y ≤ y), one y per query  (q,)."""
        return self._mixed(ndtr((y[:, None] - self.means) / np.sqrt(self.variances)))

    def quantile(self, p: float) -> Array:
        """y with P(Y ≤ y) = p, by bisection between the extreme quantiles of the parts."""
        own = self.means + np.sqrt(self.variances) * ndtri(p)
        low, high = own.min(axis=1), own.max(axis=1)
        for _ in range(TUNING.halvings):
            middle = 0.5 * (low + high)
            below = self.cdf(middle) < p
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return 0.5 * (low + high)

    def _mixed(self, parts: Array) -> Array:
        """Σₖ πₖ partsₖ  (q,); row by row, since BLAS rounds differently for other numbers of
        rows."""
        return (parts * self.shares).sum(axis=1)


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
