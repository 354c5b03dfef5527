"""The rows nearest to a query."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from ..numerics.compiling import compiled
from .metric import Metric
from .tuning import TUNING

Array = np.ndarray


def nearest(tree: cKDTree, Xs: Array, k: int) -> Array:
    """The k rows nearest to each query, nearest first  (n, k)."""
    _, index = tree.query(Xs, k=k)
    return np.atleast_1d(index).reshape(Xs.shape[0], k)


def nearest_others(X: Array, rows: Array, k: int) -> Array:
    """The k other rows nearest to each of some rows (q,), nearest first  (q, k)."""
    found = nearest(cKDTree(X), X[rows], k + 1)
    own = found == rows[:, None]
    own[~own.any(axis=1), -1] = True  # not found among its duplicates: drop the farthest
    return found[~own].reshape(rows.size, k)


@dataclass(frozen=True, eq=False)
class AmongLevels:
    """Rank candidates by the kernel's own distance, if many levels have random directions.

    These directions bring some pairs of levels nearer than others, which the kernel does not. So a
    tree without them gives candidates too, and the nearest of all candidates are taken.
    """

    tree: cKDTree  # of the exact coordinates
    S: Array  # exact coordinates of all rows  (n, e)
    codes: Array  # (n, c)
    squares: Array  # squared distance of a mismatch  (c,)

    @classmethod
    def of(cls, metric: Metric, X: Array, S: Array) -> AmongLevels | None:
        """Index rows; None if all coordinates are exact."""
        columns, squares, exact = metric.many_levels()
        if not columns:
            return None
        own = np.ascontiguousarray(S[:, exact])
        return cls(cKDTree(own), own, X[:, columns], np.array(squares))

    def nearest(self, metric: Metric, Xs: Array, first: Array, k: int) -> Array:
        """The k nearest of the candidates `first` and of those of the tree  (n, k)."""
        columns, _, exact = metric.many_levels()
        Ss = metric.forward(Xs)[:, exact]
        found = np.sort(np.hstack([first, nearest(self.tree, Ss, first.shape[1])]), axis=1)
        D = np.empty(found.shape)
        distances_among(self.S, self.codes, self.squares, Ss, Xs[:, columns], found, D)
        return np.take_along_axis(found, lowest_positions(D, k), axis=1)

    def scanned(self, metric: Metric, Xs: Array, k: int) -> Array:
        """The k nearest of all rows, nearest first, ties by number  (n, k)."""
        columns, _, exact = metric.many_levels()
        Ss, found = metric.forward(Xs)[:, exact], np.empty((Xs.shape[0], k), dtype=np.int64)
        ST, used, codes = self._columns
        scan(ST, codes, self.squares, Ss[:, used], Xs[:, columns], found)
        return found

    @cached_property
    def _columns(self) -> tuple[Array, Array, Array]:
        """Coordinates that differ between rows, one by one; which they are; and codes."""
        used = np.flatnonzero(np.ptp(self.S, axis=0) > 0.0)
        return tuple(np.ascontiguousarray(one) for one in (self.S[:, used].T, used, self.codes.T))  # type: ignore[return-value]


@compiled(error_model="numpy", fastmath={"contract", "nsz", "reassoc"})
def distances_among(S, codes, squares, Ss, own, found, D):
    """D[i, j] = |sᵢ − S[r]|² + Σ squares of codes that differ, r = found[i, j], ascending; ∞ where
    r comes again."""
    for i in range(Ss.shape[0]):
        at = found[i]
        for j in range(at.size):
            r = at[j]
            if j and at[j - 1] == r:
                D[i, j] = np.inf
                continue
            total = 0.0
            for c in range(S.shape[1]):
                t = Ss[i, c] - S[r, c]
                total += t * t
            for c in range(squares.size):
                if own[i, c] != codes[r, c]:
                    total += squares[c]
            D[i, j] = total


@compiled(error_model="numpy", fastmath={"contract", "nsz", "reassoc"})
def scan(ST, codes, squares, Ss, own, found):
    """Fill `found` (q, k) with the k rows nearest to each query, by |s − S[r]|² + Σ squares of
    codes that differ. One distance in some bounds those that have to be sorted."""
    n, k, block = ST.shape[1], found.shape[1], 1024
    D, at = np.zeros((Ss.shape[0], n)), np.empty(n, np.int64)
    for start in range(0, n, block):  # some rows at a time, which stay in the cache
        end = min(start + block, n)
        for i in range(Ss.shape[0]):
            own_D = D[i, start:end]
            for c in range(ST.shape[0]):
                s, row = Ss[i, c], ST[c, start:end]
                for r in range(end - start):
                    t = s - row[r]
                    own_D[r] += t * t
            for c in range(squares.size):
                code, more, row = own[i, c], squares[c], codes[c, start:end]
                for r in range(end - start):
                    own_D[r] += 0.0 if row[r] == code else more
    step = max(1, n // 512)
    for i in range(Ss.shape[0]):
        some = np.sort(D[i, ::step])
        bound = some[min(some.size - 1, (4 * k) // (3 * step) + 8)]
        count = 0
        for r in range(n):
            if D[i, r] <= bound:
                at[count] = r
                count += 1
        if count < k:
            count = n
            for r in range(n):
                at[r] = r
        order = np.argsort(D[i][at[:count]], kind="mergesort")
        for j in range(k):
            found[i, j] = at[order[j]]


def lowest_positions(D: Array, k: int) -> Array:
    """Positions of the k lowest values of each row, lowest first  (n, k)."""
    if k < D.shape[1]:
        at = np.sort(np.argpartition(D, k - 1, axis=1)[:, :k], axis=1)
    else:
        at = np.broadcast_to(np.arange(D.shape[1]), D.shape)
    order = np.argsort(np.take_along_axis(D, at, axis=1), axis=1, kind="stable")
    return np.take_along_axis(at, order, axis=1)


@dataclass(frozen=True, eq=False)
class Nearby:
    """Find the rows in memory nearest in a metric."""

    metric: Metric
    tree: cKDTree
    among: AmongLevels | None = None

    @classmethod
    def of(cls, metric: Metric, X: Array) -> Nearby:
        S = metric.forward(X)
        return cls(metric, cKDTree(S), AmongLevels.of(metric, X, S))

    def __len__(self) -> int:
        return self.tree.n

    def nearest(self, Xs: Array, k: int) -> Array:
        """Numbers of the k rows nearest to each query, nearest first  (n, k)."""
        if self.among is None:
            return nearest(self.tree, self.metric.forward(Xs), k)
        more = min(TUNING.candidates * k, self.tree.n)
        parts = [Xs[i : i + TUNING.batch] for i in range(0, Xs.shape[0], TUNING.batch)]
        if parts and self.tree.n <= TUNING.scanned + TUNING.scanned_more * k:
            return np.concatenate([self.among.scanned(self.metric, part, k) for part in parts])
        return np.concatenate(
            [
                self.among.nearest(
                    self.metric, part, nearest(self.tree, self.metric.forward(part), more), k
                )
                for part in parts
            ]
        )
