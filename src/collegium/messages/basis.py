"""The vector u of a message: function values at anchors, or weights of features.

Both are used in whitened coordinates v with prior N(0, I), u = Lv. With a chunk's inputs X,

    E[f(X) | v] = offset(X) + Vᵀv        cov[f(X) | v] = residual(X, V)

V = design(X) is (m, n). Each adjoint `f_vjp` follows its function f. All chunks share the factor L
of the prior: adjoints of L are summed over chunks, and `finish` turns them into adjoints of θ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from ..kernels import Kernel
from ..kernels.trend import Coefficients, split_trend
from ..numerics import linalg
from ..numerics.records import record
from ..numerics.tiles import by_tiles
from .expansion import Expansion
from .message import Message

Array = np.ndarray
#: If the anchors' covariance is numerically singular, u = f(Z) + noise of this relative variance;
#: with one chunk the committee is exact for any nugget.
NUGGET = 1e-12


@dataclass(frozen=True, eq=False)
class Gradient:
    """∂ log evidence in the kernel's θ, in log σ² and in the factor L of the prior."""

    theta: Array  # (q,)
    noise: float
    factor: Array  # (m, m)

    @classmethod
    def zero(cls, q: int, m: int) -> Gradient:
        return cls(np.zeros(q), 0.0, np.zeros((m, m)))

    def __add__(self, other: Gradient) -> Gradient:
        return Gradient(
            self.theta + other.theta, self.noise + other.noise, self.factor + other.factor
        )


@record("messages.anchors/1")
@dataclass(frozen=True, eq=False)
class Anchors:
    """u = f(Z) = Lv, K(Z, Z) = LLᵀ. Without anchors (m = 0) chunks are independent.

    If the kernel has a trend hᵀβ, β comes first: u = (β, g(Z)), f = g + hᵀβ, and L holds the prior
    deviations of β and the factor of g's covariance. So all chunks share β exactly.
    """

    kernel: Kernel
    Z: Array  # (m, d)
    factor: Array  # L  (m, m)
    jitter: float

    @classmethod
    def at(cls, kernel: Kernel, Z: Array) -> Anchors:
        base, beta = split_trend(kernel) if Z.size else (kernel, None)
        Kuu = base.value(Z)
        scale = float(Kuu.diagonal().max(initial=0.0))
        L, jitter = linalg.cholesky(Kuu, scale, nugget=NUGGET, overwrite=True)
        if beta is not None:
            L = block_diag(np.diag(beta.deviations(Z.shape[1])), L)
        return cls(kernel, Z, L, jitter)

    @property
    def m(self) -> int:
        return self.factor.shape[0]

    @property
    def first(self) -> int:
        """Number of coefficients of a trend, which precede the values at anchors."""
        return self.m - self.Z.shape[0]

    def _parts(self) -> tuple[Kernel, Coefficients | None]:
        """Split off the kernel of the values at anchors, and β."""
        return split_trend(self.kernel) if self.first else (self.kernel, None)

    def prior(self, p: int = 1) -> Message:
        return Message.standard_normal(self.m, p)

    def offset(self, X: Array) -> float | Array:
        return 0.0

    def design(self, X: Array) -> Array:
        """V = L⁻¹K(Z, X), column-major: the column of one row of X is contiguous."""
        return self._design(X, self._parts()[0].value(X, self.Z)) if self.m else self._nothing(X)

    def _nothing(self, X: Array) -> Array:
        return np.empty((0, X.shape[0]))

    def _design(self, X: Array, K: Array) -> Array:
        """Compute the design from K(X, Z), which is overwritten."""
        beta = self._parts()[1]
        own = linalg.solve_lower(self._own(), K.T, overwrite=True)
        return own if beta is None else np.asfortranarray(np.vstack([beta.design(X), own]))

    def _own(self) -> Array:
        """Factor of the values at anchors."""
        t = self.first
        return np.ascontiguousarray(self.factor[t:, t:]) if t else self.factor

    def design_of(self, Xs: Array) -> Array:
        """Design of queries, each independent of the others  (m, q)."""
        if not self.m:
            return self._nothing(Xs)
        design = self.designer()
        return by_tiles(lambda tile: (design(tile).T,), Xs)[0].T

    def designer(self) -> Callable[[Array], Array]:
        """Prepare X ↦ V for many calls with few rows each."""
        if not self.m:
            return self._nothing
        values = self._parts()[0].to(self.Z)
        return lambda X: self._design(X, values(X))

    def expansion(self, v: Array) -> Expansion:
        """E[f(x) | v] = K(x, Z)L⁻ᵀv, v (m, p): one solve with L serves any number of x."""
        base, beta = self._parts()
        t = self.first
        weights = linalg.solve_upper(self._own(), v[t:])
        return Expansion(base, self.Z, weights, beta, v[:t])

    def design_vjp(self, X: Array, V: Array, V_bar: Array) -> Gradient:
        if self.m == 0:
            return Gradient.zero(self.kernel.theta.size, 0)
        Kuf_bar = linalg.solve_upper(self.factor, V_bar)  # L⁻ᵀV̄
        base, t = self._parts()[0], self.first
        theta = base.vjp(X, self.Z, np.ascontiguousarray(Kuf_bar[t:].T))
        return Gradient(theta, 0.0, -(Kuf_bar @ V.T))

    def residual(self, X: Array, V: Array) -> Array:
        """K(X, X) − VᵀV, lower triangle  (n, n)."""
        return linalg.subtract_gram(self.kernel.value(X), V.T)

    def residual_vjp(self, X: Array, V: Array, R_bar: Array) -> tuple[Array, Array]:
        """θ̄ and V̄ from a symmetric R̄."""
        return self.kernel.vjp(X, None, R_bar), -2.0 * V @ R_bar

    def residual_diag(self, X: Array, V: Array) -> Array:
        """diag(K(X, X) − VᵀV), never negative  (n,)."""
        return np.maximum(self.kernel.diag(X) - np.einsum("mn,mn->n", V, V), 0.0)

    def residual_diag_vjp(self, X: Array, V: Array, d_bar: Array) -> tuple[Array, Array]:
        return self.kernel.diag_vjp(X, d_bar), -2.0 * V * d_bar

    def scale(self, X: Array) -> float:
        """Largest prior variance of f(X), to which jitter is relative."""
        return float(self.kernel.diag(X).max(initial=0.0))

    def no_gradient(self) -> Gradient:
        return Gradient.zero(self.kernel.theta.size, self.m)

    def finish(self, gradient: Gradient) -> Array:
        """∂ log evidence/∂θ: the sum over chunks, and the part through L."""
        if self.m == 0:
            return gradient.theta
        Kuu_bar = linalg.cholesky_vjp(self.factor, gradient.factor)
        base, t = self._parts()[0], self.first
        return gradient.theta + base.vjp(self.Z, None, np.ascontiguousarray(Kuu_bar[t:, t:]))


