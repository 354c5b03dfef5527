"""Chunks of rows, the unit of work of every committee."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numerics.records import record
from .rows import Rows

Array = np.ndarray


@record("rows.chunk/1", rows="X")
@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows in memory. Anything with `id`, `n` and `load() -> X, y, w` can replace it."""

    id: Any  # a number, or (id, part) where the rows of an id are several chunks
    X: Array  # (n, d)
    y: Array  # (n, p)
    w: Array  # (n,)  how often each row was seen
    extra: Array | None = None  # (n,)  known noise variance of each row, added to σ²
    group: Array | None = None  # (n,)  code of the group that each row came in

    @property
    def n(self) -> int:
        return self.X.shape[0]

    def load(self) -> tuple[Array, Array, Array]:
        return self.X, self.y, self.w


def cut(
    X: Array, y: Array, w: Array, groups: Sequence[Array], ids: Sequence[Any] | None = None
) -> list[Chunk]:
    """Make one chunk per group of row numbers, with these ids or numbers from 0 on."""
    return cut_rows(Rows(X, y, w), groups, ids)


def cut_rows(rows: Rows, groups: Sequence[Array], ids: Sequence[Any] | None = None) -> list[Chunk]:
    """Make chunks as `cut` does, of rows whose noise variance may be known."""
    ids = range(len(groups)) if ids is None else ids
    return [chunk_of(id, rows.take(g)) for id, g in zip(ids, groups, strict=True)]


def chunk_of(id: Any, rows: Rows) -> Chunk:
    return Chunk(id, rows.X, rows.y, rows.w, rows.extra, rows.group)


def rows_of(chunk: Any) -> Rows:
    """Load the rows of a chunk, or of what replaces it."""
    X, y, w = chunk.load()
    return Rows(X, y, w, getattr(chunk, "extra", None), getattr(chunk, "group", None))
