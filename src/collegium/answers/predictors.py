"""Predictors: from a committee's belief and rows to means, variances and covariances of f.

    Exact      every row                                   the exact GP
    Global     the anchors alone                           Tresp (2000), eq. 17
    OwnChunk   the anchors and the query's own chunk       PIC
    Local      the anchors and the rows nearest to a query

Each has `mean`, `predict` (means and variances) and `joint` (covariances too).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from scipy.spatial import cKDTree

from ..messages.basis import Anchors
from ..messages.expansion import Expansion
from ..messages.message import Belief
from ..numerics import linalg
from ..rows import partition
from ..rows.metric import Metric
from ..rows.nearest import Nearby
from ..rows.rows import AnyRows, Prediction, Rows
from . import local
from .local import Shared
from .neighbourhoods import single_will_do

Array = np.ndarray


#: Most bytes for the design of the neighbours of one batch of queries.
BATCH_BYTES = 256 * 2**20
#: Queries of one batch where all queries share a factor.
BATCH = 1024
#: Most bytes for the design of all rows, kept between calls; if larger, each call computes it.
DESIGN_BYTES = 256 * 2**20
#: Rows that are left out at a time.
LEFT_OUT = 256


class Informed(Protocol):
    """What predictors need of a committee: a belief, and the rows that were kept."""

    @property
    def basis(self) -> Anchors: ...
    @property
    def belief(self) -> Belief: ...
    @property
    def noise(self) -> float: ...
    @property
    def sizes(self) -> tuple[int, ...]: ...
    @property
    def no_anchors(self) -> bool: ...
    def rows(self) -> AnyRows: ...
    def parts(self) -> Sequence[AnyRows]: ...


class Predictor:
    """Predicts f at queries X* (q, d), in batches that an engine runs."""

    def predict(self, Xs: Array, engine: Any) -> Prediction:
        """Means and variances."""
        raise TypeError("abstract predictor")

    def joint(self, Xs: Array, engine: Any) -> tuple[Prediction, Array]:
        """Means, variances and the covariance  (q, q)."""
        raise TypeError("abstract predictor")

    def prepare(self, engine: Any) -> int:
        """Make what answers need before they are asked for; how many cells there are."""
        return 0

    def mean(self, Xs: Array, engine: Any) -> Array:
        """Means alone  (q, p); overridden where they cost less than variances."""
        return self.predict(Xs, engine).mean


@dataclass(frozen=True, eq=False)
class Exact(Predictor):
    """Predicts from every row: one neighbourhood for all queries, factorised once."""

    committee: Informed
    shared: Shared

    @classmethod
    def of(cls, committee: Informed) -> Exact:
        return cls(committee, Shared.of(committee.basis, committee.noise, committee.rows()))

    @cached_property
    def expansion(self) -> Expansion:
        return self.shared.expansion(self.committee.basis, self.committee.belief)

    def mean(self, Xs: Array, engine: Any) -> Array:
        return self.expansion.mean(Xs, engine)

    def predict(self, Xs: Array, engine: Any) -> Prediction:
        c, expansion = self.committee, self.expansion

        def answer(X: Array) -> Prediction:
            return Prediction(expansion.at(X), self.shared.variance(c.basis, c.belief, X))

        return in_order(Xs, BATCH, answer, engine)

    def joint(self, Xs: Array, engine: Any) -> tuple[Prediction, Array]:
        c = self.committee
        return self.predict(Xs, engine), self.shared.covariance(c.basis, c.belief, Xs)


@dataclass(frozen=True, eq=False)
class Global(Predictor):
    """Predicts from the anchors alone; `degenerate`: without the variance given them (SoR)."""

    committee: Informed
    degenerate: bool = False

    @cached_property
    def expansion(self) -> Expansion:
        return self.committee.basis.expansion(self.committee.belief.mean)

    def mean(self, Xs: Array, engine: Any) -> Array:
        return self.expansion.mean(Xs, engine)

    def predict(self, Xs: Array, engine: Any) -> Prediction:
        c, expansion = self.committee, self.expansion
        ask = local.predict_degenerate if self.degenerate else local.predict_global

        def answer(X: Array) -> Prediction:
            found = Prediction.by_tiles(partial(ask, c.basis, c.belief), X)
            return Prediction(expansion.at(X), found.variance)

        return in_order(Xs, BATCH, answer, engine)

    def joint(self, Xs: Array, engine: Any) -> tuple[Prediction, Array]:
        c, found = self.committee, self.predict(Xs, engine)
        if self.degenerate:
            return found, linalg.gram(c.belief.spread(c.basis.design(Xs)).T)
        return found, local.covariance_global(c.basis, c.belief, Xs)


@dataclass(frozen=True, eq=False)
class OwnChunk(Predictor):
    """Predicts from the anchors and one chunk, that of the row nearest to a query: PIC
    (Snelson & Ghahramani 2007).
    """

    committee: Informed
    parts: Sequence[AnyRows]
    metric: Metric
    tree: cKDTree

    @classmethod
    def of(cls, committee: Informed) -> OwnChunk:
        X = committee.rows().X
        metric = Metric.of(committee.basis.kernel, X)
        return cls(committee, committee.parts(), metric, cKDTree(metric.forward(X)))

    def mean(self, Xs: Array, engine: Any) -> Array:
        c, owners = self.committee, self._owners(Xs)

        def answer(batch: Array) -> Array:
            own = self._shared(owners[batch[0]])
            return own.expansion(c.basis, c.belief).at(Xs[batch])

        batches = partition.by_label(owners)
        return np.concatenate(engine.map(answer, batches))[_places(batches)]

    def predict(self, Xs: Array, engine: Any) -> Prediction:
        c, owners = self.committee, self._owners(Xs)

        def answer(batch: Array) -> Prediction:
            own, X = self._shared(owners[batch[0]]), Xs[batch]
            mean = own.expansion(c.basis, c.belief).at(X)
            return Prediction(mean, own.variance(c.basis, c.belief, X))

        batches = partition.by_label(owners)
        return Prediction.joined(engine.map(answer, batches)).take(_places(batches))

    def joint(self, Xs: Array, engine: Any) -> tuple[Prediction, Array]:
        """Queries of different chunks share the anchors alone: their residuals are independent."""
        c, owners = self.committee, self._owners(Xs)
        t, left = np.empty((c.basis.m, Xs.shape[0])), np.zeros((Xs.shape[0],) * 2)
        for batch in partition.by_label(owners):
            own, rest = self._shared(owners[batch[0]]).residual(c.basis, c.belief, Xs[batch])
            left[np.ix_(batch, batch)], t[:, batch] = own, rest
        return self.predict(Xs, engine), left + linalg.gram(c.belief.spread(t).T)

    def _owners(self, Xs: Array) -> Array:
        """The number of each query's chunk  (q,)."""
        _, nearest = self.tree.query(self.metric.forward(Xs))
        return np.searchsorted(np.cumsum(self.committee.sizes), nearest, side="right")

    def _shared(self, chunk: int) -> Shared:
        return Shared.of(self.committee.basis, self.committee.noise, self.parts[chunk])


