"""A function of all columns on a grid of two of them, tile by tile.

The grid is never held as rows: a tile of it is, and the arrays of the answers are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..numerics.memory import refuse_beyond_machine

Array = np.ndarray
Answers = Mapping[str, Array]
#: Points of a tile.
POINTS = 65_536
#: Arrays of numbers that one answer has: mean, sd, lower, upper, and one to write.
ARRAYS = 5


@dataclass(frozen=True, eq=False)
class Side:
    """Values of one column along a side of a grid."""

    name: str
    column: int  # among the columns of numbers that a model sees
    values: Array  # (k,), as a model sees them
    labels: Array | None = None  # (k,), as users see them; None: the values

    def __len__(self) -> int:
        return self.values.size

    @property
    def coordinates(self) -> Array:
        return self.values if self.labels is None else self.labels


@dataclass(frozen=True, eq=False)
class Grid:
    """Points whose columns vary along axes, the last of them fastest; others are held.

    Axes are (y, x), or (by, y, x) with a slice for each value of a third column.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = Side("east", 0, np.arange(3.0)), Side("north", 2, np.array([5.0, 6.0]))
    >>> grid = Grid((y, x), held=np.array([0.0, 7.0, 0.0]))
    >>> grid.shape
    (2, 3)
    >>> on_grid(grid, lambda X: {"sum": X.sum(axis=1)})["sum"]
    array([[12., 13., 14.],
           [13., 14., 15.]])
    """

    axes: tuple[Side, ...]
    held: Array  # (d,): values of the other columns

    def __post_init__(self) -> None:
        columns = [axis.column for axis in self.axes]
        if len(set(columns)) < len(columns):
            twice = next(one.name for one in self.axes if columns.count(one.column) > 1)
            raise ValueError(f"the column {twice!r} is named for two axes: name another for one")

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(len, self.axes))

    @property
    def n(self) -> int:
        return prod(self.shape)

    def rows(self, tile: tuple[slice, ...]) -> Array:
        """Points of a tile, in the order of its cells  (k, d)."""
        values = [axis.values[part] for axis, part in zip(self.axes, tile)]
        X = np.empty((*map(len, values), self.held.size))
        X[...] = self.held
        for place, (axis, own) in enumerate(zip(self.axes, values)):
            X[..., axis.column] = own.reshape(-1, *[1] * (len(values) - 1 - place))
        return X.reshape(-1, self.held.size)

    def tiles(self, points: int | None = None) -> Iterator[tuple[slice, ...]]:
        """Rectangles of at most so many points (None: `POINTS`) that cover the grid, about as high
        as wide: rows near each other answer them."""
        points = POINTS if points is None else points
        *slices, high, wide = self.shape
        side = max(int(points**0.5), 1)
        rows = min(high, max(side, points // max(wide, 1)))
        columns = max(points // max(rows, 1), 1)
        for at in np.ndindex(*slices):
            first = tuple(slice(k, k + 1) for k in at)
            for top in range(0, high, rows):
                for left in range(0, wide, columns):
                    yield (*first, slice(top, top + rows), slice(left, left + columns))


def on_grid(
    grid: Grid,
    ask: Callable[[Array], Answers],
    *,
    points: int | None = None,
    done: Callable[[Any], None] = lambda tile: None,
) -> dict[str, Array]:
    """Arrays of the shape of the grid from `ask(X)`, one number per row of X (k, d) and name.

    Memory: the arrays, and what `ask` takes for so many points.
    """
    refuse_beyond_machine(
        8.0 * ARRAYS * grid.n, f"a map of {' × '.join(map(str, grid.shape))} points",
        "give a larger step or a smaller region",
    )  # fmt: skip
    found: dict[str, Array] = {}
    for tile in grid.tiles(points):
        X = grid.rows(tile)
        for name, values in ask(X).items():
            if name not in found:
                found[name] = np.empty(grid.shape, dtype=values.dtype)
            part = found[name][tile]
            part[...] = values.reshape(part.shape)
        done(tile)
    return found
