"""Residual covariances of the rows near each query, and systems with them.

Of k rows and a query behind them [[C, c], [cᵀ, ·]], C = K − VᵀV: the last row of the Cholesky
factor is L⁻¹c, so one factorisation solves for the query too. Arrays are used again for one query
after the other: making them anew takes longer than filling them.
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

Array = np.ndarray
#: Kernel values that are computed before the systems they belong to are solved.
AT_ONCE = 2**17
#: From so many rows on single precision saves half of the time; it is good enough where the noise
#: of every row is at least this share of the prior variance: rounding is a twentieth of that.
MANY_ROWS, ENOUGH_NOISE = 256, 1e-6


def single_will_do(kernel: Kernel, noise: float, rows: AnyRows, k: int) -> bool:
    """Whether systems of k of these rows may be solved in single precision."""
    if k < MANY_ROWS or not isinstance(rows, Rows):
        return False
    prior = float(kernel.diag(rows.X).max(initial=0.0))
    return 1e-15 < prior < 1e15 and float(rows.psi(noise).min()) >= ENOUGH_NOISE * prior


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Fills covariances of k rows and a query, some queries at a time."""

    basis: Anchors
    V: Array  # design of rows and query  (k + 1, m)
    K: Array  # (b, k + 1, k + 1)
    room: Array

    @classmethod
    def of(cls, basis: Anchors, k: int, q: int, *, single: bool) -> Neighbourhoods:
        """For up to q queries."""
        b = int(np.clip(AT_ONCE // (k + 1) ** 2, 1, max(q, 1)))
        kind = np.float32 if single else np.float64
        K, room = np.empty((2, b, k + 1, k + 1), kind)
        return cls(basis, np.empty((k + 1, basis.m), kind), K, room)

    def residuals(
        self, X: Array, VT: Array, members: Array, Xs: Array, Vs: Array
    ) -> Iterator[tuple[int, Array]]:
        """The number of a query, and [[C, c], [cᵀ, ·]] on the lower triangle, to be overwritten.

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
        """C, lower triangle, and c of one query, in double precision."""
        C = linalg.subtract_gram(self.basis.kernel.value(X), VT)
        return C, self.basis.kernel.value(x[None], X)[0] - VT @ v


def solve(C: Array, psi: Array, corner: float) -> tuple[Array, Array, float] | None:
    """w = (C + Ψ)⁻¹c, Ψw and cᵀw from [[C, c], [cᵀ, ·]], which is overwritten; None: C + Ψ is not
    positive definite without jitter.

    `corner` stands for the query's own variance: any number above cᵀw will do.
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
