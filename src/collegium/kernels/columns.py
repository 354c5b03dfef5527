"""Kernels of some columns of X, by position or by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from .base import Kernel, To, as_columns, find_columns
from .embedding import Embedding

Array = np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Wrapped(Kernel):
    """k(g(x), g(x′)): a kernel of features g of x, which a subclass defines (`seen`)."""

    atomic = True
    registry: ClassVar[list[type[Wrapped]]] = []

    kernel: Kernel

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        Wrapped.registry.append(cls)

    def seen(self, X: Array) -> Array:
        """g(x) for each row."""
        raise TypeError("abstract kernel")

    @property
    def theta(self) -> Array:  # type: ignore[override]
        return self.kernel.theta

    def with_theta(self, theta: Array) -> Self:
        return replace(self, kernel=self.kernel.with_theta(theta))

    def times(self, factors: Array) -> Self:
        return replace(self, kernel=self.kernel.times(factors))

    def scaled(self, factor: float) -> Self:
        return replace(self, kernel=self.kernel.scaled(factor))

    def value(self, X: Array, Z: Array | None = None) -> Array:
        return self.kernel.value(self.seen(X), None if Z is None else self.seen(Z))

    def coarse_parts(self, X: Array, parts: Sequence[Array]) -> Iterator[Array]:
        return self.kernel.coarse_parts(self.seen(X), [self.seen(Z) for Z in parts])

    def diag(self, X: Array) -> Array:
        return self.kernel.diag(self.seen(X))

    def sample(self, X: Array, n_samples: int, rng: np.random.Generator) -> Array:
        return self.kernel.sample(self.seen(X), n_samples, rng)

    def vjp(self, X: Array, Z: Array | None, K_bar: Array) -> Array:
        return self.kernel.vjp(self.seen(X), None if Z is None else self.seen(Z), K_bar)

    def diag_vjp(self, X: Array, d_bar: Array) -> Array:
        return self.kernel.diag_vjp(self.seen(X), d_bar)


@dataclass(frozen=True, eq=False)
class SeenTo(To):
    """x ↦ K(g(x), g(Z)), for features that one row has whatever the others are, to the last bit."""

    own: To

    @property
    def nbytes(self) -> int:
        return self.own.nbytes

    def __call__(self, X: Array) -> Array:
        return self.own(self.kernel.seen(X))


@dataclass(frozen=True, eq=False, repr=False)
class On(Wrapped):
    """k of some columns of X alone: `Matern32(columns=…)` is `On(Matern32(), columns=…)`.

    Parameters
    ----------
    kernel : Kernel
        A kernel of the chosen columns, in the order in which they are given.
    columns : int, str or list of these
        Positions in X, or names, which an estimator looks up in `feature_names_in_` when it is
        fitted, and `on_columns` in any list of names.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium.kernels import Linear, Matern12, Matern32
    >>> kernel = Matern32(columns=["lon", "lat"]) * Matern12(columns="day") + Linear(columns=3)
    >>> kernel.on_columns(["day", "lon", "lat", "height"]).value(np.zeros((2, 4))).shape
    (2, 2)
    """

    atomic = False

    columns: Any  # becomes a tuple
    positions: tuple[int, ...] | None = None  # of the columns in X, once they are known

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel={self.kernel!r} of On: give one of collegium.kernels")
        chosen = as_columns(self.columns, f"columns of {self._name()}")
        if not chosen:
            raise ValueError(f"columns of {self._name()}: give at least one")
        object.__setattr__(self, "columns", chosen)
        if self.positions is None and all(isinstance(one, int) for one in chosen):
            object.__setattr__(self, "positions", chosen)

    def fill(self, X: Array, out: Array, room: Array) -> None:
        seen = self.seen(X.reshape(-1, X.shape[2]))
        self.kernel.fill(seen.reshape(*X.shape[:2], -1), out, room)

    def to(self, Z: Array) -> To:
        return SeenTo(self, Z[:0], self.kernel.to(self.seen(Z)))

    def _name(self) -> str:
        return type(self.kernel).__name__

    def _at(self, d: int) -> list[int]:
        """Positions among d columns."""
        if self.positions is None:
            raise ValueError(
                f"columns={self._shown()} of {self._name()} are names, but X came without names of "
                "columns: give X as a data frame, or positions"
            )
        if max(self.positions) >= d:
            raise ValueError(
                f"columns={self._shown()} of {self._name()}, but X has {d} columns, counted from 0"
            )
        return list(self.positions)

    def seen(self, X: Array) -> Array:
        return np.ascontiguousarray(X[:, self._at(X.shape[1])])

    def on_columns(self, names: Sequence[str]) -> Self:
        at = find_columns(self.columns, names, f"columns of {self._name()}")
        inner = self.kernel.on_columns([names[k] for k in at if k < len(names)])
        own = tuple(names[k] if isinstance(c, str) else c for c, k in zip(self.columns, at))
        return replace(self, kernel=inner, columns=own, positions=at)

    def on_levels(self, levels: Mapping[int, str]) -> Self:
        at: Any = self.positions or ()
        own = {k: levels[column] for k, column in enumerate(at) if column in levels}
        return replace(self, kernel=self.kernel.on_levels(own)) if own else self

    @property
    def labels(self) -> tuple[tuple[str, int], ...]:  # type: ignore[override]
        at: Any = self.positions or range(len(self.columns))
        return tuple((kind, at[column]) for kind, column in self.kernel.labels)

    def for_width(self, d: int) -> Self:
        return replace(self, kernel=self.kernel.for_width(len(self._at(d))))

    def inverse_squares(self, d: int) -> Array:
        at, found = self._at(d), np.zeros(d)
        np.add.at(found, at, self.kernel.inverse_squares(len(at)))
        return found

    def embeddings(self, d: int) -> tuple[Embedding, ...]:
        at = self._at(d)
        return tuple(one.at(at) for one in self.kernel.embeddings(len(at)))

    def reach(self, gaps: Array) -> Array:
        return self.kernel.reach(gaps[:, self._at(gaps.shape[1])])

    def _shown(self) -> str:
        return repr(self.columns[0] if len(self.columns) == 1 else list(self.columns))

    def shown(self, names: Sequence[str] = ()) -> str:
        at = self.positions or ()
        own = [names[k] for k in at] if names else ()
        if not self.kernel.atomic:
            return f"On({self.kernel.shown(own)}, columns={self._shown()})"
        inner: Any = self.kernel
        if codes := getattr(inner, "categories", ()):
            inner = replace(inner, categories=tuple(self.columns[k] for k in codes))
        return f"{inner.shown(own)[:-1]}, columns={self._shown()})"
