"""Rows of a stream that were predicted before they were learnt from: what its errors are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

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
#: A scale is given up where the last LOOKED rows have lost by it, by more than ERRORS standard
#: errors of their mean gain.
LOOKED, ERRORS = 50, 3.0


@record("scale.checked/1")
@dataclass(frozen=True, eq=False)
class Checked:
    """The last rows that were predicted before they were learnt from, and their predictions.

    Targets are in units where y has variance one.
    """

    rows: Rows
    mean: Array  # m  (n, p)
    log_sd: Array  # of y  (n, p)
    gain: Array  # of log density by the scale there was  (n,)
    seen: int  # rows so far, those no longer kept included
    learnt_at: int  # how many there were when a scale was last learnt

    @classmethod
    def start(cls, d: int, p: int) -> Checked:
        none = np.empty((0, p))
        return cls(Rows(np.empty((0, d)), none, np.empty(0)), none, none, np.empty(0), 0, 0)

    @classmethod
    def of(cls, rows: Rows, at: ScaleInputs) -> Checked:
        """Held-out rows that a scale was just learnt from."""
        none = cls.start(rows.X.shape[1], rows.y.shape[1])
        return none._with(rows, at, np.zeros(rows.w.size)).learnt()

    def add(self, rows: Rows, at: ScaleInputs, errors: Errors | None) -> Checked:
        """After further rows, predicted by what the scale depends on there."""
        gain = np.zeros(rows.w.size) if errors is None else errors.gains(at, rows.y)
        return self._with(rows, at, gain)

    def answered(self, found: Prediction, noise: float) -> Checked:
        """With other predictions of the same rows, whose scale is to be learnt."""
        at = ScaleInputs.of(found.mean, found.variance + noise, self.rows.X, None)
        return replace(self, mean=at.mean, log_sd=np.array(at.log_sd), learnt_at=0)

    def with_variance(self, variance: Array) -> Checked:
        """The same predictions with other variances of y, (n,), whose scale is to be learnt."""
        at = ScaleInputs.of(self.mean, variance, self.rows.X, None)
        return replace(self, log_sd=np.array(at.log_sd), learnt_at=0)

    def without(self, rows: Rows) -> Checked:
        """Without these rows."""
        return self._take(self.rows.not_in(rows))

    @property
    def due(self) -> bool:
        """Whether to learn a scale anew."""
        fresh = self.seen - self.learnt_at
        return self.rows.w.size >= FIRST and fresh >= min(self.learnt_at, KEPT)

    @property
    def failed(self) -> bool:
        """Whether the scale is worse than none: for the last rows, or for all since it is there."""
        fresh = self.gain[max(self.gain.size - (self.seen - self.learnt_at), 0) :]
        return fresh.size >= LOOKED and (_lost(fresh) or _lost(fresh[-LOOKED:]))

    def anew(self) -> Checked:
        """From the last rows alone: those before were of another time."""
        own = self._take(slice(-LOOKED, None))
        return replace(own, seen=own.rows.w.size, learnt_at=0)

    def learnt(self) -> Checked:
        return replace(self, learnt_at=self.seen)

    def errors(self, kernel: Kernel, *, always: bool, say: Callable[[str], None]) -> Errors | None:
        """The errors of these predictions; None where their scale is not worth having."""
        rows, metric = self.rows, Metric.of(kernel, self.rows.X)
        at = ScaleInputs(self.log_sd, self.mean, metric.forward(rows.X), None)
        steps = resolution(rows.y)
        return Errors.learn(at, rows, metric, steps, always=always, say=say)

    def _with(self, rows: Rows, at: ScaleInputs, gain: Array) -> Checked:
        return Checked(
            self.rows + rows,
            np.concatenate([self.mean, at.mean]),
            np.concatenate([self.log_sd, at.log_sd]),
            np.concatenate([self.gain, gain]),
            self.seen + rows.w.size,
            self.learnt_at,
        )._take(slice(-KEPT, None))

    def _take(self, index: Array | slice) -> Checked:
        return replace(
            self, rows=self.rows.take(index), mean=self.mean[index], log_sd=self.log_sd[index],
            gain=self.gain[index],
        )  # fmt: skip


def with_checked_errors(model: Any, *, always: bool, say: Callable[[str], None]) -> Any:
    """A model with `kernel`, `errors` and `checked`, with the errors at the rows checked where it
    is time to learn their scale."""
    model = without_failed_errors(model, say)
    own = model.checked
    if not own.due:
        return model
    errors = own.errors(model.kernel, always=always, say=say)
    return replace(model, errors=errors, checked=own.learnt())


def without_failed_errors(model: Any, say: Callable[[str], None]) -> Any:
    """Without a scale that rows checked since are worse for than for none."""
    own = model.checked
    if own is None or model.errors is None or not own.failed:
        return model
    say("the scale of errors no longer holds")
    return replace(model, errors=None, checked=own.anew())


def _lost(gain: Array) -> bool:
    return float(gain.mean()) < -ERRORS * float(gain.std()) / np.sqrt(gain.size)
