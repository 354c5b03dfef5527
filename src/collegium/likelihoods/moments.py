"""Distributions of y where a likelihood says no more than its mean and variance given f.

Any real y is normal, labels ±1 follow from their mean, and probabilities of finitely many values
are added up. Of counts, of y beyond one bound and of y between two, y given f is negative binomial,
gamma or beta distributed: a mixture over nodes of f ~ N(m, v), whose quantiles are searched for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import betainc, expit, gammainc, gammaincc, ndtr, ndtri

from .tuning import MOMENTS as TUNING

Array = np.ndarray
#: Deviations of f, and the share of each.
NODES = np.linspace(-TUNING.deviations, TUNING.deviations, TUNING.nodes)
SHARES = np.exp(-0.5 * NODES**2) / np.exp(-0.5 * NODES**2).sum()


class Given(Protocol):
    """The part of a likelihood that a family asks."""

    def log_density(self, y: Array, f: Array) -> Array: ...
    def mean(self, f: Array) -> Array: ...
    def variance(self, f: Array) -> Array: ...
    def predict(self, m: Array, v: Array) -> tuple[Array, Array]: ...
    def log_predictive(self, y: Array, m: Array, v: Array) -> Array: ...


class Family(Protocol):
    """Quantiles, distribution function and draws of a new y."""

    def quantile(self, given: Given, level: float, m: Array, v: Array) -> Array:
        """The smallest y whose distribution function reaches `level`, f ~ N(m, v)."""

    def distribution(self, given: Given, y: Array, m: Array, v: Array) -> Array:
        """P(Y ≤ y) of each row, f ~ N(m, v)."""

    def draw(self, given: Given, f: Array, rng: Any) -> Array:
        """One y for each f."""


@dataclass(frozen=True)
class NormalMoments:
    """N(E[y], var[y])."""

    def quantile(self, given: Given, level: float, m: Array, v: Array) -> Array:
        mean, variance = given.predict(m, v)
        return mean + np.sqrt(variance) * ndtri(level)

    def distribution(self, given: Given, y: Array, m: Array, v: Array) -> Array:
        mean, variance = given.predict(m, v)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(y == mean, 0.0, (y - mean) / np.sqrt(variance))
        return ndtr(z)

    def draw(self, given: Given, f: Array, rng: Any) -> Array:
        return given.mean(f) + np.sqrt(given.variance(f)) * rng.standard_normal(f.shape)


@dataclass(frozen=True)
class SignMoments:
    """P(y = 1) = (1 + E[y])/2."""

    def quantile(self, given: Given, level: float, m: Array, v: Array) -> Array:
        return np.where(0.5 - 0.5 * given.predict(m, v)[0] >= level, -1.0, 1.0)

    def distribution(self, given: Given, y: Array, m: Array, v: Array) -> Array:
        mean = given.predict(m, v)[0]
        return np.where(y < -1.0, 0.0, np.where(y < 1.0, 0.5 - 0.5 * mean, 1.0))

    def draw(self, given: Given, f: Array, rng: Any) -> Array:
        return np.where(rng.uniform(size=f.shape) < 0.5 + 0.5 * given.mean(f), 1.0, -1.0)


@dataclass(frozen=True)
class FiniteValues:
    """P(Y ≤ y) = Σ p(value), over the values up to y."""

    values: tuple[float, ...]  # in order

    def quantile(self, given: Given, level: float, m: Array, v: Array) -> Array:
        m, v = np.broadcast_arrays(np.asarray(m, dtype=float), np.asarray(v, dtype=float))
        reached = self._cumulated(given.log_predictive, m.ravel(), v.ravel())
        return self._at((reached < level).sum(axis=1)).reshape(m.shape)

    def distribution(self, given: Given, y: Array, m: Array, v: Array) -> Array:
        reached = self._cumulated(given.log_predictive, m, np.broadcast_to(v, m.shape))
        up_to = np.searchsorted(np.array(self.values), y, side="right")
        return np.take_along_axis(np.pad(reached, ((0, 0), (1, 0))), up_to[:, None], axis=1)[:, 0]

    def draw(self, given: Given, f: Array, rng: Any) -> Array:
        reached = self._cumulated(given.log_density, f.ravel())
        below = (reached < rng.uniform(size=f.shape).reshape(-1, 1)).sum(axis=1)
        return self._at(below).reshape(f.shape)

    def _at(self, position: Array) -> Array:
        return np.array(self.values)[np.minimum(position, len(self.values) - 1)]

    def _cumulated(self, log_p: Callable[..., Array], *latent: Array) -> Array:
        """P(Y ≤ value) of each row and value, from log p(value, *latent)  (n, values)."""
        n = latent[0].size
        p = [np.exp(log_p(np.full((n, 1), value), *latent)) for value in self.values]
        total = np.cumsum(p, axis=0).T
        return total / total[:, -1:]


@dataclass(frozen=True)
class CountMoments:
    """y − low is negative binomial given f, with the moments of y."""

    low: float = 0.0  # the smallest y

    def quantile(self, given: Given, level: float, m: Array, v: Array) -> Array:
        def search(f: Array) -> Array:
            r, p = self._shapes(given, f)
            return _least_count(lambda k, at: self._reached(k, r[at], p[at]) >= level, r.shape[0])

        return self.low + _in_blocks(search, m, v)

    def distribution(self, given: Given, y: Array, m: Array, v: Array) -> Array:
        k = y - self.low
        found = self._reached(np.maximum(np.floor(k), 0.0), *self._shapes(given, _nodes(m, v)))
        return np.where(k < 0.0, 0.0, found)

    def draw(self, given: Given, f: Array, rng: Any) -> Array:
        r, p = self._shapes(given, f)
        rate = rng.standard_gamma(r) * ((1.0 - p) / p)
        return self.low + rng.poisson(np.minimum(rate, TUNING.largest_count)).astype(float)

    def _shapes(self, given: Given, f: Array) -> tuple[Array, Array]:
        """r and p of the negative binomial with the moments at f."""
        mean = np.clip(given.mean(f) - self.low, 1e-300, TUNING.largest_count)
        p = np.minimum(mean / np.maximum(given.variance(f), 1e-300), 1.0 - TUNING.wider)
        return mean * p / (1.0 - p), p

    @staticmethod
    def _reached(k: Array, r: Array, p: Array) -> Array:
        return betainc(r, k[:, None] + 1.0, p) @ SHARES


@dataclass(frozen=True)
class PositiveMoments:
    """sign · (y − edge) is gamma distributed given f, with the moments of y."""

    edge: float = 0.0
    sign: float = 1.0  # 1.0: y lies above the edge; -1.0: below it

    def quantile(self, given: Given, level: float, m: Array, v: Array) -> Array:
        tail = level if self.sign > 0.0 else 1.0 - level

        def search(f: Array) -> Array:
            k, scale = self._shapes(given, f)
            middle = NODES.size // 2
            found = _halving(
                lambda t, at: gammainc(k[at], distance(t)[:, None] / scale[at]) @ SHARES >= tail,
                np.log(k[:, middle] * scale[:, middle]),
            )
            return distance(found)

        def distance(log_y: Array) -> Array:
            return np.exp(np.clip(log_y, -690.0, 690.0))

        return self._inside(_in_blocks(search, m, v))

    def distribution(self, given: Given, y: Array, m: Array, v: Array) -> Array:
        k, scale = self._shapes(given, _nodes(m, v))
        away = np.maximum(self.sign * (y - self.edge), 0.0)
        return (gammainc if self.sign > 0.0 else gammaincc)(k, away[:, None] / scale) @ SHARES

    def draw(self, given: Given, f: Array, rng: Any) -> Array:
        k, scale = self._shapes(given, f)
        return self._inside(np.maximum(rng.standard_gamma(k) * scale, np.finfo(float).tiny))

    def _shapes(self, given: Given, f: Array) -> tuple[Array, Array]:
        """Shape k and scale of the gamma distribution with the moments at f."""
        mean = self.sign * (given.mean(f) - self.edge)
        mean = np.clip(mean, 1.0 / TUNING.largest, TUNING.largest)
        sd = np.sqrt(np.clip(given.variance(f), 1.0 / TUNING.largest, TUNING.largest))
        k = np.clip((mean / sd) ** 2, TUNING.least_shape, 1.0 / TUNING.close)
        return k, mean / k

    def _inside(self, away: Array) -> Array:
        """y at these distances from the edge, never the edge itself."""
        y = self.edge + self.sign * away
        return np.where(y == self.edge, np.nextafter(self.edge, self.sign * np.inf), y)


@dataclass(frozen=True)
class IntervalMoments:
    """(y − low)/(high − low) is beta distributed given f, with the moments of y."""

    low: float
    high: float

    def quantile(self, given: Given, level: float, m: Array, v: Array) -> Array:
        def search(f: Array) -> Array:
            a, b = self._shapes(given, f)
            middle = NODES.size // 2
            found = _halving(
                lambda t, at: self._reached(expit(t), a[at], b[at]) >= level,
                np.log(a[:, middle]) - np.log(b[:, middle]),
            )
            return expit(found)

        return self._inside(_in_blocks(search, m, v))

    def distribution(self, given: Given, y: Array, m: Array, v: Array) -> Array:
        u = np.clip((y - self.low) / (self.high - self.low), 0.0, 1.0)
        return self._reached(u, *self._shapes(given, _nodes(m, v)))

    def draw(self, given: Given, f: Array, rng: Any) -> Array:
        a, b = self._shapes(given, f)
        return self._inside(rng.beta(a, b))

    def _shapes(self, given: Given, f: Array) -> tuple[Array, Array]:
        """Both shapes of the beta distribution with the moments at f."""
        width, least = self.high - self.low, 1.0 / TUNING.largest
        mean = np.clip((given.mean(f) - self.low) / width, least, 1.0 - np.finfo(float).epsneg)
        share = mean * (1.0 - mean) / np.maximum(given.variance(f) / width**2, least)
        total = np.clip(share - 1.0, TUNING.least_shape, 1.0 / TUNING.close)
        return mean * total, (1.0 - mean) * total

    @staticmethod
    def _reached(u: Array, a: Array, b: Array) -> Array:
        return betainc(a, b, u[:, None]) @ SHARES

    def _inside(self, u: Array) -> Array:
        """y at these shares of the interval, never one of its ends."""
        y = self.low + (self.high - self.low) * u
        return np.clip(y, np.nextafter(self.low, np.inf), np.nextafter(self.high, -np.inf))


def _nodes(m: Array, v: Array) -> Array:
    """f at the nodes of each row  (n, nodes)."""
    return m[:, None] + np.sqrt(np.maximum(v, 0.0))[:, None] * NODES


def _in_blocks(search: Callable[[Array], Array], m: Array, v: Array) -> Array:
    """Search with the nodes of f of a block of rows at a time; shaped like m."""
    m, v = np.broadcast_arrays(np.asarray(m, dtype=float), np.asarray(v, dtype=float))
    out, flat, spread = np.empty(m.size), m.ravel(), v.ravel()
    for part in np.array_split(np.arange(m.size), 1 + m.size * NODES.size // TUNING.block):
        out[part] = search(_nodes(flat[part], spread[part]))
    return out.reshape(m.shape)


#: Whether the distribution function at t reaches a level, in some rows.
Reached = Callable[[Array, Array], Array]


def _halving(reached: Reached, start: Array) -> Array:
    """The least t at which `reached(t, rows)`, from a bracket about `start` that doubles  (n,)."""
    rows = np.arange(start.size)
    low, high, width = start - 1.0, start + 1.0, 1.0
    below, above = rows[reached(low, rows)], rows[~reached(high, rows)]
    while (below.size or above.size) and width < 2000.0:  # low < t ≤ high
        width *= 2.0
        high[below], low[above] = low[below], high[above]
        low[below], high[above] = start[below] - width, start[above] + width
        below, above = below[reached(low[below], below)], above[~reached(high[above], above)]
    while (rows := np.flatnonzero(high - low > TUNING.close)).size:
        centre = 0.5 * (low[rows] + high[rows])
        enough = reached(centre, rows)
        high[rows[enough]], low[rows[~enough]] = centre[enough], centre[~enough]
    return high


def _least_count(reached: Reached, n: int) -> Array:
    """The smallest k ≥ 0 at which `reached(k, rows)`  (n,)."""
    low, high, rows = np.full(n, -1.0), np.zeros(n), np.arange(n)
    while rows.size:  # low < k ≤ high
        rows = rows[~reached(high[rows], rows) & (high[rows] < TUNING.largest_count)]
        low[rows], high[rows] = high[rows], 2.0 * high[rows] + 1.0
    while (rows := np.flatnonzero(high - low > 1.0)).size:
        middle = np.floor(0.5 * (low[rows] + high[rows]))
        enough = reached(middle, rows)
        high[rows[enough]], low[rows[~enough]] = middle[enough], middle[~enough]
    return high
