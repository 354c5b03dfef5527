"""Likelihoods that are not Gaussian: Laplace approximations of chunks, swept until they rest."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...interface.streams.waiting import Waiting
from ...kernels import Kernel
from ...laplace.calibration import best_scale, covering_noise
from ...laplace.committee import LaplaceCommittee, settle_together
from ...laplace.learning import LearntLatent, Problem, first_kernel, latent_size, learn_from
from ...laplace.steps import Forms, forms_by_held_out
from ...learning.pool import Pool
from ...likelihoods.base import Observation, Scalar
from ...likelihoods.targets.units import Units, exposed
from ...messages.basis import Anchors
from ...rows.chunk import cut
from ...rows.ids import ChunkIds
from ...rows.metric import Metric
from ...rows.rows import Prediction, Rows
from ...rows.scaling import capped, for_learning
from ..asked import PriorAsked
from ..fitting import Draft, anchors_for, fit_model
from ..job import Job, standing_for
from ..kept.disk import OnDisk, Stored
from ..kept.memory import InMemory
from ..kept.pool import StoredPool
from ..layers import Sizes, Stream
from ..planning.plan import LEARNING_AT_MOST
from ..planning.swept import SweptPlan
from ..settings import Settings
from ..stream.following import Following
from ..sums import ChunkBook
from ..tuning import TUNING
from .beside import members_wanted, rates_beside
from .disk import settle_on_disk
from .kept import HeldOutSites, to_check_with
from .model import SweptModel
from .sites import StoredSites
from .sums import SweptSum
from .sweeping import Sweeping, check_modes
from .targets import AllTargets, Targets

Array = np.ndarray
#: Targets of each problem, weights, and what is predicted of the rows -> mean loss.
Loss = Callable[[list[Array], Array, list[Prediction]], float]
#: A job, a model and rows held out in turn -> the model with members, where these help.
Beside = Callable[[Job, SweptModel, HeldOutSites], SweptModel]


@dataclass(frozen=True, eq=False)
class SweptSteps:
    """Latent functions of the same rows, each with its targets and likelihood."""

    problems: Sequence[Problem]
    sees: Targets  # from y of the rows to targets of the problems
    asked: Observation  # the likelihood as the user asked for it
    sweeping: Sweeping
    loss: Loss | None = None  # by which latent functions are scaled on held-out rows
    plain: Rows | None = None  # the rows with the weights to learn by, where these are others
    learnable: bool = True  # False: the kernel stays what learning would start from
    beside: Beside | None = None  # looks for members by rows held out in turn

    @property
    def units(self) -> Units:
        return self.sees.units

    def scale(self, job: Job) -> Draft:
        given = job.settings.prior.kernel
        likelihoods = tuple(problem.likelihood for problem in self.problems)
        plan = SweptPlan.of(job.settings, job.n, job.rows.X.shape[1], likelihoods)
        plan.announce(job.say, estimate=bool(job.say.verbose))
        kernel = None if given is None else self._whole(job, given)
        return Draft(job.rows, self.units, kernel, likelihoods=likelihoods)

    def _whole(self, job: Job, kernel: Kernel) -> Kernel:
        """The kernel, with the trend that was asked for."""
        X, trend = job.rows.X, job.settings.prior.trend
        kernel = kernel.for_width(X.shape[1])
        return kernel if trend is None else trend.beside(kernel, X, latent_size(self.problems))

    def learn(self, job: Job, draft: Draft) -> Draft:
        s, earlier = job.settings, job.earlier
        if not s.learning.on:
            return draft
        if not self.learnable:
            first = first_kernel(self._rows(job).X, s.prior.levels)
            return replace(draft, kernel=draft.kernel or self._whole(job, first))
        if earlier is not None and not relearning_is_due(earlier, job.n, s):
            return replace(
                draft, kernel=earlier.kernel, likelihoods=earlier.likelihoods,
                learnt_at=earlier.stream.learnt_at,
            )  # fmt: skip
        found = self._learnt(job, draft.kernel)
        return replace(draft, kernel=found.kernel, likelihoods=found.likelihoods, learnt_at=job.n)

    def _learnt(self, job: Job, kernel: Kernel | None) -> LearntLatent:
        s = job.settings
        clock, forms = s.clock.share(LEARNING_AT_MOST), Forms(s.prior.levels)
        if kernel is None and self.sees.classes:
            forms = forms_by_held_out(self._rows(job), forms.levels, s.engine, clock.out, job.say)
        pool, weigh = self._pool(job)
        return learn_from(
            pool, self.problems, kernel, job.rng, s.engine,
            clock=clock, say=job.say, forms=forms,
            trend=s.prior.trend if kernel is None else None, weigh=weigh,
        )  # fmt: skip

    def _pool(self, job: Job) -> tuple[Pool, Callable[[Rows], Rows]]:
        """Rows to learn from, and how to weigh some of them."""
        plain, own = self._rows(job), job.on_disk
        balanced = partial(for_learning, noisy=self._noisy)
        y = np.hstack([problem.y for problem in self.problems])
        if own is None:
            rows = Rows(plain.X, y, balanced(plain).w)
            return Pool(rows.take(~to_check_with(rows.X))), lambda rows: rows
        metric = Metric(plain.X.mean(axis=0), np.ones(plain.X.shape[1]))
        kept = OnDisk(own.store, AllTargets(self.sees), metric)
        sample = Rows(plain.X, y, plain.w)
        return StoredPool(kept, own.positions, sample, weigh=lambda w: w), balanced

    def choose(self, job: Job, draft: Draft) -> Draft:
        assert draft.kernel is not None
        kept = job.cut(InMemory(job.rows), draft.kernel)
        if job.alone(kept):
            job.say(f"{job.n} distinct rows: the Laplace GP")
            return replace(draft, kept=job.whole(job.rows, kept), alone=True)
        m = min(job.settings.anchor_count(job.n), job.rows.w.size)
        noise = getattr(draft.likelihoods[0], "noise", TUNING.sweeps.typical_noise)
        pull = np.column_stack([problem.gradient_at_zero() for problem in self.problems])
        rows = Rows(job.rows.X, noise * pull, standing_for(job.n, job.rows).w)
        near = job.settings.answers.corrected
        selection = anchors_for(job, rows, replace(draft, noise=noise), m, near=near)
        job.say(f"{job.n} distinct rows: {len(selection.Z)} anchors")
        return replace(draft, kept=kept, selection=selection)

    def add_up(self, job: Job, draft: Draft) -> SweptModel:
        """Sweep over all chunks until their messages rest."""
        s = job.settings
        settle = self._settled_in_memory if job.on_disk is None else self._settled_on_disk
        committees, book, stored = settle(job, draft)
        model = SweptModel(
            sum=SweptSum(
                tuple(replace(one) for one in committees), self.asked, self.sweeping, self.sees,
            ),
            units=self.units,
            sizes=Sizes(
                job.on_disk.store.cell_rows if job.on_disk else job.chunk_size,
                s.answers.local_rows(job.rows.X.shape[1]), s.answers.query_points(np.inf),
            ),
            chunks=replace(
                book,
                waiting=Waiting(job.came or self._rows(job), 0, 0) if draft.alone else None,
            ),
            stream=Stream(learnt_at=draft.learnt_at),
            stored=stored,
            warping=job.warping,
        )  # fmt: skip
        if draft.alone:
            check_modes(committees)
        else:
            sweeps, change = model.sum.sweeps, model.sum.change
            job.say(f"{sweeps} sweeps, messages moved by {change:.1e} in the last")
            self.sweeping.check(committees)
        return model

    def _settled_in_memory(self, job: Job, draft: Draft) -> tuple[Any, ChunkBook, None]:
        rows, sweeping, kept = job.rows, self.sweeping, draft.kept
        starts = [
            one.join(cut(rows.X, problem.y, rows.w, kept.groups, kept.ids))
            for one, problem in zip(self._starts(draft), self.problems)
        ]
        committees = settle_together(
            starts, job.settings.engine, sequential=sweeping.sequential,
            tolerance=sweeping.tolerance, max_sweeps=1 if draft.alone else sweeping.most,
        )  # fmt: skip
        n, owners = len(kept.groups), job.owners if draft.alone else None
        return committees, ChunkBook(job.ids(kept.ids), n, float(rows.w.sum()), owners), None

    def _settled_on_disk(self, job: Job, draft: Draft) -> tuple[Any, ChunkBook, StoredSites]:
        assert job.on_disk is not None and draft.kernel is not None
        store = job.on_disk.store
        rows = Stored.of(store, Metric.of(draft.kernel, job.rows.X))
        begun = StoredSites.begin(rows, self.sees, store)
        cells = begun.chunks(store)
        starts = self._starts(draft)
        found, stored = settle_on_disk(starts, begun, cells, job.settings.engine, self.sweeping)
        weight = store.total_weight() if not self.sees.classes else sum(
            float(self.sees.weigh(y, w).sum()) for _, y, w in (cell.load() for cell in cells)
        )  # fmt: skip
        return found, ChunkBook(ChunkIds.numbered(store.n_cells), len(cells), weight), stored

    def _starts(self, draft: Draft) -> list[LaplaceCommittee]:
        """Committees before any chunk."""
        assert draft.kernel is not None
        basis = Anchors.at(draft.kernel, draft.Z)
        return [LaplaceCommittee.of(basis, likelihood) for likelihood in draft.likelihoods]

    def finish(self, job: Job, draft: Draft, model: SweptModel) -> SweptModel:
        """Check the model on held-out rows; drop rows where none are to be kept."""
        model = self._with_members(job, self._checked(job, draft, model))
        if draft.alone or job.settings.answers.keeps_rows or job.on_disk is not None:
            return model
        model = replace(model, sum=model.sum.without_rows())
        return replace(model, stream=replace(model.stream, following=self._following(job, model)))

    def _checked(self, job: Job, draft: Draft, model: SweptModel) -> SweptModel:
        """Scale latent functions, or the noise, as held-out rows ask for."""
        if self.loss is not None and self.learnable:
            model = self._scaled(job, model, self.loss)
        tied = self._noisy and job.settings.learning.on and has_ties(self.problems[0].y, job.rows.w)
        if tied and not job.settings.clock.out():
            model = self._covering(job, draft, model)
        return model

    def _with_members(self, job: Job, model: SweptModel) -> SweptModel:
        """Ask members, where they are wanted and there is time."""
        if self.beside is None or not self.learnable or job.settings.clock.out():
            return model
        if job.rows.X.shape[0] < TUNING.sweeps.fewest or not members_wanted(job):
            return model
        job.say.task = "asking members"
        found = self._held_out(job, model)
        scaled = [model.sum.scale.of(one) for one in found.latents]
        return self.beside(job, model, found._replace(latents=scaled))

    def _scaled(self, job: Job, model: SweptModel, loss: Loss) -> SweptModel:
        """Scale latent functions by the loss of rows held out one at a time."""
        if job.rows.X.shape[0] < TUNING.sweeps.fewest:
            return model
        if job.settings.clock.out():
            warnings.warn(
                "limits left no time to check the probabilities on held-out rows: they may be "
                "under- or over-confident",
                stacklevel=2,
            )
            return model
        y, w, found, _ = self._held_out(job, model)
        scale = best_scale(partial(loss, y, w), found)
        after = loss(y, w, [scale.of(one) for one in found])
        job.say(
            f"held-out rows: loss {loss(y, w, found):.3f} -> {after:.3f} with latent means x "
            f"{scale.mean:.3g} and variances x {scale.mean**2 * scale.variance:.3g}"
        )
        return replace(model, sum=replace(model.sum, scale=scale))

    def _held_out(self, job: Job, model: SweptModel) -> HeldOutSites:
        near = (
            TUNING.sweeps.near if model.sizes.query_size else max(model.sizes.n_local, 1)
        )  # a row is near itself
        return model.kept.held_out(job, self.problems, near)

    def _following(self, job: Job, model: SweptModel) -> Following | None:
        if job.settings.anchors.Z is not None:
            return None
        basis = model.sum.basis
        noise = getattr(model.likelihoods[0], "noise", TUNING.sweeps.open * basis.scale(basis.Z))
        budget = job.settings.anchor_budget()
        learn = job.settings.learning.on and bool(self.sees.classes)  # regressors learn once
        return Following.of(basis, noise, budget, self._rows(job), learn=learn)

    def _covering(self, job: Job, draft: Draft, model: SweptModel) -> SweptModel:
        """Raise the noise, where intervals hold too few of the rows held out one at a time."""
        (y,), w, (found,), (sites,) = self._held_out(job, model)
        likelihood = draft.likelihoods[0]
        assert isinstance(likelihood, Scalar)
        clear = sites.W * found.variance < TUNING.sweeps.clear
        if clear.sum() < TUNING.sweeps.few_clear:
            return model
        factor = covering_noise(likelihood, y[clear], capped(w[clear]), found.take(clear))
        if factor == 1.0:
            return model
        job.say(f"held-out rows: the noise x {factor:.3g}, since many targets are equal")
        more = likelihood.with_theta(likelihood.theta + np.log(factor))
        return self.add_up(job, replace(draft, likelihoods=(more,)))

    @property
    def _noisy(self) -> bool:
        """Whether y is f and a noise whose size is a parameter."""
        likelihood = self.problems[0].likelihood
        return bool(getattr(likelihood, "identity", False) and likelihood.theta.size)

    def _rows(self, job: Job) -> Rows:
        """Rows with the weights to learn by."""
        return job.rows if self.plain is None else self.plain


def fit_regression(
    job: Job, likelihood: Scalar, sweeping: Sweeping, *, uneven: bool | None = None
) -> SweptModel:
    """Fit a regressor; `uneven`: whether any row has another exposure than one, if it is known."""
    rows, s, earlier = job.rows, job.settings, job.earlier
    again = earlier is not None and not relearning_is_due(earlier, job.n, s)
    units = earlier.units if again else likelihood.units(rows.y, rows.w)
    units = replace(units, exposed=exposed(rows.y) if uneven is None else uneven)
    y = units.forward(rows.y)
    squares = _squares(likelihood, units, y, rows.w)
    if s.learning.on and squares[0] > TUNING.sweeps.far * squares[1]:
        warnings.warn(
            "y lies far from zero, the prior mean with a likelihood of your own: subtract its mean",
            stacklevel=2,
        )
    rounded = units.standard and has_ties(y, rows.w)
    least = variance_of_rounding(y[:, 0]) if rounded else 0.0
    problem = Problem(_with_noise(likelihood, units, s.prior), y, *squares, least)
    if s.prior.kernel is not None:
        kernel = s.prior.kernel.scaled(1.0 / units.square)
        s = replace(s, prior=replace(s.prior, kernel=kernel))
    steps = SweptSteps([problem], Targets(units), likelihood, sweeping, beside=rates_beside)
    return fit_model(steps, replace(job, settings=s))


def _with_noise(likelihood: Scalar, units: Units, given: PriorAsked) -> Scalar:
    """Give the likelihood the noise to keep, or to start learning from, in units of y as seen."""
    if not likelihood.takes_noise:
        return likelihood
    unit = 1.0 / units.square
    if given.noise is not None:
        return likelihood.with_noise(float(given.noise[0]) * unit, keep=True)
    start = given.noise_start
    return likelihood.with_noise(TUNING.sweeps.first_noise if start is None else start * unit)


def _squares(likelihood: Scalar, units: Units, y: Array, w: Array) -> tuple[float, float]:
    """Mean squares of y as it is seen: about zero, where the prior mean is, and about its mean."""
    if units.standard or not likelihood.identity:
        return 1.0, 1.0
    share, size = capped(w) / capped(w).sum(), float(np.abs(y[:, 0]).max()) or 1.0
    unit = y[:, 0] / size
    about = float(share @ (unit - share @ unit) ** 2)
    about = about if about > 1e-26 else float(share @ unit**2)  # constant to rounding
    return float(share @ unit**2) * size**2 or 1.0, about * size**2 or 1.0


def has_ties(y: Array, w: Array) -> bool:
    """Whether one value of y has much of the weight."""
    _, inverse = np.unique(y[:, 0], return_inverse=True)
    share = np.bincount(inverse, weights=capped(w))
    return bool(share.max() > TUNING.sweeps.tied * share.sum())


def variance_of_rounding(y: Array) -> float:
    """Δ²/12, the variance of rounding to the least step Δ of y; a quarter of the variance at most.

    Of labels or whole numbers it keeps the noise from vanishing.
    """
    steps = np.diff(np.unique(y))
    with np.errstate(over="ignore"):
        return float(min(steps.min(initial=np.inf) ** 2 / 12.0, 0.25 * y.var()))


def relearning_is_due(earlier: Any, n: int, settings: Settings) -> bool:
    """Whether a stream that has come to n rows relearns."""
    return n >= min(2 * earlier.stream.learnt_at, settings.enough())
