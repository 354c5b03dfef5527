"""CV+ (Barber, Candès, Ramdas and Tibshirani 2021): intervals from rows held out in folds.

A row i of fold k has the score s_i under the model of the other folds, whose interval at a query x
has the ends l_k(x), u_k(x) and the unit v_k(x). With r = ⌈c(n + 1)⌉ the upper end at x is the r-th
smallest of u_k(x) + s_i v_k(x) over all rows, the lower end minus the r-th smallest of
s_i v_k(x) − l_k(x). If each fold's model has seen nothing of its fold, these cover with a
probability of at least 2c − 1 − 2(1 − 1/K)/(n/K + 1) for K folds (their theorem 4).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..rows.groups import numbered
from .quantiles import rank
from .scores import Ends, in_order

Array = np.ndarray
#: Steps of a bisection: beyond the rounding of ends, except of those that are almost zero.
HALVINGS = 100


def random_folds(n: int, number: int, group: Array | None, rng: np.random.Generator) -> Array:
    """Deal n rows, or their whole groups, to so many folds of about one size at random  (n,)."""
    own = np.arange(n) if group is None else numbered(group)
    each = int(own.max(initial=-1)) + 1
    return rng.permutation(each)[own] % min(number, max(each, 1))


def cross_interval(
    at: Sequence[Ends], scores: Sequence[Array], coverage: float
) -> tuple[Array, Array]:
    """Ends of CV+ intervals; `at`: those of each fold's model at the queries, (q, p) each;
    `scores`: those of the rows of each fold, (n_k, p)."""
    n, p = sum(map(len, scores)), at[0].lower.shape[1]
    r, ends = rank(n, coverage), []
    for j in range(p):
        own = [np.sort(one[:, j]) for one in scores]
        unit = np.stack([one.unit[:, j] for one in at])
        low, high = (
            smallest_of_union(start, unit, own, r)
            for start in (
                np.stack([-one.lower[:, j] for one in at]),
                np.stack([one.upper[:, j] for one in at]),
            )
        )
        ends.append(in_order(-low, high))
    lower, upper = zip(*ends)
    return np.stack(lower, axis=1), np.stack(upper, axis=1)


def smallest_of_union(start: Array, unit: Array, scores: Sequence[Array], r: int) -> Array:
    """The r-th smallest of start[k] + unit[k]·s over all s of scores[k] and all k, by bisection.

    start, unit (K, q), scores sorted; infinite where fewer than r are finite. Needs the memory of
    the arguments, not that of q times all scores  (q,).
    """
    finite = [one[np.isfinite(one)] for one in scores]
    if sum(map(len, finite)) < r:
        return np.full(start.shape[1], np.inf)
    parts = [part for part in zip(start, unit, finite) if part[2].size]
    low = np.min([a + b * s[0] for a, b, s in parts], axis=0)
    low = np.nextafter(low, -np.inf)  # fewer than r are at most `low`, r or more at most `high`
    high = np.max([a + b * s[-1] for a, b, s in parts], axis=0)
    for _ in range(HALVINGS):
        middle = low + 0.5 * (high - low)
        if not ((low < middle) & (middle < high)).any():
            break
        below = sum(np.searchsorted(s, (middle - a) / b, side="right") for a, b, s in parts)
        enough = below >= r
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high
