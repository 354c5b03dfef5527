"""Chunks of rows, the unit of work of every committee."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numerics.records import record

Array = np.ndarray


@record("rows.chunk/1", rows="X")
@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows in memory. Anything with `id`, `n` and `load() -> X, y, w` can take its place."""

    id: Any  # a number, or (id, part) where the rows of an id are several chunks
    X: Array  # (n, d)
    y: Array  # (n, p)
    w: Array  # (n,)  how often each row was seen

    @property
    def n(self) -> int:
        return self.X.shape[0]

    def load(self) -> tuple[Array, Array, Array]:
        return self.X, self.y, self.w


def cut(
    X: Array, y: Array, w: Array, groups: Sequence[Array], ids: Sequence[Any] | None = None
) -> list[Chunk]:
    """One chunk for each group of row numbers, with these ids or numbers from 0 on."""
    ids = range(len(groups)) if ids is None else ids
    return [Chunk(id, X[g], y[g], w[g]) for id, g in zip(ids, groups, strict=True)]
