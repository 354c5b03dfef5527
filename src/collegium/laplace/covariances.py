"""Covariances C of latent values, and what is left when they meet Gaussian sites.

A site of precision W ≥ 0 is an observation of f with noise W⁻¹. All that follows needs

    A = (C + W⁻¹)⁻¹ = W^½ B⁻¹ W^½,   B = I + W^½CW^½   (Rasmussen & Williams 2006, eq. 3.27)

and log|B|, never W⁻¹: a site of precision zero says nothing. What is left of a pull x,

    u = (I + WC)⁻¹x = x − ACx,   Cu = (C⁻¹ + W)⁻¹x

is asked for by `damp`: as that difference it would lose all digits where WC is beyond 1e16.
Covariances differ in how B is factorised.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numerics import linalg

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class MetDense:
    """B = LLᵀ."""

    C: Array  # (n, n)
    root: Array  # W^½  (n,)
    L: Array  # (n, n)

    def whiten(self, X: Array) -> Array:
        """L⁻¹W^½X, X (n, k): its Gram matrix is XᵀAX."""
        return linalg.solve_lower(self.L, self.root[:, None] * X, overwrite=True)

    def solve(self, x: Array) -> Array:
        """Ax  (n,)."""
        return self.root * linalg.solve_posdef(self.L, self.root * x)

    def damp(self, x: Array) -> tuple[Array, Array]:
        """u = W^½B⁻¹W^−½x, and Cu  (n,). Where W is zero u is x, and pulls at the others."""
        silent = self.root == 0.0
        u = np.where(silent, x, 0.0)
        rest = np.divide(x, self.root, out=np.zeros_like(u), where=~silent)
        if silent.any():
            rest -= self.root * (self.C @ u)
        u += self.root * linalg.solve_posdef(self.L, rest)
        return u, self.C @ u

    def matrix(self) -> Array:
        """A  (n, n)."""
        return linalg.scaled(linalg.inverse_posdef(self.L), self.root)

    def log_det(self) -> float:
        """log|B|."""
        return linalg.log_det(self.L)


@dataclass(frozen=True, eq=False)
class Dense:
    """A full matrix."""

    C: Array  # (n, n)

    def times(self, x: Array) -> Array:
        return self.C @ x

    def meet(self, W: Array) -> MetDense:
        root = np.sqrt(W)
        B = linalg.scaled(self.C, root)
        scale = 1.0 + float(B.diagonal().max(initial=0.0))
        B.flat[:: B.shape[0] + 1] += 1.0
        return MetDense(self.C, root, linalg.cholesky(B, scale, overwrite=True)[0])

    def unbend(self, W: Array, x: Array) -> Array:
        """(I + WC)⁻¹x for W of any sign; = x − ACx where none is negative."""
        B = W[:, None] * self.C
        B.flat[:: B.shape[0] + 1] += 1.0
        return linalg.solve_square(B, x)

    def plus(self, T: Array) -> Dense:
        """C + TᵀT, T (m, n)."""
        return Dense(self.C + linalg.gram(T.T))


@dataclass(frozen=True, eq=False)
class MetDiagonal:
    """A = diag(a), B = diag(b)."""

    d: Array  # (n,)
    a: Array  # W/(1 + Wd)  (n,)
    b: Array  # 1 + Wd  (n,)

    def whiten(self, X: Array) -> Array:
        return np.sqrt(self.a)[:, None] * X

    def solve(self, x: Array) -> Array:
        return self.a * x

    def damp(self, x: Array) -> tuple[Array, Array]:
        return x / self.b, self.d * x / self.b

    def matrix(self) -> Array:
        return np.diag(self.a)

    def log_det(self) -> float:
        return float(np.log(self.b).sum())


@dataclass(frozen=True, eq=False)
class Diagonal:
    """diag(d)."""

    d: Array  # (n,)

    def times(self, x: Array) -> Array:
        return self.d * x

    def meet(self, W: Array) -> MetDiagonal:
        b = 1.0 + W * self.d
        return MetDiagonal(self.d, W / b, b)

    def plus(self, T: Array) -> LowRank:
        return LowRank(self.d, T)


@dataclass(frozen=True, eq=False)
class MetLowRank:
    """A = a − aTᵀM⁻¹Ta, M = I + TaTᵀ = LLᵀ, a = W/(1 + Wd)   (Woodbury)."""

    own: MetDiagonal
    T: Array  # (m, n)
    L: Array  # (m, m)

    def solve(self, x: Array) -> Array:
        ax = self.own.a * x
        return ax - self.own.a * (self.T.T @ linalg.solve_posdef(self.L, self.T @ ax))

    def damp(self, x: Array) -> tuple[Array, Array]:
        """With b = 1 + Wd and t = TᵀM⁻¹T(x/b): u = x/b − at, Cu = (dx + t)/b."""
        y, Cy = self.own.damp(x)
        t = self.T.T @ linalg.solve_posdef(self.L, self.T @ y)
        return y - self.own.a * t, Cy + t / self.own.b

    def matrix(self) -> Array:
        S = linalg.solve_lower(self.L, self.T * self.own.a)
        return np.diag(self.own.a) - linalg.gram(S.T)

    def log_det(self) -> float:
        return self.own.log_det() + linalg.log_det(self.L)


@dataclass(frozen=True, eq=False)
class LowRank:
    """diag(d) + TᵀT: n rows cost nm², not n³."""

    d: Array  # (n,)
    T: Array  # (m, n)

    def times(self, x: Array) -> Array:
        return self.d * x + self.T.T @ (self.T @ x)

    def meet(self, W: Array) -> MetLowRank:
        own = Diagonal(self.d).meet(W)
        M = linalg.gram(self.T * np.sqrt(own.a))
        scale = 1.0 + float(M.diagonal().max(initial=0.0))
        M.flat[:: M.shape[0] + 1] += 1.0
        return MetLowRank(own, self.T, linalg.cholesky(M, scale, overwrite=True)[0])

    def unbend(self, W: Array, x: Array) -> Array:
        """With b = 1 + Wd, a = W/b: x/b − aTᵀ(I + TaTᵀ)⁻¹T(x/b)."""
        b = 1.0 + W * self.d
        b = np.where(b == 0.0, np.finfo(float).eps, b)
        M = (self.T * (W / b)) @ self.T.T
        M.flat[:: M.shape[0] + 1] += 1.0
        return x / b - W / b * (self.T.T @ linalg.solve_square(M, self.T @ (x / b)))


Left = Dense | Diagonal  # of f given v
Prior = Dense | LowRank  # of f
Met = MetDense | MetDiagonal | MetLowRank


def left_over(residual: Array) -> Left:
    """What an expert says is left of f given v: a lower triangle, or a vector."""
    return Dense(linalg.mirror(residual)) if residual.ndim == 2 else Diagonal(residual)
