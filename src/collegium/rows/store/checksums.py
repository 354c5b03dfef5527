"""Checksums of rows on disk, compared when a cell is first read.

    Σᵢ fold(fold(wordᵢ ⊕ i·A)·B)  (mod 2⁶⁴),  fold(z) = z ⊕ ⌊z/2³²⌋

Every step is one to one, so that a single word that changes always changes the sum; where several
change, or change places, it stays the same only by chance, of about 2⁻⁶⁴. Words are the items of
an array. The loop has no branches, so that it is compiled for several words at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...numerics.compiling import compiled

Array = np.ndarray
_loop: Any = compiled()
_A, _B = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_HALF = np.uint64(32)
_WORDS = {8: np.uint64, 4: np.uint32, 2: np.uint16, 1: np.uint8}


def words(values: Array) -> Array:
    """View the items of an array as whole numbers, in one row."""
    size = values.dtype.itemsize
    own = size if size in _WORDS else next(k for k in _WORDS if size % k == 0)
    return values.reshape(-1).view(_WORDS[own])


@_loop
def checksum(given, first):
    """Sum over words, the first of which is number `first`."""
    total, key = np.uint64(0), np.uint64(first) * _A
    for i in range(given.size):
        z = np.uint64(given[i]) ^ key
        z = (z ^ (z >> _HALF)) * _B
        total += z ^ (z >> _HALF)
        key += _A
    return total


@_loop
def cell_checksums(given, start, width):
    """Checksum of each cell [start[c], start[c + 1]), whose rows have `width` words  (m,)."""
    found = np.empty(start.size - 1, np.uint64)
    for c in range(found.size):
        found[c] = checksum(given[start[c] * width : start[c + 1] * width], 0)
    return found


@_loop
def intact(guard, c):
    """Whether cell c of a file is as it was written; compared when it is first asked for."""
    given, start, sums, seen = guard
    if seen[c] == 0:
        width = given.size // start[-1]
        if checksum(given[start[c] * width : start[c + 1] * width], 0) != sums[c]:
            return False
        seen[c] = 1
    return True


@_loop
def _cell_of(r, start, met):
    """Find the cell of a row; `met`: cells of earlier ones, by middle bits: rows come in crowds."""
    k = (r >> 6) & (met.size - 1)
    c = met[k]
    if r < start[c] or r >= start[c + 1]:
        c = np.searchsorted(start, r, side="right") - 1
        met[k] = c
    return c


@_loop
def first_damaged(guard, rows):
    """Find the first cell, among those of these rows, that is not as it was written; −1: none."""
    met = np.zeros(4096, np.int64)
    for r in rows:
        c = _cell_of(r, guard[1], met)
        if not intact(guard, c):
            return c
    return -1


@_loop
def compare_rows(X, y, w, rows, known):
    """Compare the cells of these rows in three files; return the first damaged one, −1: none."""
    met = np.zeros(4096, np.int64)
    for r in rows:
        c = _cell_of(r, X[1], met)
        if known[c] == 0:
            if not (intact(X, c) and intact(y, c) and intact(w, c)):
                return c
            known[c] = 1
    return -1


@_loop
def first_damaged_between(guard, a, b):
    """Find the first damaged cell of rows [a, b); −1: none."""
    start = guard[1]
    c = np.searchsorted(start, a, side="right") - 1
    while c < start.size - 1 and start[c] < b:
        if not intact(guard, c):
            return c
        c += 1
    return -1


@_loop
def compare_cells(X, y, w, cells, known):
    """Compare cells [a, b) of three files, and mark those that are as they were written."""
    for c in range(cells[0], cells[1]):
        if intact(X, c) and intact(y, c) and intact(w, c):
            known[c] = 1