@record("messages.features/1")
@dataclass(frozen=True, eq=False)
class Features:
    """f(x) = φ(x)ᵀw, w = w₀ + Lv ~ N(w₀, LLᵀ): a fixed basis, so that cov[f | w] = 0.

    `features` maps X (n, d) to Φ (n, m); make it a record with `__call__` if the model is to be
    stored.
    """

    features: Callable[[Array], Array]
    mean: Array  # w₀  (m,) or (m, p)
    factor: Array  # L  (m, m)

    @classmethod
    def with_prior(cls, features: Callable[[Array], Array], mean: Array, covariance: Array):
        scale = float(np.max(np.diagonal(covariance), initial=0.0))
        L, _ = linalg.cholesky(covariance, scale)
        return cls(features, mean, L)

    @property
    def m(self) -> int:
        return self.factor.shape[0]

    def prior(self, p: int = 1) -> Message:
        return Message.standard_normal(self.m, p)

    def offset(self, X: Array) -> Array:
        offset = self.features(X) @ self.mean
        return offset[:, None] if offset.ndim == 1 else offset

    def design(self, X: Array) -> Array:
        return self.factor.T @ self.features(X).T

    def design_vjp(self, X: Array, V: Array, V_bar: Array) -> Gradient:
        return self.no_gradient()

    def residual(self, X: Array, V: Array) -> Array:
        return np.zeros((X.shape[0], X.shape[0]))

    def residual_vjp(self, X: Array, V: Array, R_bar: Array) -> tuple[Array, Array]:
        return np.empty(0), np.zeros_like(V)

    def residual_diag(self, X: Array, V: Array) -> Array:
        return np.zeros(X.shape[0])

    def residual_diag_vjp(self, X: Array, V: Array, d_bar: Array) -> tuple[Array, Array]:
        return np.empty(0), np.zeros_like(V)

    def scale(self, X: Array) -> float:
        V = self.design(X)
        return float(np.einsum("mn,mn->n", V, V).max(initial=0.0))

    def no_gradient(self) -> Gradient:
        return Gradient.zero(0, self.m)

    def finish(self, gradient: Gradient) -> Array:
        return gradient.theta


Basis = Anchors | Features
