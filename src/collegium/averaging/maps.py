"""Find three posterior modes, of one length scale (τ = 0) or ones that differ little or much, and
points around each that represent the posterior of θ (Laplace's approximation)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..learning.newton import descend
from ..learning.optimise import Prior
from .model import LENGTH, NOISE, SHARED, SmallTable, weak_prior
from .tuning import TUNING

Array = np.ndarray
#: Prior standard deviations of the δ.
TAUS = (0.0, 1.0, 2.0)


@dataclass(frozen=True, eq=False)
class Mode:
    """The most probable θ under one prior."""

    prior: Prior
    theta: Array  # (q,)
    value: float  # log p(y | θ) − ½‖(θ − centre)/spread‖²


def modes(table: SmallTable) -> list[Mode]:
    """Find the modes of τ = 0, 1, 2, in this order; with one column, or very many, τ = 0 alone."""
    n, d = table.X.shape
    equal = weak_prior(d, TAUS[0])
    same = climb(table, equal, [equal.centre, rough(equal)])
    if d == 1 or work(n, d) > TUNING.most_work:
        return [same]
    little, much = (weak_prior(d, tau) for tau in TAUS[1:])
    without = np.concatenate([same.theta, np.zeros(d)])
    unequal = little.centre.copy()
    unequal[SHARED:] = deltas(table)
    first = climb(table, little, [without, little.centre, unequal])
    return [same, first, climb(table, much, [first.theta])]


def rough(weak: Prior) -> Array:
    """Return the centre, with ℓ and σ smaller by two prior standard deviations: repeated rows may
    have a higher mode there."""
    theta = weak.centre.copy()
    theta[[LENGTH, NOISE]] -= 2.0 * weak.spread[[LENGTH, NOISE]]
    return theta


def work(n: int, d: int) -> float:
    """Estimate the cost of some 200 + 4d evidences with gradient, for modes and curvatures."""
    return (200.0 + 4.0 * d) * float(n) ** 2 * (n + 4.0 * d)


def climb(table: SmallTable, weak: Prior, starts: Sequence[Array]) -> Mode:
    """Return the highest mode that is found from the starts, in units of the prior's sd."""

    def negative(z: Array) -> tuple[float, Array]:
        value, gradient = table.log_posterior(weak.centre + weak.spread * z, weak)
        return -value / table.y.size, -weak.spread * gradient / table.y.size

    def curvature(z: Array) -> Array:
        own = table.information(weak.centre + weak.spread * z)
        return (weak.spread[:, None] * own * weak.spread + np.eye(z.size)) / table.y.size

    low, high = (weak.low - weak.centre) / weak.spread, (weak.high - weak.centre) / weak.spread
    found = [
        descend(
            negative, curvature, (theta - weak.centre) / weak.spread, low, high,
            max_iter=TUNING.iterations, gain=TUNING.gain,
        )[0]
        for theta in starts
    ]  # fmt: skip
    best = min(found, key=lambda point: point.value)
    return Mode(weak, weak.centre + weak.spread * best.x, -best.value * table.y.size)


def deltas(table: SmallTable) -> Array:
    """δⱼ = −½ log(ηⱼ² + (b − 1)/n) minus their mean: small where y differs between b bins  (d,).

    By chance alone ηⱼ² is about (b − 1)/n.
    """
    each = (_ranked(x) if k in table.levels else x for k, x in enumerate(table.X.T))
    ratios = np.array([correlation_ratio(x, table.y, table.w) for x in each])
    raw = -0.5 * np.log(ratios + (TUNING.bins - 1) / table.y.size)
    return raw - raw.mean()


def _ranked(codes: Array) -> Array:
    """Number levels by frequency, so that bins hold few of them."""
    _, number, count = np.unique(codes, return_inverse=True, return_counts=True)
    return np.argsort(np.argsort(-count, kind="stable"), kind="stable")[number].astype(float)


def correlation_ratio(x: Array, y: Array, w: Array) -> float:
    """η²: the share of the variance of y that lies between bins of x; equal x share a bin."""
    bins = TUNING.bins
    edges = np.quantile(x, np.arange(1, bins) / bins)
    number = np.searchsorted(edges, x, side="left")
    weight = np.bincount(number, w, bins)
    off = y - w @ y / w.sum()
    between = np.bincount(number, w * off, bins) ** 2 / np.maximum(weight, 1e-300)
    total = float(w @ off**2)
    return float(between.sum()) / total if total > 0.0 else 0.0


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
