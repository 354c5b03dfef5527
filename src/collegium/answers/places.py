"""Where cells are: around rows, or boxes where there are few coordinates.

Both tell the cell of a query from the query and the rows alone, and a cell's centre, in the
coordinates of a metric. A cell has a name: a tuple of whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from ..rows import partition
from ..rows.metric import Metric
from ..rows.nearest import Nearby, nearest

Array = np.ndarray
#: Rows around one centre, and coordinates up to which cells are boxes.
SIZE, FEW_COORDINATES = 40, 3
#: A box reaches from its centre at most so far, as a share of the depth of the rows that variances
#: are made of: from the nearest of them to the last. Far from all rows, as in a gap, that is thin.
REACH = 0.75
#: Halvings of the first box, at most; it counts as so many times as wide for far queries.
LEVELS, FAR = 40, 2.0**20
#: Boxes whose depth is remembered.
REMEMBERED = 100_000

Name = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class AroundRows:
    """A query is in the cell of the nearest centre; centres are rows, one for SIZE of them."""

    near: Nearby
    X: Array  # centres  (c, d)

    @classmethod
    def of(cls, metric: Metric, X: Array) -> AroundRows:
        return cls(Nearby.of(metric, X), X)

    def names(self, X: Array) -> tuple[list[Name], Array]:
        """The cells of queries, and the number of each query's cell among them  (q,)."""
        own = self.near.nearest(X, 1)[:, 0]
        found, number = np.unique(own, return_inverse=True)
        return [(int(i),) for i in found], number.reshape(-1)

    def nearest(self, rows: Nearby, name: Name, k: int) -> Array:
        """The k rows nearest to the centre, nearest first."""
        return rows.nearest(self.X[name[0] : name[0] + 1], k)[0]

    def inside(self, name: Name, X: Array) -> Array:
        """Whether queries are in a cell  (q,)."""
        return self.near.nearest(X, 1)[:, 0] == name[0]

    def strange(self, X: Array) -> Array:
        """Whether queries have a level that the centre of their cell has not: its rows may have
        none of it  (q,)."""
        columns = self.near.metric.level_columns()
        if not columns:
            return np.zeros(X.shape[0], dtype=bool)
        own = self.X[self.near.nearest(X, 1)[:, 0]]
        return (own[:, columns] != X[:, columns]).any(axis=1)


def centres(metric: Metric, X: Array) -> Array:
    """Random rows, one for SIZE of them, and one of every level that none of these has  (c, d).

    Rows in the middle of clusters would be better by little, but nearer to the other rows than to
    new ones: these others, left out, would show errors that are too small.
    """
    n, rng = X.shape[0], np.random.default_rng(0)
    chosen = rng.choice(n, partition.n_parts(n, SIZE), replace=False)
    order = rng.permutation(n)
    for column in metric.level_columns():
        levels, first = np.unique(X[order, column], return_index=True)
        chosen = np.union1d(chosen, order[first[~np.isin(levels, X[chosen, column])]])
    return X[np.sort(chosen)]


@dataclass(frozen=True, eq=False)
class Boxes:
    """A cube about all rows, halved in every coordinate until `REACH` holds for the k rows."""

    metric: Metric
    tree: cKDTree  # of all rows
    k: int
    low: Array  # corner of the first cube  (e,)
    side: float
    depths: dict[Name, float] = field(default_factory=dict)
    lock: Any = field(default_factory=Lock)

    @classmethod
    def of(cls, metric: Metric, tree: cKDTree, k: int) -> Boxes:
        low, high = tree.mins, tree.maxes
        side = float((high - low).max()) or 1.0
        return cls(metric, tree, k, low - 1e-6 * side, side * (1.0 + 2e-6))

    def names(self, X: Array) -> tuple[list[Name], Array]:
        """As those of `AroundRows`: the level and the place of the box at that level."""
        S = self._forward(X)
        found: dict[Name, int] = {}
        number, waiting = np.empty(S.shape[0], dtype=int), np.arange(S.shape[0])
        for level in range(LEVELS + 1):
            place = _place(S[waiting], level)
            first_of, own = _distinct(place)
            names = [(level, *map(int, place[i])) for i in first_of]
            reach = 0.5 * np.sqrt(S.shape[1]) * self.side / 2.0**level
            done = (reach <= REACH * self._depths(names)) | (level == LEVELS)
            first = len(found)
            found.update({names[i]: first + j for j, i in enumerate(np.flatnonzero(done))})
            at = np.cumsum(done) - 1 + first
            ready = done[own]
            number[waiting[ready]] = at[own[ready]]
            waiting = waiting[~ready]
            if not waiting.size:
                break
        return list(found), number

    def nearest(self, rows: Nearby, name: Name, k: int) -> Array:
        return nearest(self.tree, self._centres([name]), k)[0]

    def inside(self, name: Name, X: Array) -> Array:
        return (_place(self._forward(X), name[0]) == np.array(name[1:])).all(axis=1)

    def strange(self, X: Array) -> Array:
        return np.zeros(X.shape[0], dtype=bool)

    def _forward(self, X: Array) -> Array:
        """In units of the first cube."""
        return np.clip((self.metric.forward(X) - self.low) / self.side, -FAR, FAR)

    def _centres(self, names: Sequence[Name]) -> Array:
        """(c, e)."""
        each = np.array(names, dtype=float)
        return self.low + (each[:, 1:] + 0.5) * (self.side / 2.0 ** each[:, :1])

    def _depths(self, names: Sequence[Name]) -> Array:
        """How much farther the last of the k rows is than the first  (c,)."""
        with self.lock:
            if len(self.depths) > REMEMBERED:
                self.depths.clear()
            new = [name for name in names if name not in self.depths]
            if new:
                far, _ = self.tree.query(self._centres(new), k=[1, self.k])
                self.depths.update(zip(new, (far[:, 1] - far[:, 0]).tolist()))
            return np.array([self.depths[name] for name in names])


def _distinct(place: Array) -> tuple[Array, Array]:
    """One position of each distinct row of whole numbers, and the number of each row's  (q,).

    Column by column, which is quicker than to sort rows.
    """
    number = np.zeros(place.shape[0], dtype=np.int64)
    for column in place.T:
        values, own = np.unique(column, return_inverse=True)
        number = np.unique(number * values.size + own.reshape(-1), return_inverse=True)[1]
        number = number.reshape(-1)
    first = np.empty(int(number.max(initial=-1)) + 1, dtype=np.int64)
    first[number[::-1]] = np.arange(place.shape[0])[::-1]
    return first, number


def _place(S: Array, level: int) -> Array:
    """Places of boxes at a level  (q, e)."""
    return np.floor(S * 2.0**level).astype(np.int64)


def few_coordinates(metric: Metric) -> bool:
    return metric.width <= FEW_COORDINATES and not metric.embeddings
