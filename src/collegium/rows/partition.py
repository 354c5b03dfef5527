"""Rules that cut rows into chunks: each returns a list of arrays of row numbers, each row once.

X is given in the kernel's metric (columns divided by length scales). Clusters have the local
density of the data, so that noise and function can be separated within a chunk.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from .order import without_constants
from .tuning import TUNING

Array = np.ndarray
#: Smallest range of coordinates.
TINY = 1e-290


def balanced(X: Array, size: int, rng: np.random.Generator) -> list[Array]:
    """Clusters of equal size (to one row) by repeated bisection along the widest direction."""
    n_chunks = n_parts(X.shape[0], size)
    if n_chunks == 1:
        return [np.arange(X.shape[0])]
    X = without_constants(X)
    done: list[Array] = []
    waiting = [(np.arange(X.shape[0]), n_chunks)]
    width = float(np.abs(X - X.mean(axis=0)).max(initial=TINY))
    unit = np.exp2(np.ceil(np.log2(width)) - TUNING.steps)
    while waiting:
        rows, parts = waiting.pop()
        if parts == 1:
            done.append(rows)
            continue
        left = parts // 2
        low = lowest(np.round(_along_widest(X[rows]) / unit), rows.size * left // parts)
        waiting.append((rows[~low], parts - left))
        waiting.append((rows[low], left))
    return done


def lowest(values: Array, count: int) -> Array:
    """Whether each value is among the lowest `count`; among equal ones the first count  (n,)."""
    if count >= values.size:
        return np.ones(values.size, dtype=bool)
    limit = np.partition(values, count)[count]
    low = values < limit
    low[np.flatnonzero(values == limit)[: count - np.count_nonzero(low)]] = True
    return low


def some_clusters(X: Array, size: int, count: int, rng: np.random.Generator) -> list[Array]:
    """Draw at most `count` of the balanced clusters at random."""
    groups = balanced(X, size, rng)
    pick = rng.choice(len(groups), min(count, len(groups)), replace=False)
    return [groups[i] for i in np.sort(pick)]


def _along_widest(X: Array) -> Array:
    """Coordinates along the direction of largest variance."""
    centred = X - X.mean(axis=0)
    if X.shape[1] == 1:
        return centred[:, 0]
    _, vectors = np.linalg.eigh(centred.T @ centred)
    direction = vectors[:, -1]
    return centred @ (direction * np.sign(direction[np.abs(direction).argmax()]))


def kmeans_clusters(X: Array, size: int, rng: np.random.Generator) -> list[Array]:
    """K-means clusters of `size` rows on average; larger ones are cut into balanced parts."""
    X = without_constants(X)
    n_chunks = min(n_parts(X.shape[0], size), max(1, distinct(X)[0].shape[0]))
    from sklearn.cluster import MiniBatchKMeans  # slow to import, rarely needed

    model = MiniBatchKMeans(
        n_chunks, n_init=1, max_iter=30, random_state=int(rng.integers(2**31 - 1)),
        batch_size=max(1024, 3 * n_chunks),
    )  # fmt: skip
    groups = []
    for rows in by_label(model.fit_predict(X)):
        groups += [rows[part] for part in balanced(X[rows], 2 * size, rng)]
    return groups


def random_samples(X: Array, size: int, rng: np.random.Generator) -> list[Array]:
    """Equal-sized random samples."""
    order = rng.permutation(X.shape[0])
    return [np.sort(rows) for rows in np.array_split(order, n_parts(X.shape[0], size))]


def by_time(X: Array, size: int, rng: np.random.Generator) -> list[Array]:
    """Equal-sized runs of rows in the order given."""
    return np.array_split(np.arange(X.shape[0]), n_parts(X.shape[0], size))


def by_label(labels: Array) -> list[Array]:
    """One chunk per distinct label, in the order of the labels."""
    _, inverse = np.unique(labels, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    return np.split(order, np.cumsum(np.bincount(inverse))[:-1])


def first_of_equals(table: Array) -> tuple[Array, Array]:
    """Positions of the first row of each value, sorted by value, and for every row the number of
    its value.

    Equivalent to `np.unique(table, axis=0)`, whose comparison turns an interrupt into a TypeError.
    """
    order = np.lexsort(table.T[::-1])
    ranked = table[order]
    new = np.ones(order.size, dtype=bool)
    new[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    number = np.empty(order.size, dtype=int)
    number[order] = np.cumsum(new) - 1
    return order[new], number


def distinct(X: Array) -> tuple[Array, Array]:
    """The distinct rows, sorted, and the position of each row among them."""
    first, where = first_of_equals(X)
    return X[first], where


def blocks(n: int, size: int) -> list[slice]:
    """Slices of `size` rows, in order, that cover n rows."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def n_parts(n: int, size: int) -> int:
    """Number of chunks of at most `size` rows that hold n rows."""
    return max(1, -(-n // size))


RULES: dict[str, Callable[[Array, int, np.random.Generator], list[Array]]] = {
    "balanced": balanced,
    "kmeans": kmeans_clusters,
    "random": random_samples,
    "time": by_time,
}


def deal(points: Array, M: int, rule: str, rng: np.random.Generator) -> list[Array]:
    """Deal row numbers into exactly M groups, by one of RULES."""
    size = Fraction(points.shape[0], M)  # so that n / size is M exactly
    groups = RULES[rule](points, size, rng)  # type: ignore[arg-type]
    while len(groups) < M:  # k-means may give fewer clusters, or more
        groups.sort(key=len)
        largest = groups.pop()
        halves = balanced(points[largest], -(-largest.size // 2), rng)
        groups += [largest[half] for half in halves]
    while len(groups) > M:
        groups.sort(key=len)
        groups = [np.sort(np.concatenate(groups[:2])), *groups[2:]]
    return groups


def chunk_groups(X: Array, rule: str, size: int, rng: np.random.Generator) -> list[Array]:
    """Group rows by rule; unknown rules mean by time."""
    return RULES.get(rule, by_time)(X, size, rng)


def evenly_spaced(n: int, most: int) -> Array:
    """Evenly spaced positions of at most `most` of n rows."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).astype(int)
