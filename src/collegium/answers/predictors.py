"""Predictors: from a committee's belief and rows to means, variances and covariances of f.

    ExactPredictor      every row                                     the exact GP
    GlobalPredictor     the anchors alone                             Tresp (2000), eq. 17
    OwnChunkPredictor   the anchors and the query's own chunk         PIC
    LocalPredictor      the anchors and the rows nearest to a query   see `local`

Each has `mean`, `predict` (means and variances) and `joint` (also covariances).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from scipy.spatial import cKDTree

from ..engines.local import share
from ..messages.basis import Anchors
from ..messages.expansion import Expansion
from ..messages.message import Belief
from ..numerics import linalg
from ..rows import partition
from ..rows.metric import Metric
from ..rows.nearest import Nearby
from ..rows.rows import AnyRows, Prediction, Rows
from . import local
from .local import Shared, single_will_do
from .tuning import TUNING

Array = np.ndarray


class Informed(Protocol):
    """A committee as predictors see it: a belief, and the rows that were kept."""

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
        """Compute means and variances."""
        raise TypeError("abstract predictor")

    def joint(self, Xs: Array, engine: Any) -> tuple[Prediction, Array]:
        """Compute means, variances and the covariance  (q, q)."""
        raise TypeError("abstract predictor")

    def prepare(self, engine: Any, stop: Callable[[], bool] = lambda: False) -> int:
        """Compute ahead of queries what can be shared, until `stop()` is true; return the number
        of cells."""
        return 0

    def mean(self, Xs: Array, engine: Any) -> Array:
        """Compute means alone  (q, p); overridden where they cost less than variances."""
        return self.predict(Xs, engine).mean


@dataclass(frozen=True, eq=False)
class ExactPredictor(Predictor):
    """Predicts from every row: one neighbourhood for all queries, factorised once."""

    committee: Informed
    shared: Shared

    @classmethod
    def of(cls, committee: Informed) -> ExactPredictor:
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

        return predict_in_batches(Xs, answer, engine)

    def joint(self, Xs: Array, engine: Any) -> tuple[Prediction, Array]:
        c = self.committee
        return self.predict(Xs, engine), self.shared.covariance(c.basis, c.belief, Xs)


@dataclass(frozen=True, eq=False)
class GlobalPredictor(Predictor):
    """Predicts from the anchors alone; `degenerate`: without the variance given v (SoR)."""

    committee: Informed
    degenerate: bool = False

    @cached_property
    def expansion(self) -> Expansion:
        return self.committee.basis.expansion(self.committee.belief.mean)

    @cached_property
    def design(self) -> Callable[[Array], Array]:
        return self.committee.basis.designer()

    def mean(self, Xs: Array, engine: Any) -> Array:
        return self.expansion.mean(Xs, engine)

    def predict(self, Xs: Array, engine: Any) -> Prediction:
        c, expansion = self.committee, self.expansion
        ask = local.predict_degenerate if self.degenerate else local.predict_global

        def answer(X: Array) -> Prediction:
            found = Prediction.by_tiles(partial(ask, c.basis, c.belief, design=self.design), X)
            return Prediction(expansion.at(X), found.variance)

        return predict_in_batches(Xs, answer, engine)

    def joint(self, Xs: Array, engine: Any) -> tuple[Prediction, Array]:
        c, found = self.committee, self.predict(Xs, engine)
        if self.degenerate:
            return found, linalg.gram(c.belief.spread(c.basis.design(Xs)).T)
        return found, local.covariance_global(c.basis, c.belief, Xs)


@dataclass(frozen=True, eq=False)
class OwnChunkPredictor(Predictor):
    """Predicts from the anchors and one chunk, that of the row nearest to a query: PIC
    (Snelson & Ghahramani 2007).
    """

    committee: Informed
    parts: Sequence[AnyRows]
    metric: Metric
    tree: cKDTree

    @classmethod
    def of(cls, committee: Informed) -> OwnChunkPredictor:
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
        """Predict jointly; residuals of queries in different chunks are independent."""
        c, owners = self.committee, self._owners(Xs)
        t, left = np.empty((c.basis.m, Xs.shape[0])), np.zeros((Xs.shape[0],) * 2)
        for batch in partition.by_label(owners):
            own, rest = self._shared(owners[batch[0]]).residual(c.basis, c.belief, Xs[batch])
            left[np.ix_(batch, batch)], t[:, batch] = own, rest
        return self.predict(Xs, engine), left + linalg.gram(c.belief.spread(t).T)

    def _owners(self, Xs: Array) -> Array:
        """Number of each query's chunk  (q,)."""
        _, nearest = self.tree.query(self.metric.forward(Xs))
        return np.searchsorted(np.cumsum(self.committee.sizes), nearest, side="right")

    def _shared(self, chunk: int) -> Shared:
        return Shared.of(self.committee.basis, self.committee.noise, self.parts[chunk])


