"""Fitting latent functions: the pipeline of `fitting`, with Laplace approximations of chunks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...interface.stream import Waiting
from ...kernels import Kernel
from ...laplace.calibration import LatentScale, best_scale, covering_noise, left_out
from ...laplace.committee import (
    LaplaceCommittee,
    latent_predictors,
    predict_latents,
    settle_together,
)
from ...laplace.learning import LearntLatent, Problem, first_kernel, latent_size, learn_latent
from ...learning.group_anchors import choose_anchors
from ...likelihoods.base import Observation, Scalar
from ...likelihoods.units import Units, exposed
from ...messages.basis import Anchors
from ...rows.chunk import cut
from ...rows.rows import Prediction, Rows, SiteRows
from ...rows.scaling import capped, for_learning
from ..settings import Settings
from ..fitting import fit_model, given_anchors
from ..stream.following import Following
from ..job import Job
from .model import LatentModel
from .plan import LatentPlan
from ..plan import LEARNING_AT_MOST
from .sweeping import Sweeping, check_modes

Array = np.ndarray
#: Held-out rows to check probabilities on, at most; rows, at least, to hold some out of; the
#: nearest rows used there by transductive models.
CHECKED, FEWEST, NEAR = 1_000, 100, 100
#: Noise that stands for a site's where anchors are selected.
TYPICAL_NOISE = 4.0
#: Of the prior's variance, what anchors may leave open of a latent function without noise.
OPEN = 0.1
#: Noise to start learning from, of y scaled.
FIRST_NOISE = 0.1
#: Mean squares of y over its variance, from which on a prior mean of zero costs digits.
FAR = 1e8
#: Share of one value of y from which on noise is checked by coverage: densities mislead.
TIED = 0.2
#: It is checked on rows whose own site is at most so many times as sure as the others about f,
#: and on so many at least.
CLEAR, FEW = 99.0, 20
#: Targets of each problem, weights, and what is predicted of the rows -> mean loss.
Loss = Callable[[list[Array], Array, list[Prediction]], float]

#: Of some rows: targets of each problem, weights, latent values given all other rows, sites.
HeldOut = tuple[list[Array], Array, list[Prediction], list[SiteRows]]


@dataclass(frozen=True, eq=False)
class LatentDraft:
    """What is known so far of a model in the making."""

    kernel: Kernel | None
    likelihoods: tuple[Observation, ...]  # one a problem
    learnt_at: int = 0
    groups: tuple[Array, ...] = ()
    ids: tuple[Any, ...] = ()  # of each group
    alone: bool = False  # all rows are one chunk
    Z: Array | None = None  # anchors


@dataclass(frozen=True, eq=False)
class LatentSystem:
    """Latent functions of the same rows, each with its targets and likelihood."""

    problems: Sequence[Problem]
    units: Units
    sweeping: Sweeping
    given: Scalar | None = None  # the likelihood of a regressor as it was asked for
    loss: Loss | None = None  # by which latent functions are scaled on held-out rows
    plain: Rows | None = None  # the rows with the weights to learn by, where these are others
    learnable: bool = True  # False: the kernel stays what learning would start from

    def n_rows(self, job: Job) -> int:
        return job.rows.X.shape[0]

    def scale(self, job: Job) -> LatentDraft:
        n, d, given = self.n_rows(job), job.rows.X.shape[1], job.settings.kernel
        likelihoods = tuple(problem.likelihood for problem in self.problems)
        plan = LatentPlan.of(job.settings, n, d, likelihoods)
        plan.announce(job.say, estimate=bool(job.say.verbose))
        return LatentDraft(None if given is None else self._whole(job, given), likelihoods)

    def _whole(self, job: Job, kernel: Kernel) -> Kernel:
        """The kernel, with the trend that was asked for."""
        X, trend = job.rows.X, job.settings.trend
        kernel = kernel.for_width(X.shape[1])
        return kernel if trend is None else trend.beside(kernel, X, latent_size(self.problems))

    def learn(self, job: Job, draft: LatentDraft) -> LatentDraft:
        s, rows, earlier = job.settings, self._rows(job), job.earlier
        n = self.n_rows(job)
        if not s.learn:
            return draft
        if not self.learnable:
            kernel = draft.kernel or self._whole(job, first_kernel(rows.X, s.levels))
            return replace(draft, kernel=kernel)
        if earlier is not None and not due(earlier, n, s):
            return replace(
                draft, kernel=earlier.kernel, likelihoods=earlier.likelihoods,
                learnt_at=earlier.learnt_at,
            )  # fmt: skip
        found = self._learnt(job, draft.kernel)
        return replace(draft, kernel=found.kernel, likelihoods=found.likelihoods, learnt_at=n)

    def _learnt(self, job: Job, kernel: Kernel | None) -> LearntLatent:
        s = job.settings
        return learn_latent(
            for_learning(self._rows(job), noisy=self._noisy), self.problems, kernel, job.rng,
            s.engine, clock=s.clock.share(LEARNING_AT_MOST), say=job.say, levels=s.levels,
            trend=s.trend if kernel is None else None,
        )  # fmt: skip

    def choose(self, job: Job, draft: LatentDraft) -> LatentDraft:
        assert draft.kernel is not None
        n, d = job.rows.X.shape
        groups, ids = job.chunks(draft.kernel)
        if job.alone(groups):
            job.say(f"{n} distinct rows: the Laplace GP")
            one = (np.arange(n),)
            return replace(draft, groups=one, ids=(0,), alone=True, Z=np.empty((0, d)))
        Z = self._anchors(job, draft)
        job.say(f"{n} distinct rows: {len(groups)} chunks, {Z.shape[0]} anchors")
        return replace(draft, groups=tuple(groups), ids=tuple(ids), Z=Z)

    def add_up(self, job: Job, draft: LatentDraft) -> LatentModel:
        """Messages of all chunks, approximated anew until they come to rest."""
        assert draft.kernel is not None and draft.Z is not None
        rows, sweeping = job.rows, self.sweeping
        basis, groups, ids = Anchors.at(draft.kernel, draft.Z), draft.groups, draft.ids
        starts = [
            LaplaceCommittee.of(basis, likelihood).join(cut(rows.X, problem.y, rows.w, groups, ids))
            for problem, likelihood in zip(self.problems, draft.likelihoods)
        ]
        committees = settle_together(
            starts, job.settings.engine, sequential=sweeping.sequential,
            tolerance=sweeping.tolerance, max_sweeps=1 if draft.alone else sweeping.most,
        )  # fmt: skip
        model = self._model(
            job, draft, committees, chunk_size=job.chunk_size, n_chunks=len(groups),
            total_weight=float(rows.w.sum()), ids=job.ids(len(groups)),
            waiting=Waiting(self._rows(job), 0, 0) if draft.alone else None,
            owners=job.owners if draft.alone else None,
        )  # fmt: skip
        if draft.alone:
            check_modes(committees)
        else:
            self._say_how(job, model)
        return model

    def _model(
        self, job: Job, draft: LatentDraft, committees: Sequence[LaplaceCommittee], **more: Any
    ) -> LatentModel:
        s = job.settings
        return LatentModel(
            committees=tuple(replace(one) for one in committees),
            units=self.units,
            given=self.given,
            n_local=s.local_rows(job.rows.X.shape[1]),
            query_size=s.query_points(np.inf),
            learnt_at=draft.learnt_at,
            sweeping=self.sweeping,
            scale=LatentScale(),
            **more,
        )

    def _say_how(self, job: Job, model: LatentModel) -> None:
        job.say(f"{model.sweeps} sweeps, messages moved by {model.change:.1e} in the last")
        self.sweeping.check(model.committees)

    def finish(self, job: Job, draft: LatentDraft, model: LatentModel) -> LatentModel:
        """Checked on held-out rows; without rows where none are to be kept."""
        model = self._checked(job, draft, model)
        if draft.alone or job.settings.keeps_rows:
            return model
        model = replace(model, committees=tuple(map(_without_rows, model.committees)))
        return replace(model, following=self._following(job, model))

    def _checked(self, job: Job, draft: LatentDraft, model: LatentModel) -> LatentModel:
        """With latent functions, or the noise, as held-out rows ask for."""
        if self.loss is not None and self.learnable:
            model = scaled_on_held_out_rows(model, self.loss, job, self._held_out)
        tied = self._noisy and job.settings.learn and has_ties(self.problems[0].y, job.rows.w)
        if tied and not job.settings.clock.out():
            model = self._covering(job, draft, model)
        return model

    def _held_out(self, model: LatentModel, job: Job) -> HeldOut:
        return held_out(model, job)

    def _following(self, job: Job, model: LatentModel) -> Following | None:
        if job.settings.anchors is not None:
            return None
        basis = model.committees[0].basis
        noise = getattr(model.likelihoods[0], "noise", OPEN * basis.scale(basis.Z))
        budget = job.settings.anchor_budget()
        learn = job.settings.learn and self.given is None  # regressors learn once
        return Following.of(basis, noise, budget, self._rows(job), learn=learn)

    def _covering(self, job: Job, draft: LatentDraft, model: LatentModel) -> LatentModel:
        """With more noise, where intervals hold too few of the rows left out one at a time."""
        (y,), w, (found,), (sites,) = self._held_out(model, job)
        likelihood = draft.likelihoods[0]
        assert isinstance(likelihood, Scalar)
        clear = sites.W * found.variance < CLEAR
        if clear.sum() < FEW:
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
        """To learn from."""
        return job.rows if self.plain is None else self.plain

    def _anchors(self, job: Job, draft: LatentDraft) -> Array:
        assert draft.kernel is not None
        s, X = job.settings, job.rows.X
        if s.anchors is not None:
            return given_anchors(s.anchors).Z
        noise = getattr(draft.likelihoods[0], "noise", TYPICAL_NOISE)
        pull = np.column_stack([problem.gradient_at_zero() for problem in self.problems])
        m = min(s.anchor_count(self.n_rows(job)), X.shape[0])
        rows = Rows(X, noise * pull, job.rows.w)
        near = s.keeps_rows and not s.transductive
        return choose_anchors(s.selection, draft.kernel, noise, rows, m, job.rng, near=near).Z


def fit_regression(
    job: Job, likelihood: Scalar, sweeping: Sweeping,
    system: Callable[..., LatentSystem] = LatentSystem,
) -> LatentModel:  # fmt: skip
    """The model of a regressor whose likelihood is not Gaussian."""
    rows, s, earlier = job.rows, job.settings, job.earlier
    again = earlier is not None and not due(earlier, rows.X.shape[0], s)
    units = earlier.units if again else likelihood.units(rows.y, rows.w)
    units = replace(units, exposed=exposed(rows.y))
    y = units.forward(rows.y)
    squares = _squares(likelihood, units, y, rows.w)
    if s.learn and squares[0] > FAR * squares[1]:
        warnings.warn(
            "y lies far from zero, the prior mean with a likelihood of your own: subtract its mean",
            stacklevel=2,
        )
    least = resolution(y[:, 0]) if units.standard and has_ties(y, rows.w) else 0.0
    problem = Problem(_with_noise(likelihood, units, s), y, *squares, least)
    if s.kernel is not None:
        s = replace(s, kernel=s.kernel.scaled(1.0 / units.square))
    own = system([problem], units, sweeping, given=likelihood)
    return fit_model(own, replace(job, settings=s))


def _with_noise(likelihood: Scalar, units: Units, settings: Settings) -> Scalar:
    """For y as it is seen: with the noise that is given, or that learning starts from."""
    if not likelihood.takes_noise:
        return likelihood
    unit = 1.0 / units.square
    if settings.noise is not None:
        return likelihood.with_noise(float(settings.noise[0]) * unit, keep=True)
    start = settings.noise_start
    return likelihood.with_noise(FIRST_NOISE if start is None else start * unit)


def _squares(likelihood: Scalar, units: Units, y: Array, w: Array) -> tuple[float, float]:
    """Mean squares of y as it is seen: about zero, where the prior mean is, and about its mean."""
    if units.standard or not likelihood.identity:
        return 1.0, 1.0
    share, size = capped(w) / capped(w).sum(), float(np.abs(y[:, 0]).max()) or 1.0
    unit = y[:, 0] / size
    about = float(share @ (unit - share @ unit) ** 2)
    about = about if about > 1e-26 else float(share @ unit**2)  # constant to rounding
    return float(share @ unit**2) * size**2 or 1.0, about * size**2 or 1.0


def scaled_on_held_out_rows(
    model: LatentModel, loss: Loss, job: Job, ask: Callable[[LatentModel, Job], HeldOut]
) -> LatentModel:
    """The model, its latent functions scaled by rows held out one at a time."""
    if job.rows.X.shape[0] < FEWEST:
        return model
    if job.settings.clock.out():
        warnings.warn(
            "time_limit left no time to check the probabilities on held-out rows: they may be too "
            "timid or too bold",
            stacklevel=2,
        )
        return model
    y, w, found, _ = ask(model, job)
    scale = best_scale(partial(loss, y, w), found)
    after = loss(y, w, [scale.of(one) for one in found])
    job.say(
        f"held-out rows: loss {loss(y, w, found):.3f} -> {after:.3f} with latent means x "
        f"{scale.mean:.3g} and variances x {scale.mean**2 * scale.variance:.3g}"
    )
    return replace(model, scale=scale)


def held_out(model: LatentModel, job: Job) -> HeldOut:
    """Some rows: targets of each problem, weights, latent values given all other rows, sites."""
    fresh = [replace(one) for one in model.committees]
    latents = [one.latent(k) for one in fresh for k in range(one.likelihood.latents)]
    rows = [latent.rows() for latent in latents]
    near = NEAR if model.query_size else max(model.n_local, 1)  # a row is next to itself
    some = np.sort(job.rng.permutation(rows[0].X.shape[0])[:CHECKED])
    w = np.concatenate([part.chunk.load()[2] for part in fresh[0].states])[some]
    y = [np.concatenate([part.chunk.load()[1] for part in one.states])[some] for one in fresh]
    known = predict_latents(latent_predictors(latents, near), rows[0].X[some], job.settings.engine)
    sites = [own.take(some) for own in rows]
    return y, w, [left_out(one, own) for one, own in zip(known, sites)], sites


def has_ties(y: Array, w: Array) -> bool:
    """Whether one value of y has more than TIED of the weight."""
    _, inverse = np.unique(y[:, 0], return_inverse=True)
    share = np.bincount(inverse, weights=capped(w))
    return bool(share.max() > TIED * share.sum())


def resolution(y: Array) -> float:
    """Δ²/12, the variance of rounding to the least step Δ of y; a quarter of the variance at most.

    Of labels or whole numbers it keeps the noise from vanishing.
    """
    steps = np.diff(np.unique(y))
    with np.errstate(over="ignore"):
        return float(min(steps.min(initial=np.inf) ** 2 / 12.0, 0.25 * y.var()))


def due(earlier: LatentModel, n: int, settings: Settings) -> bool:
    """Whether a stream that has come to n rows learns from them anew."""
    return n >= min(2 * earlier.learnt_at, settings.enough())


def _without_rows(committee: LaplaceCommittee) -> LaplaceCommittee:
    """Keep the sum of messages and drop the chunks."""
    found = committee.modes_found
    return replace(committee, past=committee.totals, states=(), past_found=found)
