"""Points around a mode that represent the posterior of θ (Laplace's approximation)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .maps import Mode
from .model import SmallTable
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Normal:
    """θ ~ N(θ̂, SH⁻¹S), S the prior's standard deviations, H = UΛUᵀ the Hessian in their units."""

    mode: Mode
    eigenvalues: Array  # Λ, at least `TUNING.curvature`  (q,)
    directions: Array  # U  (q, q)

    @property
    def log_evidence(self) -> float:
        """log p(y) ≈ log p(y | θ̂) − ½‖ẑ‖² − ½ log|H|; all factors 2π cancel."""
        return self.mode.value - 0.5 * float(np.log(self.eigenvalues).sum())

    def points(self, count: int, rng: np.random.Generator) -> Array:
        """Draw count/2 points and their mirror images, within the bounds; count 0: the mode
        (count, q)."""
        mode = self.mode
        if count == 0:
            return mode.theta[None]
        half = rng.standard_normal((count // 2, mode.theta.size)) / np.sqrt(self.eigenvalues)
        steps = mode.prior.spread * (half @ self.directions.T)
        theta = mode.theta + np.concatenate([steps, -steps])
        return np.clip(theta, mode.prior.low, mode.prior.high)


def normal_at(table: SmallTable, mode: Mode) -> Normal:
    """Make the normal with the curvature of the log posterior at its mode."""
    eigenvalues, directions = np.linalg.eigh(hessian(table, mode))
    return Normal(mode, np.maximum(eigenvalues, TUNING.curvature), directions)


def hessian(table: SmallTable, mode: Mode) -> Array:
    """−∂² log posterior/∂z², z = (θ − centre)/spread, by differences of gradients  (q, q)."""
    spread, step = mode.prior.spread, TUNING.step
    H = np.empty((spread.size, spread.size))
    for i, unit in enumerate(step * np.diag(spread)):
        _, above = table.log_posterior(mode.theta + unit, mode.prior)
        _, below = table.log_posterior(mode.theta - unit, mode.prior)
        H[i] = spread * (below - above) / (2.0 * step)
    return 0.5 * (H + H.T)
