"""The scale of a committee's errors, from held-out rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from ...answers.leave_one_out import leave_one_out
from ...answers.predictors import LocalPredictor
from ...averaging.averaged import average_rows
from ...averaging.predictor import AveragedPredictor
from ...engines.local import Serial
from ...errors.checked import Checked
from ...errors.errors import Errors, inputs_at
from ...errors.features import ScaleInputs
from ...errors.tuning import TUNING as ERRORS
from ...errors.values import Values
from ...members.tuning import TUNING as MEMBERS
from ...rows.metric import Metric
from ...rows.partition import evenly_spaced
from ...rows.rows import Prediction, Rows
from ...rows.scaling import for_learning, merged
from ..fitting import Draft
from ..job import Job
from ..kept.memory import InMemory
from ..model import CommitteeModel
from ..tuning import TUNING
from .bars import HeldOut
from .beside import Answered, scale_members, with_members, with_members_of_all

Array = np.ndarray
#: A model with `sum` and `errors`.
Fitted = TypeVar("Fitted", bound=Any)


def answers_held_out(model: Any, left: HeldOut) -> Prediction:
    """Answer at held-out rows as queries would be answered, by a committee of the others."""
    if left.answered is not None:
        return left.answered
    committee = left.committee(model.prior_to_check())
    predictor = model.answerer(committee, model.sizes.n_local, left.others)
    return predictor.predict(left.rows.X[left.held], left.settings.engine)


def refined_held_out(model: Any, left: HeldOut, rest: Array, wrong: Array) -> Prediction:
    """Answer at held-out rows as queries would be answered after means were refined.

    y = (K + Ψ)w + r: the exact GP of the others answers for (K + Ψ)w, their committee for r.
    `rest`: r of all rows (n, p); `wrong`: errors of that GP at those held out (n, p).
    """
    assert isinstance(left.others, InMemory)
    others = replace(left.others, rows=replace(left.rows, y=rest))
    own = answers_held_out(model, replace(left, rows=others.rows, others=others, answered=None))
    return Prediction((left.rows.y - rest - wrong)[left.held] + own.mean, own.variance)


def with_errors(
    job: Job, model: CommitteeModel, rows: Rows, left: HeldOut | None,
    ask: Callable[[CommitteeModel, HeldOut], Prediction] = answers_held_out,
) -> CommitteeModel:  # fmt: skip
    """Learn the errors that a model of these rows (scaled) has at held-out rows.

    Of an exact GP every row is held out in turn; `ask` answers for other models.
    """
    if not job.settings.scale_wanted:
        return model
    model = replace(model, stream=replace(model.stream, errors_at=rows.w.size))
    job.say.task = "learning the scale of errors"
    if model.alone:
        return exact_with_errors(job, model, rows)
    if left is None or (model.sizes.query_size and model.chunks.n > TUNING.checking.chunks):
        return model
    metric = Metric.of(model.kernel, left.others.some().X)
    left = left.some(TUNING.checking.error_rows)
    found, expects = ask(model, left), trees_of(model)
    at = inputs_held_out(model, left, metric, found)
    model = learnt(job, model, rows, left.held, at, metric)
    answered = Answered(left.rows.take(left.held), found, at, model.errors)
    more = None
    if (
        model.refined is None
        and model.kept.in_memory
        and 2 * left.held.size <= TUNING.checking.error_rows
    ):
        more = partial(answers_of_others, model, metric)
    asked, X = with_members(job, model, left, answered, more), answered.rows.X
    model = asked.model
    trees = None if expects is None else (expects, expects.left_out(X, answered.rows.group))
    if expects is None and asked.parts:
        learnt_from = left.others.rows_in_chunks(MEMBERS.growing.most_rows)
        if (grown := scale_members(job, asked, learnt_from)) is not None:
            trees = grown, grown(X)
    job.say.task = "learning the scale of errors"
    if model.members is not None or trees is not None:
        at = inputs_held_out(model, left, metric, asked.found)
        model = learnt(job, model, rows, left.held, at, metric, trees=trees)
    if job.settings.answers.keeps_rows:
        return model
    checked = Checked.of(rows.take(left.held), at)
    return replace(model, stream=replace(model.stream, checked=checked))


def answers_of_others(model: CommitteeModel, metric: Metric) -> tuple[Rows, Array, Answered]:
    """Answer at some rows from the nearest of the others, where few are held out; the belief about
    the anchors has seen each row, as one among all."""
    kept = model.kept
    own = kept.sample(TUNING.checking.error_rows)
    rows, answers = kept.take(own), model.committee_predictor()
    found = (
        answers.left_out(own, rows.X)
        if isinstance(answers, LocalPredictor)
        else answers.predict(rows.X, Serial())
    )
    at = inputs_at(metric, kept.neighbours(metric), rows.X, found, model.sum.noise, own)
    return kept.rows, own, Answered(rows, found, at, model.errors)


def exact_model(job: Job, draft: Draft, model: CommitteeModel) -> CommitteeModel:
    """Learn the errors of an exact GP; of few rows, average over hyperparameters first.

    In a stream that waits, errors are learnt with the kernel.
    """
    rows, earlier = draft.rows, job.earlier
    averages = job.settings.averages(rows.X.shape, rows.y.shape[1])
    if averages and job.settings.learning.averaging != "average" and draft.plan is not None:
        averages = draft.plan.averages()
    if averages and not job.streaming:
        job.say.task = "averaging over hyperparameters"
        own, _ = merged(rows, None, in_order=False)
        levels = sorted({k for kind, k in model.kernel.labels if kind == "mismatch"})
        averaged = average_rows(own, for_learning(own), tuple(levels), seed=0)
        model = replace(model, averaged=averaged)
        job.say(f"averaged over {sum(len(one.shares) for one in model.averaged)} kernels")
        rows = own
    if earlier is None or earlier.averaged or draft.learnt_at == rows.w.size:
        return with_errors(job, model, rows, None)
    errors, members = (
        one and one.moved(earlier.scaling, model.scaling)
        for one in (earlier.errors, earlier.members)
    )
    return replace(model, errors=errors, members=members)


def exact_with_errors(job: Job, model: CommitteeModel, rows: Rows) -> CommitteeModel:
    """Learn the errors of an exact GP, averaged or not, at each row given the others.

    Where every row is held out in turn, the mean at a row tells its y: all rows have a given sum.
    (If the function is constant nothing else tells means apart.) So the scale sees means that are
    drawn from the posterior of f. In the same way errors of the nearest rows tell that of the row
    among them; so it does not see these (on five sets of 1,500 rows that was as good).
    """
    held = evenly_spaced(rows.w.size, TUNING.checking.error_rows)
    metric = Metric.of(model.kernel, rows.X)
    noise: Array | float = model.sum.noise
    moved, before = rows.y.copy(), None
    if model.averaged:
        own = AveragedPredictor.of(model.averaged)
        found, moved, before = own.leave_one_out()
        noise, before = own.noises(), before[held]
    else:
        found = leave_one_out(model.kernel, model.sum.noise, rows)
    found = found.take(held)

    def learn(model: CommitteeModel, found: Prediction, before: Any, trees: Any = None) -> Any:
        drawn, shifted = blurred(found), moved.copy()
        at = inputs_at(metric, None, rows.X[held], drawn, noise)
        shifted[held] += drawn.mean - found.mean  # errors stay as they are
        own = replace(rows, y=shifted)
        return learnt(job, model, own, held, at, metric, before, of=rows, trees=trees), at

    expects = trees_of(model)
    model, at = learn(model, found, before)
    if model.averaged:
        return model
    answered = Answered(rows.take(held), found, at, model.errors)
    asked = with_members_of_all(job, model, rows, held, answered)
    expects = scale_members(job, asked, rows) if expects is None else expects
    group = answered.rows.group
    trees = None if expects is None else (expects, expects.left_out(rows.X[held], group))
    job.say.task = "learning the scale of errors"
    if asked.model.members is None and trees is None:
        return model
    return learn(asked.model, asked.found, None, trees)[0]


def trees_of(model: Any) -> Any:
    """Trees for the size of errors that a model has already; None: none."""
    return None if model.errors is None else model.errors.trees


def blurred(found: Prediction) -> Prediction:
    """Draw means from the posterior of f."""
    variance = found.variance if found.variance.ndim == 2 else found.variance[:, None]
    z = np.random.default_rng(0).standard_normal(found.mean.shape)
    return Prediction(found.mean + np.sqrt(variance) * z, found.variance)


def inputs_held_out(model: Any, left: HeldOut, metric: Metric, found: Prediction) -> ScaleInputs:
    near = left.others.neighbours(metric) if left.settings.answers.keeps_rows else None
    return inputs_at(metric, near, left.rows.X[left.held], found, model.sum.noise)


def learnt(
    job: Job, model: Fitted, rows: Rows, held: Array, at: ScaleInputs, metric: Metric,
    before: Array | None = None, of: Rows | None = None, trees: tuple[Any, Array] | None = None,
) -> Fitted:  # fmt: skip
    """Learn the scale that errors at some rows have, and keep it if it is worth having.

    `of`: the rows themselves, where targets were moved with the means. `trees`: see `Errors.learn`.
    """
    own = of or rows
    came = job.came if job.warping is not None else job.rows
    exact = came.y if came is not None and came.y.shape == own.y.shape else None
    errors = Errors.learn(
        at, rows.take(held), metric, values_taken(model, own.y, exact), before,
        always=job.settings.prior.varying, say=job.say, of=own.y[held],
        nats=nats_for_tails(model, grouped=rows.group is not None), trees=trees,
    )  # fmt: skip
    if errors is not None and errors.scale.normal and bool(getattr(model, "averaged", ())):
        errors = None  # a mixture of normals is not one normal
    return replace(model, errors=errors)


def values_taken(model: Any, y: Array, exact: Array | None = None) -> list[Values | None]:
    """Find the values that y (n, p), as the model sees it, takes in the units of the user.

    `exact`: y in these units, where it is at hand; else it is taken back, to 12 digits.
    """
    scaling, warping = model.scaling, getattr(model, "warping", None)
    if exact is None:
        back = scaling.centre + scaling.scale * y
        exact = decimals(back if warping is None else warping.backward(back))
    found = []
    for j, column in enumerate(exact.T):
        own = None if warping is None else warping.targets[j]

        def forward(v: Array, j: int = j, own: Any = own) -> Array:
            t = v if own is None else own.forward(v)
            return (t - scaling.centre[j]) / scaling.scale[j]

        found.append(Values.of(column, forward))
    return found


def decimals(y: Array) -> Array:
    """Round to 12 digits."""
    size = np.maximum(np.abs(y), 1e-290)
    unit = 10.0 ** (np.floor(np.log10(size)) - 11.0)
    return np.round(y / unit) * unit


def nats_for_tails(model: Any, *, grouped: bool = False) -> float:
    """The gain from which errors count as heavy-tailed; none is asked of ranks: they are normal.

    `grouped`: rows came in groups, which are few.
    """
    warping = getattr(model, "warping", None)
    if warping is not None and any(one and one.kind == "rank" for one in warping.targets):
        return -np.inf
    few = grouped or bool(getattr(model, "averaged", ()))
    return ERRORS.decision.few_nats if few else ERRORS.decision.nats
