"""A uniform sample of a stream, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..numerics.records import record
from .rows import Rows

Array = np.ndarray
#: An unusual seed: data drawn with the same seed would not be independent of the keys.
SEED = 0x5265736572766F69


@record("rows.reservoir/1")
@dataclass(frozen=True, eq=False)
class Reservoir:
    """The rows with the smallest random keys, one key per row: a sample without replacement.

    Row i of the stream has the i-th number of one fixed random sequence as its key, so the sample
    depends on the rows and their order alone, not on how calls cut them (bottom-k sampling; the
    same law as Vitter's algorithm R). Rows are kept in their order of arrival.
    """

    rows: Rows
    keys: Array  # of the rows kept  (n,)
    size: int  # maximum number of rows kept
    seen: int  # rows of the stream so far

    @classmethod
    def start(cls, size: int, d: int, p: int) -> Reservoir:
        """Start an empty sample of rows with d inputs and p outputs."""
        none = Rows(np.empty((0, d)), np.empty((0, p)), np.empty(0))
        return cls(none, np.empty(0), size, 0)

    def add(self, rows: Rows) -> Reservoir:
        """Take further rows into account."""
        n = rows.X.shape[0]
        sequence = np.random.PCG64(SEED).advance(self.seen)  # one step of it is one number
        fresh = np.random.Generator(sequence).random((n,))
        seen = self.seen + n
        full = self.keys.size == self.size
        lower = np.flatnonzero(fresh < self.keys.max(initial=0.0)) if full else np.arange(n)
        if not lower.size:
            return replace(self, seen=seen)
        keys = np.concatenate([self.keys, fresh[lower]])
        kept = np.arange(keys.size)
        if keys.size > self.size:
            kept = np.sort(np.argpartition(keys, self.size - 1)[: self.size])
        return Reservoir((self.rows + rows.take(lower)).take(kept), keys[kept], self.size, seen)

    def emptied(self) -> Reservoir:
        """Begin again, without rows."""
        return Reservoir.start(self.size, self.rows.X.shape[1], self.rows.y.shape[1])

    def without(self, rows: Rows) -> Reservoir:
        """Remove these rows; later rows fill their places."""
        stay = self.rows.not_in(rows)
        return replace(self, rows=self.rows.take(stay), keys=self.keys[stay])
