"""Calibrate error bars on held-out rows and regions: other noise, another size of the kernel.

Kernel × a and noise × b: means depend on b/a alone, and multiplying both by s multiplies every
variance by s. Held-out rows lie among others; their errors show the noise, and the size of the
kernel only as far as f is uncertain there. Held-out regions (`regions`) show the latter. So
regions choose the size of the kernel, and given that, rows choose the noise; both are shrunk
towards 1 by their standard errors, which heavy tails enlarge, and a smaller kernel more than a
larger one: queries may meet larger gaps. (If rows had a say in the size of the kernel, one that
is too rough would be too small at edges: what fits among rows does not fit far from them.) Regions
inside and at the edge are two kinds, and that which asks for the larger kernel decides.

The ratio b/a is searched in steps, upwards: a few hundred rows cannot show the rare large errors
that too little noise would not cover. A higher one is taken if rows gain by it by more than the
standard error, and regions do not lose more. Around a step, errors and log variances are linear
in the log of b/a, known from the next step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..numerics.linalg import LOG_2PI
from ..rows.groups import error_of_mean
from .tuning import TUNING

Array = np.ndarray
#: Steps of the search for the noise ratio.
STEP = 3.0


@dataclass(frozen=True, eq=False)
class Misses:
    """Errors of y at held-out rows, or along directions in regions, and their variances."""

    errors: Array  # (n, p)
    function: Array  # variance v of f  (n,)
    noise: Array | float
    slope: Array | float = 0.0  # ∂ log v/∂ log noise  (n,)
    turn: Array | float = 0.0  # ∂ errors/∂ log noise  (n, p)
    group: Array | None = None  # code of the group whose errors may be alike  (n,)
    sloped: bool = False  # whether slope and turn are known

    def with_slope(self, lower: Misses, higher: Misses, step: float) -> Misses:
        """Know what changes with the noise, from answers with noises that differ by `step`."""
        v, more = (np.maximum(one.function, 1e-300) for one in (lower, higher))
        slope = np.clip(np.log(more / v) / np.log(step), 0.0, 1.0)
        turn = (higher.errors - lower.errors) / np.log(step)
        return replace(self, slope=slope, turn=turn, sloped=True)

    def moved(self, a: float, b: float) -> Misses | None:
        """Errors and variances with kernel × a and noise × b; None where slopes are unknown."""
        if not self.sloped and a != b:
            return None
        v = a * self.function * (b / a) ** self.slope
        errors = self.errors + self.turn * np.log(b / a)
        return Misses(errors, v, b * self.noise, group=self.group)

    @property
    def squares(self) -> Array:
        """z², averaged over outputs  (n,)."""
        z2 = (self.errors**2).mean(axis=1) / (self.function + self.noise)
        return np.clip(z2, 1e-100, 1e100)

    @property
    def number(self) -> float:
        """How many normal errors have a mean square as precise as that of these; at most n."""
        z2 = self.squares
        return 2.0 / max(self.error(z2 / z2.mean()) ** 2, 2.0 / z2.size) if z2.size else 0.0

    def error(self, each: Array) -> float:
        """Standard error of the mean of a number of each row."""
        return error_of_mean(np.full(each.size, 1.0 / each.size), each, self.group)

    def variance(self, a: Array | float, b: Array | float) -> Array:
        """a v (b/a)^slope + b·noise: variances of y with kernel × a and noise × b  (…, n)."""
        a, b = np.asarray(a)[..., None], np.asarray(b)[..., None]
        return a * self.function * (b / a) ** self.slope + b * self.noise

    def losses(self, a: float, b: float) -> Array:
        """Negative log density with kernel × a and noise × b  (n, p)."""
        v, e = self.variance(a, b)[:, None], self.errors + self.turn * np.log(b / a)
        return 0.5 * (LOG_2PI + np.log(v) + e**2 / v)

    def mean_losses(self, a: Array, b: Array) -> Array:
        """Mean negative log density for several pairs (a, b), 0 where nothing was seen  (k,)."""
        if not self.errors.size:
            return np.zeros(a.size)
        e, turn = self.errors, np.broadcast_to(self.turn, self.errors.shape)
        v, t = self.variance(a, b), np.log(b / a)[:, None]
        e2 = (e**2).mean(axis=1) + t * (2.0 * (e * turn).mean(axis=1) + t * (turn**2).mean(axis=1))
        return 0.5 * (LOG_2PI + np.log(v) + e2 / v).mean(axis=1)


@dataclass(frozen=True, eq=False)
class Correction:
    """Kernel × scale, noise × scale × ratio; and negative log densities before and after."""

    ratio: float
    scale: float
    before: float  # mean negative log predictive density, uncorrected
    each: Array  # corrected, per row and output  (n, p)
    regions: float = 0.0  # mean negative log density along directions in regions, corrected
    misses: Misses | None = None  # at held-out rows, corrected; None: not known

    @property
    def after(self) -> float:
        return float(self.each.mean())


@dataclass(frozen=True, eq=False)
class Look:
    """Held-out rows and regions, answered with one noise ratio."""

    ratio: float
    rows: Misses
    regions: tuple[Misses, ...] = ()  # inside and at edges; none: kernel and noise have one scale

    def with_slopes(self, lower: Look, higher: Look) -> Look:
        """Know what changes with the noise, from answers with two ratios."""
        step = higher.ratio / lower.ratio
        each = zip(self.regions, lower.regions, higher.regions)
        regions = tuple(one.with_slope(two, three, step) for one, two, three in each)
        return Look(self.ratio, self.rows.with_slope(lower.rows, higher.rows, step), regions)

    def best(self) -> Correction:
        """Find the best sizes of kernel and noise."""
        rows = self.rows
        before = float(rows.losses(1.0, 1.0).mean())
        if not self.regions:
            s = float(np.clip(shrunken(rows.squares, rows.error(rows.squares)), 0.1, 10.0))
            return Correction(self.ratio, s, before, rows.losses(s, s), 0.0, rows.moved(s, s))
        a, b = sizes(rows, self.regions)
        far = [one.losses(a, b) for one in self.regions]
        loss = float(np.mean(np.concatenate(far))) if any(map(np.size, far)) else 0.0
        each, moved = rows.losses(a, b), rows.moved(a, b)
        return Correction(self.ratio * b / a, a, before, each, loss, moved)


def calibrate(
    look: Callable[[float], Look], step: float = STEP, more: Callable[[], bool] = lambda: True
) -> Correction:
    """Search the noise ratio, from `look(1.0)` on; further while `more()`: there is time."""
    least, at = TUNING.families.least_gain, look(1.0)
    best = at.best()
    before = best.before
    while at.ratio < 1e3 and more():
        next = look(at.ratio * step)
        best, other = (one.with_slopes(at, next).best() for one in (at, next))
        gain = (best.each - other.each).mean(axis=1)
        if gain.mean() < max(least, at.rows.error(gain)):  # not significant
            break
        if gain.mean() + best.regions - other.regions < least:  # regions lose more
            break
        at, best = next, other
    return replace(best, before=before)


def sizes(rows: Misses, regions: Sequence[Misses]) -> tuple[float, float]:
    """Find a and b, kernel × a and noise × b, on a grid of their logs.

    Of several kinds of regions the one that asks for the larger kernel decides.
    """
    t = TUNING.calibration
    log_a = np.linspace(-1.0, 1.0, 2 * t.grid + 1) * np.log(t.most)
    apart = np.linspace(-1.0, 1.0, 2 * t.grid + 1) * np.log(t.apart)
    log_b = log_a[:, None] + apart
    a, b = np.exp(np.repeat(log_a, apart.size)), np.exp(log_b.ravel())
    near = rows.mean_losses(a, b).reshape(log_b.shape)
    best = np.argmin(rows.number * near + 0.5 * (log_b / t.usual) ** 2, axis=1)
    own = np.arange(log_a.size), best
    a, b = np.exp(log_a), np.exp(log_b[own])
    prior = 0.5 * (log_a / np.where(log_a < 0.0, t.usual_lower, t.usual)) ** 2
    chosen = [np.argmin(one.number * one.mean_losses(a, b) + prior) for one in regions]
    i = int(max(chosen))
    return float(a[i]), float(b[i])


def shrunken(z2: Array, error: float) -> float:
    """Mean z², shrunk towards 1 by its standard error and a prior on its log."""
    mean = float(z2.mean())
    return float(mean ** (1.0 / (1.0 + (error / mean / TUNING.calibration.usual) ** 2)))
