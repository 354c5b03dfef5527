"""A colour map whose steps look equal, to colour-blind eyes too.

In Oklab (Ottosson 2020), where equal distances look equal, lightness rises evenly from a dark
blue to a light yellow, and hue and chroma move at an even pace beside it.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.interpolate import CubicSpline

Array = np.ndarray
#: Lightness of the first and of the last colour.
DARK, LIGHT = 0.24, 0.93
#: Places that the colours pass on the plane of green–red and blue–yellow.
PLACES = ((0.045, -0.12), (-0.02, -0.105), (-0.07, -0.03), (-0.105, 0.08), (-0.035, 0.165))
#: Where there is no answer.
GREY = (205, 205, 205)
#: Oklab to the cube roots of the responses of cones, and these to linear sRGB.
CONES = np.array([
    [1.0, 0.3963377774, 0.2158037573],
    [1.0, -0.1055613458, -0.0638541728],
    [1.0, -0.0894841775, -1.2914855480],
])  # fmt: skip
LINEAR = np.array([
    [4.0767416621, -3.3077115913, 0.2309699292],
    [-1.2684380046, 2.6097574011, -0.3413193965],
    [-0.0041960863, -0.7034186147, 1.7076147010],
])  # fmt: skip


@cache
def palette(n: int = 256) -> Array:
    """Colours from low to high, red, green and blue of 0 to 255  (n, 3).

    Examples
    --------
    >>> palette(3).shape
    (3, 3)
    """
    colours = np.round(255.0 * np.clip(to_srgb(path(n)), 0.0, 1.0)).astype(np.uint8)
    colours.flags.writeable = False
    return colours


def path(n: int) -> Array:
    """Points of the colour map in Oklab, at equal distances  (n, 3)."""
    knots = np.linspace(0.0, 1.0, len(PLACES))
    fine = CubicSpline(knots, PLACES)(np.linspace(0.0, 1.0, 4_096))
    length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(fine, axis=0).T))])
    at = np.linspace(0.0, length[-1], n)
    ab = [np.interp(at, length, fine[:, k]) for k in range(2)]
    return np.stack([np.linspace(DARK, LIGHT, n), *ab], axis=1)


def to_srgb(lab: Array) -> Array:
    """Oklab as sRGB, 0 to 1 where a screen can show it  (n, 3)."""
    linear = ((lab @ CONES.T) ** 3) @ LINEAR.T
    bent = 1.055 * np.abs(linear) ** (1.0 / 2.4) - 0.055
    return np.where(linear <= 0.0031308, 12.92 * linear, bent)


def shades(values: Array, low: float, high: float) -> Array:
    """Positions 0 to 254 in a palette, from low to high; 255 where a value is not finite."""
    width = high - low if high > low else 1.0
    with np.errstate(invalid="ignore", over="ignore"):
        share = np.clip((values - low) / width, 0.0, 1.0)
    known = np.isfinite(values)
    return np.where(known, np.round(254.0 * np.where(known, share, 0.0)), 255.0).astype(np.uint8)


def with_gaps() -> Array:
    """The palette of `shades`: 255 colours, and grey for what is missing  (256, 3)."""
    return np.concatenate([palette(255), np.array([GREY], dtype=np.uint8)])
