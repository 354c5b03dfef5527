"""Rows that learning uses: a random sample, clusters, and rows around or near others."""

from __future__ import annotations

import numpy as np

from ..kernels import Kernel
from ..rows import partition
from ..rows.metric import Metric
from ..rows.nearest import nearest_others
from ..rows.rows import Rows
from .tuning import TUNING

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

    def around(self, kernel: Kernel, groups: list[Array]) -> list[tuple[Array, Array]]:
        """Pair each group with the other rows nearest to its centre."""
        X = self._places(kernel)
        found = []
        for group in groups:
            distance = ((X - X[group].mean(axis=0)) ** 2).sum(axis=1)
            distance[group] = np.inf
            count = min(TUNING.families.around, self.n - group.size)
            found.append((group, np.flatnonzero(partition.lowest(distance, count))))
        return found

    def near(self, kernel: Kernel, held_out: Array, k: int) -> Array:
        """Find the k other rows nearest to each held-out row  (q, k)."""
        return nearest_others(self._places(kernel), held_out, min(self.n - 1, k))

    def _places(self, kernel: Kernel) -> Array:
        """X in the kernel's metric."""
        return Metric.of(kernel, self.rows.X).forward(self.rows.X)
