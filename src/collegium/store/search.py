"""Compiled search for the nearest rows: boxes of cells by distance, then their rows.

The distance of a box is computed as that of its nearest point, step by step in the same order
as that of a row. Each step rounds monotonically, so a box is never farther than its rows, to the
last bit, and no compiler flag may reorder or contract these sums.
"""

from typing import Any

import numpy as np

from ..numerics.compiling import compiled

Array = np.ndarray
_loop: Any = compiled(error_model="numpy")


@_loop
def hierarchy(low, high):
    """Boxes of a binary tree over cells in their order: low, high, right.

    The left child of node i is i + 1, the right one right[i]; right[i] = −1 − c is cell c.
    """
    m, d = low.shape
    lows, highs = np.empty((2 * m - 1, d)), np.empty((2 * m - 1, d))
    right, length = np.empty(2 * m - 1, np.int64), np.empty(2 * m - 1, np.int64)
    first = np.empty(2 * m - 1, np.int64)
    first[0], length[0] = 0, m
    for i in range(2 * m - 1):
        a, n = first[i], length[i]
        if n == 1:
            right[i] = -1 - a
            lows[i], highs[i] = low[a], high[a]
        else:
            half = n // 2
            right[i] = i + 2 * half
            first[i + 1], length[i + 1] = a, half
            first[right[i]], length[right[i]] = a + half, n - half
    for i in range(2 * m - 2, -1, -1):
        if right[i] >= 0:
            lows[i] = np.minimum(lows[i + 1], lows[right[i]])
            highs[i] = np.maximum(highs[i + 1], highs[right[i]])
    return lows, highs, right


@_loop
def _box_distance(z, w, low, high, i):
    total = 0.0
    for k in range(z.size):
        t = max(low[i, k] - z[k], z[k] - high[i, k])
        if t > 0.0:
            total += t * t * w[k]
    return total


@_loop
def _push_node(bounds, nodes, n, bound, node):
    """Add to a heap with the least bound on top."""
    i = n
    while i > 0 and bounds[(i - 1) // 2] > bound:
        bounds[i], nodes[i] = bounds[(i - 1) // 2], nodes[(i - 1) // 2]
        i = (i - 1) // 2
    bounds[i], nodes[i] = bound, node
    return n + 1


@_loop
def _pop_node(bounds, nodes, n):
    """Take the top off; the size afterwards."""
    n -= 1
    bound, node = bounds[n], nodes[n]
    i = 0
    while 2 * i + 1 < n:
        j = 2 * i + 1
        if j + 1 < n and bounds[j + 1] < bounds[j]:
            j += 1
        if bounds[j] >= bound:
            break
        bounds[i], nodes[i] = bounds[j], nodes[j]
        i = j
    bounds[i], nodes[i] = bound, node
    return n


@_loop
def _after(D, I, i, j):
    """Whether row i comes after row j: farther, or as far with a larger number."""
    return D[i] > D[j] or (D[i] == D[j] and I[i] > I[j])


@_loop
def _swap(D, I, P, i, j):
    D[i], D[j] = D[j], D[i]
    I[i], I[j] = I[j], I[i]
    P[i], P[j] = P[j], P[i]


@_loop
def _sift_up(D, I, P, i):
    while i > 0 and _after(D, I, i, (i - 1) // 2):
        _swap(D, I, P, i, (i - 1) // 2)
        i = (i - 1) // 2


@_loop
def _sift_down(D, I, P, n):
    """Restore a heap with the last row on top."""
    i = 0
    while 2 * i + 1 < n:
        j = 2 * i + 1
        if j + 1 < n and _after(D, I, j + 1, j):
            j += 1
        if not _after(D, I, j, i):
            break
        _swap(D, I, P, i, j)
        i = j


@_loop
def _scan(z, w, X, id, dead, span, best):
    """Offer the rows of one cell; how many rows are kept then."""
    D, I, P, n = best
    a, b, offset = span
    worst = D[0] if n == D.size else np.inf
    for r in range(a, b):
        total = 0.0
        for k in range(z.size):
            t = X[r, k] - z[k]
            total += t * t * w[k]
        if total > worst or (dead.size > 0 and dead[r]):
            continue
        if n < D.size:
            D[n], I[n], P[n] = total, id[r], offset + r
            _sift_up(D, I, P, n)
            n += 1
        elif total < D[0] or id[r] < I[0]:
            D[0], I[0], P[0] = total, id[r], offset + r
            _sift_down(D, I, P, n)
        if n == D.size:
            worst = D[0]
    return n


@_loop
def search(queries, w, most, tree, rows, offset, found):
    """Offer the rows of one segment to the k best of each query, nearest boxes first."""
    low, high, right, start = tree
    X, id, dead = rows
    D, I, P, count = found
    bounds, nodes = np.empty(start.size + 1), np.empty(start.size + 1, np.int64)
    for q in range(queries.shape[0]):
        z = queries[q]
        cells = 0
        size = _push_node(bounds, nodes, 0, _box_distance(z, w, low, high, 0), 0)
        while size > 0 and cells < most:
            bound, i = bounds[0], nodes[0]
            size = _pop_node(bounds, nodes, size)
            full = count[q] == D.shape[1]
            if full and bound > D[q, 0]:
                break
            if right[i] < 0:
                c = -1 - right[i]
                span = start[c], start[c + 1], offset
                count[q] = _scan(z, w, X, id, dead, span, (D[q], I[q], P[q], count[q]))
                cells += 1
                continue
            for child in (i + 1, right[i]):
                bound = _box_distance(z, w, low, high, child)
                if not full or bound <= D[q, 0]:
                    size = _push_node(bounds, nodes, size, bound, child)


@_loop
def sort_found(found):
    """Turn heaps into rows by (distance, row number); −1 and ∞ where there are fewer."""
    D, I, P, count = found
    for q in range(count.size):
        for n in range(count[q] - 1, 0, -1):
            _swap(D[q], I[q], P[q], 0, n)
            _sift_down(D[q], I[q], P[q], n)
        D[q, count[q] :] = np.inf
        P[q, count[q] :] = -1
