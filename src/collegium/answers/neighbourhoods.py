"""Residual covariances of the rows near each query, and their linear systems.

For k rows followed by the query the matrix is [[C, c], [cᵀ, ·]], C = K − VᵀV. The last row of its
Cholesky factor is L⁻¹c, so one factorisation solves for the query too. Arrays are reused from
query to query: allocating them takes longer than filling them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..kernels import Kernel
from ..messages.basis import Anchors
from ..numerics import linalg
from ..rows import partition
from ..rows.rows import AnyRows, Rows
from .tuning import TUNING

Array = np.ndarray


def single_will_do(kernel: Kernel, noise: float, rows: AnyRows, k: int) -> bool:
    """Whether systems of k of these rows may be solved in single precision."""
    if k < TUNING.neighbours.many_rows or not isinstance(rows, Rows):
        return False
    prior = float(kernel.diag(rows.X).max(initial=0.0))
    enough = TUNING.neighbours.enough_noise * prior
    return 1e-15 < prior < 1e15 and float(rows.psi(noise).min()) >= enough


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Fills covariances of k rows and a query, some queries at a time."""

    basis: Anchors
    V: Array  # design of rows and query  (k + 1, m)
    K: Array  # (b, k + 1, k + 1)
    room: Array

    @classmethod
    def of(cls, basis: Anchors, k: int, q: int, *, single: bool) -> Neighbourhoods:
        """Allocate arrays for up to q queries."""
        b = int(np.clip(TUNING.neighbours.at_once // (k + 1) ** 2, 1, max(q, 1)))
        kind = np.float32 if single else np.float64
        K, room = np.empty((2, b, k + 1, k + 1), kind)
        return cls(basis, np.empty((k + 1, basis.m), kind), K, room)

    def residuals(
        self, X: Array, VT: Array, members: Array, Xs: Array, Vs: Array
    ) -> Iterator[tuple[int, Array]]:
        """Yield the number of a query and [[C, c], [cᵀ, ·]], lower triangle, free to overwrite.

        members: positions of the rows of each query in X and VT  (q, k).
        """
        q, k = members.shape
        for part in partition.blocks(q, self.K.shape[0]):
            size = part.stop - part.start
            places = np.concatenate([X[members[part]], Xs[part, None]], axis=1)
            K = self.K[:size]
            self.basis.kernel.fill(places, K, self.room[:size])
            for i, own in zip(range(part.start, part.stop), K):
                self.V[:k], self.V[k] = VT[members[i]], Vs[:, i]
                yield i, linalg.subtract_gram(own, self.V)

    def again(self, X: Array, VT: Array, x: Array, v: Array) -> tuple[Array, Array]:
        """Recompute C (lower triangle) and c of one query in double precision."""
        C = linalg.subtract_gram(self.basis.kernel.value(X), VT)
        return C, self.basis.kernel.value(x[None], X)[0] - VT @ v


def solve_neighbourhood(C: Array, psi: Array, corner: float) -> tuple[Array, Array, float] | None:
    """w = (C + Ψ)⁻¹c, Ψw and cᵀw from [[C, c], [cᵀ, ·]], which is overwritten; None where C + Ψ is
    not positive definite without jitter.

    `corner` stands for the query's own variance: any number above cᵀw works.
    """
    diagonal = C.reshape(-1)[:: C.shape[0] + 1]
    diagonal[:-1] += psi
    diagonal[-1] = corner
    if not linalg.factorise(C):
        return None
    a = C[-1, :-1]
    w = linalg.solve_first_upper(C, a).astype(float, copy=False)
    a = a.astype(float, copy=False)
    return w, psi * w, float(a @ a)
