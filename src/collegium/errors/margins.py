"""Student's t with a location and a scale per row, perhaps skewed, of y that may be discrete."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from .density import log_between, log_t_density, squared
from .skewed import log_skewed_between, log_skewed_density, skewed_quantile, tails
from .tuning import TUNING
from .values import Values

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Margins:
    """y = location + scale · t_ν, row by row; each output has its own ν and skewness.

    Of a y with values of its own the density is constant in the cell of each: the probability of
    the cell over its width. The distribution function is that before rounding.
    """

    location: Array  # mean  (n, p)
    scale: Array  # (n, p)
    nu: Array  # (p,)
    skew: Array | None = None  # s of each output; None: all are symmetric  (p,)
    values: tuple[Values | None, ...] = ()  # of each output; (): none has some

    def _standard(self, y: Array) -> Array:
        return (y - self.location) / self.scale

    def log_density(self, y: Array) -> Array:
        """log p(y)  (n, p)."""
        zeta = squared(self._standard(y), 0.0)
        each = [log_t_density(zeta[:, k], 0.0, nu) for k, nu in enumerate(self.nu)]
        for k, s in self._skewed():
            each[k] = log_skewed_density(self._standard(y)[:, k], self.nu[k], s)
        found = np.stack(each, axis=1) - np.log(self.scale)
        for k, own in self._discrete():
            low, high = own.cell(y[:, k])
            inside = ~np.isnan(low)
            found[inside, k] = self._log_mean_density(low[inside], high[inside], inside, k)
        return found

    def _log_mean_density(self, low: Array, high: Array, rows: Array, k: int) -> Array:
        m, scale, nu = self.location[rows, k], self.scale[rows, k], self.nu[k]
        s = 0.0 if self.skew is None else self.skew[k]
        ends = (low - m) / scale, (high - m) / scale
        p = log_between(*ends, nu) if s == 0.0 else log_skewed_between(*ends, nu, s)
        return p - np.log(high - low)

    def cdf(self, y: Array) -> Array:
        """P(Y ≤ y)  (n, p)."""
        t = self._standard(y)
        found = np.where(np.isinf(self.nu), ndtr(t), stdtr(self._finite(), t))
        for k, s in self._skewed():
            found[:, k] = tails(t[:, k], self.nu[k], s)[0]
        return found

    def normal_scores(self, y: Array) -> Array:
        """Φ⁻¹(P(Y ≤ y)), by the nearer tail: N(0, 1) where the density is right  (n, p)."""
        t = self._standard(y)
        below = np.maximum(stdtr(self._finite(), -np.abs(t)), 1e-300)
        found = np.where(np.isinf(self.nu), t, -ndtri(below) * np.sign(t))
        for k, s in self._skewed():
            low, high = (np.maximum(p, 1e-300) for p in tails(t[:, k], self.nu[k], s))
            found[:, k] = np.where(low < high, ndtri(low), -ndtri(high))
        return found

    def quantile(self, probability: Array | float) -> Array:
        """Quantile of y at this probability; where y has values of its own, and errors are not
        larger than their cells, one of these  (n, p)."""
        u = np.broadcast_to(ndtri(probability), self.scale.shape)
        found = self.from_normal(u)
        for k, own in self._discrete():
            if own.values is not None:
                on = self.on_values(k)
                found[on, k] = own.seen[own.nearest(found[on, k])]
        return found

    def on_values(self, k: int) -> Array:
        """Whether quantiles of an output are values of its y: half of the probability lies within
        about a cell  (n,)."""
        own = self.values[k]
        assert own is not None
        middle, half = self.from_normal(np.zeros_like(self.scale)), ndtri(0.75)
        wide = [self.from_normal(np.full_like(self.scale, u))[:, k] for u in (-half, half)]
        return wide[1] - wide[0] <= TUNING.values.snaps * own.width(middle[:, k])

    def from_normal(self, u: Array) -> Array:
        """Compute y from its normal score u: correlated u make a Gaussian copula of y."""
        tail = -stdtrit(self._finite(), ndtr(-np.abs(u))) * np.sign(u)
        x = np.where(np.isinf(self.nu), u, tail)
        for k, s in self._skewed():
            x[..., k] = skewed_quantile(u[..., k], self.nu[k], s)
        return self.location + self.scale * x

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Draw independently  (count, n, p)."""
        return self.from_normal(rng.standard_normal((count, *self.scale.shape)))

    def _finite(self) -> Array:
        return np.where(np.isinf(self.nu), 1.0, self.nu)

    def _skewed(self) -> list[tuple[int, float]]:
        """Outputs that are skewed, and their s."""
        if self.skew is None:
            return []
        return [(k, float(s)) for k, s in enumerate(self.skew) if s != 0.0]

    def _discrete(self) -> list[tuple[int, Values]]:
        """Outputs that have values of their own, and these."""
        return [(k, own) for k, own in enumerate(self.values) if own is not None]
