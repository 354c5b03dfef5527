"""Are the error bars right on rows left out? If not: more noise, or another scale.

Multiplying kernel and noise by s leaves every mean as it is and every variance s times as
large, so for each noise the best s is the mean squared standardised error. What remains is a
search over one number, the ratio of noise to signal, by predictive density. It only goes up:
a few hundred rows cannot show the rare surprise that too little noise would make of a row.
For the same reason it goes up only where that is better by more than its standard error, and s is
drawn towards 1 by its own: under heavy tails these are large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
#: How far from 0 the log of a scale is as a rule.
USUAL = 0.3


@dataclass(frozen=True, eq=False)
class Correction:
    """Kernel × scale, noise × scale × ratio; the densities (lower is better) that say so."""

    ratio: float
    scale: float
    before: float  # mean negative log predictive density as learnt
    each: Array  # that of each row and output, corrected  (n, p)

    @property
    def after(self) -> float:
        return float(self.each.mean())


def calibrate(answer: Callable[[float], tuple[Array, Array]], step: float = 3.0) -> Correction:
    """Search the noise ratio; `answer(ratio)` gives errors (n, p) and variances (n,) of y."""
    best = judge(answer, 1.0)
    before = best.before
    while best.ratio < 1e3:
        other = judge(answer, best.ratio * step)
        better = (best.each - other.each).mean(axis=1)
        if better.mean() < max(0.003, better.std() / np.sqrt(better.size)):  # not worth a change
            break
        best = other
    return Correction(best.ratio, best.scale, before, best.each)


def judge(answer: Callable[[float], tuple[Array, Array]], ratio: float = 1.0) -> Correction:
    """The best scale at one noise ratio."""
    errors, variance = answer(ratio)
    z2 = errors**2 / variance[:, None]
    scale = float(np.clip(shrunken(z2), 0.1, 10.0))
    half_log = 0.5 * np.log(2.0 * np.pi * variance)[:, None]
    before = float((half_log + 0.5 * z2).mean())
    return Correction(ratio, scale, before, half_log + 0.5 * (np.log(scale) + z2 / scale))


def shrunken(z2: Array) -> float:
    """The mean of z², whose log was expected within ± USUAL and has a standard error of its own."""
    each = np.clip(z2.mean(axis=1), 1e-100, 1e100)
    mean, error = float(each.mean()), float(each.std()) / np.sqrt(each.size)
    return float(mean ** (1.0 / (1.0 + (error / mean / USUAL) ** 2)))
