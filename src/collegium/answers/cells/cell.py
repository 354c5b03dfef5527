"""One cell: rows around its centre, factorised once for all queries in the cell.

    mean(x) = K(x, P)W        P the k rows nearest to the centre and the anchors (`Shared`)
    var f(x) = k(x, x) − |L⁻¹K(X_S, x)|²,   LLᵀ = K(X_S, X_S) + Ψ,   S the nearest `near` of them

A mean costs k + m kernel values, a variance near²/2 steps. Given few rows and no anchors, the
variance exceeds that of the mean's error: see `Cells.variance`. Where the kernel has a trend, or
other terms that do not fade with distance, the variance is conditioned on the anchors too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...kernels import Kernel
from ...kernels.base import To
from ...kernels.stationary.leaves import summing_leaf
from ...messages.basis import Anchors
from ...messages.expansion import Expansion, weighed
from ...messages.message import Belief
from ...numerics import linalg
from ...numerics.compiling import compiled
from ...numerics.tiles import by_tiles
from ...rows.rows import Rows
from ..local import Shared

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Cell:
    """Answers queries, each independent of the others to the last bit."""

    kernel: Kernel
    variances: Any  # FewRows, or GivenAnchors
    means: To | None  # K(·, P), anchors before rows; None: means come from elsewhere
    weights: Array  # W  (k + m, p)
    line: Expansion | None  # trend of the means, if the kernel has one
    rows: Array | None = None  # numbers of its rows, ascending, where queries ask for them

    @classmethod
    def of(
        cls, basis: Anchors, noise: float, rows: Rows, means: Expansion | None, *,
        single: bool = False,
    ) -> Cell:  # fmt: skip
        """Build it from the rows S, the first of the k rows of the means."""
        L = packed(factor_of(basis.kernel, noise, rows, single=single))
        shared = means is not None and means.line is None  # else means have another kernel
        near = None if shared else basis.kernel.to(rows.X)
        return cls._with(FewRows(near, L, rows.w.size, basis.Z.shape[0]), basis, means)

    @classmethod
    def given_anchors(
        cls, basis: Anchors, belief: Belief, shared: Shared, means: Expansion | None
    ) -> Cell:
        """Build it from the rows S in `shared`, conditioning variances on the anchors too."""
        return cls._with(GivenAnchors(basis, belief, shared), basis, means)

    @classmethod
    def _with(cls, variances: Any, basis: Anchors, means: Expansion | None) -> Cell:
        if means is None:
            return cls(basis.kernel, variances, None, np.empty((0, 1)), None)
        line = None
        if means.line is not None:
            line = replace(means, points=means.points[:0], weights=means.weights[:0])
        own = means.kernel.to(means.points)
        return cls(basis.kernel, variances, own, means.weights, line)

    @property
    def nbytes(self) -> int:
        parts = (self.variances, self.means, self.weights, self.rows)
        return sum(part.nbytes for part in parts if part is not None)

    def has(self, rows: Array) -> Array:
        """Whether all rows of these numbers (q, j) are among its own  (q,)."""
        assert self.rows is not None
        at = np.minimum(np.searchsorted(self.rows, rows), self.rows.size - 1)
        return (self.rows[at] == rows).all(axis=1)

    def mean(self, X: Array) -> Array | float:
        """Compute means  (q, p); zero where they come from elsewhere."""
        return self._weighed(X)[0]

    def predict(self, X: Array) -> tuple[Array | float, Array]:
        """Compute means, and variances of f  (q,)."""
        mean, K = self._weighed(X)
        return mean, self.variances.at(X, self.kernel.diag(X), K)

    def _weighed(self, X: Array) -> tuple[Array | float, Array | None]:
        """Compute means, and the kernel values that they are weighted sums of."""
        if self.means is None:
            return 0.0, None
        K, mean = self.means(X), np.empty((X.shape[0], self.weights.shape[1]))
        weighed(K, self.weights, mean)
        line = self.line
        if line is None:
            return mean, K
        return mean + by_tiles(lambda tile: (line.trend(tile),), X)[0], K


@dataclass(frozen=True, eq=False)
class FewRows:
    """k(x, x) − |L⁻¹K(X_S, x)|²."""

    values: To | None  # K(·, X_S); None: contained in the kernel values of the means
    factor: Array  # L, row by row  (near(near + 1)/2,)
    size: int  # rows S
    anchors: int  # before S among the points of the means

    @property
    def nbytes(self) -> int:
        return self.factor.nbytes + (0 if self.values is None else self.values.nbytes)

    def at(self, X: Array, prior: Array, K: Array | None) -> Array:
        known = np.empty(X.shape[0])
        if self.values is None:
            explained(K, self.anchors, self.factor, self.size, known)
        else:
            explained(self.values(X), 0, self.factor, self.size, known)
        return np.maximum(prior - known, 0.0)


@dataclass(frozen=True, eq=False)
class GivenAnchors:
    """Variances given S and the anchors, which know a trend from all rows."""

    basis: Anchors
    belief: Belief
    shared: Shared  # rows S

    @property
    def nbytes(self) -> int:
        return self.shared.V.nbytes + self.shared.factor.nbytes + self.shared.rows.X.nbytes

    def at(self, X: Array, prior: Array, K: Array | None) -> Array:
        return self.shared.variance(self.basis, self.belief, X)


def factor_of(kernel: Kernel, noise: float, rows: Rows, *, single: bool = False) -> Array:
    """L, LLᵀ = K(X, X) + Ψ; in single precision only where that needs no jitter."""
    if single:
        L = filled(kernel, rows.X)
        if linalg.factorise(linalg.add_diagonal(L, rows.psi(noise))):
            return L
    K = linalg.add_diagonal(kernel.value(rows.X), rows.psi(noise))
    return linalg.cholesky(K, float(kernel.diag(rows.X).max()) or 1.0, overwrite=True)[0]


def filled(kernel: Kernel, X: Array) -> Array:
    """K(X, X) in single precision, lower triangle  (n, n)."""
    K, room = np.empty((2, 1, X.shape[0], X.shape[0]), dtype=np.float32)
    kernel.fill(X[None], K, room)
    return K[0]


def single_factor(basis: Anchors, noise: float, rows: Rows, VT: Array) -> Array | None:
    """L, LLᵀ = K(X, X) − VᵀV + Ψ, in single precision, the upper triangle arbitrary; None where it
    needs jitter. Values near the last row are the most accurate. VT: design of the rows  (k, m)."""
    C = filled(basis.kernel, rows.X)
    linalg.subtract_gram(C, VT.astype(np.float32, order="C"))
    return C if linalg.factorise(linalg.add_diagonal(C, rows.psi(noise))) else None


def weights_of(basis: Anchors, belief: Belief, noise: float, rows: Rows, VT: Array) -> Array | None:
    """Weights of the mean, as of `Shared.expansion`, by a factor in single precision; None where
    it needs jitter."""
    L = single_factor(basis, noise, rows.take(slice(None, None, -1)), VT[::-1])
    if L is None:
        return None
    rest = (rows.y - VT @ belief.mean)[::-1]
    beta = np.stack([linalg.solve_factorised(L, one) for one in rest.T], axis=1)[::-1]
    own = basis.expansion(belief.mean - VT.T @ beta)
    return np.concatenate([own.weights, beta])


def packed(L: Array) -> Array:
    """Lower triangle, row by row."""
    out = np.empty(L.shape[0] * (L.shape[0] + 1) // 2, L.dtype)
    _pack(L, out)
    return out


@compiled()
def _pack(L, out):
    start = 0
    for i in range(L.shape[0]):
        for j in range(i + 1):
            out[start + j] = L[i, j]
        start += i + 1


@summing_leaf
def explained(K, first, L, n, out):
    """|L⁻¹κ|² for each row κ of K, from column `first` on  (q,)."""
    a = np.empty(n, L.dtype)
    for i in range(K.shape[0]):
        start, total = 0, 0.0
        for r in range(n):
            s = a.dtype.type(K[i, first + r])
            for c in range(r):
                s -= L[start + c] * a[c]
            a[r] = s / L[start + r]
            total += a[r] * a[r]
            start += r + 1
        out[i] = total
