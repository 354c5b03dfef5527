"""Planes and cells: rows bisected at medians, axis by axis, ties broken by row number.

Rows are compared by (value, row number), so that every median cuts into two halves of known sizes
however many values are equal, and the halves do not depend on the order in which rows came. If
equal rows must share a bucket, a hash of their values replaces row numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Planes:
    """A full binary tree of planes: plane i has the children 2i + 1 and 2i + 2, then buckets."""

    axis: Array  # (2ˡ − 1,)
    value: Array  # (2ˡ − 1,)  in the type of X
    id: Array  # (2ˡ − 1,)  rows of equal value go right from this number on

    def buckets(self, X: Array, ids: Array) -> Array:
        """Find the bucket of each row."""
        node = np.zeros(len(X), np.int64)
        each = np.arange(len(X))
        while node.size and node[0] < self.axis.size:
            x, v = X[each, self.axis[node]], self.value[node]
            node = 2 * node + 1 + ((x > v) | ((x == v) & (ids >= self.id[node])))
        return node - self.axis.size


def spreads(X: Array) -> Array:
    """Spread of each column of a sample: from its 10 % to its 90 % quantile, or its range."""
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
        # the smallest of the right half by (value, row number)
        values = X[rows[right], axis]
        first = rows[right[np.argmin(values)]]
        planes.axis[i], planes.value[i], planes.id[i] = axis, X[first, axis], ids[first]
        parts[2 * i + 1], parts[2 * i + 2] = rows[left], rows[right]
    return planes


def bisect(X: Array, spread: Array, cell_rows: int) -> list[Array]:
    """Cut rows, sorted by row number, into cells of about this many, neighbours side by side."""
    found: list[Array] = []
    columns = np.ascontiguousarray(X.T)  # contiguous columns: ranges are quick to compute
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
