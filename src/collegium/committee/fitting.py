"""Fitting a committee: scale, learn, choose, add up, finish. One pipeline for all systems."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from ..kernels import Kernel, Sum
from ..kernels.trend import has_trend
from ..learning.anchors import Selection
from ..learning.dof import degrees_of_freedom
from ..learning.effort import Effort
from ..learning.group_anchors import choose_anchors as select_anchors
from ..learning.hyperparameters import learn, learn_anchored
from ..learning.pool import Pool
from ..learning.tuning import TUNING
from ..likelihoods.units import Units
from ..messages.committee import Committee
from ..rows.chunk import cut_rows
from ..rows.ids import ChunkIds
from ..rows.rows import Rows
from ..rows.scaling import Scaling, for_learning
from ..transforms.choosing import choose
from .answering import RefinedErrors
from .arguments import Settings
from .checking import (
    LeftOut,
    check_bars,
    check_joint,
    check_query_size,
    held_out_rows,
    rows_left_out,
)
from .errors_fitting import exact_model, refined_left_out, with_errors
from .following import Following
from .job_fitting import Job
from .model import CommitteeModel
from .plan import LEARNING_AT_MOST, Plan
from .refine_fitting import with_weights

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Draft:
    """What is known so far of a model in the making."""

    rows: Rows  # targets as the likelihood sees them
    units: Units
    kernel: Kernel
    noise: float
    learnt_at: int = 0  # rows that hyperparameters were learnt from
    groups: tuple[Array, ...] = ()  # the rows of each chunk
    ids: tuple[Any, ...] = ()  # of each chunk
    alone: bool = False  # all rows are one chunk: the exact GP
    selection: Selection | None = None  # the anchors, where there are some
    dof: float = 0.0  # effective degrees of freedom; 0: not estimated
    plan: Plan | None = None
    left: LeftOut | None = None  # rows to check the model with
    pool: Pool | None = None  # rows to learn from, where they are not in memory
    kept: Any = None  # these rows on disk
    cells: tuple[Any, ...] = ()  # their chunks

    @property
    def Z(self) -> Array:
        d = self.rows.X.shape[1]
        return np.empty((0, d)) if self.selection is None else self.selection.Z


class System(Protocol):
    """What differs between systems: five steps from rows to a model."""

    def scale(self, job: Job) -> Any:
        """Targets as the likelihood sees them."""

    def learn(self, job: Job, draft: Any) -> Any:
        """Hyperparameters."""

    def choose(self, job: Job, draft: Any) -> Any:
        """Chunks and anchors."""

    def add_up(self, job: Job, draft: Any) -> Any:
        """The sum of the chunks' messages."""

    def finish(self, job: Job, draft: Any, model: Any) -> Any:
        """Scale latent functions on held-out rows; refine means in the time that is left."""


def fit_model(system: System, job: Job) -> Any:
    """Rows -> model: scale, learn, choose, add up, finish."""
    (n, d), labels, settings = job.rows.X.shape, job.labels, job.settings
    largest = job.chunk_size if labels is None else int(np.bincount(labels).max())
    settings.check_sizes(n, d, largest)
    job = replace(job, settings=replace(settings, engine=job.say.watch(settings.engine)))
    draft = system.scale(job)
    job.say.task = "learning"
    draft = system.learn(job, draft)
    job.say.task = "choosing anchors"
    draft = system.choose(job, draft)
    job.say.task = "adding messages"
    model = system.add_up(job, draft)
    job.say.task = "finishing"
    return system.finish(job, draft, model)


