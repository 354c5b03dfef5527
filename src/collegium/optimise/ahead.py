"""Knowledge of f once earlier points of a batch have been evaluated, and criteria of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from ..numerics import linalg
from .improvement import log_improvement
from .surface import Surface
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Ahead:
    """f given its values at c points of a batch, which are drawn s times from the posterior.

    Values are m + Lz, m and LLᵀ the moments there. Given them, f at x has the mean
    m(x) + k(x)ᵀL⁻ᵀz and the variance v(x) − |L⁻¹k(x)|², k(x) the covariances with the c points.
    Where there are none, s = 1.
    """

    surface: Surface
    X: Array  # (c, d)
    L: Array  # (c, c)
    z: Array  # (c, s)
    values: Array  # (c, s)

    @classmethod
    def of(cls, surface: Surface, X: Array, rng: np.random.Generator) -> Ahead:
        """Draw values at the points of a batch."""
        if not X.shape[0]:
            none = np.zeros((0, 1))
            return cls(surface, X, np.zeros((0, 0)), none, none)
        mean, C = surface.joint(X)
        L = surface.root(C, X)
        z = rng.standard_normal((X.shape[0], TUNING.draws))
        return cls(surface, X, L, z, mean[:, None] + L @ z)

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Means given each draw, and standard deviations  (n, s), (n,)."""
        if not self.X.shape[0]:
            mean, sd = self.surface.moments(X)
            return mean[:, None], sd
        tiles = [self._tile(X[i : i + TUNING.tile]) for i in range(0, X.shape[0], TUNING.tile)]
        mean, sd = (np.concatenate(parts) for parts in zip(*tiles))
        return mean, sd

    def _tile(self, X: Array) -> tuple[Array, Array]:
        c = self.X.shape[0]
        mean, C = self.surface.joint(np.concatenate([self.X, X]))
        W = linalg.solve_lower(self.L, C[:c, c:])  # L⁻¹k  (c, n)
        left = np.maximum(C.diagonal()[c:] - (W**2).sum(axis=0), 0.0)
        return mean[c:, None] + W.T @ self.z, np.sqrt(left)

    def best(self, best: float) -> Array:
        """The lowest value so far, of each draw  (s,)."""
        return np.minimum(best, self.values.min(axis=0, initial=np.inf))


def improvement(ahead: Ahead, best: float, X: Array) -> Array:
    """log E[max(best − f, 0)], averaged over the values at earlier points of the batch  (n,)."""
    mean, sd = ahead.moments(X)
    each = log_improvement(mean, sd[:, None], ahead.best(best))
    return logsumexp(each, axis=1) - np.log(each.shape[1])


def confidence(ahead: Ahead, best: float, X: Array) -> Array:
    """width·sd − mean: minus the lower bound of f, where the batch narrows the sd alone  (n,).

    Desautels, Krause & Burdick (2014) choose batches so.
    """
    sd = ahead.moments(X)[1]
    return TUNING.width * sd - ahead.surface.moments(X)[0]


#: By the value of `how`; larger is better.
CRITERIA: dict[str, Callable[[Ahead, float, Array], Array]] = {
    "ei": improvement,
    "ucb": confidence,
}
