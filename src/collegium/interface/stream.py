"""The beginning of a stream: rows that wait until there are enough to learn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..rows.rows import Rows

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Waiting:
    """The first rows of a stream, kept until there are enough to learn from for good."""

    rows: Rows  # in the units of the user
    learnt_at: int  # rows when hyperparameters were last learnt

    def due(self, enough: int) -> bool:
        """Whether to learn: at first, when the rows have doubled, and when they are enough."""
        return self.rows.X.shape[0] >= min(2 * self.learnt_at, enough)
