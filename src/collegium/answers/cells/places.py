"""Places of cells: around rows, or boxes where there are few coordinates.

The cell of a query depends on the query and the rows alone, in the coordinates of a metric. A
cell has a name: a tuple of whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from ...rows import partition
from ...rows.metric import Metric
from ...rows.nearest import Nearby, nearest
from ..tuning import TUNING
from .around import best_ranks, in_cell, nearest_by_scan

Array = np.ndarray
Name = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class AroundRows:
    """Assigns a query to the cell of the nearest centre; centres are rows."""

    near: Nearby
    X: Array  # centres  (c, d)

    @classmethod
    def of(cls, metric: Metric, X: Array) -> AroundRows:
        return cls(Nearby.of(metric, X), X)

    def names(self, X: Array) -> tuple[list[Name], Array]:
        """Names of the cells of queries, and the number of each query's cell among them  (q,)."""
        own = self.near.nearest(X, 1)[:, 0]
        found, number = np.unique(own, return_inverse=True)
        return [(int(i),) for i in found], number.reshape(-1)

    def nearest(self, rows: Nearby, name: Name, k: int) -> Array:
        """Find the k rows nearest to the centre, nearest first."""
        n, own = len(rows), self.X[name[0] : name[0] + 1]
        if rows.among is not None or n > TUNING.cells.scanned * k:
            return rows.nearest(own, k)[0]
        return nearest_by_scan(rows.tree.data, rows.metric.forward(own)[0], min(k, n))

    def shared(self, rows: Nearby, name: Name, k: int, most: int, without: Array) -> Array:
        """Find k rows: first the `most` nearest to each row in the cell, these in turn, then those
        nearest to the centre. Rows `without` do not count as rows in the cell."""
        tuning = TUNING.cells
        found = self.nearest(rows, name, min(tuning.candidates * k, len(rows)))
        S, rank = rows.tree.data[found], np.empty(found.size, dtype=np.int64)
        inside = self._inside(name, S) & ~np.isin(found, without)
        best_ranks(S, np.flatnonzero(inside)[: tuning.members], most, rank)
        return found[np.argsort(rank, kind="stable")[:k]]

    def inside(self, name: Name, X: Array) -> Array:
        """Whether queries are in a cell, by the distance to the centres around it  (q,)."""
        return self._inside(name, self.near.metric.forward(X))

    def _inside(self, name: Name, S: Array) -> Array:
        centres, inside = self.near.tree.data, np.empty(S.shape[0], dtype=bool)
        number = min(TUNING.cells.borders, len(self.near))
        around = nearest_by_scan(centres, centres[name[0]], number)
        around = np.concatenate([[name[0]], around[around != name[0]]])  # itself first
        in_cell(S, centres[around], inside)
        return inside

    def strange(self, X: Array) -> Array:
        """Whether queries have a level that the centre of their cell lacks, and its rows may lack
        too  (q,)."""
        columns = self.near.metric.level_columns()
        if not columns:
            return np.zeros(X.shape[0], dtype=bool)
        own = self.X[self.near.nearest(X, 1)[:, 0]]
        return (own[:, columns] != X[:, columns]).any(axis=1)


def random_centres(metric: Metric, X: Array, size: int) -> Array:
    """Draw one row of `size`, and one row of every level that none of them has  (c, d).

    Rows in the middle of clusters would be slightly better, but nearer to the other rows than to
    new ones: the errors of held-out rows would be too small.
    """
    n, rng = X.shape[0], np.random.default_rng(0)
    chosen = rng.choice(n, partition.n_parts(n, size), replace=False)
    order = rng.permutation(n)
    for column in metric.level_columns():
        levels, first = np.unique(X[order, column], return_index=True)
        chosen = np.union1d(chosen, order[first[~np.isin(levels, X[chosen, column])]])
    return X[np.sort(chosen)]


@dataclass(frozen=True, eq=False)
class Boxes:
    """A cube around all rows, halved in every coordinate until it is small: see `reach`."""

    metric: Metric
    tree: cKDTree  # of all rows
    k: int  # nearest rows that give the depth
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
        """Names are the level and the place of the box at that level; see `AroundRows.names`."""
        S, tuning = self._forward(X), TUNING.cells
        found: dict[Name, int] = {}
        number, waiting = np.empty(S.shape[0], dtype=int), np.arange(S.shape[0])
        for level in range(tuning.levels + 1):
            place = _place(S[waiting], level)
            first_of, own = _distinct(place)
            names = [(level, *map(int, place[i])) for i in first_of]
            reach = 0.5 * np.sqrt(S.shape[1]) * self.side / 2.0**level
            done = (reach <= tuning.reach * self._depths(names)) | (level == tuning.levels)
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

    def shared(self, rows: Nearby, name: Name, k: int, most: int, without: Array) -> Array:
        return self.nearest(rows, name, k)  # a box is small

    def inside(self, name: Name, X: Array) -> Array:
        return (_place(self._forward(X), name[0]) == np.array(name[1:])).all(axis=1)

    def strange(self, X: Array) -> Array:
        return np.zeros(X.shape[0], dtype=bool)

    def _forward(self, X: Array) -> Array:
        """Coordinates in sides of the first cube."""
        far = TUNING.cells.far
        return np.clip((self.metric.forward(X) - self.low) / self.side, -far, far)

    def _centres(self, names: Sequence[Name]) -> Array:
        """Centres of boxes  (c, e)."""
        each = np.array(names, dtype=float)
        return self.low + (each[:, 1:] + 0.5) * (self.side / 2.0 ** each[:, :1])

    def _depths(self, names: Sequence[Name]) -> Array:
        """Distance of the farthest of the k rows minus that of the nearest  (c,)."""
        with self.lock:
            if len(self.depths) > TUNING.cells.remembered:
                self.depths.clear()
            new = [name for name in names if name not in self.depths]
            if new:
                far, _ = self.tree.query(self._centres(new), k=[1, self.k])
                self.depths.update(zip(new, (far[:, 1] - far[:, 0]).tolist()))
            return np.array([self.depths[name] for name in names])


def _distinct(place: Array) -> tuple[Array, Array]:
    """One position of each distinct row of whole numbers, and the number of each row  (q,).

    It works column by column, which is faster than sorting rows.
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
    return metric.width <= TUNING.cells.few_coordinates and not metric.embeddings
