"""Kernels of columns of few values, each of which has a number of its own in place of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ...numerics.records import record
from ..base import Kernel
from ..columns import Wrapped
from ..embedding import Embedding

Array = np.ndarray


@record("kernels.step_values/1")
@dataclass(frozen=True, eq=False)
class StepValues:
    """A number for each known value of one column; linear between them, constant beyond."""

    column: int
    values: Array  # ascending  (L,)
    numbers: Array  # (L,)

    def __call__(self, x: Array) -> Array:
        """Numbers of values of the column  (n,)."""
        return np.interp(x, self.values, self.numbers)


@record("kernels.step_points/1")
@dataclass(frozen=True, eq=False)
class StepPoints(Embedding):
    """Values of one column at their numbers."""

    width = 1

    steps: StepValues | None = None

    def forward(self, X: Array) -> Array:
        assert self.steps is not None
        return self.steps(X[:, self.columns[0]])[:, None]

    def backward(self, P: Array) -> Array:
        assert self.steps is not None
        nearest = np.abs(P[:, :1] - self.steps.numbers[None, :]).argmin(axis=1)
        return self.steps.values[nearest][:, None]


@dataclass(frozen=True, eq=False, repr=False)
class Stepped(Wrapped):
    """k(s(x)): a kernel of x in which numbers take the place of the values of some columns.

    Ratings and other columns of few whole numbers often act by steps: 0 may mean "no answer", and
    4 and 5 nearly the same. A number for each value tells which are alike. Learning finds them for
    classes (`laplace.steps`), where they improve held-out predictions.

    Parameters
    ----------
    kernel : Kernel
        A kernel of the columns of X; its length scales are in units of the numbers.
    steps : sequence of StepValues
        Numbers of the values of columns, which are given by position.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium.kernels import RBF, Stepped
    >>> from collegium.kernels.wrapped.stepped import StepValues
    >>> rating = StepValues(0, values=np.array([0.0, 1.0, 2.0]), numbers=np.array([1.0, -1.0, 1.0]))
    >>> Stepped(RBF(), [rating]).value(np.array([[0.0], [1.0], [2.0]])).round(2)
    array([[1.  , 0.14, 1.  ],
           [0.14, 1.  , 0.14],
           [1.  , 0.14, 1.  ]])
    """

    steps: Any  # becomes a tuple

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel={self.kernel!r} of Stepped: give one of collegium.kernels")
        object.__setattr__(self, "steps", tuple(self.steps))

    @property
    def columns(self) -> list[int]:
        """Columns whose values have numbers."""
        return [one.column for one in self.steps]

    def seen(self, X: Array) -> Array:
        """Put numbers in place of values."""
        found = np.array(X, dtype=X.dtype, order="C")
        for one in self.steps:
            found[:, one.column] = one(X[:, one.column])
        return found

    def fill(self, X: Array, out: Array, room: Array) -> None:
        seen = self.seen(X.reshape(-1, X.shape[2]))
        self.kernel.fill(seen.reshape(X.shape), out, room)

    @property
    def labels(self) -> tuple[tuple[str, int], ...]:  # type: ignore[override]
        """Label lengths of numbers as those between levels: both have the unit 1."""
        own = self.columns
        return tuple(
            ("mismatch" if kind == "length" and column in own else kind, column)
            for kind, column in self.kernel.labels
        )

    def for_width(self, d: int) -> Self:
        wrong = [k for k in self.columns if k >= d]
        if wrong:
            raise ValueError(f"steps of Stepped are of column {wrong[0]}, but X has {d} columns")
        return replace(self, kernel=self.kernel.for_width(d))

    def on_columns(self, names: Sequence[str]) -> Self:
        return replace(self, kernel=self.kernel.on_columns(names))

    def on_levels(self, levels: Mapping[int, str]) -> Self:
        others = {k: name for k, name in levels.items() if k not in self.columns}
        return replace(self, kernel=self.kernel.on_levels(others)) if others else self

    def inverse_squares(self, d: int) -> Array:
        found = np.array(self.kernel.inverse_squares(d))
        found[self.columns] = 0.0
        return found

    def embeddings(self, d: int) -> tuple[Embedding, ...]:
        squares = self.kernel.inverse_squares(d)
        own = (
            StepPoints((one.column,), float(squares[one.column]), steps=one) for one in self.steps
        )
        return (*self.kernel.embeddings(d), *own)

    def reach(self, gaps: Array) -> Array:
        """Bound k with all numbers taken as equal."""
        own = np.array(gaps)
        own[:, self.columns] = 0.0
        return self.kernel.reach(own)

    def shown(self, names: Sequence[str] = ()) -> str:
        columns = tuple(names[k] for k in self.columns) if names else self.columns
        return f"Stepped({self.kernel.shown(names)}, steps of columns {columns})"
