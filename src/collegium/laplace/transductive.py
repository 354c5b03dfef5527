"""Generalised committee whose anchors are the queries themselves: u = f(X*)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from ..answers import local
from ..answers.transductive import padding
from ..messages.basis import Anchors
from ..messages.message import Belief
from ..rows import partition
from ..rows.metric import Metric
from ..rows.rows import Prediction
from .committee import LaplaceCommittee, settle_together
from .stack import Totals

Array = np.ndarray


@dataclass(frozen=True)
class Outcome:
    """Whether a committee converged."""

    change: float  # of messages, in the last sweep
    modes_found: bool


Report = Callable[[Sequence[Outcome]], None]


@dataclass(frozen=True, eq=False)
class JointLatents:
    """Answers batches of queries; for each batch new messages of all chunks are computed."""

    committees: tuple[LaplaceCommittee, ...]  # their anchors serve as padding
    metric: Metric
    tree: cKDTree
    X: Array  # inputs of all chunks  (n, d)
    size: int  # query points of one batch, padding included
    sweeps: int
    tolerance: float
    sequential: bool = False
    report: Report = lambda outcomes: None

    @classmethod
    def of(
        cls, committees: Sequence[LaplaceCommittee], size: int, sweeps: int, tolerance: float, *,
        sequential: bool = False, report: Report = lambda outcomes: None,
    ) -> JointLatents:  # fmt: skip
        first = committees[0]
        X = np.concatenate([state.chunk.load()[0] for state in first.states])
        metric = Metric.of(first.basis.kernel, X)
        tree = cKDTree(metric.forward(X))
        return cls(tuple(committees), metric, tree, X, size, sweeps, tolerance, sequential, report)

    def predict(self, Xs: Array, engine: Any) -> list[Prediction]:
        """Compute means and variances of each latent function."""
        distinct, where = partition.distinct(Xs)
        batches = partition.balanced(
            self.metric.forward(distinct), self.size, np.random.default_rng(0)
        )
        order = np.argsort(np.concatenate(batches))
        answers, ends = zip(*[self._answer(distinct[batch], engine) for batch in batches])
        self.report([end for each in ends for end in each])
        return [Prediction.joined(parts).take(order[where]) for parts in zip(*answers)]

    def joint(self, Xs: Array, engine: Any) -> list[tuple[Prediction, Array]]:
        """Predict all queries as one batch: moments and covariances."""
        distinct, where = partition.distinct(Xs)
        found, (pairs, ends) = [], self._believe(distinct, engine)
        self.report(ends)
        for basis, belief in pairs:
            covariance = local.covariance_global(basis, belief, distinct)
            own = local.predict_global(basis, belief, distinct).take(where)
            found.append((own, covariance[np.ix_(where, where)]))
        return found

    def _answer(self, Q: Array, engine: Any) -> tuple[list[Prediction], list[Outcome]]:
        pairs, ends = self._believe(Q, engine)
        return [local.predict_global(*one, Q) for one in pairs], ends

    def _believe(self, Q: Array, engine: Any) -> tuple[list[tuple[Anchors, Belief]], list[Outcome]]:
        """Compute anchors and belief of each latent function, and whether sweeps converged."""
        first = self.committees[0].basis
        pad = padding(Q, self.size, self.X, first.Z, self.metric, self.tree)
        points, _ = partition.distinct(np.concatenate([Q, pad]))
        basis = Anchors.at(first.kernel, points)
        starts = []
        for one in self.committees:
            none = Totals.zero(basis.m, one.likelihood.latents)
            start = replace(
                one, basis=basis, past=none, states=(), sweeps=0, change=np.inf, past_found=True
            )
            starts.append(start.join([state.chunk for state in one.states]))
        settled = settle_together(
            starts, engine, sequential=self.sequential, tolerance=self.tolerance,
            max_sweeps=self.sweeps,
        )  # fmt: skip
        pairs = [(basis, belief) for one in settled for belief in one.beliefs]
        return pairs, [Outcome(one.change, one.modes_found) for one in settled]
