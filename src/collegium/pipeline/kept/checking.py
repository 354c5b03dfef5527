"""Held-out rows of a store, answered by a committee of the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...messages.committee import Committee
from ...rows.metric import Metric
from ...rows.partition import evenly_spaced
from ...rows.rows import Rows
from ..settings import Settings
from ..checking import LeftOut
from .disk import OnDisk

if TYPE_CHECKING:
    from ..model import CommitteeModel

Array = np.ndarray
#: Cells, at most, whose messages answer for held-out rows where rows near to a query correct
#: anchors: these are told enough, and near rows come from all cells.
CHECK_CELLS = 400


@dataclass(frozen=True, eq=False)
class StoredLeftOut(LeftOut):
    """Rows of a store that a committee of others answers for; `rows` are these alone."""

    kept: OnDisk  # without them
    sample: Rows  # some of all rows

    @classmethod
    def of_store(
        cls, kept: OnDisk, positions: Array, sample: Rows, settings: Settings, number: int
    ) -> StoredLeftOut:
        """Leave out `number` rows of the sample at these positions, but at most a tenth of all."""
        most = min(number, max(1, len(kept.store) // 10))
        held = evenly_spaced(positions.size, most)
        without = kept.store.without(kept.store.ids(positions[held]))
        rows = sample.take(held)
        return cls(rows, np.arange(rows.w.size), [], settings, replace(kept, store=without), sample)

    def committee(self, prior: Committee, ratio: float = 1.0) -> Committee:
        cells = self.kept.cells()
        most = CHECK_CELLS if self.settings.keeps_rows else len(cells)
        some = [cells[i] for i in evenly_spaced(len(cells), most)]
        return self._start(prior, ratio).add(some, self.settings.engine, keep=False)

    def others(self) -> Rows:
        return self.sample

    def answerer(self, model: CommitteeModel, committee: Committee, n_local: int) -> Any:
        if not n_local:
            return model.answerer(committee, 0)
        metric = Metric.of(committee.basis.kernel, self.sample.X)
        return replace(self.kept, metric=metric).local(committee, n_local)

    def neighbours(self, metric: Metric) -> Any:
        return replace(self.kept, metric=metric)

    def some(self, number: int) -> StoredLeftOut:
        k = evenly_spaced(self.held.size, number)
        return replace(self, held=self.held[k])