@dataclass(frozen=True)
class GaussianSystem:
    """Gaussian noise: chunks send messages about anchors, or answer as experts of their own."""

    def n_rows(self, job: Job) -> int:
        return job.rows.X.shape[0]

    def scale(self, job: Job) -> Draft:
        n, d, p = self.n_rows(job), job.rows.X.shape[1], job.rows.y.shape[1]
        draft = scaled_draft(job.rows, job.settings)
        plan = Plan.of(
            job.settings, n, d, p, streaming=job.streaming, estimate=bool(job.say.verbose),
            held=held_out_rows(draft.rows.y),
        )  # fmt: skip
        plan.announce(job.settings, job.say)
        return replace(draft, plan=plan)

    def learn(self, job: Job, draft: Draft) -> Draft:
        return hyperparameters(job, draft)

    def choose(self, job: Job, draft: Draft) -> Draft:
        groups, ids = job.chunks(draft.kernel)
        n = draft.rows.X.shape[0]
        if job.alone(groups):
            job.say(f"{n} rows in one chunk: the exact GP")
            return replace(draft, groups=(np.arange(n),), ids=(0,), alone=True)
        if job.settings.averaging == "average":
            raise ValueError(
                f"learn='average' is for rows in one chunk, and these {n} are {len(groups)}: leave "
                "it out, or give a chunk_size that holds them"
            )
        draft = replace(draft, groups=tuple(groups), ids=tuple(ids))
        if job.settings.experts:
            return choose_experts(job, draft)
        draft = choose_anchors(job, draft)
        return replace(draft, left=rows_to_check(job, draft))

    def add_up(self, job: Job, draft: Draft) -> CommitteeModel:
        """All messages, after the error bars were checked without some of the rows."""
        s = job.settings
        model = blank_model(job, draft, float(job.rows.w.sum()), job.ids(len(draft.groups)))
        if draft.left is not None:
            model = check_error_bars(job, draft, model, draft.left)
        chunks = cut_rows(draft.rows, draft.groups, draft.ids)
        keep = draft.alone or s.experts or s.keeps_rows
        if not keep:
            model = replace(model, ids=model.ids.with_receipts(chunks, model.committee.basis.m))
        committee = model.committee.add(chunks, s.engine, keep=keep)
        model = replace(model, committee=committee)
        if draft.selection is None:
            return exact_model(job, draft, model) if draft.alone else model
        job.say("messages added up")
        dof = degrees_of_freedom(model.kernel, committee.noise, draft.rows)
        following = None if keep or s.anchors is not None else Following.of(
            committee.basis, committee.noise, s.anchor_budget(), draft.rows, learn=s.learn
        )  # fmt: skip
        return replace(model, dof=dof, following=following)

    def finish(self, job: Job, draft: Draft, model: CommitteeModel) -> CommitteeModel:
        """Means on the way to those of the exact GP, where asked for or where there is time; and
        the scale of the errors that means have in the end."""
        if draft.selection is None or draft.plan is None:
            return model
        plan = draft.plan.with_kernel(model.kernel)
        left = draft.left if job.settings.scale_wanted else None
        if not plan.refines(job.settings, job.say):
            return with_errors(job, model, draft.rows, left)
        order = np.concatenate(draft.groups)  # of the rows in the committee
        held = None if left is None else np.argsort(order)[left.held]
        model, found = with_weights(job, model, plan, held)
        if left is None or held is None or found.left_out is None:
            return model
        at = np.argsort(held)
        model = replace(model, refined_errors=RefinedErrors(held[at], found.left_out[at]))
        rest, wrong = np.empty_like(found.rest), np.zeros_like(found.rest)
        rest[order], wrong[left.held] = found.rest, found.left_out
        ask = partial(refined_left_out, rest=rest, wrong=wrong)
        return with_errors(job, model, draft.rows, left, ask)


def blank_model(job: Job, draft: Draft, weight: float, ids: ChunkIds) -> CommitteeModel:
    """The prior, before any message, with all that is known of a model."""
    s, d, p = job.settings, draft.rows.X.shape[1], draft.rows.y.shape[1]
    return CommitteeModel(
        committee=Committee.start(draft.kernel, draft.noise, draft.Z, p),
        units=draft.units,
        chunk_size=job.chunk_size,
        n_local=s.local_rows(d),
        query_size=s.query_points(draft.dof if draft.selection is not None else np.inf),
        screening=s.screening,
        combination=s.combination,
        dof=0.0,
        weights=np.empty((0, p)),
        rest=None,
        residuals=np.empty(0),
        n_chunks=len(draft.groups),
        total_weight=weight,
        exact=draft.alone,
        learnt_at=draft.learnt_at,
        ids=ids,
        known_noise=draft.rows.extra is not None,
        owners=job.owners if draft.alone else None,
        **as_they_came(job, alone=draft.alone),
    )


