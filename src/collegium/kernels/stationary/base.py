"""Stationary kernels: functions of the scaled distance D = Σₖ (Δₖ/ℓₖ)²."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from ...numerics.linalg import mirror
from ..base import Columns, To, as_columns, find_columns, nearest_to_zero, scaled_columns
from ..embedding import Levels
from ..leaf import Leaf

Array = np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Stationary(Leaf, listed=False):
    """variance · profile(D).

    Columns named in `categories` (by position or name, as in `columns`) hold codes, which are
    equal or not: a mismatch adds 1/ℓ² to D, as one-hot columns with one length scale do. A code
    that the model was not fitted with (−1 by convention, or NaN) differs from all others.

    >>> from collegium.kernels import Matern32
    >>> X = np.array([[0.0, 7.0], [0.0, 9.0]])
    >>> Matern32(length_scale=[2.0, 0.5], categories=1).value(X).round(2)
    array([[1.  , 0.14],
           [0.14, 1.  ]])

    A subclass gives two fused leaves, `value_leaf(X, ZT, variance, *shapes, lower, out)` and
    `vjp_leaf(X, ZT, variance, *shapes, lower, K_bar, length_bar) -> variance_bar, *shape_bars`;
    `constants` are numbers that both take after the shapes. If they do not work on D (`of_distance`
    is false), the kernel takes no categories.
    """

    kinds = {"variance": "variance", "length_scale": "length"}
    value_leaf: ClassVar[Callable]
    vjp_leaf: ClassVar[Callable]
    shapes: ClassVar[tuple[str, ...]] = ()
    constants: ClassVar[tuple[float, ...]] = ()
    of_distance: ClassVar[bool] = True

    variance: float = 1.0
    length_scale: float | Array = 1.0
    categories: Any = field(default=(), kw_only=True)  # becomes a tuple

    def __new__(
        cls, *arguments: Any, columns: Columns | None = None, categories: Any = (), **more: Any
    ) -> Any:
        if columns is None:
            return super().__new__(cls)
        own, chosen = (
            as_columns(one, f"columns of {cls.__name__}") for one in (categories, columns)
        )
        lost = [one for one in own if one not in chosen]
        if lost:
            raise ValueError(f"categories of {cls.__name__}: {lost[0]!r} is not in {columns!r}")
        at = tuple(chosen.index(one) for one in own)
        return super().__new__(cls, *arguments, columns=chosen, categories=at, **more)

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen = as_columns(self.categories, f"categories of {type(self).__name__}")
        if chosen and not self.of_distance:
            raise ValueError(f"categories={self.categories!r}: {type(self).__name__} takes none")
        object.__setattr__(self, "categories", chosen)

    def on_columns(self, names: Sequence[str]) -> Self:
        what = f"categories of {type(self).__name__}"
        return replace(self, categories=find_columns(self.categories, names, what))

    def on_levels(self, levels: Mapping[int, str]) -> Self:
        if not self.of_distance:
            return super().on_levels(levels)
        return replace(self, categories=tuple(dict.fromkeys([*self.categories, *levels])))

    def for_width(self, d: int) -> Self:
        self._order(d)
        return super().for_width(d)

    def _order(self, d: int) -> tuple[list[int], list[int]]:
        """Positions of the columns of numbers and of the columns of codes."""
        codes: list[Any] = list(self.categories)
        wrong = [one for one in codes if isinstance(one, str) or one >= d]
        if wrong:
            raise ValueError(
                f"categories of {type(self).__name__}: {wrong[0]!r} is not a position among {d} "
                "columns" + ", and X came without names" * isinstance(wrong[0], str)
            )
        return [k for k in range(d) if k not in codes], codes

    @property
    def labels(self) -> tuple[tuple[str, int], ...]:  # type: ignore[override]
        if not self.categories:
            return super().labels
        return tuple(
            ("mismatch" if kind == "length" and column in self.categories else kind, column)
            for kind, column in super().labels
        )

    def _arguments(self, X: Array, Z: Array | None):
        X, Z = X.astype(float, copy=False), None if Z is None else Z.astype(float, copy=False)
        if self.categories:
            Xs, Zs = self._mixed(X, Z)
        else:
            # an origin of Z, not of X: small differences survive, and rows of X stay independent
            origin = nearest_to_zero(X if Z is None else Z)
            Xs = scaled_columns(X - origin, self.length_scale)
            Zs = Xs if Z is None else scaled_columns(Z - origin, self.length_scale)
        return Xs, np.ascontiguousarray(Zs.T), self.variance, *self._shapes()

    def _mixed(self, X: Array, Z: Array | None) -> tuple[Array, Array]:
        """Put scaled numbers, codes and (for X) the cost of a mismatch in the order of leaves."""
        origin = nearest_to_zero((X if Z is None else Z)[:, self._order(X.shape[1])[0]])
        Xs = self._table(X, origin)
        Zs = Xs if Z is None else self._table(Z, origin)
        return self._with_mismatches(Xs, X.shape[1]), Zs

    def _table(self, X: Array, origin: Array) -> Array:
        """Scaled numbers, then codes; `origin`: of the numbers."""
        length = np.broadcast_to(self.length_scale, (X.shape[1],))
        numbers, codes = self._order(X.shape[1])
        own = scaled_columns(X[:, numbers] - origin, length[numbers])
        return np.hstack([own, np.nan_to_num(X[:, codes], nan=-1.0)]) if codes else own

    def _with_mismatches(self, Xs: Array, d: int) -> Array:
        """Append what a mismatch of each code adds to D."""
        length = np.broadcast_to(self.length_scale, (d,))[list(self._order(d)[1])]
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            more = np.minimum(length**-2.0, 1e300)
        return np.hstack([Xs, np.broadcast_to(more, (Xs.shape[0], more.size))])

    def _shapes(self) -> list[float]:
        return [*(getattr(self, name) for name in self.shapes), *self.constants]

    def value(self, X: Array, Z: Array | None = None) -> Array:
        K = np.empty((X.shape[0], X.shape[0] if Z is None else Z.shape[0]))
        type(self).value_leaf(*self._arguments(X, Z), Z is None, K)
        return mirror(K) if Z is None else K

    def fill(self, X: Array, out: Array, room: Array) -> None:
        if self.categories:
            return self._fill_mixed(X, out)
        if out.dtype == np.float32:  # only differences from the last row matter
            S = scaled_columns(X - X[:, -1:], self.length_scale)
            S = np.clip(S, -1e15, 1e15).astype(np.float32)  # so that squares are finite
        else:
            nearest = np.abs(X).argmin(axis=1, keepdims=True)
            S = scaled_columns(X - np.take_along_axis(X, nearest, axis=1), self.length_scale)
        ST, values = np.ascontiguousarray(S.transpose(0, 2, 1)), [self.variance, *self._shapes()]
        with np.errstate(over="ignore"):  # a variance beyond single precision is useless here
            scalars = [out.dtype.type(value) for value in values]
        for own, ownT, K in zip(S, ST, out):
            type(self).value_leaf(own, ownT, *scalars, True, K)

    def _fill_mixed(self, X: Array, out: Array) -> None:
        """Fill with kernels of numbers and codes."""
        values = [self.variance, *self._shapes()]
        with np.errstate(over="ignore"):  # a variance beyond single precision is useless here
            scalars = [out.dtype.type(value) for value in values]
        for own, K in zip(X.astype(float, copy=False), out):
            if out.dtype == np.float32:
                Zs = self._near(own, own[-1])
                Xs = self._with_coarse_mismatches(Zs, own.shape[1])
            else:
                Xs, Zs = self._mixed(own, None)
            type(self).value_leaf(Xs, np.ascontiguousarray(Zs.T), *scalars, True, K)

    def to(self, Z: Array) -> To:
        return Scaled.of(self, Z)

    def coarse_parts(self, X: Array, parts: Sequence[Array]) -> Iterator[Array]:
        X = X.astype(float, copy=False)
        origin = nearest_to_zero(X)
        Xs = self._with_coarse_mismatches(self._near(X, origin), X.shape[1])
        values = [self.variance, *self._shapes()]
        with np.errstate(over="ignore"):  # a variance beyond single precision is useless here
            scalars = [np.float32(value) for value in values]
        room = np.empty(X.shape[0] * max((len(Z) for Z in parts), default=0), dtype=np.float32)
        for Z in parts:
            K = room[: X.shape[0] * len(Z)].reshape(X.shape[0], len(Z))
            ZT = np.ascontiguousarray(self._near(Z, origin).T)
            type(self).value_leaf(Xs, ZT, *scalars, False, K)
            yield K

    def _near(self, X: Array, origin: Array) -> Array:
        """(X − origin)/length in single precision, clipped so that squares are finite."""
        if not self.categories:
            with np.errstate(over="ignore", under="ignore"):
                return np.clip((X - origin) / self.length_scale, -1e15, 1e15).astype(np.float32)
        numbers, codes = self._order(X.shape[1])
        length, S = np.broadcast_to(self.length_scale, (X.shape[1],)), np.empty(X.shape, np.float32)
        with np.errstate(over="ignore", under="ignore"):
            own = (X[:, numbers] - origin[numbers]) / length[numbers]
        S[:, : len(numbers)] = np.clip(own, -1e15, 1e15)
        given = np.fmod(X[:, codes], 2.0**24)  # whole numbers stay whole
        S[:, len(numbers) :] = np.where(np.isnan(given), -1.0, given)
        return S

    def _with_coarse_mismatches(self, Xs: Array, d: int) -> Array:
        """Append what a mismatch of each code adds to D, in single precision."""
        if not self.categories:
            return Xs
        length = np.broadcast_to(self.length_scale, (d,))[list(self.categories)]
        more = np.minimum(np.maximum(length, 1e-15) ** -2.0, 1e30).astype(np.float32)
        return np.hstack([Xs, np.broadcast_to(more, (Xs.shape[0], more.size))])

    def vjp(self, X: Array, Z: Array | None, K_bar: Array) -> Array:
        length_bar = np.zeros(X.shape[1])
        bars = type(self).vjp_leaf(*self._arguments(X, Z), Z is None, K_bar, length_bar)
        variance_bar, *shape_bars = bars if self.shapes else (bars,)
        if self.categories:
            numbers, codes = self._order(X.shape[1])
            length_bar = length_bar[np.argsort(numbers + codes)]
        return self.gradient(
            variance=variance_bar, length_scale=length_bar, **dict(zip(self.shapes, shape_bars))
        )

    def reach(self, gaps: Array) -> Array:
        """k at the gaps, since the profile falls with distance."""
        return self.value(np.zeros((1, gaps.shape[1])), gaps)[0]

    def inverse_squares(self, d: int) -> Array:
        found = self._squares(d).copy()
        found[self._order(d)[1]] = 0.0
        return found

    def embeddings(self, d: int) -> tuple[Levels, ...]:
        if not self.categories:
            return ()
        squares = np.minimum(self._squares(d), 1e304)
        return tuple(Levels((k,), float(squares[k])) for k in self._order(d)[1])

    def _squares(self, d: int) -> Array:
        return self.variance / np.broadcast_to(np.asarray(self.length_scale) ** 2, (d,))


@dataclass(frozen=True, eq=False)
class Scaled(To):
    """x ↦ K(x, Z) row by row, with Z divided by length scales; Z itself is not kept."""

    origin: Array  # of the columns of numbers
    ZT: Array  # (d, n)

    @classmethod
    def of(cls, kernel: Stationary, Z: Array) -> Scaled:
        Z = Z.astype(float, copy=False)
        origin = nearest_to_zero(Z[:, kernel._order(Z.shape[1])[0]])
        return cls(kernel, Z[:0], origin, np.ascontiguousarray(kernel._table(Z, origin).T))

    @property
    def nbytes(self) -> int:
        return self.ZT.nbytes

    def __call__(self, X: Array) -> Array:
        own, K = self.kernel, np.empty((X.shape[0], self.ZT.shape[1]))
        if own.categories:
            Xs = own._with_mismatches(own._table(X, self.origin), X.shape[1])
        else:
            Xs = scaled_columns(X - self.origin, own.length_scale)
        type(own).value_leaf(Xs, self.ZT, own.variance, *own._shapes(), False, K)
        return K
