"""Distribution of counts whose log rate is uncertain: Y ~ Poisson(e^f), f ~ N(m, v).

Y ≤ k says that the (k + 1)-st event comes after one unit of time: f < log G, G ~ Gamma(k + 1).
Both f and log G are smooth and bell-shaped, with deviations √v and about 1/√(k + 1); so

    P(Y ≤ k) = E_f[P(G > e^f)] = E_G[Φ((log G − m)/√v)]

is an integral over the narrower of the two, in which the other's distribution function bends no
faster: a trapezoidal rule is exact to rounding, for any v and k. k need not be whole: P(G > e^f) is
defined for all k > −1.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaincc, ndtr, ndtri

from .tuning import TUNING

Array = np.ndarray


def count_distribution(k: Array, m: Array, v: Array) -> Array:
    """P(Y ≤ k) of each row, k ≥ 0  (n,)."""
    k, m, v = np.broadcast_arrays(*np.atleast_1d(k, m, v))
    wide, out = v * (k + 1.0) > 1.0, np.empty(k.shape)
    for rows, rule in ((np.flatnonzero(wide), _over_times), (np.flatnonzero(~wide), _over_rates)):
        for part in np.array_split(rows, 1 + rows.size * TUNING.count_nodes // TUNING.block):
            out[part] = rule(k[part, None], m[part, None], v[part, None])
    return out


def _over_rates(k: Array, m: Array, v: Array) -> Array:
    """E_f[P(G > e^f)]."""
    z = np.linspace(-TUNING.ends, TUNING.ends, TUNING.count_nodes)
    weights = np.exp(-0.5 * z * z)
    f = np.minimum(m + np.sqrt(np.maximum(v, 0.0)) * z, TUNING.largest_exponent)
    return gammaincc(k + 1.0, np.exp(f)) @ (weights / weights.sum())


def _over_times(k: Array, m: Array, v: Array) -> Array:
    """E_G[Φ((log G − m)/√v)].

    With a = k + 1 and δ = log G − log a, the density of δ is ∝ exp(−a(e^δ − 1 − δ)).
    """
    a = k + 1.0
    c = TUNING.count_nothing / a
    low, high = -(c + np.sqrt(2.0 * c)), np.log1p(c + np.sqrt(2.0 * c))
    d = low + (high - low) * np.linspace(0.0, 1.0, TUNING.count_nodes)
    weights = np.exp(-a * beyond_line(d))
    return (weights * ndtr((np.log(a) + d - m) / np.sqrt(v))).sum(axis=1) / weights.sum(axis=1)


def beyond_line(d: Array) -> Array:
    """e^d − 1 − d."""
    series = 1.0 / 6.0 + d * (1.0 / 24.0 + d * (1.0 / 120.0 + d / 720.0))
    return np.where(np.abs(d) < 0.03, d * d * (0.5 + d * series), np.expm1(d) - d)


def count_quantile(level: float, m: Array, v: Array) -> Array:
    """The smallest count whose distribution function reaches `level`  (n,)."""
    m, v = np.broadcast_arrays(np.asarray(m, dtype=float), np.asarray(v, dtype=float))
    s = np.sqrt(np.maximum(v, 0.0))
    few = np.exp(np.minimum(m + s * ndtri(0.5 * level), TUNING.largest_exponent))
    many = np.exp(np.minimum(m - s * ndtri(0.5 - 0.5 * level), TUNING.largest_exponent))
    # f and Y given f each exceed their bound with half of the probability
    away = np.sqrt(2.0 * np.log(2.0 / min(level, 1.0 - level)))
    low = np.maximum(np.floor(few - away * np.sqrt(few)) - 1.0, -1.0)
    high = np.ceil(many + away * np.sqrt(many) + away**2)
    while True:  # low < quantile ≤ high
        far = high > 4.0 * (low + 2.0)
        middle = np.floor(np.where(far, np.sqrt((low + 2.0) * high), 0.5 * (low + high)))
        middle = np.where(middle > low, middle, low + 1.0)
        rows = np.flatnonzero((middle > low) & (middle < high))
        if not rows.size:
            return high
        enough = count_distribution(middle[rows], m[rows], v[rows]) >= level
        high[rows[enough]] = middle[rows[enough]]
        low[rows[~enough]] = middle[rows[~enough]]
