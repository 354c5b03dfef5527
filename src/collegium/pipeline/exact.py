"""Gaussian noise: each chunk sends its message once, and the sum is exact."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..interface.streams.waiting import Waiting
from ..kernels import Kernel, Sum
from ..kernels.base import told
from ..kernels.trend import has_trend
from ..learning.dof import degrees_of_freedom
from ..learning.hyperparameters import learn_anchored
from ..learning.regions import Regions
from ..learning.tuning import TUNING as LEARNING
from ..messages.committee import Committee
from ..rows.metric import Metric
from ..rows.scaling import for_learning
from .checks.bars import (
    HeldOut,
    check_bars,
    check_query_size,
    held_out_rows,
    hold_out,
    hold_out_of_few,
    with_answers,
)
from .checks.errors import exact_model, refined_held_out, with_errors
from .fitting import Draft, anchors_for, hyperparameters, scaled_draft
from .job import Job
from .kept.disk import Stored
from .kept.memory import InMemory
from .layers import RefinedErrors, Sizes, Stream
from .model import CommitteeModel
from .planning.plan import FEWEST, Plan
from .refining import refined_where_it_pays, with_weights
from .stream.following import Following
from .sums import ChunkBook, GaussianSum

Array = np.ndarray
#: Share of the chunks from which answers of a check are those of the whole model.
MOST = 0.9


@dataclass(frozen=True)
class ExactSteps:
    """Gaussian noise: chunks send messages about anchors, or answer as experts of their own."""

    def scale(self, job: Job) -> Draft:
        draft, p = scaled_draft(job), job.rows.y.shape[1]
        plan = Plan.of(
            job.settings, len(draft.kept), job.rows.X.shape[1], p, streaming=job.streaming,
            estimate=bool(job.say.verbose), held=held_out_rows(draft.rows.y),
        )  # fmt: skip
        plan.announce(job.settings, job.say)
        return replace(draft, plan=plan)

    def learn(self, job: Job, draft: Draft) -> Draft:
        return hyperparameters(job, draft)

    def choose(self, job: Job, draft: Draft) -> Draft:
        kept, n = job.cut(draft.kept, draft.kernel), len(draft.kept)
        if job.alone(kept):
            job.say(f"{n} rows in one chunk: the exact GP")
            return replace(draft, kept=job.whole(draft.rows, kept), alone=True)
        if job.settings.learning.averaging == "average":
            raise ValueError(
                f"learn='average' is for rows in one chunk, and these {n} are {len(kept.groups)}: "
                "leave it out, or give chunks that hold them"
            )
        draft = replace(draft, kept=kept)
        if job.settings.answers.experts:
            return choose_experts(job, draft)
        if draft.plan is not None:
            draft = replace(draft, plan=draft.plan.revised())
        draft = choose_basis(job, draft)
        return check_error_bars(job, replace(draft, left=rows_to_check(job, draft)))

    def add_up(self, job: Job, draft: Draft) -> CommitteeModel:
        s, kept, chunks = job.settings, draft.kept, draft.kept.cells()
        model = blank_model(job, draft, len(chunks))
        keep = kept.in_memory and (draft.alone or s.answers.experts or s.answers.keeps_rows)
        if not keep:
            ids = model.chunks.ids.with_receipts(chunks, model.sum.basis.m)
            model = replace(model, chunks=replace(model.chunks, ids=ids))
        with s.clock.step(0.0 if draft.plan is None else draft.plan.costs.messages):
            committee = model.committee.add(chunks, s.engine, keep=keep)
        model = replace(model, sum=replace(model.sum, committee=committee))
        if draft.selection is None:
            return exact_model(job, draft, model) if draft.alone else model
        job.say("messages added up")
        dof = degrees_of_freedom(model.kernel, committee.noise, draft.for_all)
        model = replace(model, sum=replace(model.sum, dof=dof))
        if not kept.in_memory:
            own = Stored.of(kept.store, Metric.of(model.kernel, draft.rows.X), kept.given)
            return replace(model, stored=own)
        if keep or s.anchors.Z is not None:
            return model
        following = Following.of(
            committee.basis, committee.noise, s.anchor_budget(), draft.rows, learn=s.learning.on
        )
        return replace(model, stream=replace(model.stream, following=following))

    def finish(self, job: Job, draft: Draft, model: CommitteeModel) -> CommitteeModel:
        """Refine means where asked for or where there is time, then learn the scale of errors."""
        if draft.selection is None or draft.plan is None:
            return model
        plan = draft.plan.with_kernel(model.kernel)
        left = draft.left if job.settings.scale_wanted else None
        if job.settings.answers.refine is None and left is not None:
            left = rows_for_errors(job, plan, draft.kept, left)
            if left is not None and job.settings.answers.auto and left.others.in_memory:
                model, left = refined_where_it_pays(job, draft, model, plan, left)
            return with_errors(job, model, draft.rows if left is None else left.rows, left)
        if not plan.refines(job.settings, job.say):
            return with_errors(job, model, draft.rows, None)
        order = np.concatenate(draft.kept.groups)  # of the rows in the committee
        held = None if left is None else np.argsort(order)[left.held]
        model, found = with_weights(job, model, plan, held)
        if left is None or held is None or found.left_out is None:
            return model
        at = np.argsort(held)
        errors = RefinedErrors(held[at], found.left_out[at])
        assert model.refined is not None
        model = replace(model, refined=replace(model.refined, errors=errors))
        rest, wrong = np.empty_like(found.rest), np.zeros_like(found.rest)
        rest[order], wrong[left.held] = found.rest, found.left_out
        ask = partial(refined_held_out, rest=rest, wrong=wrong)
        return with_errors(job, model, draft.rows, left, ask)


def blank_model(job: Job, draft: Draft, chunks: int) -> CommitteeModel:
    """Make the prior, before any message, with all that is known of a model."""
    s, (_, d), p = job.settings, draft.rows.X.shape, draft.rows.y.shape[1]
    assert draft.kernel is not None and draft.noise is not None
    queries = s.answers.query_points(draft.dof if draft.selection is not None else np.inf)
    ids = job.ids(draft.kept.ids) if draft.kept.in_memory else draft.kept.chunk_ids()
    return CommitteeModel(
        sum=GaussianSum(
            Committee.start(draft.kernel, draft.noise, draft.Z, p),
            known_noise=draft.rows.extra is not None, seasons=s.prior.seasons,
        ),
        units=draft.units,
        sizes=Sizes(
            draft.kept.cell_rows or job.chunk_size, s.answers.local_rows(d), queries,
            s.answers.screening, s.answers.combination or "",
        ),
        chunks=ChunkBook(
            ids, chunks, draft.kept.total_weight(), job.owners if draft.alone else None,
            Waiting(job.came or job.rows, 0, 0) if draft.alone else None,
        ),
        stream=Stream(learnt_at=draft.learnt_at),
        warping=job.warping,
    )  # fmt: skip


def choose_basis(job: Job, draft: Draft) -> Draft:
    """Choose anchors, as many as the degrees of freedom ask for; with learn="anchored", continue
    learning by the evidence of the committee with these anchors."""
    s, say, rows, n = job.settings, job.say, draft.for_all, len(draft.kept)
    dof = degrees_of_freedom(draft.kernel, draft.noise, rows)
    words = "at least" if dof > 0.9 * LEARNING.dof_sample else "about"  # all that a sample can show
    say(f"{words} {dof:.0f} effective degrees of freedom")
    most = min(n, rows.w.size)
    most = most if draft.plan is None else min(most, draft.plan.most_anchors)
    m, near = min(s.anchor_count(n, dof), most), s.answers.corrected
    selection = anchors_for(job, rows, draft, m, near=near)
    draft = replace(draft, selection=selection, dof=dof)
    chunks = draft.kept.n_chunks
    say(f"{n} rows in {chunks} chunks of about {n // chunks}, {len(draft.Z)} anchors")
    if s.answers.transductive:
        check_query_size(s, s.answers.query_points(dof), dof, n, say)
    if not s.learning.anchored:
        return draft
    chunks = replace(draft.kept, rows=for_learning(draft.rows)).cells()
    found = learn_anchored(
        draft.kernel, draft.noise, draft.Z, chunks, s.engine, noise_fixed=s.prior.noise is not None,
        stop=s.clock.out,
    )  # fmt: skip
    say(
        f"by the anchored evidence {told(say, found.kernel)}, noise {found.noise:.3g} "
        "(standardised y)"
    )
    return replace(draft, kernel=found.kernel, noise=found.noise)


def choose_experts(job: Job, draft: Draft) -> Draft:
    """Make chunks that answer on their own; of a GRBCM the first is the communication set."""
    s, n, kept = job.settings, draft.rows.X.shape[0], draft.kept
    if s.answers.combination == "grbcm":
        shared = job.rng.choice(n, s.answers.communication_rows(n, job.chunk_size), replace=False)
        out = np.isin(np.arange(n), shared)
        groups = [np.sort(shared), *(group[~out[group]] for group in kept.groups)]
        groups = [group for group in groups if group.size]
        job.say(f"{shared.size} rows in the communication set")
        kept = InMemory(kept.rows, tuple(groups), tuple(range(len(groups))))
    count = len(kept.groups)
    job.say(f"{n} rows in {count} chunks of about {n // count}: {s.answers.combination}")
    return replace(draft, kept=kept)


def rows_to_check(job: Job, draft: Draft) -> HeldOut | None:
    """Hold out rows, where noise or errors are learnt by them and there is time."""
    if draft.plan is None or not (checks_bars(job, draft) or job.settings.scale_wanted):
        return None
    if draft.kept.in_memory and len(draft.kept.groups) < 2:
        return None
    number = draft.plan.held_out(held_out_rows(draft.rows.y))
    if number:
        return hold_out(draft.kept, job.settings, job.rng, number)
    chunks = draft.plan.few_chunks()
    if chunks:
        job.say(f"little time: error bars are checked on rows of {chunks} chunks")
        return hold_out(draft.kept.few(chunks), job.settings, job.rng, FEWEST)
    warnings.warn(
        f"limits={job.settings.clock.limit:.3g} s left no time to check the error bars on held-out "
        "rows: intervals may be too narrow or too wide. Give more time, or compare them with rows "
        "of your own",
        stacklevel=2,
    )
    return None


def rows_for_errors(job: Job, plan: Plan, kept: Any, left: HeldOut) -> HeldOut | None:
    """Rows to learn the scale of errors from: those held out, fewer of few chunks, or none."""
    if left.answered is not None or plan.learns_errors(left.held.size, left.others.n_chunks):
        return left
    number, chunks = plan.late_errors()
    if number:
        job.say(f"little time: the scale of errors is learnt from {number} rows")
        found = hold_out_of_few(kept, job.settings, job.rng, number, chunks)
        return found or hold_out(kept.few(chunks), job.settings, job.rng, number)
    warnings.warn(
        f"limits={job.settings.clock.limit:.3g} s left no time to check the intervals of the whole "
        "model on held-out rows: they may be too narrow or too wide. Give more time, or compare "
        "them with rows of your own",
        stacklevel=2,
    )
    return None


def checks_bars(job: Job, draft: Draft) -> bool:
    """Whether noise and scale may be learnt; known noise cannot be scaled with the kernel."""
    s = job.settings
    free = s.learning.on and s.prior.noise is None and draft.rows.extra is None
    return free and free_scale(draft.kernel)


def check_error_bars(job: Job, draft: Draft) -> Draft:
    """Take noise and scale as held-out rows ask for, where both may be learnt."""
    left = draft.left
    if left is None or not checks_bars(job, draft):
        return draft
    assert draft.plan is not None and draft.kernel is not None and draft.noise is not None
    job.say.task = "checking error bars"
    regions = Regions.of(draft.kernel, draft.noise, draft.rows, job.settings.engine)
    more = draft.plan.rounds(left.held.size, left.others.n_chunks)
    model = blank_model(job, draft, draft.kept.n_chunks)
    bars = check_bars(model, left, regions, more)
    job.say(
        f"held-out rows: NLPD {bars.before:.3f} -> {bars.after:.3f} with the noise ratio "
        f"x {bars.ratio:.3g} and the kernel x {bars.scale:.3g}; "
        f"{len(regions)} regions: {bars.regions:.3f}"
    )
    kernel, noise = draft.kernel.scaled(bars.scale), draft.noise * bars.scale * bars.ratio
    if left.others.n_chunks > MOST * draft.kept.n_chunks:
        left = with_answers(model, left, bars)
    return replace(draft, kernel=kernel, noise=noise, left=left)


def free_scale(kernel: Any) -> bool:
    """Whether learning may scale the kernel: all terms but trends have a size that is not fixed."""
    terms: tuple[Kernel, ...] = kernel.parts if isinstance(kernel, Sum) else (kernel,)
    terms = tuple(term for term in terms if not has_trend(term))
    return all({"variance", "slope"} & {kind for kind, _ in term.labels} for term in terms)
