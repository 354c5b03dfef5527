"""Preconditioner for K + Ψ: groups of rows, each given anchors and the nearest rows before it.

Given the anchors, the rows have the covariance C = K − VᵀV + Ψ. With the rows in an order of
groups, their density is a product: each group B given all rows before it. The nearest N of these
rows carry nearly all the information (Vecchia 1988):

    T = C_BN C_NN⁻¹,   LLᵀ = C_BB − TC_NB,   (Gr)_B = L⁻¹(r_B − Tr_N),   C⁻¹ ≈ GᵀG,

and with the anchors put back

    M = VᵀV + (GᵀG)⁻¹,   M⁻¹ = Gᵀ(I − AΛ⁻¹Aᵀ)G,   A = GVᵀ,   Λ = I + AᵀA    (Woodbury).

With no rows N, M is the covariance of a committee of these groups; with all rows before it,
M = K + Ψ. M⁻¹ is symmetric and positive definite for any T and A, so single precision is enough
for these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..kernels.stationary.leaves import leaf, squared_distances
from ..messages.basis import Anchors
from ..numerics import linalg
from ..rows import partition
from ..rows.metric import Metric
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class RowGroup:
    """Rows B, and the rows N before them that B is conditioned on."""

    id: int
    own: Array  # B  (b,)
    near: Array  # N  (c,)


@dataclass(frozen=True, eq=False)
class Part:
    """A group's rows of G and of A."""

    id: int
    own: Array  # B  (b,)
    near: Array  # N  (c,)
    T: Array  # (b, c)  single precision
    L: Array  # (b, b)
    A: Array  # (b, m)  single precision

    @classmethod
    def of(cls, basis: Anchors, X: Array, psi: Array, group: RowGroup) -> Part:
        at, c = np.concatenate([group.near, group.own]), group.near.size
        V = basis.design(X[at])
        C = basis.residual(X[at], V)
        linalg.add_diagonal(C, psi[at])
        factor, _ = linalg.cholesky(C, basis.scale(X[at]) or 1.0, overwrite=True)
        L, across = factor[c:, c:].copy(), factor[c:, :c].copy()
        T = linalg.solve_upper(factor[:c, :c].copy(), across.T, overwrite=True).T
        A = linalg.solve_lower(L, V[:, c:].T - T @ V[:, :c].T, overwrite=True)
        single = np.float32
        return cls(group.id, group.own, group.near, T.astype(single), L, A.astype(single))

    def precision(self) -> Array:
        """AᵀA  (m, m)."""
        return linalg.gram(self.A.T.astype(float))

    def whiten(self, r: Array) -> tuple[Array, Array]:
        """Compute the group's rows of Gr, and its term of AᵀGr."""
        white = linalg.solve_lower(self.L, r[self.own] - self.T @ r[self.near])
        return white, self.A.T @ white

    def colour(self, shared: Array, white: Array) -> tuple[Array, Array]:
        """Compute the group's term of Gᵀ(g − Aa), a = `shared`, at its own rows B and at N."""
        own = linalg.solve_upper(self.L, white - self.A @ shared, overwrite=True)
        return own, -(self.T.T @ own)

    def columns(self, place: Array) -> tuple[Array, Array, Array]:
        """Columns g of the group's rows of G, for rows i with place[i] ≥ 0: these places (k,),
        gᵀg (k, k) and Aᵀg (m, k)."""
        own, near = (np.flatnonzero(place[rows] >= 0) for rows in (self.own, self.near))
        chosen = np.zeros((self.own.size, own.size))
        chosen[own, np.arange(own.size)] = 1.0
        white = linalg.solve_lower(self.L, np.hstack([chosen, -self.T[:, near]]))
        at = np.concatenate([place[self.own[own]], place[self.near[near]]])
        return at, white.T @ white, self.A.T @ white


