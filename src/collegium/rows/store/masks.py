"""Marks of forgotten rows, a bit for each row."""

from __future__ import annotations

import numpy as np

from .tuning import TUNING

Array = np.ndarray
#: Nothing is forgotten.
NONE_DEAD = np.empty(0, np.uint8)
_ONES = np.array([bin(k).count("1") for k in range(256)], np.uint8)


def marked(mask: Array, a: int, b: int) -> Array:
    """Whether each of the rows [a, b) is marked  (b − a,)."""
    if not mask.size:
        return np.zeros(max(0, b - a), np.bool_)
    first = a >> 3
    bits = np.unpackbits(mask[first : (b + 7) >> 3], bitorder="little")
    return bits[a - 8 * first : b - 8 * first].view(np.bool_)


def marked_at(mask: Array, rows: Array) -> Array:
    """Whether each of some rows is marked."""
    if not mask.size:
        return np.zeros(rows.shape, np.bool_)
    return (mask[rows >> 3] >> (rows & 7).astype(np.uint8) & 1).view(np.bool_)


def count_marked(mask: Array) -> int:
    """Count the rows that are marked."""
    return int(_ONES[mask].sum(dtype=np.int64))


def mask_of(id: Array, tombstones: Array, from_row: int | None = None) -> Array:
    """Mark the row numbers that are among the tombstones (ascending), or are `from_row` or above.

    Empty where none is.
    """
    if len(tombstones) == 0 and from_row is None:
        return NONE_DEAD
    mask, some = np.zeros((len(id) + 7) >> 3, np.uint8), False
    step = TUNING.slice_bytes // 64 * 8  # whole bytes of the mask
    for a in range(0, len(id), step):
        own = np.asarray(id[a : a + step])
        dead = among(own, tombstones) if from_row is None else own >= from_row
        if from_row is not None and len(tombstones):
            dead |= among(own, tombstones)
        some = some or bool(dead.any())
        mask[a >> 3 : (a + own.size + 7) >> 3] = np.packbits(dead, bitorder="little")
    return mask if some else NONE_DEAD


def among(id: Array, tombstones: Array) -> Array:
    """Whether each row number is among the tombstones (ascending)."""
    if not len(tombstones):
        return np.zeros(len(id), np.bool_)
    place = np.minimum(np.searchsorted(tombstones, id), len(tombstones) - 1)
    return np.asarray(tombstones)[place] == id
