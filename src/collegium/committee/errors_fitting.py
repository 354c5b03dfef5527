"""The scale of a committee's errors, from rows that the others answer for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..answers.leave_one_out import leave_one_out
from ..rows.metric import Metric
from ..rows.partition import evenly_spaced
from ..rows.rows import Prediction, Rows
from ..scale.checked import Checked
from ..scale.errors import Errors, inputs_at, neighbours
from ..scale.features import ScaleInputs
from ..scale.scale import resolution
from .checking import CHECK_CHUNKS, LeftOut

if TYPE_CHECKING:
    from .job_fitting import Job
    from .model import CommitteeModel

Array = np.ndarray
#: Rows that a scale is learnt from, at most.
ERROR_ROWS = 1000
#: A model with `committee` and `errors`.
Fitted = TypeVar("Fitted", bound=Any)


def with_errors(
    job: Job, model: CommitteeModel, rows: Rows, left: LeftOut | None
) -> CommitteeModel:
    """The model of these rows (scaled) with the errors that its answers have at rows left out.

    Of an exact GP every row is left out in turn.
    """
    if not job.settings.scale_wanted:
        return model
    model = replace(model, errors_at=rows.w.size)
    job.say.task = "learning the scale of errors"
    if model.exact:
        held = evenly_spaced(rows.w.size, ERROR_ROWS)
        metric = Metric.of(model.kernel, rows.X)
        found = leave_one_out(model.kernel, model.committee.noise, rows).take(held)
        near = neighbours(metric, rows)
        at = inputs_at(metric, near, rows.X[held], found, model.committee.noise, held)
    elif left is None or (model.query_size and model.n_chunks > CHECK_CHUNKS):
        return model
    else:
        metric = Metric.of(model.kernel, left.others().X)
        left = left.some(ERROR_ROWS)
        at, held = inputs_left_out(model, left, metric, answers_left_out(model, left)), left.held
    model = learnt(job, model, rows, held, at, metric)
    if model.exact or job.settings.keeps_rows:
        return model
    return replace(model, checked=Checked.of(rows.take(held), at))


def answers_left_out(model: CommitteeModel, left: LeftOut) -> Prediction:
    """As queries would be answered at rows left out, by a committee of the others."""
    predictor = model.answerer(left.committee(model.prior_to_check()), model.n_local)
    return predictor.predict(left.rows.X[left.held], left.settings.engine)


def inputs_left_out(model: Any, left: LeftOut, metric: Metric, found: Prediction) -> ScaleInputs:
    near = neighbours(metric, left.others()) if left.settings.keeps_rows else None
    return inputs_at(metric, near, left.rows.X[left.held], found, model.committee.noise)


def learnt(
    job: Job, model: Fitted, rows: Rows, held: Array, at: ScaleInputs, metric: Metric,
    before: Array | None = None,
) -> Fitted:  # fmt: skip
    """The model with the scale that errors at some rows have, if it is worth having."""
    always, steps = job.settings.scale_always, resolution(rows.y)
    errors = Errors.learn(
        at, rows.take(held), metric, steps, rows.w.size, before, always=always, say=job.say
    )
    return replace(model, errors=errors)
