"""Learn kernels for streams that are not Gaussian, by the evidence of some rows.

Each row is predicted from those before it. The evidence has no gradient here: two numbers are
searched, a factor of all variances and one of all length scales.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from ..kernels import Kernel
from ..learning.optimise import Scales

Array = np.ndarray


def default_kernel(X: Array, levels: tuple[int, ...] = ()) -> Kernel:
    """Matérn 5/2 of unit variance, lengths the columns' scales times √d."""
    return Scales.of(X, levels).kernel("Matern52")


def search_kernel(
    log_evidence: Callable[[Kernel], float], kernel: Kernel, X: Array, *, evaluations: int = 40
) -> Kernel:
    """Scale the kernel by e^a and its lengths by e^b to maximise log evidence + log prior.

    Nelder & Mead (1965) from the given kernel, within the bounds that the data set (`Scales`).
    Parameters that are fixed, or neither variances nor lengths, stay.
    """
    kinds = np.array([kind for kind, _ in kernel.labels])
    moves = np.array(
        [kinds == "variance", np.isin(kinds, ("length", "slope", "mismatch"))], dtype=float
    )
    moves = moves[moves.any(axis=1)] if kinds.size else np.empty((0, 0))
    if not len(moves):
        return kernel
    prior = Scales.of(X).prior(kernel)
    start = prior.theta(kernel)
    low, high = prior.low[:-1], prior.high[:-1]

    def at(step: Array) -> Array:
        return np.clip(start + step @ moves, low, high)

    def negative(step: Array) -> float:
        theta = at(step)
        z = (theta - prior.centre[:-1]) / prior.spread[:-1]
        return 0.5 * float((z @ z) / theta.size) - log_evidence(prior.kernel(kernel, theta))

    q = len(moves)
    simplex = np.vstack([np.zeros(q), np.eye(q)])
    if q == 2:
        simplex[2, 1] = -0.7  # towards shorter lengths: the start is a smooth function
    found = minimize(
        negative, np.zeros(q), method="Nelder-Mead",
        options={
            "maxfev": evaluations, "initial_simplex": simplex, "xatol": 0.03, "fatol": 0.03
        },
    )  # fmt: skip
    return prior.kernel(kernel, at(found.x))
