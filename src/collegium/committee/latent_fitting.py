"""Building models of latent functions: likelihoods that are not Gaussian, or classes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..interface.arguments import number, whole_number
from ..interface.progress import Progress
from ..kernels import Kernel, as_kernel, split_white
from ..laplace.calibration import LatentScale, best_scale, left_out
from ..laplace.committee import (
    ROUNDING,
    LaplaceCommittee,
    latent_predictors,
    predict_latents,
    settle_together,
)
from ..laplace.learning import Problem, first_kernel, learn_latent
from ..laplace.transductive import JointLatents, Outcome
from ..learning.anchors import RULES, Stop
from ..likelihoods.base import Observation
from ..messages.basis import Anchors
from ..rows.chunk import cut
from ..rows.metric import Metric
from ..rows.partition import chunk_groups
from ..rows.rows import Prediction, Rows
from ..rows.scaling import for_learning
from .arguments import Settings
from .plan import LEARNING_AT_MOST

Array = np.ndarray
SCHEDULES = ("parallel", "sequence")
#: Sweeps, at most, where they go on until no message moves.
MOST_SWEEPS = 50
#: Rows left out to check probabilities, at most; rows, at least, to leave some out of; the
#: nearest rows used there by transductive models.
CHECKED, FEWEST, NEAR = 1_000, 100, 100
#: Noise that stands for a site's where anchors are selected.
TYPICAL_NOISE = 4.0
#: Arguments of a committee that mean nothing here.
ELSEWHERE = {
    "combination": "bcm", "screening": 0.0, "refine": None, "refine_tol": 1e-2,
    "refine_max_iter": 1, "n_starts": 1, "memory_limit": None,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Sweeping:
    """How often chunks are heard, and how."""

    most: int
    settle: bool  # whether it should come to rest
    sequential: bool
    tolerance: float

    @classmethod
    def of(cls, e) -> Sweeping:
        most = whole_number(e.sweeps, "sweeps")
        if not isinstance(e.schedule, str) or e.schedule not in SCHEDULES:
            raise ValueError(f"schedule={e.schedule!r}: give one of {SCHEDULES}")
        tolerance = number(e.tol, "tol", lambda v: v >= 0.0, "at least 0")
        return cls(most or MOST_SWEEPS, most is None, e.schedule == "sequence", tolerance)

    def check(self, committees: Sequence[LaplaceCommittee | Outcome]) -> None:
        """A warning where messages did not come to rest, or modes were not found."""
        change = max(one.change for one in committees)
        if self.settle and change > max(self.tolerance, ROUNDING):
            warnings.warn(
                f"messages still moved by {change:.1e} after {self.most} sweeps: give "
                "schedule='sequence', larger chunks, or sweeps=1",
                ConvergenceWarning,
                stacklevel=2,
            )
        check_modes(committees)


def check_modes(committees: Sequence[LaplaceCommittee | Outcome]) -> None:
    if not all(one.modes_found for one in committees):
        warnings.warn(
            "Newton's method did not find the mode of every chunk, and what these say may be "
            "wrong: look for extreme targets or weights, or give a kernel of less variance",
            ConvergenceWarning,
            stacklevel=2,
        )


def latent_settings(
    estimator, *, n_local: int | None = None, noise: Any = 1.0, noisy: bool = False
) -> Settings:
    """The arguments that latent models share with committees; `n_local` by default, `noise`
    where y has some."""
    given = estimator.get_params(deep=False)
    learn = given.get("learn", True)
    if not isinstance(learn, (bool, np.bool_)):
        raise ValueError(f"learn={learn!r}: give True or False")
    if not learn and given.get("kernel") is None:
        raise ValueError("learn=False needs a kernel" + " and noise" * noisy)
    if not noisy and given["kernel"] is not None:
        if split_white(as_kernel(given["kernel"]))[1] is not None:
            raise ValueError("the kernel of a latent function has White noise: leave it out")
    settings = Settings.of(SimpleNamespace(**{**ELSEWHERE, **given, "noise": noise}))
    if settings.n_local is None and not settings.transductive:
        settings = replace(settings, n_local=n_local)
    return settings


@dataclass(frozen=True, eq=False)
class LatentBuilt:
    """A fitted model: records of arrays, numbers and strings."""

    committees: tuple[LaplaceCommittee, ...]  # one a likelihood, with the same rows and anchors
    n_local: int
    query_size: int  # 0: inductive
    chunk_size: int
    n_chunks: int
    total_weight: float
    waiting: Rows | None  # all rows, where they are one chunk: more may ask for anchors
    learnt_at: int
    sweeping: Sweeping
    scale: LatentScale

    @property
    def kernel(self) -> Kernel:
        return self.committees[0].basis.kernel

    @property
    def likelihoods(self) -> tuple[Observation, ...]:
        return tuple(one.likelihood for one in self.committees)

    @property
    def sweeps(self) -> int:
        return max(one.sweeps for one in self.committees)

    @property
    def change(self) -> float:
        return max(one.change for one in self.committees)

    def log_evidence(self) -> float:
        return sum(replace(one).log_evidence for one in self.committees)

    def predictor(self) -> LatentPredictor:
        fresh = [replace(one) for one in self.committees]  # what it caches is not stored
        if self.query_size and self.n_chunks > 1:
            s = self.sweeping
            joint = JointLatents.of(
                fresh, self.query_size, s.most, s.tolerance, sequential=s.sequential, report=s.check
            )
            return LatentPredictor((), joint, self.scale)
        latents = [one.latent(k) for one in fresh for k in range(one.likelihood.latents)]
        return LatentPredictor(latent_predictors(latents, self.n_local), None, self.scale)


@dataclass(frozen=True, eq=False)
class LatentPredictor:
    """Moments of every latent function."""

    each: tuple[Any, ...]
    together: JointLatents | None
    scale: LatentScale

    def predict(self, X: Array, engine: Any) -> list[Prediction]:
        if self.together is not None:
            found = self.together.predict(X, engine)
        else:
            found = predict_latents(self.each, X, engine)
        return [self.scale.of(one) for one in found]

    def mean(self, X: Array, engine: Any) -> list[Array]:
        if self.together is not None:
            return [found.mean for found in self.predict(X, engine)]
        return [self.scale.mean * one.mean(X, engine) for one in self.each]

    def joint(self, X: Array, engine: Any) -> list[tuple[Prediction, Array]]:
        if self.together is not None:
            return self.together.joint(X, engine)
        return [one.joint(X, engine) for one in self.each]


def build_latent(
    rows: Rows, problems: Sequence[Problem], labels: Array | None, settings: Settings,
    sweeping: Sweeping, rng: np.random.Generator, say: Progress, *, streaming: bool = False,
    earlier: LatentBuilt | None = None, loss: Loss | None = None, plain: Rows | None = None,
    learnable: bool = True,
) -> LatentBuilt:  # fmt: skip
    """Learn a kernel, cut rows into chunks, choose anchors, let chunks be heard; check by `loss`.

    `problems`: targets of the same rows, each under its likelihood. `plain`: the rows with the
    weights to learn by, where these are others. Not `learnable`: the kernel stays what learning
    would start from.
    """
    plain = rows if plain is None else plain
    n, d = rows.X.shape
    size = settings.chunk_rows(n, streaming=streaming)
    settings.check_sizes(n, d, size if labels is None else int(np.bincount(labels).max()))
    settings = replace(settings, engine=say.watch(settings.engine))
    kernel, likelihoods, learnt_at = _hyperparameters(
        plain, problems, settings, rng, say, earlier, learnable
    )
    groups = chunk_groups(
        Metric.of(kernel, rows.X).forward(rows.X), labels, settings.rule, size, rng
    )
    alone = len(groups) == 1 and settings.keeps_rows and settings.enough() > 0
    alone = alone or (streaming and n < settings.enough())
    noise = getattr(likelihoods[0], "noise", TYPICAL_NOISE)
    Z = np.empty((0, d)) if alone else _anchors(kernel, noise, rows, problems, settings, rng)
    groups = [np.arange(n)] if alone else groups
    words = "the Laplace GP" if alone else f"{len(groups)} chunks, {Z.shape[0]} anchors"
    say(f"{n} distinct rows: {words}")
    basis = Anchors.at(kernel, Z)
    starts = [
        LaplaceCommittee.of(basis, likelihood).join(cut(rows.X, problem.y, rows.w, groups))
        for problem, likelihood in zip(problems, likelihoods)
    ]
    committees = settle_together(
        starts, settings.engine, sequential=sweeping.sequential, tolerance=sweeping.tolerance,
        max_sweeps=1 if alone else sweeping.most,
    )  # fmt: skip
    built = LatentBuilt(
        committees=tuple(replace(one) for one in committees),
        n_local=settings.local_rows(d),
        query_size=settings.query_points(np.inf),
        chunk_size=size,
        n_chunks=len(groups),
        total_weight=float(rows.w.sum()),
        waiting=plain if alone else None,
        learnt_at=learnt_at,
        sweeping=sweeping,
        scale=LatentScale(),
    )
    if alone:
        check_modes(committees)
    else:
        say(f"{built.sweeps} sweeps, messages moved by {built.change:.1e} in the last")
        sweeping.check(committees)
    if loss is not None and learnable:
        built = checked(built, loss, settings, rng, say)
    if alone or settings.keeps_rows:
        return built
    return replace(built, committees=tuple(map(_without_rows, built.committees)))


Loss = Callable[[list[Array], Array, list[Prediction]], float]


def checked(
    built: LatentBuilt, loss: Loss, settings: Settings, rng: np.random.Generator, say: Progress
) -> LatentBuilt:
    """The model, its latent functions scaled by rows left out one at a time.

    `loss`: of targets (one array a problem), weights, and what is said about the rows.
    """
    fresh = [replace(one) for one in built.committees]
    latents = [one.latent(k) for one in fresh for k in range(one.likelihood.latents)]
    rows = [latent.rows() for latent in latents]
    n = rows[0].X.shape[0]
    if n < FEWEST:
        return built
    if settings.clock.out():
        warnings.warn(
            "time_limit left no time to check the probabilities on rows left out: they may be too "
            "timid or too bold",
            stacklevel=2,
        )
        return built
    near = NEAR if built.query_size else max(built.n_local, 1)  # a row is next to itself
    some = np.sort(rng.permutation(n)[:CHECKED])
    w = np.concatenate([part.chunk.load()[2] for part in fresh[0].states])[some]
    y = [np.concatenate([part.chunk.load()[1] for part in one.states])[some] for one in fresh]
    known = predict_latents(latent_predictors(latents, near), rows[0].X[some], settings.engine)
    found = [left_out(one, own.take(some)) for one, own in zip(known, rows)]
    scale = best_scale(partial(loss, y, w), found)
    after = loss(y, w, [scale.of(one) for one in found])
    say(
        f"rows left out: loss {loss(y, w, found):.3f} -> {after:.3f} with latent means x "
        f"{scale.mean:.3g} and variances x {scale.mean**2 * scale.variance:.3g}"
    )
    return replace(built, scale=scale)


def add_latent(
    built: LatentBuilt, rows: Rows, targets: Sequence[Array], settings: Settings,
    rng: np.random.Generator,
) -> LatentBuilt:  # fmt: skip
    """More rows in chunks of their own, each of which meets the present belief once."""
    size = settings.chunk_rows(rows.X.shape[0], streaming=True)
    metric = Metric.of(built.kernel, rows.X)
    groups = chunk_groups(metric.forward(rows.X), None, settings.rule, size, rng)
    committees = tuple(
        replace(
            replace(one).add(  # what it caches is not stored
                cut(rows.X, y, rows.w, groups, first_id=built.n_chunks), keep=settings.keeps_rows
            )
        )
        for one, y in zip(built.committees, targets)
    )
    check_modes(committees)
    return replace(
        built, committees=committees, n_chunks=built.n_chunks + len(groups),
        total_weight=built.total_weight + float(rows.w.sum()),
    )  # fmt: skip


def due(earlier: LatentBuilt, n: int, settings: Settings) -> bool:
    """Whether a stream that has come to n rows learns from them anew."""
    return n >= min(2 * earlier.learnt_at, settings.enough())


def _without_rows(committee: LaplaceCommittee) -> LaplaceCommittee:
    """What was said is kept, who said it is not."""
    found = committee.modes_found
    return replace(committee, past=committee.total, states=(), past_found=found)


def _hyperparameters(
    rows: Rows, problems: Sequence[Problem], settings: Settings, rng: np.random.Generator,
    say: Progress, earlier: LatentBuilt | None, learnable: bool,
) -> tuple[Kernel, tuple[Observation, ...], int]:  # fmt: skip
    n, d = rows.X.shape
    kernel = None if settings.kernel is None else settings.kernel.for_width(d)
    if not settings.learn:
        assert kernel is not None
        return kernel, tuple(problem.likelihood for problem in problems), 0
    if not learnable:
        kernel = first_kernel(rows.X) if kernel is None else kernel
        return kernel, tuple(problem.likelihood for problem in problems), 0
    if earlier is not None and not due(earlier, n, settings):
        return earlier.kernel, earlier.likelihoods, earlier.learnt_at
    found = learn_latent(
        for_learning(rows), problems, kernel, rng, settings.engine,
        clock=settings.clock.share(LEARNING_AT_MOST), say=say,
    )  # fmt: skip
    return found.kernel, found.likelihoods, n


def _anchors(
    kernel: Kernel, noise: float, rows: Rows, problems: Sequence[Problem], settings: Settings,
    rng: np.random.Generator,
) -> Array:  # fmt: skip
    if settings.anchors is not None:
        return settings.anchors
    stop = Stop(min(settings.anchor_count(rows.X.shape[0]), rows.X.shape[0]))
    pull = np.column_stack([problem.gradient_at_zero() for problem in problems])
    rows = Rows(rows.X, noise * pull, rows.w)
    return RULES[settings.selection](kernel, noise, rows, stop, rng).Z
