"""Compiled search for the nearest rows: boxes of cells by distance, then their rows.

The distance to a box is that to its nearest point, computed by the same steps in the same order
as the distance to a row. Each step rounds monotonically, so a box is never farther than its rows,
to the last bit; no compiler flag may reorder or contract these sums. A column of levels adds to
the distance of a box if the query's code is outside the range of the box. On a globe the distance
to a box is bounded from below, with a margin for rounding.
"""

from typing import Any

import numpy as np

from ...numerics.compiling import compiled
from .checksums import intact

Array = np.ndarray
_loop: Any = compiled(error_model="numpy")
#: Degrees per radian, and the margin for rounding of a bound on a globe, in degrees.
DEGREES, ROOM = 180.0 / np.pi, 1e-9


@_loop
def hierarchy(low, high):
    """Build the boxes of a binary tree over cells in their order: low, high, right.

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
def _box_distance(z, metric, low, high, i):
    w, levels, mismatch, places, chords = metric
    total = 0.0
    for k in range(z.size):
        t = max(low[i, k] - z[k], z[k] - high[i, k])
        if t > 0.0:
            total += t * t * w[k]
    for j in range(levels.size):
        k = levels[j]
        if z[k] < low[i, k] or z[k] > high[i, k]:
            total += mismatch[j]
    for j in range(chords.size):
        a, b = places[j, 0], places[j, 1]
        chord = _chord_to_box(z[a], z[b], (low[i, a], high[i, a]), (low[i, b], high[i, b]))
        total += chord * chord * chords[j]
    return total


@_loop
def _chord_to_box(longitude, latitude, across, up):
    """Bound the chord, in degrees, to any place of a box from below."""
    if min(latitude, up[0]) < -90.0 or max(latitude, up[1]) > 90.0:
        return 0.0
    angle = max(0.0, up[0] - latitude, latitude - up[1])
    east = (longitude - across[0]) % 360.0
    width = across[1] - across[0]
    if east > width:  # outside: at least as far as the nearer of two meridians
        turn = min(east - width, 360.0 - east)
        side = 90.0 - abs(latitude)
        if turn < 90.0:
            sine = np.cos(latitude / DEGREES) * np.sin(turn / DEGREES)
            side = np.arcsin(min(1.0, max(0.0, sine))) * DEGREES
        angle = max(angle, side)
    chord = 2.0 * DEGREES * np.sin(0.5 * angle / DEGREES)
    return max(0.0, chord * (1.0 - ROOM) - ROOM)


@_loop
def _squared_chord(longitude, latitude, x, y):
    """Squared chord between two places; short chords are in degrees of arc."""
    ours, theirs = latitude / DEGREES, y / DEGREES
    up = np.sin(0.5 * (ours - theirs))
    across = np.sin(0.5 * (longitude - x) / DEGREES)
    return 4.0 * DEGREES * DEGREES * (up * up + np.cos(ours) * np.cos(theirs) * across * across)


@_loop
def _further(z, metric, X, r, total):
    """Add the distances of levels and places to that of row r."""
    _, levels, mismatch, places, chords = metric
    for j in range(levels.size):
        if X[r, levels[j]] != z[levels[j]]:
            total += mismatch[j]
    for j in range(chords.size):
        a, b = places[j, 0], places[j, 1]
        total += max(0.0, _squared_chord(z[a], z[b], X[r, a], X[r, b])) * chords[j]
    return total


@_loop
def _push_node(bounds, nodes, n, bound, node):
    """Add to a heap with the smallest bound on top; return the new size."""
    i = n
    while i > 0 and bounds[(i - 1) // 2] > bound:
        bounds[i], nodes[i] = bounds[(i - 1) // 2], nodes[(i - 1) // 2]
        i = (i - 1) // 2
    bounds[i], nodes[i] = bound, node
    return n + 1


@_loop
def _pop_node(bounds, nodes, n):
    """Remove the top of a heap; return the new size."""
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
    """Say whether row i comes after row j: farther, or as far with a larger number."""
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
def _scan(z, metric, X, id, dead, span, best):
    """Offer the rows of one cell; return the number of rows kept, and whether any might be new."""
    D, I, P, n = best
    a, b, offset = span
    met = False
    w, more = metric[0], metric[1].size + metric[4].size > 0
    worst = D[0] if n == D.size else np.inf
    for r in range(a, b):
        total = 0.0
        for k in range(z.size):
            t = X[r, k] - z[k]
            total += t * t * w[k]
        if more:
            total = _further(z, metric, X, r, total)
        if total > worst or (dead.size > 0 and dead[r >> 3] >> (r & 7) & 1):
            continue
        met = True
        if n < D.size:
            D[n], I[n], P[n] = total, id[r], offset + r
            _sift_up(D, I, P, n)
            n += 1
        elif total < D[0] or id[r] < I[0]:
            D[0], I[0], P[0] = total, id[r], offset + r
            _sift_down(D, I, P, n)
        if n == D.size:
            worst = D[0]
    return n, met


@_loop
def search_segment(queries, metric, most, tree, rows, offset, found):
    """Offer the rows of one segment to the k best of each query, nearest boxes first.

    Cells are compared with their checksums when they are first visited: returns 2c where the
    inputs of cell c are damaged, 2c + 1 where its row numbers are, and −1 where none are.
    """
    low, high, right, start = tree
    X, id, dead, X_guard, ids_guard = rows
    D, I, P, count = found
    bounds, nodes = np.empty(start.size + 1), np.empty(start.size + 1, np.int64)
    for q in range(queries.shape[0]):
        z = queries[q]
        cells = 0
        size = _push_node(bounds, nodes, 0, _box_distance(z, metric, low, high, 0), 0)
        while size > 0 and cells < most:
            bound, i = bounds[0], nodes[0]
            size = _pop_node(bounds, nodes, size)
            full = count[q] == D.shape[1]
            if full and bound > D[q, 0]:
                break
            if right[i] < 0:
                c = -1 - right[i]
                if not intact(X_guard, c):
                    return 2 * c
                span = start[c], start[c + 1], offset
                best = D[q], I[q], P[q], count[q]
                count[q], met = _scan(z, metric, X, id, dead, span, best)
                if met and not intact(ids_guard, c):
                    return 2 * c + 1
                cells += 1
                continue
            for child in (i + 1, right[i]):
                bound = _box_distance(z, metric, low, high, child)
                if not full or bound <= D[q, 0]:
                    size = _push_node(bounds, nodes, size, bound, child)
    return -1


@_loop
def sort_found(found):
    """Turn heaps into rows sorted by (distance, row number); pad with −1 and ∞."""
    D, I, P, count = found
    for q in range(count.size):
        for n in range(count[q] - 1, 0, -1):
            _swap(D[q], I[q], P[q], 0, n)
            _sift_down(D[q], I[q], P[q], n)
        D[q, count[q] :] = np.inf
        P[q, count[q] :] = -1
