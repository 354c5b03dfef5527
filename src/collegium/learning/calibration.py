"""Calibrate error bars on held-out rows: more noise, or another scale of all variances.

Multiplying kernel and noise by s leaves every mean unchanged and multiplies every variance by s,
so for each noise the best s is the mean squared standardised error. What remains is a search
over one number, the ratio of noise to signal, by predictive density. The noise is never
lowered: a few hundred rows cannot show the rare large errors that too little noise would not
cover. For the same reason it is raised only if the gain exceeds its standard error, and s is
shrunk towards 1 by its own standard error: under heavy tails both are large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Correction:
    """Kernel × scale, noise × scale × ratio; and negative log densities before and after."""

    ratio: float
    scale: float
    before: float  # mean negative log predictive density, uncorrected
    each: Array  # corrected, per row and output  (n, p)

    @property
    def after(self) -> float:
        return float(self.each.mean())


def calibrate(
    answer: Callable[[float], tuple[Array, Array]], step: float = 3.0,
    more: Callable[[], bool] = lambda: True,
) -> Correction:  # fmt: skip
    """Search the noise ratio; `answer(ratio)` gives errors (n, p) and variances (n,) of y.

    Continues to the next ratio while `more()` says that there is time.
    """
    best = judge(answer, 1.0)
    before, least = best.before, TUNING.families.least_gain
    while best.ratio < 1e3 and more():
        other = judge(answer, best.ratio * step)
        better = (best.each - other.each).mean(axis=1)
        if better.mean() < max(least, better.std() / np.sqrt(better.size)):  # not significant
            break
        best = other
    return Correction(best.ratio, best.scale, before, best.each)


def judge(answer: Callable[[float], tuple[Array, Array]], ratio: float = 1.0) -> Correction:
    """Find the best scale at one noise ratio."""
    errors, variance = answer(ratio)
    z2 = errors**2 / variance[:, None]
    scale = float(np.clip(shrunken(z2), 0.1, 10.0))
    half_log = 0.5 * np.log(2.0 * np.pi * variance)[:, None]
    before = float((half_log + 0.5 * z2).mean())
    return Correction(ratio, scale, before, half_log + 0.5 * (np.log(scale) + z2 / scale))


def shrunken(z2: Array) -> float:
    """Mean z², shrunk towards 1 by its standard error and a prior on its log."""
    each = np.clip(z2.mean(axis=1), 1e-100, 1e100)
    mean, error = float(each.mean()), float(each.std()) / np.sqrt(each.size)
    return float(mean ** (1.0 / (1.0 + (error / mean / TUNING.families.usual) ** 2)))
