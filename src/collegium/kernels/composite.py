"""Sums and products of kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from numbers import Real
from operator import iadd, imul, mul
from typing import Any, ClassVar, Self

import numpy as np

from ..numerics.linalg import add_lower, multiply_lower
from .base import OPERATORS, Kernel, To
from .columns import Wrapped
from .constant import Constant
from .embedding import Embedding
from .leaf import Leaf
from .white import White

Array = np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Composite(Kernel):
    """A kernel made of parts; θ concatenates the θ of the parts."""

    join: ClassVar[Any]  # of the values of two parts, in place of the first: iadd or imul
    join_lower: ClassVar[Any]  # of lower triangles of two sets of matrices

    parts: tuple[Kernel, ...]

    def value(self, X: Array, Z: Array | None = None) -> Array:
        return reduce(self.join, (part.value(X, Z) for part in self.parts))

    def fill(self, X: Array, out: Array, room: Array) -> None:
        """Fill with one part after the other and join them on the lower triangles."""
        self.parts[0].fill(X, out, room)
        for part in self.parts[1:]:
            part.fill(X, room, np.empty_like(room))  # untouched unless the part has parts
            self.join_lower(out, room)

    def to(self, Z: Array) -> To:
        return Joined(self, Z[:0], self.join, tuple(part.to(Z) for part in self.parts))

    def coarse_parts(self, X: Array, parts: Sequence[Array]) -> Iterator[Array]:
        for values in zip(*(part.coarse_parts(X, parts) for part in self.parts)):
            yield reduce(self.join, values)

    @property
    def theta(self) -> Array:  # type: ignore[override]
        return np.concatenate([part.theta for part in self.parts])

    @property
    def labels(self) -> tuple[tuple[str, int], ...]:  # type: ignore[override]
        return tuple(label for part in self.parts for label in part.labels)

    def with_theta(self, theta: Array) -> Self:
        return self._map(lambda part, own: part.with_theta(own), self._split(theta))

    def times(self, factors: Array) -> Self:
        return self._map(lambda part, own: part.times(own), self._split(factors))

    def _split(self, values: Array) -> list[Array]:
        """Split values in the order of θ by part."""
        return np.split(values, np.cumsum([part.theta.size for part in self.parts])[:-1])

    def for_width(self, d: int) -> Self:
        return self._map(lambda part, _: part.for_width(d), self.parts)

    def on_columns(self, names: Sequence[str]) -> Self:
        return self._map(lambda part, _: part.on_columns(names), self.parts)

    def on_levels(self, levels: Mapping[int, str]) -> Self:
        return self._map(lambda part, _: part.on_levels(levels), self.parts)

    def inverse_squares(self, d: int) -> Array:
        each = zip(self._shares(d), self.parts)
        return np.sum([share * part.inverse_squares(d) for share, part in each], axis=0)

    def embeddings(self, d: int) -> tuple[Embedding, ...]:
        each = zip(self._shares(d), self.parts)
        return tuple(one.times(share) for share, part in each for one in part.embeddings(d))

    def _shares(self, d: int) -> list[float]:
        """∂k/∂(part) for each part that falls with distance."""
        return [1.0] * len(self.parts)

    def _map(self, f, arguments) -> Self:
        return type(self)(tuple(f(part, a) for part, a in zip(self.parts, arguments)))


@dataclass(frozen=True, eq=False)
class Joined(To):
    """The values of all parts, added or multiplied."""

    join: Callable
    parts: tuple[To, ...]

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self.parts)

    def __call__(self, X: Array) -> Array:
        return reduce(self.join, (part(X) for part in self.parts))


class Sum(Composite):
    """k₁ + k₂ + …"""

    join, join_lower = staticmethod(iadd), staticmethod(add_lower)

    def diag(self, X: Array) -> Array:
        return np.sum([part.diag(X) for part in self.parts], axis=0)

    def reach(self, gaps: Array) -> Array:
        return np.sum([part.reach(gaps) for part in self.parts], axis=0)

    def vjp(self, X: Array, Z: Array | None, K_bar: Array) -> Array:
        return np.concatenate([part.vjp(X, Z, K_bar) for part in self.parts])

    def diag_vjp(self, X: Array, d_bar: Array) -> Array:
        return np.concatenate([part.diag_vjp(X, d_bar) for part in self.parts])

    def scaled(self, factor: float) -> Self:
        return self._map(lambda part, _: part.scaled(factor), self.parts)

    def shown(self, names: Sequence[str] = ()) -> str:
        return " + ".join(part.shown(names) for part in self.parts)


class Product(Composite):
    """k₁ · k₂ · …; only the first factor has a free variance."""

    join, join_lower = staticmethod(imul), staticmethod(multiply_lower)

    def diag(self, X: Array) -> Array:
        return np.prod([part.diag(X) for part in self.parts], axis=0)

    def reach(self, gaps: Array) -> Array:
        with np.errstate(invalid="ignore"):
            bound = np.prod([part.reach(gaps) for part in self.parts], axis=0)
        return np.nan_to_num(bound, nan=0.0, posinf=np.inf)  # 0 · ∞: one factor is zero there

    def vjp(self, X: Array, Z: Array | None, K_bar: Array) -> Array:
        values = [part.value(X, Z) for part in self.parts]
        return np.concatenate(
            [part.vjp(X, Z, K_bar * rest) for part, rest in zip(self.parts, _others(values))]
        )

    def diag_vjp(self, X: Array, d_bar: Array) -> Array:
        values = [part.diag(X) for part in self.parts]
        return np.concatenate(
            [part.diag_vjp(X, d_bar * rest) for part, rest in zip(self.parts, _others(values))]
        )

    def _shares(self, d: int) -> list[float]:
        """Multiply the other parts at a row of zeros, except those that are zero there."""
        heights = [float(part.diag(np.zeros((1, d)))[0]) or 1.0 for part in self.parts]
        return [float(np.prod(heights[:i] + heights[i + 1 :])) for i in range(len(heights))]

    def scaled(self, factor: float) -> Self:
        return type(self)((self.parts[0].scaled(factor), *self.parts[1:]))

    def shown(self, names: Sequence[str] = ()) -> str:
        each = ((part, part.shown(names)) for part in self.parts)
        return " * ".join(f"({text})" if isinstance(part, Sum) else text for part, text in each)


def _others(values: list[Array]) -> list[Array]:
    """For each factor, the product of all the others."""
    return [reduce(mul, values[:i] + values[i + 1 :]) for i in range(len(values))]


def _as_kernel(value) -> Kernel:
    if isinstance(value, Kernel):
        return value
    if isinstance(value, Real):
        return Constant(float(value))
    raise TypeError(f"a kernel is combined with a kernel or a number, not {type(value).__name__}")


def add_kernels(a, b) -> Sum:
    """a + b; the parts of sums are put side by side."""
    parts: list[Kernel] = []
    for kernel in (_as_kernel(a), _as_kernel(b)):
        parts.extend(kernel.parts if isinstance(kernel, Sum) else [kernel])
    return Sum(tuple(parts))


def multiply_kernels(a, b) -> Kernel:
    """a · b with one free variance: the variance of b, or a constant, is multiplied into a's."""
    a, b = _as_kernel(a), _as_kernel(b)
    if isinstance(a, Constant):
        a, b = b, a
    if isinstance(b, Constant):
        return _with_fixed_variance(a.scaled(b.variance)) if b.fixed else a.scaled(b.variance)
    if _variance(a) is not None and not isinstance(b, (Leaf, Wrapped)):
        a, b = b, a
    height = _variance(b)
    if height is not None:
        a, b = a.scaled(height), _with_fixed_variance(b, 1.0)
    factors: list[Kernel] = []
    for kernel in (a, b):
        factors.extend(kernel.parts if isinstance(kernel, Product) else [kernel])
    return Product(tuple(factors))