@dataclass(frozen=True, eq=False)
class Preconditioner:
    """M⁻¹."""

    parts: Sequence[Part]
    factor: Array  # of Λ  (m, m)

    @classmethod
    def of(
        cls, basis: Anchors, X: Array, psi: Array, groups: Sequence[RowGroup], engine: Any
    ) -> Preconditioner:
        parts = engine.map(partial(Part.of, basis, X, psi), groups)
        precision = engine.sum(Part.precision, parts, zero=np.eye(basis.m))
        scale = float(precision.diagonal().max(initial=0.0))
        return cls(parts, linalg.cholesky(precision, scale, overwrite=True)[0])

    def solve(self, r: Array, engine: Any) -> Array:
        """M⁻¹r  (n, p)."""
        found = engine.map(lambda part: part.whiten(r), self.parts)
        AGr = np.zeros((self.factor.shape[0], r.shape[1]))  # AᵀGr
        for _, own in found:
            AGr += own
        shared = linalg.solve_posdef(self.factor, AGr)
        pairs = [(part, white) for part, (white, _) in zip(self.parts, found)]
        total = np.zeros_like(r)
        for part, (own, near) in zip(
            self.parts, engine.map(lambda pair: pair[0].colour(shared, pair[1]), pairs)
        ):
            total[part.own] += own
            total[part.near] += near
        return total

    def block(self, rows: Array, engine: Any) -> Array:
        """M⁻¹ between distinct rows  (h, h): GᵀG − GᵀAΛ⁻¹AᵀG.

        A group contributes through the rows that are among its B and N.
        """
        place = np.full(sum(part.own.size for part in self.parts), -1)
        place[rows] = np.arange(rows.size)
        found = np.zeros((rows.size, rows.size))
        AG = np.zeros((self.factor.shape[0], rows.size))  # these columns of AᵀG
        for at, square, own in engine.map(lambda part: part.columns(place), self.parts):
            found[np.ix_(at, at)] += square
            AG[:, at] += own
        known = linalg.solve_lower(self.factor, AG)
        return found - known.T @ known


def group_size(n: int) -> int:
    """Rows b of a group: 30nb² operations balance the n² kernel values of the iterations that
    they save; no more than memory allows."""
    tuning = TUNING.refining
    most = tuning.largest // ((4 * tuning.given + 8) * n)
    return max(1, min(int(tuning.group * np.sqrt(n)), most))


def grouped(kernel: Kernel, X: Array, size: int, number: int, engine: Any) -> list[RowGroup]:
    """Cluster rows in the kernel's metric, in random order; each group has the `number` nearest
    rows before it."""
    rng = np.random.default_rng(0)
    S = Metric.of(kernel, X).forward(X)
    clusters = partition.balanced(S, size, rng)
    clusters = [clusters[i] for i in rng.permutation(len(clusters))]
    order, ends = np.concatenate(clusters), np.cumsum([own.size for own in clusters])
    S = np.clip(S[order], -1e15, 1e15).astype(np.float32)

    def group(i: int) -> RowGroup:
        own, start = clusters[i], ends[i] - clusters[i].size
        return RowGroup(i, own, order[nearest_before(S, start, ends[i], number)])

    return engine.map(group, range(len(clusters)))


def nearest_before(S: Array, start: int, stop: int, number: int) -> Array:
    """Find the `number` rows before `start` nearest to any row from `start` to `stop`."""
    if start <= number:
        return np.arange(start)
    own, before = S[start:stop], partition.blocks(start, TUNING.refining.width)
    gaps = np.concatenate([_gaps(own, np.ascontiguousarray(S[part].T)) for part in before])
    return np.flatnonzero(partition.lowest(gaps, number))


@leaf
def _gaps(S, ZT):
    """minᵢ ‖sᵢ − zⱼ‖² for each j."""
    m = ZT.shape[1]
    D, least = np.empty(m, ZT.dtype), np.full(m, np.inf, ZT.dtype)
    for i in range(S.shape[0]):
        squared_distances(S, i, ZT, m, D)
        for j in range(m):
            least[j] = min(least[j], D[j])
    return least
