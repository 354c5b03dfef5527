"""Points about a mode that stand for the posterior of θ (Laplace's approximation)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .maps import Mode
from .model import Table

Array = np.ndarray
#: Step of the differences, in prior standard deviations.
STEP = 0.01
#: Least curvature in any direction; the prior alone has 1.
LEAST = 0.5


@dataclass(frozen=True, eq=False)
class Normal:
    """θ ~ N(θ̂, SH⁻¹S), S the prior's standard deviations, H = UΛUᵀ the Hessian in their units."""

    mode: Mode
    eigenvalues: Array  # Λ, at least LEAST  (q,)
    directions: Array  # U  (q, q)

    @property
    def log_evidence(self) -> float:
        """log p(y) ≈ log p(y | θ̂) − ½‖ẑ‖² − ½ log|H|: what is 2π to the prior is so to θ."""
        return self.mode.value - 0.5 * float(np.log(self.eigenvalues).sum())

    def points(self, count: int, rng: np.random.Generator) -> Array:
        """count/2 normal draws and their mirror images, within the bounds; of no count the mode
        (count, q)."""
        mode = self.mode
        if count == 0:
            return mode.theta[None]
        half = rng.standard_normal((count // 2, mode.theta.size)) / np.sqrt(self.eigenvalues)
        steps = mode.prior.spread * (half @ self.directions.T)
        theta = mode.theta + np.concatenate([steps, -steps])
        return np.clip(theta, mode.prior.low, mode.prior.high)


def laplace(table: Table, mode: Mode) -> Normal:
    """The normal with the curvature of the log posterior at its mode."""
    eigenvalues, directions = np.linalg.eigh(hessian(table, mode))
    return Normal(mode, np.maximum(eigenvalues, LEAST), directions)


def hessian(table: Table, mode: Mode) -> Array:
    """−∂² log posterior/∂z², z = (θ − centre)/spread, by differences of gradients  (q, q)."""
    spread = mode.prior.spread
    H = np.empty((spread.size, spread.size))
    for i, unit in enumerate(STEP * np.diag(spread)):
        _, above = table.log_posterior(mode.theta + unit, mode.prior)
        _, below = table.log_posterior(mode.theta - unit, mode.prior)
        H[i] = spread * (below - above) / (2.0 * STEP)
    return 0.5 * (H + H.T)
