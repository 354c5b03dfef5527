"""Are the error bars right on rows left out? If not: more noise, or another scale.

Multiplying kernel and noise by s leaves every mean as it is and every variance s times as
large, so for each noise the best s is the mean squared standardised error. What remains is a
search over one number, the ratio of noise to signal, by predictive density. It only goes up:
a few hundred rows cannot show the rare surprise that too little noise would make of a row.
For the same reason both are believed only beyond their own errors, which under heavy tails are
large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray


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
    """The mean, drawn towards 1 by its standard error (James & Stein's rule, positive part)."""
    each = np.minimum(z2.mean(axis=1), 1e100)
    off, error = float(each.mean()) - 1.0, float(each.std()) / np.sqrt(each.size)
    return 1.0 + off * max(0.0, 1.0 - (error / off) ** 2) if off else 1.0
