"""Rows that learning uses: a random sample, clusters, rows around or near others; how many."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..kernels import Kernel
from ..rows import partition
from ..rows.metric import Metric
from ..rows.nearest import nearest_others
from ..rows.rows import Rows

Array = np.ndarray


class Pool:
    """All rows, in memory. Groups of rows are their positions in `rows`."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    @property
    def n(self) -> int:
        """Number of rows to learn from, in memory or not."""
        return self.rows.w.size

    @property
    def sample(self) -> Rows:
        """All rows, or a random sample of them."""
        return self.rows

    def clusters(
        self, kernel: Kernel, size: int, count: int, rng: np.random.Generator
    ) -> list[Array]:
        """Make at most `count` clusters of about `size` rows, as dense as all rows are."""
        return partition.some_clusters(self._places(kernel), size, count, rng)

    #: Rows that may be held out at a time, at most.
    most_held: int = 10**9

    def near(self, kernel: Kernel, held_out: Array, k: int) -> Array:
        """Find the k other rows nearest to each held-out row  (q, k)."""
        return nearest_others(self._places(kernel), held_out, min(self.n - 1, k))

    def _places(self, kernel: Kernel) -> Array:
        """X in the kernel's metric."""
        return Metric.of(kernel, self.rows.X).forward(self.rows.X)


@dataclass(frozen=True)
class Effort:
    """Amounts of data that learning uses; whether families and a second kernel are tried."""

    family: bool = True
    second: bool = True
    at_once: int = 500  # up to this many rows are one chunk
    rough_rows: int = 500  # random rows of the first fit
    close_rows: int = 10_000  # rows of the neighbour metric
    family_chunks: int = 6
    family_size: int = 220
    first_chunks: int = 10
    final_chunks: int = 40
    final_size: int = 400
    near_rows: int = 1_000  # held-out rows, each predicted from its nearest neighbours
    near_neighbours: int = 100

    def steps(self) -> float:
        """Estimate the cost, in evaluations of the evidence and gradient of a chunk of 400 rows."""

        def size(rows: int) -> float:
            return (rows / 400.0) ** 2.5

        family = self.family * self.family_chunks * size(self.family_size)
        rough, near = size(self.rough_rows), 3.0 * self.near_rows * size(self.near_neighbours)
        final = (0.3 * self.final_chunks + 0.7 * self.first_chunks) * size(self.final_size)
        twice = 1.6 if self.second else 1.0  # a sum of two kernels
        return 30 * rough + 75 * family + near + twice * (60 * family * self.second + 30 * final)

    def close_rows_for(self, d: int) -> int:
        """Rows of the neighbour metric: fewer in more columns, where searching takes longer."""
        return self.close_rows * 8**3 // max(d, 8) ** 3

    def for_rows(self, n: int) -> Effort:
        """Reduce the effort where there are few rows; fewer and larger clusters then show more."""
        size = max(self.family_size, min(300, self.final_size, 900_000 // max(n, 1)))
        return replace(
            self,
            rough_rows=min(self.rough_rows, max(150, n // 4)),
            family_size=size,
            family_chunks=min(self.family_chunks, max(1, n // size)),
            first_chunks=min(self.first_chunks, max(1, n // self.final_size)),
            final_chunks=min(self.final_chunks, max(1, n // self.final_size)),
            near_rows=max(1, min(self.near_rows, 3 * n // 4)),
        )
