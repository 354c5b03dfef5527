"""A committee of local experts: rows pass by, queries are answered."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .experts import Assumptions, Experts
from .passing import answers, listen, weights

Array = np.ndarray


@dataclass(frozen=True)
class Habits:
    """How a committee hears rows, grows and forgets."""

    max_experts: int
    sweeps: int = 1
    forgetting: float = 1.0
    grow: bool = True
    reach: float = 0.5  # a local expert joins where no other counts a row more than this
    add_below: float = -1.5  # as published: where log p(y | committee) is below this
    alike: float = 0.05  # experts whose variances differ by less than this share are one


@dataclass(frozen=True, eq=False)
class Answer:
    """At n queries, y scaled."""

    mean: Array  # (n,)
    variance: Array  # (n,)  of a new y
    noise: Array  # (n,)  the part of it that is noise
    slopes: Array  # (n, d)
    slope_variance: Array  # (n, d)


@dataclass(frozen=True, eq=False)
class LocalCommittee:
    """Experts, and a scale of their bars that follows how often these held."""

    assumed: Assumptions
    habits: Habits
    experts: Experts
    scale: Array  # (3,)  see `passing.listen`

    @classmethod
    def start(cls, assumed: Assumptions, habits: Habits, centres: Array | None = None):
        if centres is None:
            experts = Experts.none(habits.max_experts, assumed)
        else:
            experts = Experts.at(centres, assumed)
            experts = experts.with_room(max(habits.max_experts, experts.size))
        return cls(assumed, habits, experts, np.zeros(3))

    def heard(self, X: Array, y: Array, w: Array) -> tuple[LocalCommittee, Array, Array]:
        """After rows (n, d), (n,), (n,); mean and variance (n,) before each of them."""
        e, scale, mean, variance = self.experts.copy(), self.scale.copy(), *np.empty((2, y.size))
        h, assumed = self.habits, self.assumed
        room = e.centres.shape[0] if h.grow else e.size
        size = listen(
            X, y, w, e.size, room, assumed.unit, assumed.local, h.sweeps, h.forgetting,
            _prior(assumed), assumed.slope, 1.0 - 2.0 * np.log(h.reach), h.add_below,
            h.alike if h.grow else 0.0, scale, *e.arrays(), mean, variance,
        )  # fmt: skip
        experts = replace(e, size=int(size))
        return replace(self, experts=experts, scale=scale), mean, variance

    def answer(self, X: Array) -> Answer:
        n, e = X.shape[0], self.experts
        if e.size == 0:
            slopes = np.tile(self.assumed.slope, (n, 1))
            return Answer(
                X @ self.assumed.slope, np.ones(n), np.zeros(n), slopes, np.zeros(X.shape)
            )
        mean, variance, noise = np.empty((3, n))
        slopes, slope_variance = np.empty((2, *X.shape))
        answers(
            X, e.size, self.assumed.unit, self.assumed.local, e.centres, e.mu, e.factor,
            e.spread(), e.a, e.b, e.c, e.d, mean, variance, noise, slopes, slope_variance,
        )  # fmt: skip
        bars = self.factor_of_bars
        return Answer(mean, bars * variance, bars * noise, slopes, bars * slope_variance)

    def correlation(self, X: Array) -> Array:
        """Of the means at queries  (n, n): each is a weighted sum of the experts' lines."""
        n, e, unit = X.shape[0], self.experts, self.assumed.unit
        if e.size == 0:
            return np.eye(n)
        share = np.empty((n, e.size))
        weights(
            X, e.size, unit, self.assumed.local, e.centres, e.mu, e.factor, e.a, e.b, e.c, e.d,
            share,
        )  # fmt: skip
        C = np.zeros((n, n))
        for k, S in enumerate(e.covariance()):
            near = np.flatnonzero(share[:, k])
            x = np.column_stack([(X[near] - e.centres[k]) / unit, np.ones(near.size)])
            x *= share[near, k, None]
            C[np.ix_(near, near)] += x @ S @ x.T
        sd = np.sqrt(C.diagonal())
        sd[sd == 0.0] = 1.0
        return C / np.outer(sd, sd)

    def reach(self) -> Array:
        """How far along each column experts are good, in units: where γ has grown by s.

        (1 + t²)(1/h_D + t²/h_j) = 1/h_D + s; local experts count rows less beyond one unit too.
        """
        inverse, s = self.experts.misfit(), self.experts.noise()[:, None]
        level, own = inverse[:, -1:], inverse[:, :-1]
        both = level + own
        t2 = 2.0 * s / (both + np.sqrt(both**2 + 4.0 * own * s))
        return np.sqrt(t2 / (1.0 + t2) if self.assumed.local else t2)

    @property
    def factor_of_bars(self) -> float:
        return float(np.exp(2.0 * self.scale[0])) if self.assumed.local else 1.0


def _prior(assumed: Assumptions) -> Array:
    """As `loops` wants it: a0, b0, c0, d0, d0/c0, the diagonal of S0."""
    numbers = [assumed.a0, assumed.b0, assumed.c0, assumed.d0, assumed.d0 / assumed.c0]
    return np.concatenate([numbers, assumed.prior_variance()])
