"""Shapley values of a function of rows over a background sample.

The value of a coalition S of columns is v(S) = mean over background rows b of f(x_S, b_rest): the
columns in S are those of the row x, the others those of b. Contributions of columns are

    φ_j = Σ_{S without j} |S|! (d − |S| − 1)! / d! · (v(S + j) − v(S)),

which add up to f(x) − mean f(b). They are means over all orders of the columns of what each adds
when it joins those before it (Shapley 1953); a path is one order and one background row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np

Array = np.ndarray
Groups = Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class MixedPoints:
    """Points to ask about, φ = A f(points): the same coalitions and donors for every row x."""

    of_x: Array  # whether each column is that of x  (s, d)
    donor: Array  # number of the background row that has the others  (s,)
    A: Array  # (d, s)

    def points(self, x: Array, background: Array, groups: Groups) -> Array:
        """Rows to ask about for one x  (s, D)."""
        found = background[self.donor]
        for j, own in enumerate(groups):
            at = list(own)
            found[:, at] = np.where(self.of_x[:, j, None], x[at], found[:, at])
        return found


def all_coalitions(d: int, n: int) -> MixedPoints:
    """Every coalition of d columns with each of n background rows: exact."""
    of_x = (np.arange(2**d)[:, None] >> np.arange(d)) % 2 == 1
    size = of_x.sum(axis=1)
    with_j = np.array([factorial(max(s - 1, 0)) * factorial(d - s) for s in range(d + 1)])
    without = np.array([factorial(s) * factorial(max(d - s - 1, 0)) for s in range(d + 1)])
    A = np.where(of_x, with_j[size][:, None], -without[size][:, None]).T / factorial(d)
    return MixedPoints(np.tile(of_x, (n, 1)), np.repeat(np.arange(n), 2**d), np.tile(A, n) / n)


@dataclass(frozen=True, eq=False)
class Orders:
    """Random orders of d columns, each with its reverse, and a background row for each pair."""

    order: Array  # the column that joins at each step  (paths, d)
    donor: Array  # background row of each path  (paths,)
    repeats: int  # pairs of each background row, one after the other

    @classmethod
    def drawn(cls, d: int, n: int, repeats: int, rng: np.random.Generator) -> Orders:
        """Draw `repeats` antithetic pairs for each of n background rows."""
        one = rng.permuted(np.tile(np.arange(d), (n * repeats, 1)), axis=1)
        order = np.stack([one, one[:, ::-1]], axis=1).reshape(-1, d)
        return cls(order, np.repeat(np.arange(n), 2 * repeats), repeats)

    def inner(self) -> Array:
        """Whether each column is that of x, after 1 … d − 1 columns have joined
        (paths, d − 1, d)."""
        rank = np.argsort(self.order, axis=1)  # when each column joins
        return rank[:, None, :] < np.arange(1, self.order.shape[1])[:, None]

    def contributions(self, start: Array, inner: Array, end: float) -> Array:
        """List what each column adds along each path, by f at its ends and between  (paths, d)."""
        last = np.full((start.size, 1), end)
        steps = np.diff(np.column_stack([start, inner, last]), axis=1)
        return np.take_along_axis(steps, np.argsort(self.order, axis=1), axis=1)

    def averaged(self, each: Array) -> tuple[Array, Array]:
        """Contributions (paths, d) averaged, and the standard error due to the random orders
        (d,), (d,): the background is fixed, so that only pairs of one background row differ by
        chance. A single pair is taken as two independent orders, which is rather too large: an
        order and its reverse tend to miss on opposite sides."""
        both = each.reshape(-1, self.repeats, 2, each.shape[1])
        pairs = both.mean(axis=2)
        n, r = pairs.shape[:2]
        if r < 2:  # as if an order and its reverse were drawn independently
            half = 0.5 * (both[:, 0, 0] - both[:, 0, 1])
            return each.mean(axis=0), np.sqrt((half**2).sum(axis=0)) / n
        square = pairs.var(axis=1, ddof=1).sum(axis=0) / (r * n**2)
        return each.mean(axis=0), np.sqrt(square)

    def design(self) -> MixedPoints:
        """The points of all paths, as a linear map."""
        paths, d = self.order.shape
        start, full = np.zeros((paths, 1, d), bool), np.ones((paths, 1, d), bool)
        of_x = np.concatenate([start, self.inner(), full], axis=1)
        A = np.zeros((d, paths, d + 1))
        at, step = np.arange(paths)[:, None], np.arange(d)
        A[self.order, at, step] -= 1.0 / paths
        A[self.order, at, step + 1] += 1.0 / paths
        donor = np.repeat(self.donor, d + 1)
        return MixedPoints(of_x.reshape(-1, d), donor, A.reshape(d, -1))


def distinct_points(design: MixedPoints, points: Array) -> tuple[Array, Array]:
    """Distinct points, and the map from f there: A with the columns of equal points added up."""
    distinct, at = np.unique(points, axis=0, return_inverse=True)
    A = np.zeros((design.A.shape[0], distinct.shape[0]))
    np.add.at(A.T, at.reshape(-1), design.A.T)
    return distinct, A


Function = Callable[[Array], Array]


def by_coalitions(f: Function, X: Array, background: Array, groups: Groups, most: int) -> Array:
    """Exact contributions of each row, from all coalitions; at most about `most` points are in
    memory at a time  (n, d)."""
    design = all_coalitions(len(groups), background.shape[0])
    found = np.empty((X.shape[0], len(groups)))
    for rows in _parts(X.shape[0], design.donor.size, most):
        points = [design.points(x, background, groups) for x in X[rows]]
        found[rows] = f(np.concatenate(points)).reshape(len(points), -1) @ design.A.T
    return found


def by_orders(
    f: Function, X: Array, background: Array, groups: Groups, orders: Orders, most: int
) -> tuple[Array, Array]:
    """Contributions of each row averaged over random orders, and their standard errors
    (n, d), (n, d)."""
    d, paths = len(groups), orders.donor.size
    inner = MixedPoints(
        orders.inner().reshape(-1, d), np.repeat(orders.donor, d - 1), np.empty((d, 0))
    )  # fmt: skip
    start, end = f(background)[orders.donor], f(X)
    found, error = np.empty((2, X.shape[0], d))
    for rows in _parts(X.shape[0], inner.donor.size, most):
        points = [inner.points(x, background, groups) for x in X[rows]]
        values = f(np.concatenate(points)) if d > 1 else np.empty(0)
        for i, own in zip(range(rows.start, rows.stop), values.reshape(len(points), paths, d - 1)):
            found[i], error[i] = orders.averaged(orders.contributions(start, own, end[i]))
    return found, error


def _parts(n: int, points: int, most: int) -> list[slice]:
    """Slices of rows that together have about `most` points."""
    step = max(1, most // max(points, 1))
    return [slice(k, min(k + step, n)) for k in range(0, n, step)]
