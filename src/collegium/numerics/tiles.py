"""Queries in tiles of one size, so that an answer does not depend on the queries beside it.

Matrix products and triangular solves round differently for different numbers of columns: BLAS
has special loops for one column and for the columns left over at the end. Here every call has
TILE queries, the last ones padded with copies. All places in a tile round alike, since TILE is a
multiple of the widths of those loops. So a query has the same answer, to the last bit, alone and
in any batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

Array = np.ndarray
#: A larger tile slows down a single query; a smaller one, many queries.
TILE = 32


def tiles(X: Array) -> Iterator[Array]:
    """Yield TILE rows of X at a time; the last tile is padded with copies of its first row."""
    for start in range(0, X.shape[0], TILE):
        part = X[start : start + TILE]
        if part.shape[0] < TILE:
            part = np.concatenate([part, np.repeat(part[:1], TILE - part.shape[0], axis=0)])
        yield part


def by_tiles(answer: Callable[[Array], tuple[Array, ...]], X: Array) -> tuple[Array, ...]:
    """answer(X), arrays of one row per query, computed tile by tile."""
    if X.shape[0] == 0:
        return answer(X)
    parts = zip(*(answer(tile) for tile in tiles(X)))
    return tuple(np.concatenate(each)[: X.shape[0]] for each in parts)
