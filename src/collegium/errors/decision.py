"""Decide whether held-out rows gain by a scale, and calibrate the standard deviations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numerics.records import record
from ..rows.groups import count_of, error_of_mean
from .density import log_t_density, squared
from .tuning import TUNING

Array = np.ndarray
#: Candidates for ρ.
SHARES = np.geomspace(1e-4, 1.0, 81)


@record("scale.gain/1")
@dataclass(frozen=True)
class Gain:
    """Mean gain of a held-out row in log density, and its standard error."""

    mean: float = 0.0
    error: float = 0.0
    rows: float = np.inf  # (Σw)²/Σw², or of groups

    @classmethod
    def of(cls, new: Array, old: Array, weight: Array, group: Array | None = None) -> Gain:
        """Average min(log p_new − log p_old, 2), cut so that a few rows do not decide."""
        each, share = np.minimum(new - old, TUNING.decision.most), weight / weight.sum()
        rows = count_of(group, share)
        error = error_of_mean(share, each, group, errors_needed(rows))
        return cls(float(share @ each), error, rows)

    @property
    def enough(self) -> bool:
        return self.mean > max(TUNING.decision.least, errors_needed(self.rows) * self.error)


def errors_needed(rows: float) -> float:
    """Count the standard errors that the mean gain of so many rows has to exceed."""
    t = TUNING.decision
    return t.errors if rows >= t.few else t.more_errors


def calibrated(
    z: Array, g: Array, weight: Array, group: Array | None = None, *, always: bool = False
) -> tuple[float, float]:
    """Find κ and ρ of largest Gaussian density of z with the variance κ((1 − ρ)e^g + ρ).

    For each ρ the best κ is the weighted mean of z²/((1 − ρ)e^g + ρ). Both are one, which leaves
    the variance as it was, where held-out rows do not gain enough and `always` is false.
    """
    share = weight / weight.sum()
    factors = np.exp(g)[:, None] * (1.0 - SHARES) + SHARES  # (n, 81)
    kappa = np.maximum(share @ (z[:, None] ** 2 / factors), 1e-300)
    best = int(np.argmin(np.log(kappa) + share @ np.log(factors)))
    g_new = np.log(kappa[best] * factors[:, best])
    new, old = (log_t_density(squared(z, at), at, np.inf) for at in (g_new, np.zeros_like(g)))
    if not (always or Gain.of(new, old, weight, group).enough):
        return 1.0, 1.0
    return float(kappa[best]), float(SHARES[best])
