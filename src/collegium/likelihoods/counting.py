"""Counts of which no more is known than mean and variance given f: negative binomials."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import betainc

Array = np.ndarray
Moment = Callable[[Array], Array]
#: Deviations of f, a tenth apart: a quantile is good to a part of that.
NODES = np.linspace(-6.0, 6.0, 121)
#: Numbers that are held at a time; counts end here.
BLOCK, LARGEST = 1_000_000, 1e15
#: The variance is above the mean by at least this share: else nearly Poisson.
WIDER = 1e-6


def shapes(mean: Array, variance: Array) -> tuple[Array, Array]:
    """r and p of the negative binomial with these moments."""
    mean = np.clip(mean, 1e-300, LARGEST)
    p = np.minimum(mean / np.maximum(variance, 1e-300), 1.0 - WIDER)
    return mean * p / (1.0 - p), p


def quantile(level: float, m: Array, v: Array, mean: Moment, variance: Moment) -> Array:
    """The smallest count whose distribution function reaches `level`, f ~ N(m, v)."""
    m, v = np.broadcast_arrays(np.asarray(m, dtype=float), np.asarray(v, dtype=float))
    out, flat, s = np.empty(m.size), m.ravel(), np.sqrt(np.maximum(v, 0.0)).ravel()
    for part in np.array_split(np.arange(m.size), 1 + m.size * NODES.size // BLOCK):
        f = flat[part, None] + s[part, None] * NODES
        out[part] = _search(level, *shapes(mean(f), variance(f)))
    return out.reshape(m.shape)


def distribution(k: Array, m: Array, v: Array, mean: Moment, variance: Moment) -> Array:
    """P(Y ≤ k) of each row, f ~ N(m, v)."""
    f = m[:, None] + np.sqrt(np.maximum(v, 0.0))[:, None] * NODES
    found = _reached(np.maximum(np.floor(k), 0.0), *shapes(mean(f), variance(f)))
    return np.where(k < 0.0, 0.0, found)


def _reached(k: Array, r: Array, p: Array) -> Array:
    weights = np.exp(-0.5 * NODES**2)
    return betainc(r, k[:, None] + 1.0, p) @ (weights / weights.sum())


def _search(level: float, r: Array, p: Array) -> Array:
    def reached(k: Array, rows: Array) -> Array:
        return _reached(k, r[rows], p[rows]) >= level

    low, high = np.full(r.shape[0], -1.0), np.zeros(r.shape[0])
    rows = np.arange(r.shape[0])
    while rows.size:  # low < quantile ≤ high
        rows = rows[~reached(high[rows], rows) & (high[rows] < LARGEST)]
        low[rows], high[rows] = high[rows], 2.0 * high[rows] + 1.0
    while (rows := np.flatnonzero(high - low > 1.0)).size:
        middle = np.floor(0.5 * (low[rows] + high[rows]))
        enough = reached(middle, rows)
        high[rows[enough]], low[rows[~enough]] = middle[enough], middle[~enough]
    return high


def draw(mean: Array, variance: Array, rng) -> Array:
    r, p = shapes(mean, variance)
    rate = rng.standard_gamma(r) * ((1.0 - p) / p)
    return rng.poisson(np.minimum(rate, LARGEST)).astype(float)
