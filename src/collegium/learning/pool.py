"""The rows that learning looks at: some at random, clusters, and those around or near others."""

from __future__ import annotations

import numpy as np

from ..kernels import Kernel
from ..rows import partition
from ..rows.metric import Metric
from ..rows.nearest import nearest_others
from ..rows.rows import Rows

Array = np.ndarray
#: Rows around a held-out cluster that it is predicted from, at most.
AROUND = 600


class Pool:
    """All rows, in memory. Rows are named by their positions in `rows`."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    @property
    def n(self) -> int:
        """Rows to learn from, in memory or not."""
        return self.rows.w.size

    @property
    def sample(self) -> Rows:
        """All rows, or a random sample of them."""
        return self.rows

    def clusters(
        self, kernel: Kernel, size: int, count: int, rng: np.random.Generator
    ) -> list[Array]:
        """At most `count` clusters of about `size` rows, of the density that all rows have."""
        return partition.some_clusters(self._places(kernel), size, count, rng)

    def around(self, kernel: Kernel, groups: list[Array]) -> list[tuple[Array, Array]]:
        """Each group with the rows around it: those nearest to its centre, without its own."""
        X = self._places(kernel)
        found = []
        for group in groups:
            distance = ((X - X[group].mean(axis=0)) ** 2).sum(axis=1)
            distance[group] = np.inf
            count = min(AROUND, self.n - group.size)
            found.append((group, np.flatnonzero(partition.lowest(distance, count))))
        return found

    def near(self, kernel: Kernel, held_out: Array, k: int) -> Array:
        """The k other rows nearest to each of some of the sample  (q, k)."""
        return nearest_others(self._places(kernel), held_out, min(self.n - 1, k))

    def _places(self, kernel: Kernel) -> Array:
        """X in the kernel's metric."""
        return Metric.of(kernel, self.rows.X).forward(self.rows.X)
