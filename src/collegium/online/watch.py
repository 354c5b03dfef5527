"""Decide when a stream relearns its hyperparameters, and keep the sample it relearns from.

Every `window` rows the log density of arriving rows, each predicted from those before it, is
compared with its expectation under the model; for a Gaussian, E log p − log p = ½(z² − 1), z the
error in predicted standard deviations. Where it falls clearly short, kernel and noise are relearnt
from a sample of the rows so far. Wide error bars can hide bad hyperparameters: where rows have
doubled since the last learning, they are also relearnt if a few steps would gain much. (Relearning
at every doubling made stationary streams worse: the belief about f is carried over approximately.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..numerics.records import record
from ..rows.partition import evenly_spaced
from ..rows.reservoir import Reservoir
from ..rows.rows import Rows
from .tuning import TUNING

Array = np.ndarray
#: Beyond the number of rows of any stream.
NEVER = 2**62


@record("online.latest/1")
@dataclass(frozen=True, eq=False)
class Latest:
    """Last rows of a stream where the past fades, and an even sample of them."""

    kept: Rows
    length: int  # most rows that are kept
    size: int  # of the sample

    def emptied(self) -> Latest:
        return replace(self, kept=self.kept.take(slice(0)))

    def add(self, rows: Rows) -> Latest:
        last = slice(-self.length, None)
        return Latest((self.kept + rows.take(last)).take(last), self.length, self.size)

    @property
    def rows(self) -> Rows:
        n = self.kept.w.size
        return self.kept.take(evenly_spaced(n, self.size))


@record("online.watch/1")
@dataclass(frozen=True, eq=False)
class Watch:
    """Sample of the stream, and how well the rows of the present window were predicted."""

    sample: Reservoir | Latest  # rows in the user's units
    surprise: float  # shortfall per row that counts as a surprise
    learnt_at: int  # rows when hyperparameters were last learnt
    looked_at: int = 0  # rows when the gain of learning was last estimated
    n_relearnt: int = 0
    shortfall: float = 0.0  # Σ E log p − log p
    counted: int = 0  # rows

    @classmethod
    def start(
        cls, size: int, d: int, p: int, forgetting: float, *, labels: bool = False
    ) -> Watch:  # fmt: skip
        """Start before any row; nothing is due before `size` rows have come."""
        sample = Reservoir.start(size, d, p)
        surprise = TUNING.surprise_of_labels if labels else TUNING.surprise
        if forgetting == 1.0:
            return cls(sample, surprise, size)
        memory = TUNING.memory / (1.0 - forgetting)
        length = round(float(np.clip(memory, size, TUNING.longest * size)))
        return cls(Latest(sample.rows, length, size), surprise, size)

    def after(self, rows: Rows, shortfall: Array) -> Watch:
        """Add rows with these E log p − log p  (n,)."""
        total = float(np.minimum(shortfall, TUNING.largest_shortfall).sum())
        return replace(
            self, sample=self.sample.add(rows), shortfall=self.shortfall + total,
            counted=self.counted + shortfall.size,
        )  # fmt: skip

    def due(self, n: int) -> bool:
        """Whether to relearn after n rows."""
        wrong = self.shortfall > self.surprise * self.counted
        changed = TUNING.grown * self.learnt_at
        if isinstance(self.sample, Latest):
            wrong = wrong or self.shortfall < TUNING.too_wide * self.counted
            changed = min(changed, self.sample.length)
        return wrong and n - self.learnt_at >= changed

    def doubled(self, n: int) -> bool:
        """Whether to estimate, after n rows, the gain of learning."""
        return n >= 2 * max(self.learnt_at, self.looked_at)

    def next_window(self) -> Watch:
        return replace(self, shortfall=0.0, counted=0)

    def again_from(self, other: Watch, memory: float) -> Watch:
        """Continue another watch, with a sample of this kind begun from its last rows."""
        last = other.sample.rows.take(slice(-max(1, round(memory)), None))
        return replace(other, sample=self.sample.emptied().add(last), looked_at=self.looked_at)

    def by_surprise(self) -> Watch:
        """Relearn where rows surprise, and not because they have doubled."""
        return replace(self, looked_at=NEVER)

    def relearnt(self, n: int) -> Watch:
        """Note that hyperparameters were relearnt from the sample at n rows."""
        return replace(self.next_window(), learnt_at=n, n_relearnt=self.n_relearnt + 1)


def follow(model: Any, rows: Rows) -> tuple[Any, Array]:
    """Add rows window by window, and relearn where that is due; return log densities (n,) too.

    `model.absorbed(rows)` adds rows and hands them to `model.watch`, and returns the log density
    of each before it was learnt from. `model.relearnt()` relearns, `model.gain()` estimates the
    gain of that, in log evidence per row. Windows end after every `window` rows of the stream,
    however calls cut it.
    """
    start, n = 0, rows.w.size
    densities = np.empty(n)
    while start < n:
        stop = min(n, start + TUNING.window - model.n_rows % TUNING.window)
        part = slice(start, stop)
        model, densities[part] = model.absorbed(rows.take(part))
        start = stop
        if model.n_rows % TUNING.window == 0:
            due, watch = model.watch.due(model.n_rows), model.watch.next_window()
            if not due and watch.doubled(model.n_rows):
                due, watch = model.gain() > TUNING.worth, replace(watch, looked_at=model.n_rows)
            model = model.relearnt() if due else replace(model, watch=watch)
    return model, densities
