"""Committee of local experts: add rows, answer queries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..numerics.records import record
from .absorbing import (
    NARROWEST_BARS,
    OUTSIDE,
    QUANTILE,
    absorb_rows,
    answer_queries,
    expert_weights,
)
from .experts import Assumptions, Experts
from .loops import LoopPrior, LoopSettings

Array = np.ndarray


@record("rvc.rules/1")
@dataclass(frozen=True)
class StreamRules:
    """Rules by which a committee learns from rows, adds and drops experts, and forgets."""

    max_experts: int
    sweeps: int = 1
    forgetting: float = 1.0
    grow: bool = True
    reach: float = 0.5  # a local expert is added where every other has K below this
    add_below: float = -1.5  # as published: where log p(y | committee) is below this
    alike: float = 0.05  # experts whose variances differ by less than this share are one


class Answer(NamedTuple):
    """Prediction at n queries, y scaled."""

    mean: Array  # (n,)
    variance: Array  # (n,)  of a new y
    noise: Array  # (n,)  the part of it that is noise
    slopes: Array  # (n, d)
    slope_variance: Array  # (n, d)


@record("rvc.committee/1")
@dataclass(frozen=True, eq=False)
class LocalCommittee:
    """Experts, and a scale of their error bars that is adapted to 95 % coverage.

    The scale is that of arriving rows, each predicted before it is learnt. Where inputs wander,
    these rows fall where experts are new and their variances large, and error bars at well-known
    places would be too narrow: `past` is the scale with which bars cover rows learnt before.
    """

    assumed: Assumptions
    rules: StreamRules
    experts: Experts
    scale: Array  # (3,)  see `absorbing.absorb_rows`
    past: float = NARROWEST_BARS  # least log scale of the bars

    def __post_init__(self) -> None:
        if self.experts.centres.shape[1] != self.assumed.d:
            raise ValueError("experts and their prior have other numbers of columns")

    @classmethod
    def start(cls, assumed: Assumptions, rules: StreamRules, centres: Array | None = None):
        """Start before any row: without experts, or with one at each of the centres (M, d)."""
        if centres is None:
            experts = Experts.none(rules.max_experts, assumed)
        else:
            experts = Experts.at(centres, assumed)
            experts = experts.with_room(max(rules.max_experts, experts.size))
        return cls(assumed, rules, experts, np.zeros(3))

    def add(self, X: Array, y: Array, w: Array) -> tuple[LocalCommittee, Array, Array]:
        """Learn from rows (n, d), (n,), (n,); return mean and variance (n,) before each too."""
        e, scale, mean, variance = self.experts.copy(), self.scale.copy(), *np.empty((2, y.size))
        size = absorb_rows(
            X, y, w, e.size, self._settings(), e.arrays(), scale, mean, variance
        )  # fmt: skip
        experts = replace(e, size=int(size))
        return replace(self, experts=experts, scale=scale), mean, variance

    def _settings(self) -> LoopSettings:
        assumed, rules, e = self.assumed, self.rules, self.experts
        numbers = assumed.a0, assumed.b0, assumed.c0, assumed.d0
        return LoopSettings(
            unit=float(assumed.unit), local=assumed.local, slope=assumed.slope,
            prior=LoopPrior(*numbers, assumed.prior_variance()),
            sweeps=rules.sweeps, forgetting=rules.forgetting,
            room=e.centres.shape[0] if rules.grow else e.size,
            reach=1.0 - 2.0 * np.log(rules.reach), add_below=rules.add_below,
            alike=rules.alike if rules.grow else 0.0, past=self.past,
        )  # fmt: skip

    def answer(self, X: Array) -> Answer:
        """Predict at queries (n, d)."""
        n, e = X.shape[0], self.experts
        if e.size == 0:
            slopes = np.tile(self.assumed.slope, (n, 1))
            mean = (X * self.assumed.slope).sum(axis=1)
            return Answer(mean, np.ones(n), np.zeros(n), slopes, np.zeros(X.shape))
        found = Answer(*np.empty((3, n)), *np.empty((2, *X.shape)))
        answer_queries(X, e.size, self._settings(), e.arrays(), e.spread(), found)
        bars = self.factor_of_bars
        return found._replace(
            variance=bars * found.variance, noise=bars * found.noise,
            slope_variance=bars * found.slope_variance,
        )  # fmt: skip

    def correlation(self, X: Array) -> Array:
        """Correlation of the means at queries, weighted sums of the experts' lines  (n, n)."""
        n, e, unit = X.shape[0], self.experts, self.assumed.unit
        if e.size == 0:
            return np.eye(n)
        share = np.empty((n, e.size))
        expert_weights(X, e.size, self._settings(), e.arrays(), share)
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
        """Distance along each column, in units, at which γ has grown by s  (size, d).

        It solves (1 + t²)(1/h_D + t²/h_j) = 1/h_D + s. Local experts are bounded by one unit.
        """
        inverse, s = self.experts.misfit(), self.experts.noise()[:, None]
        level, own = inverse[:, -1:], inverse[:, :-1]
        both = level + own
        t2 = 2.0 * s / (both + np.sqrt(both**2 + 4.0 * own * s))
        return np.sqrt(t2 / (1.0 + t2) if self.assumed.local else t2)

    @property
    def factor_of_bars(self) -> float:
        """Factor of the variances; 1 as published."""
        return float(np.exp(2.0 * max(self.scale[0], self.past))) if self.assumed.local else 1.0

    def covering(self, X: Array, y: Array) -> LocalCommittee:
        """Scale bars to cover rows learnt before: 95 % of the better-known half."""
        if not self.assumed.local or self.experts.size == 0:
            return self
        answer = self.answer(X)
        variance = answer.variance / self.factor_of_bars
        known = np.argsort(variance, kind="stable")[: max(y.size // 2, 1)]
        z = np.quantile(np.abs(y - answer.mean)[known] / np.sqrt(variance[known]), 1.0 - OUTSIDE)
        past = float(np.log(max(z / QUANTILE, np.exp(NARROWEST_BARS))))
        return replace(self, past=past)