def choose_anchors(job: Job, draft: Draft) -> Draft:
    """Anchors, as many as the degrees of freedom ask for; hyperparameters by their evidence."""
    s, say, rows = job.settings, job.say, draft.rows
    n, dof = rows.X.shape[0], degrees_of_freedom(draft.kernel, draft.noise, rows)
    words = "at least" if dof > 0.9 * TUNING.dof_sample else "about"  # all that a sample can show
    say(f"{words} {dof:.0f} effective degrees of freedom")
    most = n if draft.plan is None else min(n, draft.plan.most_anchors)
    selection = anchors_for(job, draft, min(s.anchor_count(n, dof), most))
    draft = replace(draft, selection=selection, dof=dof)
    groups, m = len(draft.groups), len(draft.Z)
    say(f"{n} rows in {groups} chunks of about {n // groups}, {m} anchors")
    if s.transductive:
        check_query_size(s, s.query_points(dof), dof, n, say)
    if not s.anchored:
        return draft
    found = learn_anchored(
        draft.kernel, draft.noise, draft.Z, cut_rows(for_learning(rows), list(draft.groups)),
        s.engine, noise_fixed=s.noise is not None, stop=s.clock.out,
    )  # fmt: skip
    say(f"by the anchored evidence {found.kernel!r}, noise {found.noise:.3g} (standardised y)")
    return replace(draft, kernel=found.kernel, noise=found.noise)


def anchors_for(job: Job, draft: Draft, m: int, *, near: bool | None = None) -> Selection:
    """The anchors given, or m that the rule selects; `near`: whether rows near a query help."""
    s = job.settings
    if s.anchors is not None:
        return given_anchors(s.anchors)
    near = s.keeps_rows and not s.transductive if near is None else near
    rows, noise = draft.rows.as_weights(draft.noise)
    return select_anchors(s.selection, draft.kernel, noise, rows, m, job.rng, near=near)


def given_anchors(Z: Array) -> Selection:
    return Selection(Z, np.empty(0, dtype=int), np.zeros(len(Z)), 0.0)


def choose_experts(job: Job, draft: Draft) -> Draft:
    """Chunks that answer on their own; for a GRBCM the first is the communication set."""
    s, n, groups = job.settings, draft.rows.X.shape[0], list(draft.groups)
    if s.combination == "grbcm":
        count = s.communication_rows(n, job.chunk_size)
        shared = job.rng.choice(n, count, replace=False)
        out = np.isin(np.arange(n), shared)
        groups = [np.sort(shared), *(group[~out[group]] for group in groups)]
        groups = [group for group in groups if group.size]
        job.say(f"{shared.size} rows in the communication set")
        draft = replace(draft, ids=tuple(range(len(groups))))
    job.say(f"{n} rows in {len(groups)} chunks of about {n // len(groups)}: {s.combination}")
    return replace(draft, groups=tuple(groups))


def rows_to_check(job: Job, draft: Draft) -> LeftOut | None:
    """Rows to leave out, where noise or errors are learnt by them and there is time."""
    if draft.plan is None or len(draft.groups) < 2:
        return None
    if not (checks_bars(job, draft) or job.settings.scale_wanted):
        return None
    number = draft.plan.held_out(held_out_rows(draft.rows.y))
    if not number:
        job.say("no time to check the error bars on held-out rows")
        return None
    return rows_left_out(draft.rows, list(draft.groups), job.settings, job.rng, number)


def checks_bars(job: Job, draft: Draft) -> bool:
    """Whether noise and scale may be learnt; known noise cannot be scaled with the kernel."""
    s = job.settings
    free = s.learn and s.noise is None and draft.rows.extra is None
    return free and free_scale(draft.kernel)


def check_error_bars(
    job: Job, draft: Draft, model: CommitteeModel, left: LeftOut
) -> CommitteeModel:
    """The model with noise and scale as held-out rows ask for, where both may be learnt."""
    if not checks_bars(job, draft):
        return model
    assert draft.plan is not None
    job.say.task = "checking error bars"
    bars = check_bars(model, left, partial(draft.plan.goes_on, left.held.size))
    job.say(
        f"held-out rows: NLPD {bars.before:.3f} -> {bars.after:.3f} with the noise ratio "
        f"x {bars.ratio:.3g} and all variances x {bars.scale:.3g}"
    )
    job.say.task = "adding messages"
    kernel, noise = draft.kernel.scaled(bars.scale), draft.noise * bars.scale * bars.ratio
    return replace(model, committee=Committee.start(kernel, noise, draft.Z, draft.rows.y.shape[1]))


