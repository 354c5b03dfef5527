"""The scale of a committee's errors, from rows that the others answer for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..answers.leave_one_out import leave_one_out
from ..averaging.predictor import AveragedPredictor
from ..rows.metric import Metric
from ..rows.partition import evenly_spaced
from ..rows.rows import Prediction, Rows
from ..scale.errors import Errors, inputs_at, neighbours
from ..scale.features import ScaleInputs
from ..scale.scale import ErrorScale, resolution
from .checking import CHECK_CHUNKS, LeftOut

if TYPE_CHECKING:
    from .job_fitting import Job
    from .model import CommitteeModel

Array = np.ndarray
#: Rows that a scale is learnt from, at most.
ERROR_ROWS = 1000


def answers_left_out(model: CommitteeModel, left: LeftOut) -> Prediction:
    """As queries would be answered at rows left out, by a committee of the others."""
    predictor = model.answerer(left.committee(model.prior_to_check()), model.n_local)
    return predictor.predict(left.rows.X[left.held], left.settings.engine)


def refined_left_out(model: CommitteeModel, left: LeftOut, rest: Array, wrong: Array) -> Prediction:
    """As queries would be answered at rows left out, after means were refined.

    y = (K + Ψ)w + r: the exact GP of the others answers for (K + Ψ)w, their committee for r.
    `rest`: r of all rows (n, p); `wrong`: errors of that GP at those left out (n, p).
    """
    own = answers_left_out(model, replace(left, rows=replace(left.rows, y=rest)))
    return Prediction((left.rows.y - rest - wrong)[left.held] + own.mean, own.variance)


def with_errors(
    job: Job, model: CommitteeModel, rows: Rows, left: LeftOut | None,
    ask: Callable[[CommitteeModel, LeftOut], Prediction] = answers_left_out,
) -> CommitteeModel:  # fmt: skip
    """The model of these rows (scaled) with the errors that its answers have at rows left out.

    Of an exact GP every row is left out in turn; `ask`: who answers for other models.
    """
    if not job.settings.scale_wanted:
        return model
    job.say.task = "learning the scale of errors"
    if model.exact:
        return exact_with_errors(job, model, rows)
    if left is None or (model.query_size and model.n_chunks > CHECK_CHUNKS):
        return model
    metric = Metric.of(model.kernel, left.others().X)
    left = left.some(ERROR_ROWS)
    at = inputs_left_out(model, left, metric, ask(model, left))
    return learnt(job, model, rows, left.held, at, metric)


def exact_with_errors(job: Job, model: CommitteeModel, rows: Rows) -> CommitteeModel:
    """An exact GP, or one averaged over hyperparameters, with the errors of each row given the
    others.

    Where every row is left out in turn, the mean at a row tells its y: all rows have a given sum.
    (If the function is constant nothing else tells means apart.) So the scale sees means that are
    drawn from the posterior of f. In the same way errors of the nearest rows tell that of the row
    among them; so it does not see these (on five sets of 1,500 rows that was as good).
    """
    held = evenly_spaced(rows.w.size, ERROR_ROWS)
    metric = Metric.of(model.kernel, rows.X)
    noise: Array | float = model.committee.noise
    before = None
    if model.averaged:
        own = AveragedPredictor.of(model.averaged)
        found, before = own.leave_one_out()
        noise, before = own.noises(), before[held]
    else:
        found = leave_one_out(model.kernel, model.committee.noise, rows)
    found = found.take(held)
    drawn = blurred(found)
    at = inputs_at(metric, None, rows.X[held], drawn, noise)
    moved = rows.y.copy()
    moved[held] += drawn.mean - found.mean  # errors stay as they are
    return learnt(job, model, replace(rows, y=moved), held, at, metric, before, of=rows)


def blurred(found: Prediction) -> Prediction:
    """With means drawn from the posterior of f."""
    variance = found.variance if found.variance.ndim == 2 else found.variance[:, None]
    z = np.random.default_rng(0).standard_normal(found.mean.shape)
    return Prediction(found.mean + np.sqrt(variance) * z, found.variance)


def inputs_left_out(
    model: CommitteeModel, left: LeftOut, metric: Metric, found: Prediction
) -> ScaleInputs:
    near = neighbours(metric, left.others()) if left.settings.keeps_rows else None
    return inputs_at(metric, near, left.rows.X[left.held], found, model.committee.noise)


def learnt(
    job: Job, model: CommitteeModel, rows: Rows, held: Array, at: ScaleInputs, metric: Metric,
    before: Array | None = None, of: Rows | None = None,
) -> CommitteeModel:  # fmt: skip
    """The model with the scale that errors at some rows have, if it is worth having.

    `of`: the rows themselves, where targets were moved with the means.
    """
    own, always, steps = rows.take(held), job.settings.scale_always, resolution((of or rows).y)
    scale = ErrorScale.learn(at, own.y, own.w, steps, before, always=always)
    gains = " ".join(f"{one.gain.mean:.3f} ± {one.gain.error:.3f}" for one in scale.outputs)
    job.say(
        f"errors of {held.size} held-out rows: log density + {gains} with a scale of their own"
        + (", which is not worth it" if scale.normal else "")
    )
    if scale.normal:
        return model
    return replace(model, errors=Errors(scale, metric, rows.w.size))
