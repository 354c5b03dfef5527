"""Predictors of committees of experts: each chunk is a GP that predicts query by query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..answers.local import Shared
from ..answers.predictors import Predictor
from ..answers.tuning import TUNING as ANSWERS
from ..messages.basis import Anchors
from ..messages.committee import Committee
from ..messages.message import Belief, normalise
from ..rows.chunk import Chunk
from ..rows.partition import blocks
from ..rows.rows import Prediction, Rows
from . import nested_kriging as nested
from .pointwise import RULES, Vote, positive, within
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class ChunkExpert:
    """One expert: its number, its rows, and its factor where that is kept."""

    id: int
    rows: Rows
    shared: Shared | None

    def answer(self, basis: Anchors, belief: Belief, noise: float, Xs: Array) -> Prediction:
        own = self.shared or Shared.of(basis, noise, self.rows)
        return own.predict(basis, belief, Xs)


@dataclass(frozen=True, eq=False)
class ExpertsPredictor(Predictor):
    """Combine experts by a rule of `pointwise`; for "grbcm" chunk 0 is the communication set."""

    rule: str
    basis: Anchors  # no anchors: experts are independent
    belief: Belief
    noise: float
    base: ChunkExpert | None  # the communication set alone
    members: Sequence[ChunkExpert]

    @classmethod
    def of(cls, committee: Committee, rule: str) -> ExpertsPredictor:
        chunks = committee.chunks()
        shared = [Rows(*chunk.load()) for chunk in chunks]
        base = None
        if rule == "grbcm":
            base, own = shared[0], shared[1:]
            shared = [base, *(base + rows for rows in own)]
        fits = 8 * sum(rows.X.shape[0] ** 2 for rows in shared) <= TUNING.kept_bytes
        basis, noise = committee.basis, committee.noise
        members = [
            ChunkExpert(i, rows, Shared.of(basis, noise, rows) if fits else None)
            for i, rows in enumerate(shared)
        ]
        belief = normalise(basis.prior(committee.belief.mean.shape[1]))
        if base is None:
            return cls(rule, basis, belief, noise, None, members)
        return cls(rule, basis, belief, noise, members[0], members[1:])

    def predict(self, Xs: Array, engine: Any) -> Prediction:
        batches = blocks(Xs.shape[0], ANSWERS.predictors.batch)
        parts = [self._batch(Xs[batch], engine) for batch in batches]
        return Prediction.joined(parts)

    def _batch(self, Xs: Array, engine: Any) -> Prediction:
        rule, p = RULES[self.rule], self.belief.mean.shape[1]
        ask = partial(
            ChunkExpert.answer, basis=self.basis, belief=self.belief, noise=self.noise, Xs=Xs
        )
        prior = positive(self.basis.kernel.diag(Xs))
        base_mean, first = np.zeros((Xs.shape[0], p)), 0
        if self.base is not None:
            found = ask(self.base)
            base_mean, prior, first = found.mean, within(found.variance, prior), 1

        def vote(member: ChunkExpert) -> Vote:
            found = ask(member)
            variance = within(found.variance, prior)
            return rule.vote(member.id - first, found.mean - base_mean, variance, 0.0, prior)

        total = engine.sum(vote, self.members, Vote.zero(Xs.shape[0], p))
        mean, variance = rule.read(len(self.members), total, prior)
        return Prediction(base_mean + mean, variance)

    def joint(self, Xs: Array, engine: Any) -> tuple[Prediction, Array]:
        raise ValueError(
            f"combination={self.rule!r} answers query by query and gives no covariance "
            "(return_cov, sample_y): use combination='bcm' or 'npae'"
        )


@dataclass(frozen=True, eq=False)
class NestedKriging(Predictor):
    """Combine experts by nested kriging."""

    kernel: Any
    noise: float
    chunks: Sequence[Chunk]

    @classmethod
    def of(cls, committee: Committee) -> NestedKriging:
        return cls(committee.basis.kernel, committee.noise, committee.chunks())

    def predict(self, Xs: Array, engine: Any) -> Prediction:
        return Prediction.by_tiles(lambda tile: self._batch(tile, engine)[0], Xs)

    def _batch(self, Xs: Array, engine: Any) -> tuple[Prediction, list[Array]]:
        """Prediction, and its weights on the rows of each chunk  (n, q)."""
        own = partial(nested.kriging_weights, self.kernel, self.noise, Xs=Xs)
        W = engine.map(own, self.chunks)
        cross, joint = nested.covariances(self.kernel, self.chunks, W, Xs, engine)
        a = nested.best_linear(cross, joint, self.kernel.diag(Xs))
        omega = [ai * Wi for ai, Wi in zip(a, W)]
        mean = sum(w.T @ chunk.y for w, chunk in zip(omega, self.chunks))
        left = self.kernel.diag(Xs) - np.einsum("iq,iq->q", a, cross)
        return Prediction(np.asarray(mean), np.maximum(left, 0.0)), omega

    def joint(self, Xs: Array, engine: Any) -> tuple[Prediction, Array]:
        found, omega = self._batch(Xs, engine)
        return found, nested.error_covariance(self.kernel, self.noise, self.chunks, omega, Xs)
