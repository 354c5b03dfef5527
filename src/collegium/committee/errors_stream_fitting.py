"""The scale of the errors of a stream, which follows its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..interface.watching import CHECKED
from ..rows.partition import evenly_spaced
from ..rows.rows import Rows
from ..scale.checked import Checked
from .checking import rows_left_out
from .errors_fitting import ERROR_ROWS, with_errors
from .job_fitting import Job

if TYPE_CHECKING:
    from .model import CommitteeModel

#: A model with `committee`, `function_predictor()`, `errors` and `checked`.
Stream = TypeVar("Stream", bound=Any)


def with_kept_errors(model: CommitteeModel, job: Job) -> CommitteeModel:
    """With the errors at some of the rows kept, answered by the others, once they doubled."""
    sizes = model.committee.sizes
    n = sum(sizes)
    if not job.settings.scale_wanted or n < 2 * model.errors_at:
        return model
    rows, groups = model.committee.rows(), np.split(np.arange(n), np.cumsum(sizes)[:-1])
    left = rows_left_out(model, rows, groups, job.settings, job.rng, ERROR_ROWS)
    return with_errors(job, model, rows, left)


def checked_first(model: Any, job: Job, scaled: Rows) -> Checked | None:
    """What a model of which no rows are kept says of arriving rows, after the earlier ones."""
    s, (n, d), p = job.settings, scaled.X.shape, scaled.y.shape[1]
    if s.keeps_rows or not (s.scale_wanted and model.total_weight):
        return model.checked
    some = scaled.take(evenly_spaced(n, CHECKED))
    found = model.function_predictor().predict(some.X, s.engine)
    return (model.checked or Checked.start(d, p)).add(some, found, model.committee.noise)


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
    own = model.checked
    if own is None or not (job.settings.scale_wanted and own.due):
        return model
    errors = own.errors(model.kernel, always=job.settings.scale_always, say=job.say)
    return replace(model, errors=errors, checked=own.learnt())