@dataclass(frozen=True, eq=False)
class LocalPredictor(Predictor):
    """Predicts from the anchors and the k rows nearest to each query."""

    committee: Informed
    rows: Any  # `take(positions)` -> AnyRows
    near: Any  # has `metric` and `nearest(X*, k)`; see `rows.nearest.Nearby`
    k: int
    lasting: bool = True  # whether it answers more than once: keeps the design of all rows

    @classmethod
    def of(cls, committee: Informed, k: int, *, lasting: bool = True) -> LocalPredictor:
        rows = committee.rows()
        near = Nearby.of(Metric.of(committee.basis.kernel, rows.X), rows.X)
        return cls(committee, rows, near, min(k, rows.X.shape[0]), lasting)

    def with_committee(self, committee: Informed) -> LocalPredictor:
        """Build the predictor of another committee of the same rows, sharing the design."""
        other = replace(self, committee=committee, rows=committee.rows())
        vars(other)["design"] = self.design
        return other

    def with_noise(self, committee: Informed, share: float) -> LocalPredictor:
        """Answer for a committee of the same kernel and anchors with the noise divided by `share`:
        in `predict_each`, beside this one, each row weighs `share` times as much."""
        if share == 1.0:
            return replace(self, committee=committee)
        return replace(self, committee=committee, rows=replace(self.rows, w=share * self.rows.w))

    @cached_property
    def single(self) -> bool:
        """Whether single precision is enough; never for rows on disk."""
        c, rows = self.committee, self.rows
        return isinstance(rows, Rows) and single_will_do(c.basis.kernel, c.noise, rows, self.k)

    @cached_property
    def design(self) -> Array | None:
        """Vᵀ of all rows  (n, m); None where it is too large to keep, or not worth it."""
        if not self.lasting:
            return None
        n, basis = self.rows.X.shape[0], self.committee.basis
        if 8 * n * basis.m > TUNING.predictors.design_bytes:
            return None
        VT = np.empty((n, basis.m))
        for part in partition.blocks(n, TUNING.predictors.batch):
            VT[part] = basis.design_of(self.rows.X[part]).T
        return VT

    def predict(self, Xs: Array, engine: Any) -> Prediction:
        return predict_each([self], Xs, engine)[0]

    def left_out(self, own: Array, X: Array, label: Array | None = None) -> Prediction:
        """Predict rows by their numbers, each from the k nearest of the others; where labels (h,)
        are given, without rows of the same label.

        The belief about the anchors has seen the row, as one among all.
        """
        c, parts = self.committee, []
        for part in partition.blocks(own.size, TUNING.predictors.held_out):
            if label is None:
                near = self.near.nearest(X[part], min(self.k + 1, len(self.near)))
                others = near != own[part, None]
                others[others.all(axis=1), -1] = False  # more than k equal rows
                near = near[others].reshape(others.shape[0], -1)
            else:
                near = nearest_apart(self.near, X[part], self.k, own, label, label[part])
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


def nearest_apart(near: Any, X: Array, k: int, own: Array, label: Array, labels: Array) -> Array:
    """The k rows nearest to each query, nearest first, but for rows `own` whose label (h,) is that
    of the query: `labels` (q,)  (q, k)."""
    most = int(np.unique(label, return_counts=True)[1].max(initial=0))
    found = near.nearest(X, min(k + most, len(near)))
    of_row = np.full(len(near), -1)
    of_row[own] = label
    gone = of_row[found] == labels[:, None]
    first = np.argsort(gone, axis=1, kind="stable")[:, : min(k, found.shape[1])]
    return np.take_along_axis(found, first, axis=1)


def predict_each(answers: Sequence[LocalPredictor], Xs: Array, engine: Any) -> list[Prediction]:
    """Predict by several committees of the same rows (`LocalPredictor.with_committee`), which
    share neighbourhoods."""
    first, kinds = answers[0], [one.rows for one in answers]
    c, VT, most = first.committee, first.design, TUNING.predictors.batch_bytes
    size = int(np.clip(most // (8 * first.k * max(c.basis.m, 1)), 1, 256))
    size = share(engine, Xs.shape[0], size)
    batches = partition.balanced(first.near.metric.forward(Xs), size, np.random.default_rng(0))

    def answer(batch: Array) -> list[Prediction]:
        X = Xs[batch]
        neighbours = first.near.nearest(X, first.k)
        found = local.correct_each(c.basis, c.noise, kinds, X, neighbours, VT, single=first.single)
        return [part.predict(c.basis, one.committee.belief, X) for part, one in zip(found, answers)]

    each = zip(*engine.map(answer, batches))
    return [Prediction.joined(parts).take(_places(batches)) for parts in each]


def predictor(committee: Informed, n_local: int) -> Predictor:
    """Choose the exact one if one chunk has all rows; else local, or global for n_local = 0."""
    kept = len(committee.sizes)
    if committee.no_anchors or kept == 1:
        return ExactPredictor.of(committee)
    return LocalPredictor.of(committee, n_local) if n_local and kept else GlobalPredictor(committee)


def predict_in_batches(Xs: Array, answer: Callable[[Array], Prediction], engine: Any) -> Prediction:
    """Apply answer(X) to one batch of queries after the other."""
    n = Xs.shape[0]
    batches = partition.blocks(n, share(engine, n, TUNING.predictors.batch))
    parts = engine.map(lambda part: answer(Xs[part]), batches)
    return Prediction.joined(parts)


def _places(batches: list[Array]) -> Array:
    """Positions of the queries in the concatenated batches."""
    return np.argsort(np.concatenate(batches))
