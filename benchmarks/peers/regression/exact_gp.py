"""The exact Gaussian process, factorised in tiles: 36,000 rows in about 5.5 GB.

Dense LAPACK routines with 32-bit indices fail on such matrices, so no call here sees more than
a tile. Only the lower triangle of tiles is kept. Column by column (left-looking), a tile is

    L_ij = (K_ij − Σ_{k<j} L_ik L_jkᵀ) L_jj⁻ᵀ,   L_jj L_jjᵀ = K_jj + σ²I − Σ_{k<j} L_jk L_jkᵀ,

made from the kernel, updated and finished in place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas

from collegium.engines import engine_for
from collegium.kernels import Kernel, Matern32
from collegium.learning.optimise import Learnt, Scales, maximise
from collegium.messages.evidence import factorised
from collegium.numerics import linalg
from collegium.rows.chunk import cut

Array = np.ndarray
TILE = 2_000


def subtract_product(C: Array, A: Array, B: Array, *, transposed: bool = False) -> None:
    """C − AB, or C − ABᵀ, in place, all row-major: column-major BLAS sees Cᵀ − BᵀAᵀ."""
    blas.dgemm(-1.0, B.T, A.T, beta=1.0, c=C.T, trans_a=transposed, overwrite_c=True)


@dataclass(frozen=True, eq=False)
class Tiles:
    """A lower Cholesky factor in tiles; `rows[i][j]` is L_ij, j ≤ i."""

    rows: list[list[Array]]
    cuts: list[slice]

    @classmethod
    def of(cls, kernel: Kernel, noise: float, X: Array, tile: int = TILE) -> Tiles:
        """Factorise K(X, X) + noise·I."""
        n = X.shape[0]
        cuts = [slice(at, min(at + tile, n)) for at in range(0, n, tile)]
        rows: list[list[Array]] = [[] for _ in cuts]
        for j, own in enumerate(cuts):
            rows[j].append(_pivot(kernel, noise, X[own], rows[j]))
            for i in range(j + 1, len(cuts)):
                rows[i].append(_below(kernel, X[cuts[i]], X[own], rows[i], rows[j]))
        return cls(rows, cuts)

    def solve_lower(self, B: Array) -> Array:
        """L⁻¹B, in place; B (n, q) row-major."""
        for i, own in enumerate(self.cuts):
            for j in range(i):
                subtract_product(B[own], self.rows[i][j], B[self.cuts[j]])
            linalg.solve_lower(self.rows[i][i], B[own], overwrite=True)
        return B

    def solve_upper(self, B: Array) -> Array:
        """L⁻ᵀB, in place; B (n, q) row-major, few columns."""
        for i in reversed(range(len(self.cuts))):
            own = self.cuts[i]
            for k in range(i + 1, len(self.cuts)):
                B[own] -= self.rows[k][i].T @ B[self.cuts[k]]
            linalg.solve_upper(self.rows[i][i], B[own], overwrite=True)
        return B


def _pivot(kernel: Kernel, noise: float, X: Array, left: list[Array]) -> Array:
    A = kernel.value(X)
    linalg.add_diagonal(A, noise)
    for L in left:
        linalg.subtract_gram(A, L)
    return linalg.cholesky(A, float(kernel.diag(X).max()), overwrite=True)[0]


def _below(kernel: Kernel, Xi: Array, Xj: Array, left: list[Array], pivot: list[Array]) -> Array:
    A = kernel.value(Xi, Xj)
    for Lik, Ljk in zip(left, pivot):
        subtract_product(A, Lik, Ljk, transposed=True)
    linalg.solve_lower(pivot[-1], A.T, overwrite=True)  # L⁻¹Aᵀ, which is AL⁻ᵀ in A's own memory
    return A


class ExactGP:
    """Mean and standard deviation of a new observation, given a kernel and a noise variance."""

    def __init__(self, kernel: Kernel, noise: float, *, tile: int = TILE):
        self.kernel, self.noise, self.tile = kernel, noise, tile

    def fit(self, X: Array, y: Array) -> ExactGP:
        self.X, self.centre = np.ascontiguousarray(X), float(y.mean())
        self.L = Tiles.of(self.kernel, self.noise, self.X, self.tile)
        w = (y - self.centre)[:, None]  # a copy: both solves are in place
        self.weights = self.L.solve_upper(self.L.solve_lower(w))[:, 0]
        return self

    def predict(self, Xs: Array, batch: int = 1_000) -> tuple[Array, Array]:
        found = [self._predict(Xs[at : at + batch]) for at in range(0, Xs.shape[0], batch)]
        means, stds = zip(*found)
        return np.concatenate(means), np.concatenate(stds)

    def _predict(self, Xs: Array) -> tuple[Array, Array]:
        Kfs = self.kernel.value(self.X, Xs)
        mean = self.centre + Kfs.T @ self.weights
        V = self.L.solve_lower(Kfs)
        variance = self.kernel.diag(Xs) - np.einsum("nq,nq->q", V, V)
        return mean, np.sqrt(np.maximum(variance, 0.0) + self.noise)


def learn(X: Array, y: Array, rng: np.random.Generator, *, rows: int = 2_000) -> Learnt:
    """Learn a Matérn 3/2 with a length scale per column by the evidence of some rows."""
    pick = rng.permutation(y.size)[:rows]
    X, y = X[pick], (y[pick] - y[pick].mean())[:, None]
    chunks, engine = cut(X, y, np.ones(pick.size), [np.arange(pick.size)]), engine_for(1)
    scales = Scales.of(X)
    kernel = Matern32(length_scale=scales.columns * np.sqrt(X.shape[1]))
    return maximise(
        lambda k, s: factorised(k, s, chunks, engine), kernel, 0.1, scales.prior(kernel),
        float(pick.size), max_iter=100,
    )  # fmt: skip
