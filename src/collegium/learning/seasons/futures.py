"""Forecasts of future rows by a line, seasons and errors that persist.

y = Hβ + r, β ~ N(0, I), r = x + noise, x an autoregression of order one: the Gaussian process with
a trend, seasons and a Matérn 1/2 kernel, at even times. In its steady state the Kalman filter of r
has innovations

    e_t = r_t − ρ x̂_{t−1},    x̂_t = ρ x̂_{t−1} + g e_t,

white, so that filtered rows are a regression with independent errors: Gram matrices of all terms
together, up to each origin, serve every choice of terms. A forecast k steps ahead is hᵀβ + ρᵏ x̂.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.signal import lfilter

from ...numerics import linalg
from ..tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True)
class Persistence:
    """How errors persist: x_t = ρ x_{t−1} + √(1 − ρ²) u_t, r_t = x_t + √ratio · noise."""

    rho: float
    ratio: float  # variance of the noise over that of x

    @cached_property
    def gain(self) -> float:
        """g, from the steady state of the Riccati equation."""
        q, v = 1.0 - self.rho**2, self.ratio
        b = v * (1.0 - self.rho**2) - q
        P = 0.5 * (-b + np.sqrt(b * b + 4.0 * q * v))  # before each step: P = ρ²Pv/(P + v) + q
        return float(P / (P + v)) if P + v > 0.0 else 1.0

    @property
    def first(self) -> float:
        """Variance of an innovation over that of the first row."""
        q, v, g = 1.0 - self.rho**2, self.ratio, self.gain
        P = v * g / (1.0 - g) if g < 1.0 else q
        return float((P + v) / (1.0 + v))

    def states(self, A: Array) -> Array:
        """x̂ of each column of A  (n, c)."""
        return lfilter([self.gain], [1.0, -self.rho * (1.0 - self.gain)], A, axis=0)

    def whitened(self, A: Array) -> Array:
        """Innovations of each column of A; the first row has their variance too  (n, c)."""
        before = np.vstack([np.zeros((1, A.shape[1])), self.states(A)[:-1]])
        found = A - self.rho * before
        found[0] *= np.sqrt(self.first)
        return found

    def log_likelihood(self, r: Array) -> float:
        """Log density of columns (n, p), with their own scales, up to a constant."""
        e = self.whitened(r)
        usual = np.maximum((e**2).mean(axis=0), 1e-300)
        return float(
            -0.5 * r.shape[0] * np.log(usual).sum() + 0.5 * r.shape[1] * np.log(self.first)
        )


def likeliest(r: Array) -> Persistence:
    """Choose the persistence of errors r (n, p) by their likelihood."""
    s, n = TUNING.seasons, r.shape[0]
    lengths = s.lengths[0] * s.lengths[1] ** np.arange(40.0)
    lengths = lengths[lengths < s.longest * n]
    grid = [Persistence(0.0, 0.0)]
    grid += [Persistence(float(np.exp(-1.0 / one)), v) for one in lengths for v in s.ratios]
    return max(grid, key=lambda one: one.log_likelihood(r))


@dataclass(frozen=True, eq=False)
class Regression:
    """Whitened rows before an origin, as sums over them."""

    gram: Array  # of all features  (q, q)
    cross: Array  # HᵀY  (q, p)
    square: Array  # Yᵀ Y, its diagonal  (p,)
    n: int

    def solve(self, terms: Array) -> tuple[Array, float]:
        """Coefficients β (q, p), zero beside `terms`, and the log evidence, with the variance of
        the innovations at its likeliest value."""
        wide = 1.0 / TUNING.seasons.deviation**2
        G, g = self.gram[np.ix_(terms, terms)], self.cross[terms]
        beta, total = np.zeros(self.cross.shape), 0.0
        noise = np.maximum(self.square / self.n, 1e-12)
        for k in range(noise.size):
            for _ in range(3):
                A = G / noise[k] + wide * np.eye(terms.size)
                L, _ = linalg.cholesky(A, float(A.diagonal().max()))
                own = linalg.solve_upper(L, linalg.solve_lower(L, g[:, k : k + 1] / noise[k]))[:, 0]
                rest = float(self.square[k] - 2.0 * own @ g[:, k] + own @ G @ own)
                rest = max(rest, 1e-12 * self.n)
                used = noise[k]
                noise[k] = max(rest / max(self.n - terms.size, 1.0), 1e-12)
            beta[terms, k] = own
            total -= 0.5 * (self.n * np.log(used) + rest / used + wide * own @ own)
            total -= np.log(L.diagonal()).sum() - 0.5 * terms.size * np.log(wide)
        return beta, float(total)


@dataclass(frozen=True, eq=False)
class Whitened:
    """Rows as one persistence sees them: sums before each origin, and states there."""

    persistence: Persistence
    before: tuple[Regression, ...]  # one per origin, the last of all rows
    target_states: Array  # x̂ of y, one per origin  (o, p)
    states: Array  # of features  (o, q)

    @classmethod
    def of(cls, persistence: Persistence, H: Array, Y: Array, origins: Array) -> Whitened:
        A = np.hstack([H, Y])
        q, seen = H.shape[1], persistence.states(A)
        W = persistence.whitened(A)
        gram, found, start = np.zeros((A.shape[1],) * 2), [], 0
        for end in (*origins, H.shape[0]):
            gram = gram + W[start:end].T @ W[start:end]
            own = gram[q:, q:].diagonal().copy()
            found.append(Regression(gram[:q, :q], gram[:q, q:], own, int(end)))
            start = end
        last = seen[origins - 1]
        return cls(persistence, tuple(found), last[:, q:], last[:, :q])

    def solve(self, o: int, terms: Array) -> tuple[Array, float]:
        """Coefficients and log evidence of the rows before origin o, as they were before whitening:
        the first of them was scaled by √first."""
        beta, evidence = self.before[o].solve(terms)
        return beta, evidence + 0.5 * beta.shape[1] * float(np.log(self.persistence.first))

    def forecast(self, o: int, beta: Array, H: Array) -> Array:
        """Forecast the rows from origin o on, whose features are H  (h, p)."""
        rest = self.target_states[o] - self.states[o] @ beta
        ahead = self.persistence.rho ** np.arange(1.0, H.shape[0] + 1.0)
        return H @ beta + ahead[:, None] * rest


@dataclass(frozen=True, eq=False)
class Futures:
    """Held-out future blocks, and forecasts of them by any of the terms."""

    H: Array  # features of all terms  (n, q)
    Y: Array  # centred and scaled  (n, p)
    origins: Array
    horizon: int
    filtered: tuple[Whitened, ...]

    @classmethod
    def of(cls, H: Array, Y: Array, choices: Iterable[Array]) -> Futures:
        """Prepare forecasts; errors persist as they do after fits of some choices of terms."""
        s, n = TUNING.seasons, H.shape[0]
        origins = np.unique((np.array(s.origins) * n).astype(int))
        plain = Whitened.of(Persistence(0.0, 0.0), H, Y, origins)
        kinds = []
        for terms in choices:
            beta, _ = plain.before[-1].solve(terms)
            kinds.append(likeliest(Y - H @ beta))
        each = tuple(Whitened.of(one, H, Y, origins) for one in dict.fromkeys(kinds))
        return cls(H, Y, origins, max(1, int(s.horizon * n)), each)

    def evidence(self, terms: Array) -> float:
        """Log evidence of all rows, by the likeliest persistence."""
        return max(one.solve(-1, terms)[1] for one in self.filtered)

    def forecasts(self, terms: Array) -> list[Array]:
        """Forecast each block from the rows before it  (h, p) each."""
        found = []
        for o, start in enumerate(self.origins):
            solved = [(one, *one.solve(o, terms)) for one in self.filtered]
            best, beta, _ = max(solved, key=lambda each: each[2])
            found.append(best.forecast(o, beta, self.H[start : start + self.horizon]))
        return found

    def blocks(self, A: Array) -> list[Array]:
        """Cut the held-out blocks from an array of all rows."""
        return [A[start : start + self.horizon] for start in self.origins]
