"""Joint Bayesian committee machine: u = f(X*), the queries are the anchors (Tresp 2000).

Every chunk sends a message about the queries themselves. Queries are predicted in clustered
batches. A small batch is padded with training inputs around it and with anchors, so that a single
query is predicted as well as one among a thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from ..messages.basis import Anchors
from ..messages.committee import Committee
from ..messages.message import Belief, normalise
from ..numerics import linalg
from ..rows import partition
from ..rows.chunk import Chunk
from ..rows.metric import Metric
from ..rows.rows import Prediction
from . import local
from .predictors import Predictor
from .screening import ChunkBoxes

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Joint(Predictor):
    """Predicts each batch of queries with messages of all chunks about it."""

    committee: Committee  # its anchors serve as padding
    chunks: Sequence[Chunk]
    X: Array  # inputs of all chunks  (n, d)
    metric: Metric
    tree: cKDTree
    size: int  # query points of one batch, padding included
    boxes: ChunkBoxes
    tolerance: float  # of screening, in posterior standard deviations

    @classmethod
    def of(cls, committee: Committee, size: int, tolerance: float = 0.0) -> Joint:
        X, chunks = committee.rows().X, committee.chunks()
        metric = Metric.of(committee.basis.kernel, X)
        tree = cKDTree(metric.forward(X))
        return cls(committee, chunks, X, metric, tree, size, ChunkBoxes.of(chunks), tolerance)

    def predict(self, Xs: Array, engine: Any) -> Prediction:
        distinct, where = partition.distinct(Xs)
        points = self.metric.forward(distinct)
        batches = partition.balanced(points, self.size, np.random.default_rng(0))
        parts = [self._answer(distinct[batch], engine) for batch in batches]
        order = np.argsort(np.concatenate(batches))
        return Prediction.joined(parts).take(order[where])

    def _answer(self, Q: Array, engine: Any) -> Prediction:
        basis, belief = self._believe(Q, engine)
        return local.predict_global(basis, belief, Q)

    def _believe(self, Q: Array, engine: Any) -> tuple[Anchors, Belief]:
        """Place anchors at Q and its padding, and compute the belief about them."""
        kernel, expert = self.committee.basis.kernel, self.committee.expert
        p = self.committee.belief.mean.shape[1]
        points, _ = partition.distinct(np.concatenate([Q, self.padding(Q)]))
        basis = Anchors.at(kernel, points)
        send = partial(expert.send, basis)
        used = [self.chunks[i] for i in self.boxes.matter(basis, expert.noise, self.tolerance)]
        return basis, normalise(engine.sum(send, used, basis.prior(p)))

    def joint(self, Xs: Array, engine: Any) -> tuple[Prediction, Array]:
        """Predict all queries as one batch: moments and covariance."""
        distinct, where = partition.distinct(Xs)
        if distinct.shape[0] > linalg.LARGEST:
            raise ValueError(
                f"a joint prediction of {distinct.shape[0]} queries is beyond the limit of "
                f"{linalg.LARGEST}: ask for fewer at a time"
            )
        basis, belief = self._believe(distinct, engine)
        found = local.predict_global(basis, belief, distinct)
        covariance = local.covariance_global(basis, belief, distinct)
        return (
            Prediction(found.mean[where], found.variance[where]),
            covariance[np.ix_(where, where)],
        )

    def padding(self, Q: Array) -> Array:
        Z = self.committee.basis.Z
        return padding(Q, self.size, self.X, Z, self.metric, self.tree)


def padding(Q: Array, size: int, X: Array, Z: Array, metric: Metric, tree: cKDTree) -> Array:
    """Choose training inputs, then anchors, near the queries, up to `size` points in all."""
    room = size - Q.shape[0]
    if room <= 0:
        return np.empty((0, Q.shape[1]))
    Qs = metric.forward(Q)
    distance, index = tree.query(Qs, k=[*range(1, min(tree.n, room) + 1)])
    ranked = index.T[distance.T > 0.0]  # the nearest of every query first
    _, first = np.unique(ranked, return_index=True)
    near = ranked[np.sort(first)][: max(room - Z.shape[0], room // 2)]
    centre = Qs.mean(axis=0)
    order = np.argsort(((metric.forward(Z) - centre) ** 2).sum(axis=1), kind="stable")
    return np.concatenate([X[near], Z[order]])[:room]
