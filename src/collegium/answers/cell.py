"""One cell: rows around its centre, factorised once for all queries that fall into it.

    mean(x) = K(x, P)W        P the k rows nearest to the centre and the anchors (`Shared`)
    var f(x) = k(x, x) − |L⁻¹K(X_S, x)|²,   LLᵀ = K(X_S, X_S) + Ψ,   S the nearest `near` of them

A mean costs k + m kernel values, a variance near²/2 steps. Given few rows, and no anchors, it is
larger than that of the mean's error: see `Cells.variance`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels import Kernel
from ..kernels.base import To
from ..kernels.leaves import summing_leaf
from ..messages.basis import Anchors
from ..messages.expansion import Expansion, weighed
from ..numerics import linalg
from ..numerics.tiles import by_tiles
from ..rows.rows import Rows

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Cell:
    """What answers for queries need; they do not depend on each other, to the last bit."""

    prior: Kernel
    near: To | None  # K(·, X_S); None: among the values that means are made of
    factor: Array  # L, row by row  (near(near + 1)/2,)
    size: int  # rows S
    means: To | None  # K(·, P), rows behind anchors; None: means come from elsewhere
    weights: Array  # W  (k + m, p)
    line: Expansion | None  # of means, where there is a trend
    anchors: int  # before the rows

    @classmethod
    def of(cls, basis: Anchors, noise: float, rows: Rows, means: Expansion | None) -> Cell:
        """`rows`: S, the first of those that means are made of."""
        kernel, m = basis.kernel, basis.Z.shape[0]
        L = packed(factor_of(kernel, noise, rows))
        if means is None:
            return cls(kernel, kernel.to(rows.X), L, rows.w.size, None, np.empty((0, 1)), None, m)
        own = means.kernel.to(means.points)
        if means.line is None:
            return cls(kernel, None, L, rows.w.size, own, means.weights, None, m)
        near = kernel.to(rows.X)  # the kernel of means is without the trend
        return cls(kernel, near, L, rows.w.size, own, means.weights, means, m)

    @property
    def nbytes(self) -> int:
        parts = (self.near, self.factor, self.means, self.weights)
        return sum(part.nbytes for part in parts if part is not None)

    def mean(self, X: Array) -> Array | float:
        """(q, p); zero where means come from elsewhere."""
        return self._weighed(X)[0]

    def predict(self, X: Array) -> tuple[Array | float, Array]:
        """Means, and variances of f  (q,)."""
        mean, K = self._weighed(X)
        known = np.empty(X.shape[0])
        if self.near is None:
            explained(K, self.anchors, self.factor, self.size, known)
        else:
            explained(self.near(X), 0, self.factor, self.size, known)
        return mean, np.maximum(self.prior.diag(X) - known, 0.0)

    def _weighed(self, X: Array) -> tuple[Array | float, Array | None]:
        """Means, and the kernel values that they are sums of."""
        if self.means is None:
            return 0.0, None
        K, mean = self.means(X), np.empty((X.shape[0], self.weights.shape[1]))
        weighed(K, self.weights, mean)
        line = self.line
        if line is None:
            return mean, K
        return mean + by_tiles(lambda tile: (line.trend(tile),), X)[0], K


def factor_of(kernel: Kernel, noise: float, rows: Rows) -> Array:
    """L, LLᵀ = K(X, X) + Ψ."""
    K = linalg.add_diagonal(kernel.value(rows.X), rows.psi(noise))
    return linalg.cholesky(K, float(kernel.diag(rows.X).max()) or 1.0, overwrite=True)[0]


def packed(L: Array) -> Array:
    """The lower triangle, row by row."""
    return L[np.tril_indices(L.shape[0])]


@summing_leaf
def explained(K, first, L, n, out):
    """|L⁻¹κ|² for each row κ of K, which begins in column `first`  (q,)."""
    a = np.empty(n)
    for i in range(K.shape[0]):
        start, total = 0, 0.0
        for r in range(n):
            s = K[i, first + r]
            for c in range(r):
                s -= L[start + c] * a[c]
            a[r] = s / L[start + r]
            total += a[r] * a[r]
            start += r + 1
        out[i] = total
