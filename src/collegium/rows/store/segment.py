"""One sorted run of rows on disk, and its cells as chunks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from .records import Schema, pack
from .search import hierarchy
from .tuning import TUNING

Array = np.ndarray
_NONE_DEAD = np.empty(0, np.bool_)


@dataclass(frozen=True, eq=False)
class Segment:
    """Rows cell by cell, mapped into memory; a copy in another process maps them again."""

    path: Path
    X: Array  # (n, d)
    y: Array  # (n, p)
    w: Array  # (n,)
    id: Array  # (n,)  row numbers
    start: Array  # cells are [start[c], start[c + 1])  (m + 1,)
    low: Array  # their boxes  (m, d)
    high: Array
    dead: Array  # whether each row is forgotten  (n,), or empty: none is

    @classmethod
    def open(cls, path: Path, tombstones: Array) -> Segment:
        X, y, w, id = (
            np.asarray(np.load(path / f"{name}.npy", mmap_mode="r"))
            for name in ("X", "y", "w", "id")
        )
        with np.load(path / "cells.npz") as cells:
            start, low, high = (cells[name] for name in ("start", "low", "high"))
        return cls(path, X, y, w, id, start, low, high, among(id, tombstones))

    def __reduce__(self) -> tuple:
        return Segment.open, (self.path, np.sort(self.id[self.dead]) if self.dead.size else ())

    def __len__(self) -> int:
        return len(self.id)

    @property
    def alive(self) -> int:
        return len(self) - int(np.count_nonzero(self.dead))

    @property
    def number(self) -> int:
        return int(self.path.name.split("-")[1])

    @cached_property
    def tree(self) -> tuple[Array, Array, Array, Array]:
        """The tree that `search_segment` walks through."""
        low, high = self.low.astype(np.float64), self.high.astype(np.float64)
        return (*hierarchy(low, high), self.start)

    def records(self) -> Iterator[Array]:
        """Yield all rows that are not forgotten, in slices."""
        schema = Schema.of(self.X, self.y, self.w)
        step = max(1, TUNING.slice_bytes // schema.dtype.itemsize)
        for a in range(0, len(self), step):
            own = slice(a, a + step)
            found = pack(schema, self.X[own], self.y[own], self.w[own], self.id[own])
            yield found[~self.dead[own]] if self.dead.size else found

    def cell(self, c: int) -> slice | Array:
        """Positions of the rows of a cell that are not forgotten."""
        a, b = int(self.start[c]), int(self.start[c + 1])
        return a + np.flatnonzero(~self.dead[a:b]) if self.dead.size else slice(a, b)


def among(id: Array, tombstones: Array) -> Array:
    """Whether each row number is among the tombstones (ascending)  (n,); empty: none is."""
    if len(tombstones) == 0:
        return _NONE_DEAD
    dead = np.zeros(len(id), np.bool_)
    step = TUNING.slice_bytes // 8
    for a in range(0, len(id), step):
        own = id[a : a + step]
        place = np.minimum(np.searchsorted(tombstones, own), len(tombstones) - 1)
        dead[a : a + step] = np.asarray(tombstones)[place] == own
    return dead if dead.any() else _NONE_DEAD


@dataclass(frozen=True, eq=False)
class StoredCell:
    """Rows of a cell that are not forgotten, read from disk when they are needed."""

    id: tuple[int, int]  # numbers of the segment and of the cell
    n: int
    segment: Segment
    number: int  # among the cells of all segments

    @property
    def ids(self) -> Array:
        """Numbers of its rows."""
        return np.asarray(self.segment.id[self.segment.cell(self.id[1])])

    def load(self) -> tuple[Array, Array, Array]:
        own, rows = self.segment.cell(self.id[1]), self.segment
        return np.array(rows.X[own]), np.array(rows.y[own]), np.array(rows.w[own])