def scaled_draft(rows: Rows, settings: Settings) -> Draft:
    """Targets centred and scaled; kernel and noise, where given, in the same units."""
    scaling = choose_scaling(rows, settings)
    scaled = scaling.rows(rows)
    unit = 1.0 / float(scaling.scale[0] ** 2)
    given = settings.kernel
    kernel: Any = None if given is None else given.for_width(rows.X.shape[1]).scaled(unit)
    if kernel is not None and settings.trend is not None:
        kernel = settings.trend.beside(kernel, rows.X)
    noise: Any = None if settings.noise is None else float(settings.noise[0]) * unit
    return Draft(scaled, Units(scaling), kernel, noise)


def choose_scaling(rows: Rows, settings: Any) -> Scaling:
    """Each output by its own scale where all noise is learnt; else in the given proportions."""
    scaling, p = Scaling.of(rows.y, rows.w), rows.y.shape[1]
    if settings.noise is None:
        return scaling if rows.extra is None else scaling.relative_to_first(np.ones(p))
    if settings.noise.size not in (1, p):
        raise ValueError(f"noise has {settings.noise.size} values, but y has {p} outputs")
    if settings.noise[0] == 0.0:
        return scaling.relative_to_first(np.ones(p))
    return scaling.relative_to_first(
        np.broadcast_to(np.sqrt(settings.noise / settings.noise[0]), (p,))
    )


def hyperparameters(job: Job, draft: Draft) -> Draft:
    """Kernel and noise by the evidence of some rows, unless they are given or still good."""
    s, earlier, plan = job.settings, job.earlier, draft.plan
    n = draft.rows.X.shape[0] if draft.pool is None else draft.pool.n
    if not s.learn:
        return draft
    unit = 1.0 / float(draft.units.scaling.scale[0] ** 2)
    if still_good(job):
        change = float(earlier.scaling.scale[0] ** 2) * unit
        old = earlier.committee
        own = old.noise * change if draft.noise is None else draft.noise
        kernel = old.basis.kernel.scaled(change)
        return replace(draft, kernel=kernel, noise=own, learnt_at=earlier.learnt_at)
    start = None if s.noise_start is None else s.noise_start * unit
    judged = None
    hurried = plan is not None and plan.effort != Effort().for_rows(n)
    if s.transductive and s.chunk_rows(n) < n and not hurried:
        judged = partial(check_joint, draft.rows, s)
    found = learn(
        draft.pool or for_learning(draft.rows), draft.kernel, draft.noise, job.rng, s.engine,
        n_starts=s.n_starts, noise_start=start, judge=judged, say=job.say, levels=s.levels,
        trend=None if s.trend is None or draft.kernel is not None else s.trend.kernel(draft.rows.X),
        effort=None if plan is None else plan.effort,
        clock=None if plan is None else plan.clock.share(LEARNING_AT_MOST),
    )  # fmt: skip
    return replace(draft, kernel=found.kernel, noise=found.noise, learnt_at=n)


def still_good(job: Job) -> bool:
    """Whether a waiting stream has grown too little to learn hyperparameters anew."""
    n, earlier = job.rows.X.shape[0], job.earlier
    growth = 1.25 if n < 300 else 2.0
    return earlier is not None and n < min(growth * earlier.learnt_at, job.settings.enough())


def warped(job: Job) -> Job:
    """The job with rows transformed, where that was asked for or rows left out gain by it."""
    s = job.settings
    if s.target_transform is None and s.input_transform is None:
        return job
    if s.learn and still_good(job):
        return job.seen_by(job.earlier)
    job.say.task = "choosing transforms"
    found = choose(
        job.rows, s.target_transform, s.input_transform, s.engine, job.say, more=job.streaming,
        levels=s.levels,
    )  # fmt: skip
    if not found.any:
        return job
    if s.anchors is not None:
        job = replace(job, settings=replace(s, anchors=found.places(s.anchors)))
    return replace(job, rows=found.rows(job.rows), warping=found, came=job.rows)


def as_they_came(job: Job, *, alone: bool) -> dict[str, Any]:
    """The transforms, and rows of an exact GP before them: more rows may ask for others."""
    found: dict[str, Any] = {"warping": job.warping}
    if not alone:
        return found
    came = job.came or job.rows
    moved = job.warping is not None and job.warping.inputs is not None
    return {**found, "targets": came.y, "places": came.X if moved else None}


def free_scale(kernel: Kernel) -> bool:
    """Whether learning may scale the kernel: all terms but trends have a size that is not fixed."""
    terms = kernel.parts if isinstance(kernel, Sum) else (kernel,)
    terms = tuple(term for term in terms if not has_trend(term))
    return all({"variance", "slope"} & {kind for kind, _ in term.labels} for term in terms)
