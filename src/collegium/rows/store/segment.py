"""One sorted run of rows on disk, and its cells as chunks."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .checksums import compare_cells, compare_rows, first_damaged, first_damaged_between, words
from .masks import NONE_DEAD, count_marked, marked, marked_at, mask_of
from .records import Schema, pack
from .search import hierarchy
from .tuning import TUNING

Array = np.ndarray
#: Files of a segment with one row for each row.
COLUMNS = ("X", "y", "w", "id")
CELLS = "cells.npz"


class DamagedRows(ValueError):
    """Rows differ from their checksums."""


@dataclass(frozen=True, eq=False)
class Segment:
    """Rows cell by cell, mapped into memory; a copy in another process maps them again.

    Read rows by `rows`, `between` and `load_cell`, which compare the checksums of cells.
    """

    path: Path
    schema: Schema
    listed: dict[str, Any]  # its entry in the manifest
    columns: dict[str, Array]  # X (n, d), y (n, p), w (n,) and row numbers id (n,)
    start: Array  # cells are [start[c], start[c + 1])  (m + 1,)
    boxes: tuple[Array, Array]  # of cells: low and high  (m, d)
    guards: dict[str, tuple]  # of each column: words, start, checksums, which were compared
    known: bytearray  # which cells were compared, all but their row numbers
    dead: Array  # bits of forgotten rows; empty: none is

    @classmethod
    def open(
        cls, path: Path, schema: Schema, listed: dict[str, Any], dead: Array = NONE_DEAD
    ) -> Segment:
        """Map the files of a segment, whose sizes were compared with the manifest."""
        n, dtype = listed["rows"], schema.dtype
        columns = {
            name: _mapped(path / f"{name}.npy", dtype[name].base, (n, *dtype[name].shape))
            for name in COLUMNS
        }
        cells = _cells(path / CELLS, listed["sha256"])
        start, sums = cells["start"], cells["sums"]
        seen = np.zeros(sums.shape, np.uint8)
        guards = {
            name: (words(columns[name]), start, sums[k], seen[k]) for k, name in enumerate(COLUMNS)
        }
        boxes = cells["low"], cells["high"]
        known = bytearray(start.size - 1)
        return cls(path, schema, listed, columns, start, boxes, guards, known, dead)

    def __reduce__(self) -> tuple:
        listed = {name: self.listed[name] for name in ("rows", "sha256")}
        return Segment.open, (self.path, self.schema, listed, self.dead)

    def __len__(self) -> int:
        return self.listed["rows"]

    @cached_property
    def alive(self) -> int:
        """Number of rows that are not forgotten."""
        return len(self) - count_marked(self.dead)

    @property
    def number(self) -> int:
        return int(self.path.name.split("-")[1])

    @cached_property
    def tree(self) -> tuple[Array, Array, Array, Array]:
        """The tree that `search_segment` walks through."""
        low, high = (box.astype(np.float64) for box in self.boxes)
        return (*hierarchy(low, high), self.start)

    @property
    def searched(self) -> tuple:
        """Rows and checksums, as `search_segment` takes them."""
        own, guards = self.columns, self.guards
        return own["X"], own["id"], self.dead, guards["X"], guards["id"]

    def hiding(self, tombstones: Array, from_row: int | None = None) -> Segment:
        """Mark rows as forgotten, besides those that are."""
        if not len(tombstones) and from_row is None:
            return self
        self._check_between("id", 0, len(self))
        more = mask_of(self.columns["id"], tombstones, from_row)
        if not more.size:
            return self
        return replace(self, dead=more | self.dead if self.dead.size else more)

    def rows(self, name: str, at: Array) -> Array:
        """Read rows of a column, by their positions."""
        guard = self.guards[name]
        if not guard[3].all():
            self._refuse(name, first_damaged(guard, at.reshape(-1)))
        return self.columns[name][at]

    def whole_rows(self, at: Array) -> tuple[Array, Array, Array]:
        """Read X, y and w of rows, by their positions."""
        X, y, w = (self.guards[name] for name in COLUMNS[:3])
        if 0 in self.known:
            c = compare_rows(X, y, w, at.reshape(-1), np.frombuffer(self.known, np.uint8))
            self._refuse_cell(c)
        own = self.columns
        return own["X"][at], own["y"][at], own["w"][at]

    def between(self, name: str, a: int, b: int) -> Array:
        """Read rows [a, b) of a column."""
        self._check_between(name, a, b)
        return np.asarray(self.columns[name][a:b])

    def _check_between(self, name: str, a: int, b: int) -> None:
        self._refuse(name, first_damaged_between(self.guards[name], a, min(b, len(self))))

    def _refuse(self, name: str, c: int) -> None:
        """Raise an error that names the cell, if it is one."""
        if c >= 0:
            raise DamagedRows(
                f"{self.path / name}.npy is damaged: rows {self.start[c]}–{self.start[c + 1] - 1} "
                f"(cell {c}) differ from their checksum. Put back a copy of the folder "
                f"{self.path.parent}, or delete it and fit again"
            )

    def refuse_found(self, found: int) -> None:
        """Raise an error where `search_segment` met a damaged cell."""
        if found >= 0:
            self._refuse("X" if found % 2 == 0 else "id", found // 2)

    def alive_between(self, a: int, b: int) -> Array:
        """Positions of the rows of [a, b) that are not forgotten."""
        return a + np.flatnonzero(~marked(self.dead, a, min(b, len(self))))

    def alive_at(self, at: Array) -> Array:
        """Keep the positions of rows that are not forgotten."""
        return at[~marked_at(self.dead, at)] if self.dead.size else at

    def slices(self, size: int) -> Iterator[tuple[int, int]]:
        """Cut all rows into slices of rows of so many bytes."""
        step = max(1, TUNING.slice_bytes // size)
        return ((a, min(a + step, len(self))) for a in range(0, len(self), step))

    def records(self) -> Iterator[Array]:
        """Yield all rows that are not forgotten, in slices."""
        for a, b in self.slices(self.schema.dtype.itemsize):
            found = pack(self.schema, *(self.between(name, a, b) for name in COLUMNS))
            yield found[~marked(self.dead, a, b)] if self.dead.size else found

    def cell(self, c: int) -> slice | Array:
        """Positions of the rows of a cell that are not forgotten."""
        a, b = int(self.start[c]), int(self.start[c + 1])
        return self.alive_between(a, b) if self.dead.size else slice(a, b)

    def load_cell(self, c: int) -> tuple[Array, Array, Array]:
        """Read X, y and w of the rows of a cell that are not forgotten."""
        if not self.known[c]:
            self._compare(c)
        rows, own = self.cell(c), self.columns
        return np.array(own["X"][rows]), np.array(own["y"][rows]), np.array(own["w"][rows])

    def _compare(self, c: int) -> None:
        """Compare a cell; where cells are read one after the other, some of the next ones too."""
        ahead = TUNING.cells_ahead if c and self.known[c - 1] else 1
        cells = c, min(c + ahead, len(self.known))
        guards, known = self.guards, np.frombuffer(self.known, np.uint8)
        compare_cells(guards["X"], guards["y"], guards["w"], cells, known)
        self._refuse_cell(-1 if self.known[c] else c)

    def _refuse_cell(self, c: int) -> None:
        """Raise an error that names the file of a damaged cell, if c is one."""
        if c >= 0:
            for name in COLUMNS[:3]:
                self._check_between(name, int(self.start[c]), int(self.start[c + 1]))

    def cell_numbers(self, c: int) -> Array:
        """Read the numbers of the rows of a cell that are not forgotten."""
        self._check_between("id", int(self.start[c]), int(self.start[c + 1]))
        return np.array(self.columns["id"][self.cell(c)])


def _mapped(path: Path, dtype: np.dtype, shape: tuple[int, ...]) -> Array:
    """Map the numbers at the end of a file, whatever its header says."""
    offset = path.stat().st_size - dtype.itemsize * int(np.prod(shape))
    return np.asarray(np.memmap(path, dtype, "r", offset, shape))


def _cells(path: Path, sha256: str) -> dict[str, Array]:
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ValueError(
            f"{path} is damaged: it differs from its checksum. Put back a copy of the folder "
            f"{path.parent.parent}, or delete it and fit again"
        )
    with np.load(io.BytesIO(data)) as cells:
        return {name: cells[name] for name in ("start", "low", "high", "sums")}


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
        return self.segment.cell_numbers(self.id[1])

    def load(self) -> tuple[Array, Array, Array]:
        return self.segment.load_cell(self.id[1])