@dataclass(frozen=True, eq=False)
class Local(Predictor):
    """Predicts from the anchors and the k rows nearest to each query."""

    committee: Informed
    rows: Any  # `take(positions)` -> AnyRows
    near: Any  # of these rows: `metric` and `nearest(X*, k)`; see `rows.nearest.Nearby`
    k: int
    lasting: bool = True  # whether it will answer often: then the design of all rows is kept

    @classmethod
    def of(cls, committee: Informed, k: int, *, lasting: bool = True) -> Local:
        rows = committee.rows()
        near = Nearby.of(Metric.of(committee.basis.kernel, rows.X), rows.X)
        return cls(committee, rows, near, min(k, rows.X.shape[0]), lasting)

    def with_committee(self, committee: Informed) -> Local:
        """The predictor of another committee of the same rows; it shares the design."""
        other = replace(self, committee=committee, rows=committee.rows())
        vars(other)["design"] = self.design
        return other

    @cached_property
    def single(self) -> bool:
        """Whether single precision will do; not asked of rows that are not in memory."""
        c, rows = self.committee, self.rows
        return isinstance(rows, Rows) and single_will_do(c.basis.kernel, c.noise, rows, self.k)

    @cached_property
    def design(self) -> Array | None:
        """Vᵀ of all rows  (n, m); None where it is too large to keep, or not worth it."""
        if not self.lasting:
            return None
        n, basis = self.rows.X.shape[0], self.committee.basis
        if 8 * n * basis.m > DESIGN_BYTES:
            return None
        VT = np.empty((n, basis.m))
        for part in partition.blocks(n, BATCH):
            VT[part] = basis.design_of(self.rows.X[part]).T
        return VT

    def predict(self, Xs: Array, engine: Any) -> Prediction:
        return predict_each([self], Xs, engine)[0]

    def left_out(self, own: Array, X: Array) -> Prediction:
        """At rows of these numbers, each from the k nearest of the others.

        The belief about the anchors has seen the row, as one among all.
        """
        c, parts = self.committee, []
        for part in partition.blocks(own.size, LEFT_OUT):
            near = self.near.nearest(X[part], min(self.k + 1, len(self.near)))
            others = near != own[part, None]
            others[others.all(axis=1), -1] = False  # among too many like it
            near = near[others].reshape(others.shape[0], -1)
            found = local.correct(
                c.basis, c.noise, self.rows, X[part], near, self.design, single=self.single
            )
            parts.append(found.predict(c.basis, c.belief, X[part]))
        return Prediction.joined(parts)

    def joint(self, Xs: Array, engine: Any) -> tuple[Prediction, Array]:
        c = self.committee
        neighbours = self.near.nearest(Xs, self.k)
        found = local.correct(
            c.basis, c.noise, self.rows, Xs, neighbours, self.design, single=self.single
        )
        return found.predict(c.basis, c.belief, Xs), found.covariance(c.basis, c.belief, Xs)


