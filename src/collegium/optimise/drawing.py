"""Thompson's rule: the lowest point of a function that is drawn from the posterior."""

from __future__ import annotations

import numpy as np

from ..numerics import linalg
from .search import are_taken
from .space import Space
from .surface import Surface
from .tuning import TUNING

Array = np.ndarray


def drawn(surface: Surface, X: Array, rng: np.random.Generator) -> Array:
    """f = m + Lz at points, jointly  (n,)."""
    mean, C = surface.joint(X)
    return mean + surface.root(C, X) @ rng.standard_normal(X.shape[0])


def continued(surface: Surface, X: Array, f: Array, Xs: Array, rng: np.random.Generator) -> Array:
    """Draw f at further points Xs given its values at X  (n,).

    With the joint covariance [[K, k], [kᵀ, C]] and its factor [[L, 0], [W, R]] the draw is
    m + W L⁻¹(f − m at X) + Rz.
    """
    both, n = np.concatenate([X, Xs]), X.shape[0]
    mean, C = surface.joint(both)
    L = surface.root(C, both)
    past = linalg.solve_lower(L[:n, :n].copy(), f - mean[:n])
    return mean[n:] + L[n:] @ np.concatenate([past, rng.standard_normal(Xs.shape[0])])


def lowest_of_draw(
    surface: Surface, space: Space, starts: Array, taken: Array, rng: np.random.Generator
) -> Array:
    """Find the coordinates of the lowest point of one draw, away from points taken  (1, d).

    The draw is continued around its lowest point, given its values at the points nearest to it.
    """
    t = TUNING
    U = np.concatenate([space.pool(t.drawn, rng), space.near(starts, t.steps[0], t.cloud, rng)])
    U = _distinct(U, space)
    f = drawn(surface, space.at(U), rng)
    for step in t.steps:
        at = U[_lowest(f, space.at(U), taken)]
        near = np.argsort(((U - at) ** 2).sum(axis=1), kind="stable")[: t.known]
        more = _distinct(space.near(at[None], step, t.cloud, rng), space)
        more = more[~are_taken(space.at(more), space.at(U))]
        if len(more):
            more_f = continued(surface, space.at(U[near]), f[near], space.at(more), rng)
            U, f = np.concatenate([U, more]), np.concatenate([f, more_f])
    return U[[_lowest(f, space.at(U), taken)]]


def _lowest(f: Array, X: Array, taken: Array) -> int:
    return int(np.where(are_taken(X, taken), np.inf, f).argmin())


def _distinct(U: Array, space: Space) -> Array:
    """Keep the first of points that are equal for the model."""
    first = np.unique(space.at(U), axis=0, return_index=True)[1]
    return U[np.sort(first)]
