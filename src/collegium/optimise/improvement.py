"""Expected improvement of a Gaussian, for minimisation."""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, ndtr

Array = np.ndarray
#: log √(2π), and √(π/2).
LOG_ROOT_2PI, ROOT_HALF_PI = 0.5 * np.log(2.0 * np.pi), np.sqrt(0.5 * np.pi)
#: Below, the series of 1 + zΦ(z)/φ(z) has more digits than the difference.
FAR = -200.0


def log_improvement(mean: Array, sd: Array, best: Array | float) -> Array:
    """log E[max(best − f, 0)], f ~ N(mean, sd²); finite also where hardly any improvement is left.

    E[max(best − f, 0)] = sd h(z), z = (best − mean)/sd, h(z) = φ(z) + zΦ(z). A deviation of zero is
    taken as a very small one.
    """
    gap = best - mean
    sd = np.maximum(np.maximum(sd, 1e-150 * np.abs(gap)), 1e-300)
    return np.log(sd) + log_h(gap / sd)


def log_h(z: Array) -> Array:
    """log(φ(z) + zΦ(z)) = log φ(z) + log(1 + zΦ(z)/φ(z)), the second form for z ≤ −1.

    There Φ(z)/φ(z) = √(π/2) erfcx(−z/√2), and for large −z: 1 + zΦ(z)/φ(z) = 1/z² − 3/z⁴ + 15/z⁶ …
    """
    near, far = np.maximum(z, -1.0), np.minimum(z, -1.0)
    up = np.log(np.exp(-0.5 * near**2 - LOG_ROOT_2PI) + near * ndtr(near))
    middle = np.maximum(far, FAR)
    rest = np.log1p(ROOT_HALF_PI * middle * erfcx(-middle / np.sqrt(2.0)))
    square = np.minimum(far, FAR) ** 2
    series = np.log1p(-3.0 / square + 15.0 / square / square) - np.log(square)
    down = -0.5 * far**2 - LOG_ROOT_2PI + np.where(far > FAR, rest, series)
    return np.where(z > -1.0, up, down)
