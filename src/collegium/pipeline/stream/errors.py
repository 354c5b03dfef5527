"""The scale of the errors of a stream, which follows its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ...answers.arrived import CHECKED
from ...answers.predictors import LocalPredictor
from ...errors.checked import Checked, relearnt_errors, without_failed_errors
from ...errors.errors import ErrorPredictor, Errors, inputs_at
from ...errors.features import ScaleInputs
from ...rows.metric import Metric
from ...rows.partition import evenly_spaced
from ...rows.rows import Rows
from ..checks.bars import hold_out
from ..checks.errors import with_errors
from ..job import Job
from ..model import CommitteeModel
from ..tuning import TUNING

#: A model with `sum`, `function_predictor()`, `errors` and `stream`.
Stream = TypeVar("Stream", bound=Any)


def checked_first(model: Any, job: Job, scaled: Rows) -> Checked | None:
    """Predict some of the arriving rows before they are learnt from."""
    before = model.stream.checked
    if not (job.settings.scale_wanted and model.total_weight):
        return before
    some = scaled.take(evenly_spaced(scaled.w.size, CHECKED))
    found = model.function_predictor().predict(some.X, job.settings.engine)
    metric = Metric.of(model.kernel, some.X) if model.errors is None else model.errors.metric
    at = inputs_at(metric, None, some.X, found, model.sum.noise)
    return _with(model, some, at)


def kept_first(model: CommitteeModel, job: Job, scaled: Rows) -> Checked | None:
    """Predict a few of them, and not in every call, where answers from kept rows cost more."""
    errors, c, n = model.errors, model.committee, sum(model.committee.sizes)
    grown = _step(n + scaled.w.size) > _step(n)
    wanted = job.settings.scale_wanted and n and grown
    if errors is None or model.sizes.query_size or not wanted:
        return model.stream.checked
    some = scaled.take(evenly_spaced(scaled.w.size, TUNING.stream.predicted))
    own = model.beside(LocalPredictor.of(c, model.sizes.n_local, lasting=False))
    answers = ErrorPredictor.of(own, errors, c.rows(), c.noise)
    found = answers.predict(some.X, job.settings.engine)
    return _with(model, some, answers.inputs(some.X, found))


def _with(model: Any, some: Rows, at: ScaleInputs) -> Checked:
    (_, d), p = some.X.shape, some.y.shape[1]
    return (model.stream.checked or Checked.start(d, p)).add(some, at, model.errors)


def _step(n: int) -> int:
    """A number that rises each time that n grows by a given share."""
    return int(np.log(max(n, 1)) / np.log1p(TUNING.stream.grown))


def with_kept_errors(model: CommitteeModel, job: Job) -> CommitteeModel:
    """Relearn errors at some of the rows kept, once they are four times as many as before."""
    if not job.settings.scale_wanted:
        return model
    own = model.stream.checked
    if own is not None:
        model = _kept(model, *without_failed_errors(model.errors, own, job.say))
    n = sum(model.committee.sizes)
    if not n or n < 4 * model.stream.errors_at:
        return model
    kept = model.kept
    left = hold_out(kept, job.settings, job.rng, TUNING.stream.held_out)
    model = with_errors(job, model, kept.rows, left)
    return replace(model, stream=replace(model.stream, checked=None))


def checked_again(model: Stream, job: Job) -> Stream:
    """Predict the rows checked once more, after hyperparameters were relearnt.

    The model has learnt from these rows, but they are few among all.
    """
    before = model.stream.checked
    if before is None:
        return model
    found = model.function_predictor().predict(before.rows.X, job.settings.engine)
    return _kept(model, model.errors, before.answered(found, model.sum.noise))


def with_stream_errors(model: Stream, job: Job) -> Stream:
    """Relearn errors at the rows checked, where it is time for that."""
    own, s = model.stream.checked, job.settings
    if own is None or not s.scale_wanted:
        return model
    found = relearnt_errors(model.errors, own, model.kernel, always=s.prior.varying, say=job.say)
    return _kept(model, *found)


def _kept(model: Stream, errors: Errors | None, checked: Checked) -> Stream:
    return replace(model, errors=errors, stream=replace(model.stream, checked=checked))
