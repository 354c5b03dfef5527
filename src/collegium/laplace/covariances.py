"""Covariances C of latent values f, combined with the precisions W of Gaussian sites.

A site of precision W ≥ 0 is an observation of f with noise variance W⁻¹. `factorise(W)` gives

    B = I + W^½CW^½        A = (C + W⁻¹)⁻¹ = W^½B⁻¹W^½    (Rasmussen & Williams 2006, eq. 3.27)

without ever forming W⁻¹, so that W may be zero. `solve_damped` computes

    u = (I + WC)⁻¹x        Cu = (C⁻¹ + W)⁻¹x

directly: the difference x − ACx = u would lose all digits where WC > 1e16. The three kinds of
covariance differ in how B is factorised. (Gaussian noise has W⁻¹ = Ψ > 0, and C + Ψ itself is
factorised: see `messages.experts`.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numerics import linalg

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class DenseCovariance:
    """C, a full matrix."""

    C: Array  # (n, n)

    def times(self, x: Array) -> Array:
        """Cx."""
        return self.C @ x

    def factorise(self, W: Array) -> FactoredDense:
        """B = I + W^½CW^½ = LLᵀ, W ≥ 0."""
        root = np.sqrt(W)
        B = linalg.scaled(self.C, root)
        scale = 1.0 + float(B.diagonal().max(initial=0.0))
        linalg.add_diagonal(B, 1.0)
        return FactoredDense(self.C, root, linalg.cholesky(B, scale, overwrite=True)[0])

    def solve_indefinite(self, W: Array, x: Array) -> Array:
        """(I + WC)⁻¹x for W of any sign."""
        B = W[:, None] * self.C
        linalg.add_diagonal(B, 1.0)
        return linalg.solve_square(B, x)

    def plus(self, T: Array) -> DenseCovariance:
        """C + TᵀT, T (m, n)."""
        return DenseCovariance(self.C + linalg.gram(T.T))


@dataclass(frozen=True, eq=False)
class FactoredDense:
    """C and W with B = LLᵀ."""

    C: Array  # (n, n)
    root: Array  # W^½  (n,)
    L: Array  # (n, n)

    def whiten(self, X: Array) -> Array:
        """L⁻¹W^½X, X (n, k): its Gram matrix is XᵀAX."""
        return linalg.solve_lower(self.L, self.root[:, None] * X, overwrite=True)

    def solve(self, x: Array) -> Array:
        """Ax  (n,)."""
        return self.root * linalg.solve_posdef(self.L, self.root * x)

    def solve_damped(self, x: Array) -> tuple[Array, Array]:
        """u = (I + WC)⁻¹x and Cu  (n,).

        u = x in the rows Z where W is zero; in the others u = W^½B⁻¹(W^−½x − W^½C_Z x_Z).
        """
        zero = self.root == 0.0
        u = np.where(zero, x, 0.0)
        rest = np.divide(x, self.root, out=np.zeros_like(u), where=~zero)
        if zero.any():
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
class DiagonalCovariance:
    """C = diag(d)."""

    d: Array  # (n,)

    def times(self, x: Array) -> Array:
        return self.d * x

    def factorise(self, W: Array) -> FactoredDiagonal:
        b = 1.0 + W * self.d
        return FactoredDiagonal(self.d, W / b, b)

    def plus(self, T: Array) -> LowRankCovariance:
        return LowRankCovariance(self.d, T)


@dataclass(frozen=True, eq=False)
class FactoredDiagonal:
    """A = diag(a), B = diag(b)."""

    d: Array  # (n,)
    a: Array  # W/(1 + Wd)  (n,)
    b: Array  # 1 + Wd  (n,)

    def whiten(self, X: Array) -> Array:
        return np.sqrt(self.a)[:, None] * X

    def solve(self, x: Array) -> Array:
        return self.a * x

    def solve_damped(self, x: Array) -> tuple[Array, Array]:
        """x/b and dx/b."""
        return x / self.b, self.d * x / self.b

    def matrix(self) -> Array:
        return np.diag(self.a)

    def log_det(self) -> float:
        return float(np.log(self.b).sum())


@dataclass(frozen=True, eq=False)
class LowRankCovariance:
    """C = diag(d) + TᵀT: nm² operations instead of n³."""

    d: Array  # (n,)
    T: Array  # (m, n)

    def times(self, x: Array) -> Array:
        return self.d * x + self.T.T @ (self.T @ x)

    def factorise(self, W: Array) -> FactoredLowRank:
        own = DiagonalCovariance(self.d).factorise(W)
        M = linalg.gram(self.T * np.sqrt(own.a))
        scale = 1.0 + float(M.diagonal().max(initial=0.0))
        linalg.add_diagonal(M, 1.0)
        return FactoredLowRank(own, self.T, linalg.cholesky(M, scale, overwrite=True)[0])

    def solve_indefinite(self, W: Array, x: Array) -> Array:
        """With b = 1 + Wd, a = W/b: x/b − aTᵀ(I + TaTᵀ)⁻¹T(x/b)."""
        b = 1.0 + W * self.d
        b = np.where(b == 0.0, np.finfo(float).eps, b)
        M = (self.T * (W / b)) @ self.T.T
        linalg.add_diagonal(M, 1.0)
        return x / b - W / b * (self.T.T @ linalg.solve_square(M, self.T @ (x / b)))


@dataclass(frozen=True, eq=False)
class FactoredLowRank:
    """A = a − aTᵀM⁻¹Ta, M = I + TaTᵀ = LLᵀ, a = W/(1 + Wd)   (Woodbury)."""

    own: FactoredDiagonal
    T: Array  # (m, n)
    L: Array  # (m, m)

    def solve(self, x: Array) -> Array:
        ax = self.own.a * x
        return ax - self.own.a * (self.T.T @ linalg.solve_posdef(self.L, self.T @ ax))

    def solve_damped(self, x: Array) -> tuple[Array, Array]:
        """With b = 1 + Wd and t = TᵀM⁻¹T(x/b): u = x/b − at, Cu = (dx + t)/b."""
        y, Cy = self.own.solve_damped(x)
        t = self.T.T @ linalg.solve_posdef(self.L, self.T @ y)
        return y - self.own.a * t, Cy + t / self.own.b

    def matrix(self) -> Array:
        S = linalg.solve_lower(self.L, self.T * self.own.a)
        return np.diag(self.own.a) - linalg.gram(S.T)

    def log_det(self) -> float:
        return self.own.log_det() + linalg.log_det(self.L)


Residual = DenseCovariance | DiagonalCovariance  # Q = cov[f | v]
Prior = DenseCovariance | LowRankCovariance  # P = cov[f]
Factored = FactoredDense | FactoredDiagonal | FactoredLowRank


def residual_covariance(residual: Array) -> Residual:
    """Q from an expert's `residual`: a lower triangle (n, n), or a diagonal (n,)."""
    return (
        DenseCovariance(linalg.mirror(residual))
        if residual.ndim == 2
        else DiagonalCovariance(residual)
    )
