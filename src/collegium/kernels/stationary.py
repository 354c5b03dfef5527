"""Stationary kernels: functions of the scaled distance D = Σₖ (Δₖ/ℓₖ)²."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..numerics.linalg import mirror
from .base import Leaf, nearest_to_zero, scaled_columns

Array = np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Stationary(Leaf):
    """variance · profile(D).

    A subclass gives two fused leaves, `value_leaf(X, ZT, variance, *shapes, lower, out)` and
    `vjp_leaf(X, ZT, variance, *shapes, lower, K_bar, length_bar) -> variance_bar, *shape_bars`.
    """

    value_leaf: ClassVar[Callable]
    vjp_leaf: ClassVar[Callable]
    shapes: ClassVar[tuple[str, ...]] = ()

    variance: float = 1.0
    length_scale: float | Array = 1.0

    def _arguments(self, X: Array, Z: Array | None):
        X, Z = X.astype(float, copy=False), None if Z is None else Z.astype(float, copy=False)
        # rows far out keep their small differences; of Z: a row of X does not depend on others
        origin = nearest_to_zero(X if Z is None else Z)
        Xs = scaled_columns(X - origin, self.length_scale)
        Zs = Xs if Z is None else scaled_columns(Z - origin, self.length_scale)
        return Xs, np.ascontiguousarray(Zs.T), self.variance, *self._shapes()

    def _shapes(self) -> list[float]:
        return [getattr(self, name) for name in self.shapes]

    def value(self, X: Array, Z: Array | None = None) -> Array:
        K = np.empty((X.shape[0], X.shape[0] if Z is None else Z.shape[0]))
        type(self).value_leaf(*self._arguments(X, Z), Z is None, K)
        return mirror(K) if Z is None else K

    def coarse_parts(self, X: Array, parts: Sequence[Array]) -> Iterator[Array]:
        X = X.astype(float, copy=False)
        origin = nearest_to_zero(X)
        Xs, values = self._near(X - origin), [self.variance, *self._shapes()]
        with np.errstate(over="ignore"):  # a variance beyond single precision: of no use there
            scalars = [np.float32(value) for value in values]
        room = np.empty(X.shape[0] * max((len(Z) for Z in parts), default=0), dtype=np.float32)
        for Z in parts:
            K = room[: X.shape[0] * len(Z)].reshape(X.shape[0], len(Z))
            ZT = np.ascontiguousarray(self._near(Z - origin).T)
            type(self).value_leaf(Xs, ZT, *scalars, False, K)
            yield K

    def _near(self, X: Array) -> Array:
        """X / length in single precision, clipped so that squares are finite."""
        with np.errstate(over="ignore", under="ignore"):
            return np.clip(X / self.length_scale, -1e15, 1e15).astype(np.float32)

    def diag(self, X: Array) -> Array:
        return np.full(X.shape[0], self.variance)

    def vjp(self, X: Array, Z: Array | None, K_bar: Array) -> Array:
        length_bar = np.zeros(X.shape[1])
        bars = type(self).vjp_leaf(*self._arguments(X, Z), Z is None, K_bar, length_bar)
        variance_bar, *shape_bars = bars if self.shapes else (bars,)
        return self.gradient(
            variance=variance_bar, length_scale=length_bar, **dict(zip(self.shapes, shape_bars))
        )

    def diag_vjp(self, X: Array, d_bar: Array) -> Array:
        zeros = {name: 0.0 for name in self.shapes}
        return self.gradient(
            variance=self.variance * d_bar.sum(), length_scale=np.zeros(X.shape[1]), **zeros
        )

    def reach(self, gaps: Array) -> Array:
        """k at the gaps, since the profile falls with distance."""
        return self.value(np.zeros((1, gaps.shape[1])), gaps)[0]

    def inverse_squares(self, d: int) -> Array:
        return self.variance / np.broadcast_to(np.asarray(self.length_scale) ** 2, (d,))
