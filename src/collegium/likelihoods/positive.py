"""Positive y of which no more is known than mean and variance given f: gamma distributions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import gammainc

Array = np.ndarray
Moment = Callable[[Array], Array]
#: Deviations of f, a tenth apart: a quantile is good to a part of that.
NODES = np.linspace(-6.0, 6.0, 121)
#: Numbers that are held at a time; y stays between the inverse of this and this.
BLOCK, LARGEST = 1_000_000, 1e300
#: The most a gamma may be skewed: a smaller shape is taken to be this.
LEAST_SHAPE = 1e-3
#: Relative error of a quantile.
CLOSE = 1e-9


def shapes(mean: Array, variance: Array) -> tuple[Array, Array]:
    """Shape k and scale of the gamma distribution with these moments."""
    mean = np.clip(mean, 1.0 / LARGEST, LARGEST)
    sd = np.sqrt(np.clip(variance, 1.0 / LARGEST, LARGEST))
    k = np.clip((mean / sd) ** 2, LEAST_SHAPE, 1.0 / CLOSE)
    return k, mean / k


def quantile(level: float, m: Array, v: Array, mean: Moment, variance: Moment) -> Array:
    """The y whose distribution function is `level`, f ~ N(m, v)."""
    m, v = np.broadcast_arrays(np.asarray(m, dtype=float), np.asarray(v, dtype=float))
    out, flat, s = np.empty(m.size), m.ravel(), np.sqrt(np.maximum(v, 0.0)).ravel()
    for part in np.array_split(np.arange(m.size), 1 + m.size * NODES.size // BLOCK):
        f = flat[part, None] + s[part, None] * NODES
        out[part] = _search(level, *shapes(mean(f), variance(f)))
    return out.reshape(m.shape)


def distribution(y: Array, m: Array, v: Array, mean: Moment, variance: Moment) -> Array:
    """P(Y ≤ y) of each row, f ~ N(m, v)."""
    f = m[:, None] + np.sqrt(np.maximum(v, 0.0))[:, None] * NODES
    return _reached(np.maximum(y, 0.0), *shapes(mean(f), variance(f)))


def _reached(y: Array, k: Array, scale: Array) -> Array:
    weights = np.exp(-0.5 * NODES**2)
    return gammainc(k, y[:, None] / scale) @ (weights / weights.sum())


def _search(level: float, k: Array, scale: Array) -> Array:
    """By halving in log y, from a bracket about the middle node that doubles."""

    def reached(log_y: Array, rows: Array) -> Array:
        y = np.exp(np.clip(log_y, -690.0, 690.0))
        return _reached(y, k[rows], scale[rows]) >= level

    middle = NODES.size // 2
    start, rows = np.log(k[:, middle] * scale[:, middle]), np.arange(k.shape[0])
    low, high, width = start - 1.0, start + 1.0, 1.0
    below, above = rows[reached(low, rows)], rows[~reached(high, rows)]
    while (below.size or above.size) and width < 2000.0:  # low < log quantile ≤ high
        width *= 2.0
        high[below], low[above] = low[below], high[above]
        low[below], high[above] = start[below] - width, start[above] + width
        below, above = below[reached(low[below], below)], above[~reached(high[above], above)]
    while (rows := np.flatnonzero(high - low > CLOSE)).size:
        centre = 0.5 * (low[rows] + high[rows])
        enough = reached(centre, rows)
        high[rows[enough]], low[rows[~enough]] = centre[enough], centre[~enough]
    return np.exp(np.clip(high, -690.0, 690.0))


def draw(mean: Array, variance: Array, rng) -> Array:
    k, scale = shapes(mean, variance)
    return np.maximum(rng.standard_gamma(k) * scale, np.finfo(float).tiny)
