"""What a stream keeps so that its hyperparameters can be learnt again, and when that is due.

Every WINDOW rows the log density of arriving rows, each predicted from those before it, is
compared with what the model expected it to be; for a Gaussian, E log p − log p = ½(z² − 1), z the
error in predicted standard deviations. Where it falls clearly behind, kernel and noise are learnt
from a sample of the rows so far. Wide bars can hide that hyperparameters are bad: so where rows
have doubled since anything was learnt, it is also done if a few steps would gain much. (To learn
whenever rows have doubled, though all is well, made stationary streams worse: what is known of f
is carried over approximately.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..numerics.records import record
from ..rows.partition import evenly_spaced
from ..rows.reservoir import Reservoir
from ..rows.rows import Rows

Array = np.ndarray
#: Rows between two looks at the errors.
WINDOW = 250
#: A shortfall of log density per row that is a surprise, of numbers and of labels, which say less;
#: one row counts for LARGEST at most.
SURPRISE, SURPRISE_OF_LABELS, LARGEST = 0.25, 0.1, 12.0
#: Where the past fades, one below this is a surprise too: a noise that a jump has inflated.
TOO_WIDE = -0.375
#: What a few steps of learning must gain, in log evidence per row of the sample.
WORTH = 0.02
#: Rows grow by this share from one learning to the next: the sample must have changed.
GROWN = 0.25
#: Where the past fades the sample is from the last MEMORY/(1 − λ) rows, LONGEST times its size at
#: most.
MEMORY, LONGEST = 2.0, 4


@record("online.latest/1")
@dataclass(frozen=True, eq=False)
class Latest:
    """The last rows of a stream where the past fades, and an even sample of them."""

    kept: Rows
    length: int  # the most rows that are kept
    size: int  # of the sample

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
    """A sample of the stream, and how well the rows of the present window were foreseen."""

    sample: Reservoir | Latest  # rows in the units of the user
    surprise: float  # the shortfall per row that is one
    learnt_at: int  # rows when hyperparameters were last learnt
    looked_at: int = 0  # rows when it was last asked what learning would gain
    n_relearnt: int = 0
    shortfall: float = 0.0  # Σ E log p − log p
    counted: int = 0  # rows

    @classmethod
    def start(
        cls, size: int, d: int, p: int, forgetting: float, *, labels: bool = False
    ) -> Watch:  # fmt: skip
        """Before any row; nothing is due before `size` rows have come."""
        sample, surprise = Reservoir.start(size, d, p), SURPRISE_OF_LABELS if labels else SURPRISE
        if forgetting == 1.0:
            return cls(sample, surprise, size)
        length = round(float(np.clip(MEMORY / (1.0 - forgetting), size, LONGEST * size)))
        return cls(Latest(sample.rows, length, size), surprise, size)

    def after(self, rows: Rows, shortfall: Array) -> Watch:
        """After rows with these E log p − log p  (n,)."""
        total = float(np.minimum(shortfall, LARGEST).sum())
        return replace(
            self, sample=self.sample.add(rows), shortfall=self.shortfall + total,
            counted=self.counted + shortfall.size,
        )  # fmt: skip

    def due(self, n: int) -> bool:
        """Whether to learn again after n rows."""
        wrong, changed = self.shortfall > self.surprise * self.counted, GROWN * self.learnt_at
        if isinstance(self.sample, Latest):
            wrong = wrong or self.shortfall < TOO_WIDE * self.counted
            changed = min(changed, self.sample.length)
        return wrong and n - self.learnt_at >= changed

    def doubled(self, n: int) -> bool:
        """Whether to ask, after n rows, what learning would gain."""
        return n >= 2 * max(self.learnt_at, self.looked_at)

    def next_window(self) -> Watch:
        return replace(self, shortfall=0.0, counted=0)

    def relearnt(self, n: int) -> Watch:
        """After hyperparameters were learnt from the sample, at n rows."""
        return replace(self.next_window(), learnt_at=n, n_relearnt=self.n_relearnt + 1)


def follow(model: Any, rows: Rows) -> Any:
    """Add rows window by window, and learn again where that is due.

    `model.absorbed(rows)` adds rows and hands them to `model.watch`, `model.relearnt()` learns,
    `model.gain()` is what that would gain, in log evidence per row.
    Windows end after every WINDOW rows of the stream, however calls cut it.
    """
    start, n = 0, rows.w.size
    while start < n:
        stop = min(n, start + WINDOW - model.n_rows % WINDOW)
        model, start = model.absorbed(rows.take(slice(start, stop))), stop
        if model.n_rows % WINDOW == 0:
            due, watch = model.watch.due(model.n_rows), model.watch.next_window()
            if not due and watch.doubled(model.n_rows):
                due, watch = model.gain() > WORTH, replace(watch, looked_at=model.n_rows)
            model = model.relearnt() if due else replace(model, watch=watch)
    return model
