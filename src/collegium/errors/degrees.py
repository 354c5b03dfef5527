"""Degrees of freedom and level of the scale, by rows that the weights were not learnt from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from .density import log_density, nu_slope, slope, squared
from .fitting import Learnt, find_mode

Array = np.ndarray
#: Parts of the rows; least ν, so that the mean exists; offset at most.
FOLDS, LEAST, FARTHEST = 5, 1.05, 10.0
#: ν to begin with, where nothing is known of it.
START = 6.0


@dataclass(frozen=True, eq=False)
class CrossFit:
    """g of every row from the other folds, offset included, and ν."""

    g: Array  # (n,)
    offset: float
    nu: float

    def log_density(self, z: Array) -> Array:
        """log t_ν(z; 0, e^(g/2))  (n,)."""
        return log_density(squared(z, self.g), self.g, self.nu)


def folds(n: int) -> Array:
    """The fold of each of n rows, a fixed random one  (n,)."""
    return np.random.default_rng(0).permutation(n) % FOLDS


def most_degrees(weight: Array) -> float:
    """√(3n): what n rows cannot tell from the normal.

    Normal rows lose ¾/ν² each by t_ν with the best scale, as ν grows: a quarter of a nat in all.
    """
    return float(np.sqrt(3.0 * weight.sum() ** 2 / (weight @ weight)))


def cross_fitted(learnt: Learnt, z: Array, weight: Array) -> Array:
    """g of each fold by weights of the other folds, at the same hyperparameters  (n,)."""
    g, fold = np.empty(z.size), folds(z.size)
    for k in range(FOLDS):
        own, rest = fold == k, fold != k
        mode = find_mode(learnt.B[rest], z[rest], weight[rest], learnt.nu, learnt.mode.w)
        g[own] = learnt.B[own] @ mode.w
    return g


def level_and_degrees(z: Array, g: Array, weight: Array, nu: float) -> tuple[float, float]:
    """Offset b and ν of largest Σ ω log t_ν(z; 0, e^((g + b)/2)), from the ν given; ν is between
    LEAST and `most_degrees`."""
    total, most = float(weight.sum()), max(most_degrees(weight), 1.5 * LEAST)

    def negative(at: Array) -> tuple[float, Array]:
        b, nu = at[0], float(np.exp(at[1]))
        zeta = squared(z, g + b)
        value = float(weight @ log_density(zeta, g + b, nu))
        slopes = weight @ slope(zeta, nu), nu * (weight @ nu_slope(zeta, nu))
        return -value / total, -np.array(slopes) / total

    bounds = [(-FARTHEST, FARTHEST), (np.log(LEAST), np.log(most))]
    start = np.array([0.0, np.log(np.clip(nu, 1.1 * LEAST, 0.8 * most))])
    options = {"ftol": 1e-12, "gtol": 1e-8, "maxiter": 200}
    found = minimize(negative, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return float(found.x[0]), float(np.exp(found.x[1]))


def cross_fit(learnt: Learnt, z: Array, weight: Array, least: Array) -> CrossFit:
    """Level and degrees of freedom on cross-fitted g, which is not below `least` (n,)."""
    g = np.maximum(cross_fitted(learnt, z, weight), least)
    offset, nu = level_and_degrees(z, g, weight, learnt.nu)
    return CrossFit(np.maximum(g + offset, least), offset, nu)


def cross_fit_constant(z: Array, weight: Array, least: Array) -> CrossFit:
    """The same of a scale that does not vary: the level of each fold by the other folds; ν, and
    the level for new rows, by all."""
    zero, fold, g = np.zeros(z.size), folds(z.size), np.empty(z.size)
    offset, nu = level_and_degrees(z, zero, weight, START)
    for k in range(FOLDS):
        own, rest = fold == k, fold != k
        b, _ = level_and_degrees(z[rest], zero[rest], weight[rest], START)
        g[own] = np.maximum(b, least[own])
    return CrossFit(g, offset, nu)
