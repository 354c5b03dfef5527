"""The scale of the errors of a stream, which follows its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...answers.predictors import Local
from ...errors import checked
from ...errors.checked import Checked
from ...errors.errors import ErrorPredictor, inputs_at
from ...errors.features import ScaleInputs
from ...interface.watching import CHECKED
from ...rows.metric import Metric
from ...rows.partition import evenly_spaced
from ...rows.rows import Rows
from ..checking import rows_left_out
from ..errors import with_errors
from ..job import Job

if TYPE_CHECKING:
    from ..model import CommitteeModel

#: Rows that are left out of those kept when their scale is learnt anew, at most.
STREAM_ROWS = 400
#: Where rows are kept, so many of a call are predicted first each time that rows grow by GROWN.
KEPT_CHECKED, GROWN = 16, 0.1
#: A model with `committee`, `function_predictor()`, `errors` and `checked`.
Stream = TypeVar("Stream", bound=Any)


def checked_first(model: Any, job: Job, scaled: Rows) -> Checked | None:
    """What a model says of some of the arriving rows, after the earlier ones."""
    if not (job.settings.scale_wanted and model.total_weight):
        return model.checked
    some = scaled.take(evenly_spaced(scaled.w.size, CHECKED))
    found = model.function_predictor().predict(some.X, job.settings.engine)
    metric = Metric.of(model.kernel, some.X) if model.errors is None else model.errors.metric
    at = inputs_at(metric, None, some.X, found, model.committee.noise)
    return _with(model, some, at)


def kept_first(model: CommitteeModel, job: Job, scaled: Rows) -> Checked | None:
    """The same where rows are kept, which answers cost more of: a few, and not in every call."""
    errors, c, before = model.errors, model.committee, sum(model.committee.sizes)
    grown = _step(before + scaled.w.size) > _step(before)
    if errors is None or model.query_size or not (job.settings.scale_wanted and before and grown):
        return model.checked
    some = scaled.take(evenly_spaced(scaled.w.size, KEPT_CHECKED))
    own = Local.of(c, model.n_local, lasting=False)
    answers = ErrorPredictor.of(own, errors, c.rows(), c.noise)
    found = answers.predict(some.X, job.settings.engine)
    return _with(model, some, answers.inputs(some.X, found))


def _with(model: Any, some: Rows, at: ScaleInputs) -> Checked:
    (_, d), p = some.X.shape, some.y.shape[1]
    return (model.checked or Checked.start(d, p)).add(some, at, model.errors)


def _step(n: int) -> int:
    """A number that rises each time that n grows by the share GROWN."""
    return int(np.log(max(n, 1)) / np.log1p(GROWN))


def with_kept_errors(model: CommitteeModel, job: Job) -> CommitteeModel:
    """With the errors at some of the rows kept, answered by the others, once they are four times
    as many as at the last time."""
    sizes = model.committee.sizes
    n = sum(sizes)
    if not job.settings.scale_wanted:
        return model
    model = checked.without_failed_errors(model, job.say)
    if n < 4 * model.errors_at:
        return model
    rows, groups = model.committee.rows(), np.split(np.arange(n), np.cumsum(sizes)[:-1])
    left = rows_left_out(rows, groups, job.settings, job.rng, STREAM_ROWS)
    return replace(with_errors(job, model, rows, left), checked=None)


def checked_again(model: Stream, job: Job) -> Stream:
    """After hyperparameters were learnt anew: the rows checked, as they are predicted now.

    The model has learnt from these rows, but they are few among all.
    """
    if model.checked is None:
        return model
    found = model.function_predictor().predict(model.checked.rows.X, job.settings.engine)
    return replace(model, checked=model.checked.answered(found, model.committee.noise))


def with_checked_errors(model: Stream, job: Job) -> Stream:
    """With the errors at the rows checked, where it is time to learn their scale."""
    if model.checked is None or not job.settings.scale_wanted:
        return model
    return checked.with_checked_errors(model, always=job.settings.scale_always, say=job.say)
