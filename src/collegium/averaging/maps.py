"""Three posterior modes: one length scale (τ = 0), and length scales that differ little or much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from ..learning.optimise import Prior
from .model import LENGTH, NOISE, SHARED, Table, prior

Array = np.ndarray
#: Prior standard deviations of the δ.
TAUS = (0.0, 1.0, 2.0)
#: Bins of a column, in which means of y are compared.
BINS = 8
MOST_ITERATIONS = 80
#: Multiplications, of some 10⁻¹⁰ CPU seconds each, beyond which τ = 0 has to do.
MOST_WORK = 3e11
#: L-BFGS stops where a step gains less, in nats a row.
GAIN = 1e-5


@dataclass(frozen=True, eq=False)
class Mode:
    """The most probable θ under one prior."""

    prior: Prior
    theta: Array  # (q,)
    value: float  # log p(y | θ) − ½‖(θ − centre)/spread‖²


def modes(table: Table) -> list[Mode]:
    """The modes of τ = 0, 1, 2, in this order; of one column, or of very many, τ = 0 alone."""
    n, d = table.X.shape
    equal = prior(d, TAUS[0])
    same = climb(table, equal, [equal.centre, rough(equal)])
    if d == 1 or work(n, d) > MOST_WORK:
        return [same]
    little, much = (prior(d, tau) for tau in TAUS[1:])
    without = np.concatenate([same.theta, np.zeros(d)])
    unequal = little.centre.copy()
    unequal[SHARED:] = deltas(table)
    first = climb(table, little, [without, little.centre, unequal])
    return [same, first, climb(table, much, [first.theta])]


def rough(weak: Prior) -> Array:
    """The centre but for ℓ and σ two prior standard deviations smaller: where rows recur, there
    may be a higher mode."""
    theta = weak.centre.copy()
    theta[[LENGTH, NOISE]] -= 2.0 * weak.spread[[LENGTH, NOISE]]
    return theta


def work(n: int, d: int) -> float:
    """Some 200 + 4d evidences with gradient, for the modes and for the curvature at them."""
    return (200.0 + 4.0 * d) * float(n) ** 2 * (n + 4.0 * d)


def climb(table: Table, weak: Prior, starts: Sequence[Array]) -> Mode:
    """The highest of the modes that L-BFGS finds from the starts, in units of the prior's sd."""

    def negative(z: Array) -> tuple[float, Array]:
        value, gradient = table.log_posterior(weak.centre + weak.spread * z, weak)
        return -value / table.y.size, -weak.spread * gradient / table.y.size

    low, high = (weak.low - weak.centre) / weak.spread, (weak.high - weak.centre) / weak.spread
    found = [
        minimize(
            negative, np.clip((theta - weak.centre) / weak.spread, low, high), jac=True,
            method="L-BFGS-B", bounds=list(zip(low, high)),
            options={"maxiter": MOST_ITERATIONS, "maxcor": 20, "ftol": GAIN},
        )
        for theta in starts
    ]  # fmt: skip
    best = min(found, key=lambda result: float(result.fun))
    return Mode(weak, weak.centre + weak.spread * best.x, -float(best.fun) * table.y.size)


def deltas(table: Table) -> Array:
    """δⱼ = −½ log(ηⱼ² + (BINS − 1)/n), less their mean: short where bins of xⱼ tell y apart  (d,).

    By chance alone ηⱼ² is about (BINS − 1)/n.
    """
    each = (_ranked(x) if k in table.levels else x for k, x in enumerate(table.X.T))
    ratios = np.array([correlation_ratio(x, table.y, table.w) for x in each])
    raw = -0.5 * np.log(ratios + (BINS - 1) / table.y.size)
    return raw - raw.mean()


def _ranked(codes: Array) -> Array:
    """The most frequent level first, so that bins hold few of them."""
    _, number, count = np.unique(codes, return_inverse=True, return_counts=True)
    return np.argsort(np.argsort(-count, kind="stable"), kind="stable")[number].astype(float)


def correlation_ratio(x: Array, y: Array, w: Array) -> float:
    """η²: the share of the variance of y that lies between BINS bins of x; equal x share a bin."""
    edges = np.quantile(x, np.arange(1, BINS) / BINS)
    number = np.searchsorted(edges, x, side="left")
    weight = np.bincount(number, w, BINS)
    off = y - w @ y / w.sum()
    between = np.bincount(number, w * off, BINS) ** 2 / np.maximum(weight, 1e-300)
    total = float(w @ off**2)
    return float(between.sum()) / total if total > 0.0 else 0.0
