"""Kernels that are products of finitely many features: k(x, z) = A(x)A(z)ᵀ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...numerics import linalg
from ..leaf import Leaf

Array = np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Factored(Leaf, listed=False):
    """A(x)A(z)ᵀ, of the rows of a factor that is proportional to the root of the variance."""

    def factor(self, X: Array) -> Array:
        """A with K = AAᵀ  (n, g)."""
        raise TypeError("abstract kernel")

    def sample(self, X: Array, n_samples: int, rng: np.random.Generator) -> Array:
        """Draw f = Au, u ~ N(0, I), at X, in O(n g) each  (n, n_samples)."""
        A = self.factor(X)
        return A @ rng.standard_normal((A.shape[1], n_samples))

    def value(self, X: Array, Z: Array | None = None) -> Array:
        A = self.factor(X)
        return linalg.gram(A) if Z is None else A @ self.factor(Z).T

    def diag(self, X: Array) -> Array:
        A = self.factor(X)
        return np.einsum("ng,ng->n", A, A)

    def vjp(self, X: Array, Z: Array | None, K_bar: Array) -> Array:
        K = self.value(X, Z)
        if Z is None:  # lower triangle of a symmetric K_bar
            K_bar = 2.0 * np.tril(K_bar, -1) + np.diag(K_bar.diagonal())
        return self.gradient(variance=float((K_bar * K).sum()))

    def diag_vjp(self, X: Array, d_bar: Array) -> Array:
        return self.gradient(variance=float(d_bar @ self.diag(X)))
