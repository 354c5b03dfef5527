"""Rows on disk to learn from: a sample of all, and clusters at full density."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...kernels import Kernel
from ...learning.pool import Pool
from ...rows.metric import Metric
from ...rows.rows import Rows
from ...rows.scaling import Balance

Array = np.ndarray


class StoredPool(Pool):
    """Rows of a store; those that were asked for stay in memory, the sample first.

    Clusters of a thin sample would mislead, because rows far apart show little of the noise. So a
    cluster is the rows of the whole store that are nearest to one row of the sample.
    """

    #: The rows nearest to these, in the metric of each candidate, stay in memory too.
    most_held = 500

    def __init__(
        self, kept: Any, positions: Array, sample: Rows,
        weigh: Callable[[Array], Array] | None = None,
    ) -> None:  # fmt: skip
        """Start from the rows `sample` at these positions of `kept` (an `OnDisk`)."""
        weigh = weigh or weights_to_learn_by(sample)
        super().__init__(replace(sample, w=weigh(sample.w)))
        self._kept, self._at, self._first, self._weigh = kept, positions, self.rows, weigh

    @property
    def n(self) -> int:
        return len(self._kept.store)

    @property
    def sample(self) -> Rows:
        return self._first

    def clusters(
        self, kernel: Kernel, size: int, count: int, rng: np.random.Generator
    ) -> list[Array]:
        first, n = self._first, self._first.w.size
        seeds = rng.choice(n, min(count, max(1, self.n // size), n), replace=False)
        found = self._near(kernel).nearest(first.X[seeds], min(size, self.n))
        return [np.sort(group) for group in self._numbers(found)]

    def near(self, kernel: Kernel, held_out: Array, k: int) -> Array:
        k = min(k, self.n - 1)
        found = self._numbers(self._near(kernel).nearest(self._first.X[held_out], k + 1))
        own = found == held_out[:, None]
        own[~own.any(axis=1), -1] = True  # not found among its duplicates: drop the farthest
        return found[~own].reshape(held_out.size, k)

    def _near(self, kernel: Kernel) -> Any:
        return replace(self._kept, metric=Metric.of(kernel, self._first.X))

    def _numbers(self, positions: Array) -> Array:
        """Find rows of the store in `rows`, to which new ones are appended."""
        new = np.setdiff1d(positions, self._at)
        if new.size:
            more = self._kept.take(new)
            self.rows = self.rows + replace(more, w=self._weigh(more.w))
            self._at = np.concatenate([self._at, new])
        order = np.argsort(self._at)
        return order[np.searchsorted(self._at, positions, sorter=order)]


def weights_to_learn_by(sample: Rows) -> Callable[[Array], Array]:
    """Balance weights by the sample, as `rows.scaling.for_learning` does by all rows."""
    if (sample.w == 1.0).all():
        return lambda w: w
    return Balance.of(sample)