OPERATORS.update({"+": add_kernels, "*": multiply_kernels})


def _variance(kernel: Any) -> float | None:
    """Return the variance of a kernel that has one of its own; else None."""
    if isinstance(kernel, Wrapped):
        return _variance(kernel.kernel)
    own = isinstance(kernel, Leaf) and "variance" in kernel.kinds
    return kernel.variance if own else None


def _with_fixed_variance(kernel: Any, variance: float | None = None) -> Kernel:
    """Fix the variance, so that it is not learnt: at its own value, or another."""
    if isinstance(kernel, Product):
        return Product((_with_fixed_variance(kernel.parts[0], variance), *kernel.parts[1:]))
    own = _variance(kernel)
    if own is None:
        return kernel
    if isinstance(kernel, Wrapped):
        return replace(kernel, kernel=_with_fixed_variance(kernel.kernel, variance))
    fixed = tuple(sorted({*kernel.fixed, "variance"}))
    return replace(kernel, variance=own if variance is None else variance, fixed=fixed)


def split_white(kernel: Kernel) -> tuple[Kernel, White | None]:
    """Split kernel = rest + White; White is None where the sum has none."""
    if not isinstance(kernel, Sum):
        return kernel, None
    rest = tuple(part for part in kernel.parts if not isinstance(part, White))
    whites = [part for part in kernel.parts if isinstance(part, White)]
    if not whites or not rest:
        return kernel, None
    variance = sum(white.variance for white in whites)
    fixed = ("variance",) if all(white.fixed for white in whites) else ()
    return (rest[0] if len(rest) == 1 else Sum(rest)), White(variance, fixed=fixed)
