"""Rows of a cell: first those nearest to the rows in it, then those nearest to its centre.

In many columns the rows nearest to a query at the border of a cell are seldom among those nearest
to its centre. But they are near some row of the cell.
"""

from __future__ import annotations

import numpy as np

from ...kernels.stationary.leaves import summing_leaf

Array = np.ndarray


def nearest_by_scan(S: Array, s: Array, k: int) -> Array:
    """Numbers of the k rows of S (n, e) nearest to s (e,), nearest first; ties by number  (k,).

    For many of few rows this takes less time than a tree.
    """
    D = np.empty(S.shape[0])
    squares_from(S, s, D)
    if k >= D.size:
        return np.argsort(D, kind="stable")
    first = np.flatnonzero(D <= np.partition(D, k - 1)[k - 1])
    return first[np.argsort(D[first], kind="stable")[:k]]


@summing_leaf
def squares_from(S, s, out):
    """|sᵢ − s|²  (n,)."""
    for i in range(S.shape[0]):
        total = 0.0
        for c in range(S.shape[1]):
            t = S[i, c] - s[c]
            total += t * t
        out[i] = total


@summing_leaf
def in_cell(S, centres, out):
    """Whether the first of the centres is the nearest to each row of S  (n,)."""
    for i in range(S.shape[0]):
        own = 0.0
        for c in range(S.shape[1]):
            t = S[i, c] - centres[0, c]
            own += t * t
        out[i] = True
        for j in range(1, centres.shape[0]):
            other = 0.0
            for c in range(S.shape[1]):
                t = S[i, c] - centres[j, c]
                other += t * t
            if other < own:
                out[i] = False
                break


@summing_leaf
def best_ranks(S, members, most, rank):
    """rank[i] = the least place of row i among the `most` rows of S nearest to a member; `most`
    where it is among none of them."""
    D, at = np.empty(most), np.empty(most, np.int64)
    rank[:] = most
    for r in range(members.size):
        D[:] = np.inf
        for i in range(S.shape[0]):
            own = 0.0
            for c in range(S.shape[1]):
                t = S[i, c] - S[members[r], c]
                own += t * t
            if own < D[most - 1]:
                j = most - 1
                while j > 0 and D[j - 1] > own:
                    D[j], at[j] = D[j - 1], at[j - 1]
                    j -= 1
                D[j], at[j] = own, i
        for j in range(most):
            if D[j] < np.inf and j < rank[at[j]]:
                rank[at[j]] = j
