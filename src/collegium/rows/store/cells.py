"""Planes and cells: rows bisected at medians, axis by axis, ties broken by row number.

Rows are compared by (value, row number), so that every median cuts in two halves of known sizes
however many values are equal, and the halves do not depend on the order in which rows came. Where
equal rows are to meet in one bucket, a hash of their values takes the place of row numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Planes:
    """A full binary tree of planes: left of plane i is 2i + 1, right 2i + 2, then buckets."""

    axis: Array  # (2ˡ − 1,)
    value: Array  # (2ˡ − 1,)  in the type of X
    id: Array  # (2ˡ − 1,)  equal values go right from this row number on

    def buckets(self, X: Array, ids: Array) -> Array:
        """The bucket of each row."""
        node = np.zeros(len(X), np.int64)
        each = np.arange(len(X))
        while node.size and node[0] < self.axis.size:
            x, v = X[each, self.axis[node]], self.value[node]
            node = 2 * node + 1 + ((x > v) | ((x == v) & (ids >= self.id[node])))
        return node - self.axis.size


def spreads(X: Array) -> Array:
    """What a range of each column is compared with: 10 % to 90 % of a sample, or all of it."""
    ordered = np.sort(X, axis=0).astype(np.float64)
    n = len(X)
    middle = ordered[n - 1 - n // 10] - ordered[n // 10]
    return np.where(middle > 0, middle, ordered[-1] - ordered[0])


def median_planes(X: Array, ids: Array, spread: Array, levels: int) -> Planes:
    """Planes that cut a sample, sorted by row number, into 2^levels equal parts."""
    count = 2**levels - 1
    planes = Planes(np.zeros(count, np.int64), np.zeros(count, X.dtype), np.zeros(count, np.int64))
    parts = {0: np.arange(len(X))}
    for i in range(count):
        rows = parts.pop(i)
        axis = _widest(X[rows].T, spread)
        left, right = _halves(X[rows, axis], len(rows) // 2)
        # the least of the right half by (value, row number)
        values = X[rows[right], axis]
        first = rows[right[np.argmin(values)]]
        planes.axis[i], planes.value[i], planes.id[i] = axis, X[first, axis], ids[first]
        parts[2 * i + 1], parts[2 * i + 2] = rows[left], rows[right]
    return planes


def bisect(X: Array, spread: Array, cell_rows: int) -> list[Array]:
    """Cut rows, sorted by row number, into cells of about this many, neighbours side by side."""
    found: list[Array] = []
    columns = np.ascontiguousarray(X.T)  # each on its own: their ranges are quick to compute
    waiting = [(np.arange(len(X)), columns, max(1, round(len(X) / cell_rows)))]
    while waiting:
        rows, columns, parts = waiting.pop()
        if parts == 1:
            found.append(rows)
            continue
        few = parts // 2
        left, right = _halves(columns[_widest(columns, spread)], rows.size * few // parts)
        for own, count in ((right, parts - few), (left, few)):
            waiting.append((rows[own], np.take(columns, own, axis=1), count))
    return found


def _widest(columns: Array, spread: Array) -> int:
    """The column (d, n) with the largest range, in units of its spread."""
    reach = columns.max(axis=1).astype(np.float64) - columns.min(axis=1).astype(np.float64)
    return int(np.argmax(np.divide(reach, spread, out=np.zeros_like(reach), where=spread > 0)))


def _halves(x: Array, k: int) -> tuple[Array, Array]:
    """Positions of the k smallest by (value, position), and of the others, both ascending."""
    cut = np.partition(x, k)[k]
    left = x < cut
    equal = np.flatnonzero(x == cut)
    left[equal[: k - np.count_nonzero(left)]] = True
    return np.flatnonzero(left), np.flatnonzero(~left)
