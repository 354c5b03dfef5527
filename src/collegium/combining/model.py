"""A fitted committee of members, and its predictions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from ..interface.checks.arguments import check_square
from ..interface.model import Model
from ..likelihoods.base import Scalar
from ..likelihoods.gaussian import Gaussian
from ..likelihoods.targets.units import Units
from ..numerics.records import record
from ..rows import partition
from ..rows.metric import Metric
from ..rows.rows import Prediction
from ..rows.scaling import Scaling
from .joint import JointGaussian
from .members import JOINT, Member, combined, member, query_by_query

Array = np.ndarray


@record("combining.members/1")
@dataclass(frozen=True, eq=False)
class MembersModel(Model):
    """Chunks, anchors and noise of a committee; the members themselves are kept elsewhere."""

    metric: Metric
    anchors: Array  # predicted together with few queries  (m, d)
    chunks: tuple[Array, ...]  # row numbers of each member
    chunk_weights: Array  # (M,)
    noise: Array  # of each output  (p,)
    names: tuple[str, ...]  # of the columns of a frame; none where X was an array

    @property
    def likelihoods(self) -> tuple[Scalar, ...]:  # type: ignore[override]
        return tuple(Gaussian(float(noise)) for noise in self.noise)

    @property
    def units(self) -> Units:  # type: ignore[override]
        return Units(Scaling(np.zeros(self.noise.size), np.ones(self.noise.size)))

    @property
    def noise_in_units(self) -> float | Array:
        return float(self.noise[0]) if self.noise.size == 1 else self.noise

    def framed(self, X: Array) -> Any:
        """X as a frame for members fitted with one: pipelines may select columns by name."""
        if not self.names:
            return X
        return import_module("pandas").DataFrame(X, columns=list(self.names))


@dataclass(frozen=True, eq=False)
class MembersPredictor:
    """Combine the predictions of the members."""

    combination: str
    names: tuple[str, ...]
    estimators: tuple[Any, ...]
    model: MembersModel
    query_size: int

    def members_at(self, X: Array) -> list[tuple[Member, ...]]:
        """Every member's posterior, prior and noise at X, output by output."""
        found, X = [], self.model.framed(X)
        for name, estimator, weight in zip(self.names, self.estimators, self.model.chunk_weights):
            try:
                found.append(member(estimator, X, weight))
            except ValueError as error:
                raise ValueError(f"member {name!r}: {error}") from error
        return list(zip(*found))

    def mean(self, X: Array, engine: Any) -> Array:
        return self.predict(X, engine).mean

    def predict(self, X: Array, engine: Any) -> Prediction:
        """Predict in batches of nearby queries; variances (n, p)."""
        distinct, where = partition.distinct(X)
        points = self.model.metric.forward(distinct)
        batches = partition.balanced(points, self.query_size, np.random.default_rng(0))
        parts = engine.map(partial(self._batch, distinct), batches)
        order = np.argsort(np.concatenate(batches))[where]
        mean, variance = (np.concatenate(each)[order] for each in zip(*parts))
        return Prediction(mean, variance)

    def joint(self, X: Array, engine: Any) -> tuple[Prediction, Array]:
        """Predict all queries in one batch; covariances (n, n, p)."""
        if self.combination not in JOINT:
            raise ValueError(
                f"combination={self.combination!r} works query by query and gives no covariance "
                "between queries: ask for return_std, or fit with combination='bcm'"
            )
        check_square(X.shape[0], "a joint answer")
        distinct, where = partition.distinct(X)
        found = self._combined(distinct)
        mean = np.column_stack([each.mean for each in found])[where]
        cov = np.stack([each.covariance for each in found], axis=-1)[np.ix_(where, where)]
        return Prediction(mean, np.diagonal(cov).T), cov

    def _batch(self, distinct: Array, batch: Array) -> tuple[Array, ...]:
        Q = distinct[batch]
        if self.combination in JOINT:
            found = self._combined(Q)
            mean = np.column_stack([each.mean for each in found])
            return mean, np.column_stack([each.covariance.diagonal() for each in found])
        parts = [query_by_query(self.combination, members) for members in self.members_at(Q)]
        return tuple(np.column_stack(each) for each in zip(*parts))

    def _combined(self, Q: Array) -> list[JointGaussian]:
        """Joint prediction at distinct queries, one per output."""
        points, where = partition.distinct(np.concatenate([Q, self._padding(Q)]))
        at = where[: Q.shape[0]]
        found = [combined(self.combination, members) for members in self.members_at(points)]
        return [JointGaussian(each.mean[at], each.covariance[np.ix_(at, at)]) for each in found]

    def _padding(self, Q: Array) -> Array:
        """Anchors nearest to the queries that fill the batch to `query_size`."""
        room, Z = max(self.query_size - Q.shape[0], 0), self.model.anchors
        forward = self.model.metric.forward
        distance, _ = cKDTree(forward(Q)).query(forward(Z))
        near = np.argsort(distance, kind="stable")
        return Z[near[distance[near] > 0.0][:room]]
