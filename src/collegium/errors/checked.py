"""Learn the errors of a stream from rows that were predicted before they were learnt from."""

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
from .tuning import TUNING
from .values import Values

Array = np.ndarray


@record("scale.checked/1")
@dataclass(frozen=True, eq=False)
class Checked:
    """The last rows that were predicted before they were learnt from, and their predictions.

    Targets are in units where y has variance one.
    """

    rows: Rows
    mean: Array  # m  (n, p)
    log_sd: Array  # of y  (n, p)
    gain: Array  # in log density by the scale at that time  (n,)
    seen: int  # rows so far, including those no longer kept
    learnt_at: int  # rows so far when a scale was last learnt

    @classmethod
    def start(cls, d: int, p: int) -> Checked:
        none = np.empty((0, p))
        return cls(Rows(np.empty((0, d)), none, np.empty(0)), none, none, np.empty(0), 0, 0)

    @classmethod
    def of(cls, rows: Rows, at: ScaleInputs) -> Checked:
        """Start from held-out rows that a scale was just learnt from."""
        none = cls.start(rows.X.shape[1], rows.y.shape[1])
        return none._with(rows, at, np.zeros(rows.w.size)).learnt()

    def add(self, rows: Rows, at: ScaleInputs, errors: Errors | None) -> Checked:
        """Add rows with their predictions, and their gain by the present scale."""
        gain = np.zeros(rows.w.size) if errors is None else errors.gains(at, rows.y)
        return self._with(rows, at, gain)

    def answered(self, found: Prediction, noise: float) -> Checked:
        """Replace the predictions of the same rows; their scale is due to be learnt."""
        at = ScaleInputs.of(found.mean, found.variance + noise, self.rows.X, None)
        return replace(self, mean=at.mean, log_sd=np.array(at.log_sd), learnt_at=0)

    def with_variance(self, variance: Array) -> Checked:
        """Replace the variances of y (n,); their scale is due to be learnt."""
        at = ScaleInputs.of(self.mean, variance, self.rows.X, None)
        return replace(self, log_sd=np.array(at.log_sd), learnt_at=0)

    def without(self, rows: Rows) -> Checked:
        """Remove these rows."""
        return self._take(self.rows.not_in(rows))

    @property
    def due(self) -> bool:
        """Whether to relearn the scale."""
        fresh, t = self.seen - self.learnt_at, TUNING.stream
        return self.rows.w.size >= t.first and fresh >= min(self.learnt_at, t.kept)

    @property
    def failed(self) -> bool:
        """Whether the scale is worse than none: for the last rows, or all since it was learnt."""
        fresh = self.gain[max(self.gain.size - (self.seen - self.learnt_at), 0) :]
        last = TUNING.stream.looked
        return fresh.size >= last and (_lost(fresh) or _lost(fresh[-last:]))

    def restarted(self) -> Checked:
        """Keep the last rows only: earlier ones had other errors."""
        own = self._take(slice(-TUNING.stream.looked, None))
        return replace(own, seen=own.rows.w.size, learnt_at=0)

    def learnt(self) -> Checked:
        return replace(self, learnt_at=self.seen)

    def errors(self, kernel: Kernel, *, always: bool, say: Callable[[str], None]) -> Errors | None:
        """Learn the errors of these predictions; None where a scale does not pay."""
        rows, metric = self.rows, Metric.of(kernel, self.rows.X)
        at = ScaleInputs(self.log_sd, self.mean, metric.forward(rows.X), None)
        found = (Values.of(column) for column in rows.y.T)  # in other units than those of the user
        values = [one and replace(one, values=None) for one in found]
        return Errors.learn(at, rows, metric, values, always=always, say=say)

    def _with(self, rows: Rows, at: ScaleInputs, gain: Array) -> Checked:
        return Checked(
            self.rows + rows,
            np.concatenate([self.mean, at.mean]),
            np.concatenate([self.log_sd, at.log_sd]),
            np.concatenate([self.gain, gain]),
            self.seen + rows.w.size,
            self.learnt_at,
        )._take(slice(-TUNING.stream.kept, None))

    def _take(self, index: Array | slice) -> Checked:
        return replace(
            self, rows=self.rows.take(index), mean=self.mean[index], log_sd=self.log_sd[index],
            gain=self.gain[index],
        )  # fmt: skip


def relearnt_errors(
    errors: Errors | None, checked: Checked, kernel: Kernel, *, always: bool,
    say: Callable[[str], None],
) -> tuple[Errors | None, Checked]:  # fmt: skip
    """Relearn errors from the checked rows where that is due."""
    errors, checked = without_failed_errors(errors, checked, say)
    if not checked.due:
        return errors, checked
    return checked.errors(kernel, always=always, say=say), checked.learnt()


def without_failed_errors(
    errors: Errors | None, checked: Checked, say: Callable[[str], None]
) -> tuple[Errors | None, Checked]:
    """Drop a scale that the rows checked since have lost by."""
    if errors is None or not checked.failed:
        return errors, checked
    say("the scale of errors no longer holds")
    return None, checked.restarted()


def _lost(gain: Array) -> bool:
    return float(gain.mean()) < -TUNING.stream.errors * float(gain.std()) / np.sqrt(gain.size)
