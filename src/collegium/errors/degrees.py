"""Learn degrees of freedom and level of the scale by cross-fitting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from ..rows.groups import count_of, numbered
from .density import log_t_density, nu_slope, slope, squared
from .fitting import LearntScale, find_mode
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class CrossFit:
    """g of every row by the other folds, with the offset added, and ν."""

    g: Array  # (n,)
    offset: float
    nu: float

    def log_density(self, z: Array) -> Array:
        """log t_ν(z; 0, e^(g/2))  (n,)."""
        return log_t_density(squared(z, self.g), self.g, self.nu)


def folds(n: int, group: Array | None = None) -> Array:
    """Assign each of n rows, or each group, to a random fold, the same in every call  (n,)."""
    number = np.arange(n) if group is None else numbered(group)
    count = int(number.max(initial=0)) + 1
    return (np.random.default_rng(0).permutation(count) % TUNING.search.folds)[number]


def most_degrees(weight: Array, group: Array | None = None) -> float:
    """√(3n): the ν that n rows (or groups) cannot distinguish from the normal.

    For large ν normal rows lose ¾/ν² each by t_ν with the best scale: a quarter of a nat in all.
    """
    return float(np.sqrt(3.0 * count_of(group, weight)))


def cross_fitted(learnt: LearntScale, z: Array, weight: Array, group: Array | None = None) -> Array:
    """Compute g of each fold with weights of the other folds, at the same hyperparameters  (n,)."""
    g, fold = np.empty(z.size), folds(z.size, group)
    for k in np.unique(fold):
        own, rest = fold == k, fold != k
        mode = find_mode(learnt.B[rest], z[rest], weight[rest], learnt.nu, learnt.mode.w)
        g[own] = learnt.B[own] @ mode.w
    return g


def level_and_degrees(
    z: Array, g: Array, weight: Array, nu: float, group: Array | None = None
) -> tuple[float, float]:
    """Maximise Σ ω log t_ν(z; 0, e^((g + b)/2)) over the offset b and ν, which is at most
    `most_degrees`, starting from the given ν."""
    t = TUNING.search
    total, most = float(weight.sum()), max(most_degrees(weight, group), 1.5 * t.least_degrees)

    def negative(at: Array) -> tuple[float, Array]:
        b, nu = at[0], float(np.exp(at[1]))
        zeta = squared(z, g + b)
        value = float(weight @ log_t_density(zeta, g + b, nu))
        slopes = weight @ slope(zeta, nu), nu * (weight @ nu_slope(zeta, nu))
        return -value / total, -np.array(slopes) / total

    bounds = [(-t.farthest, t.farthest), (np.log(t.least_degrees), np.log(most))]
    start = np.array([0.0, np.log(np.clip(nu, 1.1 * t.least_degrees, 0.8 * most))])
    options = {"ftol": 1e-12, "gtol": 1e-8, "maxiter": 200}
    found = minimize(negative, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return float(found.x[0]), float(np.exp(found.x[1]))


def cross_fit(
    learnt: LearntScale, z: Array, weight: Array, least: Array, group: Array | None = None
) -> CrossFit:
    """Learn level and degrees of freedom on cross-fitted g, which is at least `least` (n,)."""
    g = np.maximum(cross_fitted(learnt, z, weight, group), least)
    offset, nu = level_and_degrees(z, g, weight, learnt.nu, group)
    return CrossFit(np.maximum(g + offset, least), offset, nu)


def cross_fit_constant(
    z: Array, weight: Array, least: Array, group: Array | None = None
) -> CrossFit:
    """Cross-fit a constant scale: the level of each fold by the other folds; ν, and the level for
    new rows, by all."""
    zero, fold, g = np.zeros(z.size), folds(z.size, group), np.empty(z.size)
    start = TUNING.search.first_degrees
    offset, nu = level_and_degrees(z, zero, weight, start, group)
    for k in np.unique(fold):
        own, rest = fold == k, fold != k
        more = None if group is None else group[rest]
        b, _ = level_and_degrees(z[rest], zero[rest], weight[rest], start, more)
        g[own] = np.maximum(b, least[own])
    return CrossFit(g, offset, nu)
