"""Rows of a stream that were predicted before they were learnt from: what its errors are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..kernels import Kernel
from ..numerics.records import record
from ..rows.metric import Metric
from ..rows.rows import Prediction, Rows
from .errors import Errors
from .features import ScaleInputs
from .scale import resolution

Array = np.ndarray
#: Rows that are kept, the last; a scale is learnt anew once so many have come since, or as many as
#: had come before, and not from fewer than FIRST.
KEPT, FIRST = 1000, 200


@record("scale.checked/1")
@dataclass(frozen=True, eq=False)
class Checked:
    """The last rows that were predicted before they were learnt from, and their predictions.

    Targets are in units where y has variance one.
    """

    rows: Rows
    mean: Array  # m  (n, p)
    log_sd: Array  # of y  (n, p)
    seen: int  # rows so far, those no longer kept included
    learnt_at: int  # how many there were when a scale was last learnt

    @classmethod
    def start(cls, d: int, p: int) -> Checked:
        none = np.empty((0, p))
        return cls(Rows(np.empty((0, d)), none, np.empty(0)), none, none, 0, 0)

    @classmethod
    def of(cls, rows: Rows, at: ScaleInputs) -> Checked:
        """Held-out rows that a scale was just learnt from."""
        none = cls.start(rows.X.shape[1], rows.y.shape[1])
        return none._with(rows, at).learnt()

    def add(self, rows: Rows, found: Prediction, noise: float) -> Checked:
        """After further rows, of which f was N(found.mean, found.variance)."""
        return self._with(rows, ScaleInputs.of(found.mean, found.variance + noise, rows.X, None))

    def answered(self, found: Prediction, noise: float) -> Checked:
        """With other predictions of the same rows, whose scale is to be learnt."""
        at = ScaleInputs.of(found.mean, found.variance + noise, self.rows.X, None)
        return replace(self, mean=at.mean, log_sd=np.array(at.log_sd), learnt_at=0)

    def without(self, rows: Rows) -> Checked:
        """Without these rows."""
        stay = self.rows.not_in(rows)
        return replace(
            self, rows=self.rows.take(stay), mean=self.mean[stay], log_sd=self.log_sd[stay]
        )

    @property
    def due(self) -> bool:
        """Whether to learn a scale anew."""
        fresh = self.seen - self.learnt_at
        return self.rows.w.size >= FIRST and fresh >= min(self.learnt_at, KEPT)

    def learnt(self) -> Checked:
        return replace(self, learnt_at=self.seen)

    def errors(self, kernel: Kernel, *, always: bool, say: Callable[[str], None]) -> Errors | None:
        """The errors of these predictions; None where their scale is not worth having."""
        rows, metric = self.rows, Metric.of(kernel, self.rows.X)
        at = ScaleInputs(self.log_sd, self.mean, metric.forward(rows.X), None)
        steps = resolution(rows.y)
        return Errors.learn(at, rows, metric, steps, self.seen, always=always, say=say)

    def _with(self, rows: Rows, at: ScaleInputs) -> Checked:
        last = slice(-KEPT, None)
        return Checked(
            (self.rows + rows).take(last),
            np.concatenate([self.mean, at.mean])[last],
            np.concatenate([self.log_sd, at.log_sd])[last],
            self.seen + rows.w.size,
            self.learnt_at,
        )
