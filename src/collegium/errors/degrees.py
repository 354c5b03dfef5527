"""Learn degrees of freedom, level and skewness of the scale by cross-fitting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from ..rows.groups import count_of, numbered
from .density import Points, Seen, as_seen
from .fitting import LearntScale, find_mode
from .skewed import log_skewed_between, log_skewed_density
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class CrossFit:
    """g of every row by the other folds, with the offset added, ν and the skewness."""

    g: Array  # (n,)
    offset: float
    nu: float
    skew: float = 0.0

    def log_density(self, z: Array | Seen) -> Array:
        """log t_ν(z; 0, e^(g/2)), the t skewed; of a cell log P − log width  (n,)."""
        seen = as_seen(z)
        if self.skew == 0.0:
            return seen.log_density(self.g, self.nu)
        s = np.exp(-0.5 * self.g)
        if isinstance(seen, Points):
            return log_skewed_density(s * seen.z, self.nu, self.skew) - 0.5 * self.g
        found = log_skewed_between(s * seen.low, s * seen.high, self.nu, self.skew)
        return found - np.log(seen.high - seen.low)


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


def cross_fitted(
    learnt: LearntScale, z: Array | Seen, weight: Array, group: Array | None = None
) -> Array:
    """Compute g of each fold with weights of the other folds, at the same hyperparameters  (n,)."""
    seen, n = as_seen(z), weight.size
    g, fold = np.empty(n), folds(n, group)
    for k in np.unique(fold):
        own, rest = fold == k, fold != k
        mode = find_mode(learnt.B[rest], seen.take(rest), weight[rest], learnt.nu, learnt.mode.w)
        g[own] = learnt.B[own] @ mode.w
    return g


def level_and_degrees(
    z: Array | Seen, g: Array, weight: Array, nu: float, group: Array | None = None
) -> tuple[float, float]:
    """Maximise Σ ω log t_ν(z; 0, e^((g + b)/2)) over the offset b and ν, which is at most
    `most_degrees`, starting from the given ν."""
    t, seen = TUNING.search, as_seen(z)
    total, most = float(weight.sum()), max(most_degrees(weight, group), 1.5 * t.least_degrees)

    def negative(at: Array) -> tuple[float, Array]:
        b, nu = at[0], float(np.exp(at[1]))
        value = float(weight @ seen.log_density(g + b, nu))
        slopes = weight @ seen.slope(g + b, nu), nu * (weight @ seen.nu_slope(g + b, nu))
        return -value / total, -np.array(slopes) / total

    bounds = [(-t.farthest, t.farthest), (np.log(t.least_degrees), np.log(most))]
    start = np.array([0.0, np.log(np.clip(nu, 1.1 * t.least_degrees, 0.8 * most))])
    options = {"ftol": 1e-12, "gtol": 1e-8, "maxiter": 200}
    found = minimize(negative, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return float(found.x[0]), float(np.exp(found.x[1]))


def cross_fit(
    learnt: LearntScale, z: Array | Seen, weight: Array, least: Array, group: Array | None = None
) -> CrossFit:
    """Learn level and degrees of freedom on cross-fitted g, which is at least `least` (n,)."""
    g = np.maximum(cross_fitted(learnt, z, weight, group), least)
    offset, nu = level_and_degrees(z, g, weight, learnt.nu, group)
    return CrossFit(np.maximum(g + offset, least), offset, nu)


def cross_fit_constant(
    z: Array | Seen, weight: Array, least: Array, group: Array | None = None
) -> CrossFit:
    """Cross-fit a constant scale: the level of each fold by the other folds; ν, and the level for
    new rows, by all."""
    seen, n = as_seen(z), weight.size
    zero, fold, g = np.zeros(n), folds(n, group), np.empty(n)
    start = TUNING.search.first_degrees
    offset, nu = level_and_degrees(z, zero, weight, start, group)
    for k in np.unique(fold):
        own, rest = fold == k, fold != k
        more = None if group is None else group[rest]
        b, _ = level_and_degrees(seen.take(rest), zero[rest], weight[rest], start, more)
        g[own] = np.maximum(b, least[own])
    return CrossFit(g, offset, nu)


def skewed(
    cross: CrossFit, z: Array | Seen, weight: Array, least: Array, group: Array | None = None
) -> CrossFit:
    """Maximise the same over offset, ν and skewness together, g as cross-fitted."""
    t, total = TUNING.search, float(weight.sum())
    most = max(most_degrees(weight, group), 1.5 * t.least_degrees)

    def moved(at: Array) -> CrossFit:
        g = np.maximum(cross.g + at[0], least)
        return CrossFit(g, cross.offset + float(at[0]), float(np.exp(at[1])), float(at[2]))

    def negative(at: Array) -> float:
        return -float(weight @ moved(at).log_density(z)) / total

    low, high = np.log(t.least_skewed_degrees), np.log(max(most, 1.5 * t.least_skewed_degrees))
    bounds = [(-2.0, 2.0), (low, high), (-t.most_skew, t.most_skew)]
    found = []
    for s in t.first_skews:
        start = np.array([0.0, np.clip(np.log(cross.nu), low + 0.05, high - 0.05), s])
        options = {"ftol": 1e-9, "maxiter": 60}
        found.append(minimize(negative, start, method="L-BFGS-B", bounds=bounds, options=options))
    return moved(min(found, key=lambda one: float(one.fun)).x)