def predict_each(answers: Sequence[Local], Xs: Array, engine: Any) -> list[Prediction]:
    """Predictions of committees of the same rows (`Local.with_committee`), which share
    neighbourhoods."""
    first, kinds = answers[0], [one.rows for one in answers]
    c, VT = first.committee, first.design
    size = int(np.clip(BATCH_BYTES // (8 * first.k * max(c.basis.m, 1)), 1, 256))
    batches = partition.balanced(first.near.metric.forward(Xs), size, np.random.default_rng(0))

    def answer(batch: Array) -> list[Prediction]:
        X = Xs[batch]
        neighbours = first.near.nearest(X, first.k)
        found = local.correct_each(c.basis, c.noise, kinds, X, neighbours, VT, single=first.single)
        return [part.predict(c.basis, one.committee.belief, X) for part, one in zip(found, answers)]

    each = zip(*engine.map(answer, batches))
    return [Prediction.joined(parts).take(_places(batches)) for parts in each]


def predictor(committee: Informed, n_local: int) -> Predictor:
    """Exact if one chunk has all rows; else local, or global for n_local = 0."""
    kept = len(committee.sizes)
    if committee.no_anchors or kept == 1:
        return Exact.of(committee)
    return Local.of(committee, n_local) if n_local and kept else Global(committee)


def in_order(Xs: Array, size: int, answer: Callable[[Array], Prediction], engine: Any):
    """answer(X) for `size` queries at a time, in the order of the queries."""
    parts = engine.map(lambda part: answer(Xs[part]), partition.blocks(Xs.shape[0], size))
    return Prediction.joined(parts)


def _places(batches: list[Array]) -> Array:
    """Positions of the queries in the concatenated batches."""
    return np.argsort(np.concatenate(batches))
