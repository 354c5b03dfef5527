"""Anchors and hyperparameters that follow a stream of which no raw rows are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...engines import engine_for
from ...kernels import Kernel
from ...kernels.trend import split_trend
from ...learning.optimise import Scales, maximise_chunks
from ...messages.basis import Anchors
from ...messages.evidence import factorised
from ...messages.growing import badly_seen
from ...numerics.records import record
from ...rows.chunk import Chunk, cut_rows, rows_of
from ...rows.metric import Metric
from ...rows.partition import evenly_spaced, some_clusters
from ...rows.reservoir import Reservoir
from ...rows.rows import Rows
from ...rows.scaling import for_learning
from ..tuning import TUNING

Array = np.ndarray


@record("committee.following/1")
@dataclass(frozen=True, eq=False)
class Following:
    """A sample and thresholds by which anchors follow a stream."""

    least: float  # var[f | anchors] from which on a row is badly seen
    budget: int  # anchors, at most
    sample: Reservoir  # targets scaled, or positions of classes; empty where nothing is learnt
    looked_at: int  # rows that had come when hyperparameters were last compared with the sample
    excess: float = (
        0.0  # badly seen rows beyond their usual share, since anchors were last appended
    )
    n_dropped: int = 0
    n_relearnt: int = 0

    @classmethod
    def of(cls, basis: Anchors, noise: float, budget: int, rows: Rows, *, learn: bool) -> Following:
        """Begin with the rows that the anchors were chosen from; keep some to relearn from."""
        (n, d), p = rows.X.shape, rows.y.shape[1]
        sample = Reservoir.start(TUNING.following.sample if learn else 0, d, p).add(rows)
        least = usual(basis, noise, rows.X[evenly_spaced(n, TUNING.following.sample)])
        return cls(least, max(budget, basis.m), sample, sample.seen)

    def due(self, checked: int, square: float) -> bool:
        """Whether to look if hyperparameters still fit: rows have doubled since that was looked
        at, or, earlier than that, errors are of another size than expected: `square`, the mean
        squared standardised error of the last of the rows `checked`."""
        seen = self.sample.seen
        wrong = (
            checked >= TUNING.following.checked_first
            and not TUNING.following.wide < square < TUNING.following.narrow
        )
        return seen >= (TUNING.following.soon if wrong else TUNING.following.later) * self.looked_at

    def misled(self, checked: int, square: float) -> bool:
        """Whether errors were so large that messages so far are better replaced, by those of the
        rows of the sample alone."""
        return checked >= TUNING.following.checked_first and square > TUNING.following.narrow

    def fits(self, kernel: Kernel, noise: float, *, noise_fixed: bool) -> tuple[bool, Following]:
        """Whether a few steps of learning would not better them by much."""
        own = replace(self, looked_at=self.sample.seen)
        return gain(
            kernel, noise, self.sample.rows, noise_fixed=noise_fixed
        ) < TUNING.following.worth, own

    def missing(self, basis: Anchors, noise: float) -> Array:
        """Inputs of the sample that want anchors, with relearnt hyperparameters  (k, d)."""
        X = self.sample.rows.X
        return X[
            badly_seen(
                basis, X, max(noise, TUNING.following.least * variance_of(basis, X)), self.budget
            )
        ]

    def relearnt(self, basis: Anchors, noise: float) -> Following:
        """Begin again after hyperparameters were relearnt."""
        least = usual(basis, noise, self.sample.rows.X)
        return replace(self, least=least, n_relearnt=self.n_relearnt + 1)

    def without(self, count: int) -> Following:
        """After that many anchors were dropped."""
        return replace(self, n_dropped=self.n_dropped + count)

    def without_chunks(self, chunks: Sequence[Chunk]) -> Following:
        """After chunks were forgotten: the stream learns from none of their rows again."""
        sample = self.sample
        for chunk in chunks:
            sample = sample.without(rows_of(chunk))
        return replace(self, sample=sample)

    def with_rows(self, rows: Rows) -> Following:
        """After further rows, targets as in the sample."""
        return replace(self, sample=self.sample.add(rows))

    def novel(self, basis: Anchors, X: Array) -> tuple[Following, Array]:
        """Anchors to append before rows with these inputs are added  (k, d)."""
        some = X[evenly_spaced(X.shape[0], TUNING.following.looked_at)]
        bad = basis.residual_diag(some, basis.design(some)) > self.least
        share = float(bad.mean()) * X.shape[0]
        excess = max(self.excess + share - TUNING.following.often * X.shape[0], 0.0)
        own = replace(self, excess=excess)
        if excess < TUNING.following.many:
            return own, np.empty((0, X.shape[1]))
        candidates = X[evenly_spaced(X.shape[0], TUNING.following.candidates)]
        spare = int(TUNING.following.usual * candidates.shape[0])
        chosen = badly_seen(basis, candidates, self.least, self.budget, spare)
        return replace(own, excess=0.0), candidates[chosen]


def usual(basis: Anchors, noise: float, X: Array) -> float:
    """var[f | anchors] from which on a row is badly seen: above the noise, and above what it is
    at all but a few of the rows X."""
    left = basis.residual_diag(X, basis.design(X))
    return max(
        noise,
        float(np.quantile(left, 1.0 - TUNING.following.usual)),
        TUNING.following.least * variance_of(basis, X),
    )


def gain(kernel: Kernel, noise: float, rows: Rows, *, noise_fixed: bool) -> float:
    """By how much a few steps of learning raise the log evidence per row, of a few clusters."""
    rows, engine = for_learning(rows), engine_for(None)
    points = Metric.of(kernel, rows.X).forward(rows.X)
    groups = some_clusters(
        points, TUNING.following.cluster, TUNING.following.clusters, np.random.default_rng(0)
    )
    chunks = cut_rows(rows, groups)
    better = maximise_chunks(
        chunks, engine, kernel, noise, Scales.of(rows.X).prior(kernel),
        noise_fixed=noise_fixed, max_iter=TUNING.following.steps,
    )  # fmt: skip
    new, old = (
        factorised(k, s, chunks, engine)[0]
        for k, s in ((better.kernel, better.noise), (kernel, noise))
    )
    return (new - old) / float(sum(chunk.w.sum() for chunk in chunks))


def variance_of(basis: Anchors, X: Array) -> float:
    """The largest prior variance of f(X) without its trend, which has coordinates of its own."""
    return float(split_trend(basis.kernel)[0].diag(X).max(initial=0.0))
