"""The steps of a fit: scale, learn, choose, add up, finish."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from ..kernels import Kernel
from ..kernels.trend import split_trend
from ..learning.anchors import Selection, choose_anchors
from ..learning.hyperparameters import learn
from ..learning.pool import Effort
from ..learning.seasons.residuals import without_terms
from ..learning.seasons.slow import with_terms
from ..likelihoods.base import Observation
from ..likelihoods.targets.units import Units
from ..rows.partition import evenly_spaced
from ..rows.rows import Rows
from ..rows.scaling import choose_scaling
from .checks.bars import HeldOut, check_joint
from .job import Choose, Job, standing_for
from .planning.plan import Plan

Array = np.ndarray
#: Share of a time limit within which transforms are tried.
TRANSFORMS = 0.25


@dataclass(frozen=True, eq=False)
class Draft:
    """A model in the making."""

    rows: Rows  # all, or a sample that stands for all; targets as the likelihood sees them
    units: Units
    kernel: Any  # None until it is known
    noise: Any = None  # of y scaled, likewise
    likelihoods: tuple[Observation, ...] = ()  # one per problem, where they are not Gaussian
    learnt_at: int = 0  # rows that hyperparameters were learnt from
    kept: Any = None  # where the rows are, cut into chunks: a `Kept`
    alone: bool = False  # all rows are one chunk: the exact GP
    selection: Selection | None = None  # the anchors, where there are some
    dof: float = 0.0  # effective degrees of freedom; 0: not estimated
    plan: Plan | None = None
    left: HeldOut | None = None  # rows to check the model with

    @property
    def Z(self) -> Array:
        d = self.rows.X.shape[1]
        return np.empty((0, d)) if self.selection is None else self.selection.Z

    @property
    def for_all(self) -> Rows:
        """The rows, with weights of all rows that they stand for."""
        return standing_for(len(self.kept), self.rows)


class Steps(Protocol):
    """The five steps from rows to a model, which differ by system."""

    def scale(self, job: Job) -> Draft:
        """Make targets as the likelihood sees them."""

    def learn(self, job: Job, draft: Draft) -> Draft:
        """Learn hyperparameters."""

    def choose(self, job: Job, draft: Draft) -> Draft:
        """Choose chunks and anchors, and check the error bars on held-out rows."""

    def add_up(self, job: Job, draft: Draft) -> Any:
        """Add the messages of all chunks."""

    def finish(self, job: Job, draft: Draft, model: Any) -> Any:
        """Check the model on held-out rows; refine means in the time that is left."""


def fit_model(steps: Steps, job: Job) -> Any:
    """Rows -> model: scale, learn, choose, add up, finish."""
    (n, d), labels, settings = job.rows.X.shape, job.labels, job.settings
    largest = job.chunk_size if labels is None else int(np.bincount(labels.of_row).max())
    settings.check_sizes(n, d, largest)
    job = replace(job, settings=replace(settings, engine=job.say.watch(settings.engine)))
    draft = steps.scale(job)
    job.say.task = "learning"
    draft = steps.learn(job, draft)
    job.say.task = "choosing anchors"
    draft = steps.choose(job, draft)
    job.say.task = "adding messages"
    model = steps.add_up(job, draft)
    job.say.task = "finishing"
    return steps.finish(job, draft, model)


# -- steps that systems share ------------------------------------------------------------------


def scaled_draft(job: Job) -> Draft:
    """Centre and scale targets; take a given kernel and noise to the same units."""
    rows, given = job.rows, job.settings.prior
    scaling = choose_scaling(rows, given.noise)
    scaled = scaling.rows(rows)
    unit = 1.0 / float(scaling.scale[0] ** 2)
    kernel: Any = given.kernel
    if kernel is not None:
        kernel = kernel.for_width(rows.X.shape[1]).scaled(unit)
        kernel = kernel if given.trend is None else given.trend.beside(kernel, rows.X)
    noise = None if given.noise is None else float(given.noise[0]) * unit
    return Draft(scaled, Units(scaling), kernel, noise, kept=job.kept(scaled, scaling))


def hyperparameters(job: Job, draft: Draft) -> Draft:
    """Learn kernel and noise by the evidence of some rows, unless they are given or still good."""
    s, earlier, plan, n = job.settings, job.earlier, draft.plan, len(draft.kept)
    given = s.prior
    if not s.learning.on:
        return draft
    unit = 1.0 / float(draft.units.scaling.scale[0] ** 2)
    if still_good(job):
        change = float(earlier.scaling.scale[0] ** 2) * unit
        own = earlier.sum.noise * change if draft.noise is None else draft.noise
        kernel = earlier.kernel.scaled(change)
        return replace(draft, kernel=kernel, noise=own, learnt_at=earlier.stream.learnt_at)
    start = None if given.noise_start is None else given.noise_start * unit
    trend = None if given.trend is None or draft.kernel else given.trend.kernel(draft.rows.X)
    rows, seasons = draft.rows, None if trend is None else given.seasons
    if seasons is not None and trend is not None:
        rows, trend = without_terms(rows, trend, seasons.column, given.levels), None
    judged = None
    hurried = plan is not None and plan.effort != Effort().for_rows(n)
    if s.answers.transductive and s.chunk_rows(n) < n and not hurried:
        judged = partial(check_joint, rows, s)
    found = learn(
        draft.kept.pool(rows), draft.kernel, draft.noise, job.rng, s.engine,
        n_starts=s.learning.n_starts, noise_start=start, judge=judged, say=job.say,
        levels=given.levels, trend=trend,
        effort=None if plan is None else plan.effort,
        clock=None if plan is None else plan.learning_clock(),
    )  # fmt: skip
    if seasons is not None and given.trend is not None:
        found = with_terms(found, given.trend, draft.rows, seasons, s.engine)
    if draft.noise is not None:
        warn_of_lost_digits(found.kernel, draft.noise, draft.rows)
    return replace(draft, kernel=found.kernel, noise=found.noise, learnt_at=n)


def warn_of_lost_digits(kernel: Kernel, noise: float, rows: Rows) -> None:
    """Warn where a given noise is so small beside the function that K + Ψ has no digit left.

    Its largest eigenvalue is up to tr K, its smallest may be the noise: beyond 1/ε of the latter
    rounding decides which hyperparameters have the largest evidence.
    """
    some = rows.X[evenly_spaced(rows.w.size, Effort().at_once)]
    largest = float(split_trend(kernel)[0].diag(some).sum())
    if noise < np.finfo(float).eps * largest:
        warnings.warn(
            f"the noise given is {noise:.1g} of the variance of y, too little for double "
            "precision: rounding decides which hyperparameters are learnt. Give a larger noise= "
            "or none; if y has outliers of such a size, remove them, or give "
            'likelihood="student-t"',
            stacklevel=2,
        )


def still_good(job: Job) -> bool:
    """Whether a waiting stream has grown too little to relearn hyperparameters."""
    n, earlier = job.rows.X.shape[0], job.earlier
    growth = 1.25 if n < 300 else 2.0
    return earlier is not None and n < min(growth * earlier.stream.learnt_at, job.settings.enough())


def anchors_for(job: Job, rows: Rows, draft: Draft, m: int, *, near: bool) -> Selection:
    """Take the anchors given, or select m by the rule; `near`: whether rows near a query help."""
    s = job.settings
    if s.anchors.Z is not None:
        return given_anchors(s.anchors.Z)
    rows, noise = rows.as_weights(draft.noise)
    stop = s.anchors.stop(m)
    return choose_anchors(s.anchors.rule, draft.kernel, noise, rows, stop, job.rng, near=near)


def given_anchors(Z: Array) -> Selection:
    return Selection(Z, np.empty(0, dtype=int), np.zeros(len(Z)), 0.0)


def warped(job: Job, choose: Choose, *, still: bool) -> Job:
    """Transform rows, where that was asked for or held-out rows gain by it; `still`: as those of
    the earlier model of the stream."""
    s = job.settings
    if job.on_disk is not None or not s.transforms.wanted:
        return job
    if s.learning.on and still:
        return job.seen_by(job.earlier)
    job.say.task = "choosing transforms"
    found = choose(job.rows, s, job.say, s.clock.share(TRANSFORMS).out, more=job.streaming)
    if not found.any:
        return job
    rows, s = found.rows(job.rows), s.placed(found.places)
    return replace(job, settings=s, rows=rows, warping=found, came=job.rows)
