"""Refining a committee's means towards those of the exact GP: as asked, or where it pays."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..answers.conjugate_gradients import Solution, refined, refined_without, with_targets
from ..answers.predictors import LocalPredictor
from ..errors.decision import Gain
from ..errors.density import log_t_density, squared
from ..interface.options import CG
from ..kernels.trend import has_trend
from ..rows.metric import Metric
from ..rows.rows import Prediction
from .checks.bars import HeldOut
from .checks.errors import answers_held_out, inputs_held_out, learnt, refined_held_out
from .fitting import Draft
from .job import Job
from .layers import RefinedErrors, Refinement
from .model import CommitteeModel
from .planning.plan import Plan
from .planning.refining import steps_allowed
from .planning.work import group_rows
from .tuning import TUNING

Array = np.ndarray


def with_weights(
    job: Job, model: CommitteeModel, plan: Plan, held: Array | None
) -> tuple[CommitteeModel, Solution]:
    """Refine means towards those of the exact GP by conjugate gradients.

    `held`: numbers of rows of the committee, whose held-out errors are estimated too.
    """
    s = job.settings
    asked = s.answers.refine or CG()
    found = refined(
        model.committee, s.engine, tolerance=asked.tol, max_iter=asked.max_iter,
        enough=plan.enough, say=job.say, held=held,
        sizes=None if s.answers.refine else group_rows(sum(model.committee.sizes)),
    )  # fmt: skip
    if found.residuals[-1] > asked.tol and plan.enough():
        job.say(f"time is up: refined to a residual of {found.residuals[-1]:.1e}")
    elif s.answers.refine and found.residuals[-1] > asked.tol:
        warnings.warn(
            f"inference='cg' stopped after {asked.max_iter} iterations with a residual of "
            f"{found.residuals[-1]:.1e}: give inference=collegium.CG(tol, max_iter) with a larger "
            "max_iter or tol, or larger chunks",
            ConvergenceWarning,
            stacklevel=2,
        )
    rest = with_targets(model.committee, found.rest, s.engine)
    return replace(model, refined=Refinement(found.weights, rest, found.residuals)), found


def refined_where_it_pays(
    job: Job, draft: Draft, model: CommitteeModel, plan: Plan, left: HeldOut
) -> tuple[CommitteeModel, HeldOut]:
    """Refine means as far as work or time allows, and keep that if held-out rows gain by it.

    Returns the model, and held-out rows with its answers.
    """
    left = left.some(TUNING.checking.error_rows)
    own = answers_held_out(model, left)
    left = replace(left, answered=own)
    steps = steps_to_take(job, model, plan, left)
    if not steps:
        return model, left
    job.say.task = "refining means"
    engine, order = job.settings.engine, np.concatenate(draft.kept.groups)
    held = np.argsort(order)[left.held]
    found = refined_without(
        model.committee, engine, held, steps=steps, sizes=group_rows(len(order)), say=job.say,
        enough=plan.enough if plan.clock.limited else lambda: False,
    )  # fmt: skip
    if found is None:
        job.say("means are not refined: conjugate gradients would need many steps")
        return model, left
    rest = np.empty_like(found.rest)
    rest[order] = found.rest
    better = refined_held_out(model, left, rest, np.zeros_like(rest))
    gain = gain_of_means(left, own, better, model.sum.noise)
    taken = gain.mean > max(TUNING.refining.least_gain, gain.error)
    job.say(
        f"means refined by {len(found.residuals) - 1} steps: log density of held-out rows "
        f"{gain.mean:+.3f} ± {gain.error:.3f}; {'used' if taken else 'not used'}"
    )
    if not taken:
        return model, left
    metric = Metric.of(model.kernel, left.others.some().X)
    at = inputs_held_out(model, left, metric, own)
    plain = learnt(job, model, draft.rows, left.held, at, metric).errors
    ascending = np.argsort(held)
    layer = Refinement(
        found.weights, with_targets(model.committee, found.rest, engine), found.residuals,
        RefinedErrors(held[ascending], np.zeros_like(own.mean)), plain,
    )  # fmt: skip
    return replace(model, refined=layer), replace(left, answered=better)


def steps_to_take(job: Job, model: CommitteeModel, plan: Plan, left: HeldOut) -> int:
    """Steps that are allowed and may pay: none where rows beyond the nearest ones hardly matter, or
    where a trend would cost single precision its digits."""
    s, n = job.settings, sum(model.committee.sizes)
    if has_trend(model.kernel) or not s.can_refine or job.streaming or model.sum.known_noise:
        return 0
    if plan.work.bytes(model.sum.basis.m, True) > s.memory_limit:
        return 0
    if loss_by_fewer_rows(model, left) < TUNING.refining.least_loss:
        return 0
    if plan.clock.limited:
        return TUNING.refining.most_steps if plan.refines(s, job.say) else 0
    return steps_allowed(n, left.rows.X.shape[1], model.kernel, model.sum.basis.m)


def loss_by_fewer_rows(model: CommitteeModel, left: HeldOut) -> float:
    """Mean of log(var y with a share of the nearest rows / var y with all of them) at some held-out
    rows: where fewer do as well, farther ones do not matter either."""
    t, some = TUNING.refining, left.some(TUNING.refining.looked_at)
    k = int(t.fewer * model.sizes.n_local)
    if not k or some.answered is None:
        return 0.0
    own = some.others.local(model.committee.without_rows(), k)
    assert isinstance(own, LocalPredictor)
    found = replace(own, lasting=False).predict(some.rows.X[some.held], some.settings.engine)
    fewer, known = found.variance + model.sum.noise, some.answered.variance + model.sum.noise
    return float(np.log(np.maximum(fewer, 1e-300) / np.maximum(known, 1e-300)).mean())


def gain_of_means(left: HeldOut, old: Prediction, new: Prediction, noise: float) -> Gain:
    """Gain of log density at held-out rows by other means, averaged over outputs."""
    rows = left.rows.take(left.held)
    sd = np.sqrt(old.variance + noise)[:, None]
    before, after = (t_densities((rows.y - one.mean) / sd, rows.w) for one in (old, new))
    return Gain.of(after.mean(axis=1), before.mean(axis=1), rows.w, rows.group)


def t_densities(z: Array, w: Array) -> Array:
    """Log densities of errors (n, p) by Student's t of the likeliest size, output by output: a few
    large errors do not decide."""
    t = TUNING.refining
    sizes = np.linspace(-t.sizes, t.sizes, 8 * int(t.sizes) + 1)[:, None]
    found = np.empty_like(z)
    for j, own in enumerate(z.T):
        each = log_t_density(squared(own, sizes), sizes, t.tails)  # (sizes, n)
        found[:, j] = each[np.argmax(each @ w)]
    return found
