"""Search of the highest score in a region: quasi-random points, then clouds around the best."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from .space import Space
from .tuning import TUNING

Array = np.ndarray
#: From points as the model sees them (n, d) to scores (n,), the larger the better.
Score = Callable[[Array], Array]


def highest(
    score: Score, space: Space, starts: Array, taken: Array, rng: np.random.Generator
) -> Array:
    """Find the coordinates of the highest score, away from points that are taken  (1, d).

    `starts`: coordinates that are looked around first; `taken`: points as the model sees them.
    """

    def looked_at(U: Array) -> Array:
        X = space.at(U)
        return np.where(are_taken(X, taken), -np.inf, score(X))

    t = TUNING
    U = np.concatenate([space.pool(t.pool, rng), space.near(starts, t.steps[0], t.cloud, rng)])
    found = looked_at(U)
    for step in t.steps:
        U, found = _best(U, found, t.kept)
        more = space.near(U, step, t.cloud, rng)
        U, found = np.concatenate([U, more]), np.concatenate([found, looked_at(more)])
    U, found = _best(U, found, t.polished)
    ends = np.stack([_uphill(looked_at, space, u) for u in U])
    return _best(np.concatenate([U, ends]), np.concatenate([found, looked_at(ends)]), 1)[0]


def are_taken(X: Array, taken: Array) -> Array:
    """Which points are equal to one that is taken  (n,)."""
    return (X[:, None] == taken).all(axis=2).any(axis=1)


def _best(U: Array, found: Array, k: int) -> tuple[Array, Array]:
    order = np.argsort(-found, kind="stable")[:k]
    return U[order], found[order]


def _uphill(score: Score, space: Space, u: Array) -> Array:
    """Follow the slope from one point, in the columns that are intervals  (d,)."""
    free = np.array([k for k, axis in enumerate(space.axes) if axis.numbers], dtype=int)
    if not free.size:
        return u
    k, each = free.size, np.arange(free.size)
    steps = np.zeros((2 * k + 1, u.size))
    steps[each, free], steps[k + each, free] = TUNING.difference, -TUNING.difference

    def value(part: Array) -> tuple[float, Array]:
        """−score and its gradient by differences, one-sided at the ends of an interval."""
        own = u.copy()
        own[free] = part
        U = np.clip(own + steps, 0.0, 1.0)
        found = -score(U)
        if not np.isfinite(found).all():  # next to a point that is taken
            return np.inf, np.zeros(k)
        return float(found[-1]), (found[:k] - found[k:-1]) / (U[each, free] - U[k + each, free])

    found = minimize(
        value, u[free], jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * k,
        options={"maxiter": TUNING.uphill},
    )  # fmt: skip
    own = u.copy()
    own[free] = np.clip(found.x, 0.0, 1.0)
    return own
