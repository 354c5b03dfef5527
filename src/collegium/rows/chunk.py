"""Chunks of rows, the unit of work of every committee."""

from dataclasses import dataclass

import numpy as np

from ..numerics.records import record

Array = np.ndarray


@record("rows.chunk/1", rows="X")
@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows in memory. Anything with `id`, `n` and `load() -> X, y, w` can take its place."""

    id: int
    X: Array  # (n, d)
    y: Array  # (n, p)
    w: Array  # (n,)  how often each row was seen

    @property
    def n(self) -> int:
        return self.X.shape[0]

    def load(self) -> tuple[Array, Array, Array]:
        return self.X, self.y, self.w


def cut(X: Array, y: Array, w: Array, groups: list[Array], first_id: int = 0) -> list[Chunk]:
    """One chunk for each group of row numbers."""
    return [Chunk(first_id + i, X[g], y[g], w[g]) for i, g in enumerate(groups)]
