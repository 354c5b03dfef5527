"""Building a committee model from rows: scale, learn, choose, add up, check."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..answers.conjugate_gradients import Refined, refined, with_targets
from ..answers.predictors import Predictor, predictor
from ..answers.transductive import Joint
from ..combining.predictors import Nested, Panel
from ..interface.progress import Progress
from ..kernels import Kernel, Sum
from ..learning.anchors import RULES, Stop
from ..learning.dof import DOF_SAMPLE, degrees_of_freedom
from ..learning.hyperparameters import Effort, learn, learn_anchored
from ..messages.committee import Committee
from ..rows.chunk import cut
from ..rows.metric import Metric
from ..rows.partition import chunk_groups
from ..rows.rows import Rows
from ..rows.scaling import Scaling, for_learning
from .arguments import Settings
from .checking import check_bars, check_joint, check_query_size
from .plan import LEARNING_AT_MOST, Plan

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Built:
    """A fitted committee model: records of arrays, numbers and strings."""

    committee: Committee
    scaling: Scaling
    chunk_size: int
    n_local: int
    query_size: int  # 0: inductive
    combination: str
    screening: float
    dof: float  # effective degrees of freedom of the rows; 0: not estimated
    weights: Array  # of the exact GP, where means were refined; else none  (n, p)
    rest: Committee | None  # about what the weights leave of the targets, where there are some
    residuals: Array  # of that system, before each iteration and after the last
    n_chunks: int
    total_weight: float
    waiting: bool  # an exact GP so far: more rows may ask for anchors
    learnt_at: int  # rows seen when hyperparameters were last learnt

    def predictor(self) -> Predictor | Joint | Panel | Nested | Refined:
        if len(self.committee.sizes) > 1:
            if self.combination == "npae":
                return Nested.of(self.committee)
            if self.combination != "bcm":
                return Panel.of(self.committee, self.combination)
            if self.query_size:
                return Joint.of(self.committee, self.query_size, self.screening)
        if self.rest is None:
            return predictor(self.committee, self.n_local)
        own = predictor(self.rest, self.n_local)
        return Refined(own, self.committee.basis.kernel, self.committee.rows().X, self.weights)


def build(
    rows: Rows, labels: Array | None, settings: Settings, rng: np.random.Generator,
    say: Progress, *, streaming: bool, earlier: Built | None,
) -> Built:  # fmt: skip
    """Rows in the units of the user -> model. `earlier`: the same stream, some rows ago."""
    n, d = rows.X.shape
    size = settings.chunk_rows(n, streaming=streaming)
    settings.check_sizes(n, d, size if labels is None else int(np.bincount(labels).max()))
    settings = replace(settings, engine=say.watch(settings.engine))
    plan = Plan.of(settings, n, d, rows.y.shape[1], streaming=streaming, estimate=bool(say.verbose))
    plan.announce(settings, say)
    scaling = choose_scaling(rows, settings)
    scaled = Rows(rows.X, scaling.forward(rows.y), rows.w)
    kernel, noise, learnt_at = hyperparameters(scaled, scaling, settings, rng, say, earlier, plan)
    groups = chunk_groups(
        Metric.of(kernel, rows.X).forward(rows.X), labels, settings.rule, size, rng
    )
    alone = len(groups) == 1 and settings.keeps_rows and settings.enough() > 0
    exact = alone or (streaming and n < settings.enough())
    model = Built(
        committee=Committee.start(kernel, noise, np.empty((0, d)), rows.y.shape[1]),
        scaling=scaling,
        chunk_size=size,
        n_local=settings.local_rows(d),
        query_size=settings.query_points(np.inf),
        combination=settings.combination,
        screening=settings.screening,
        dof=0.0,
        weights=np.empty((0, rows.y.shape[1])),
        rest=None,
        residuals=np.empty(0),
        n_chunks=1 if exact else len(groups),
        total_weight=float(rows.w.sum()),
        waiting=exact,
        learnt_at=learnt_at,
    )
    if not exact and settings.experts:
        return with_experts(model, scaled, groups, settings, rng, say)
    if not exact:
        return with_anchors(model, scaled, groups, settings, plan, rng, say)
    say(f"{n} rows in one chunk: the exact GP")
    whole = cut(*scaled.fields(), [np.arange(n)])
    return replace(model, committee=model.committee.add(whole, settings.engine, keep=True))


def with_anchors(
    model: Built, scaled: Rows, groups: list[Array], settings: Settings, plan: Plan,
    rng: np.random.Generator, say: Progress,
) -> Built:  # fmt: skip
    """Choose anchors, check the error bars, add up the messages."""
    kernel, noise = model.committee.basis.kernel, model.committee.noise
    n, Z = scaled.X.shape[0], settings.anchors
    dof = degrees_of_freedom(kernel, noise, scaled)
    words = "at least" if dof > 0.9 * DOF_SAMPLE else "about"  # all that a sample can show
    say(f"{words} {dof:.0f} effective degrees of freedom")
    if Z is None:
        stop = Stop(min(settings.anchor_count(n, dof), n, plan.most_anchors))
        Z = RULES[settings.selection](kernel, noise, scaled, stop, rng).Z
    model = replace(model, query_size=settings.query_points(dof), dof=dof)
    say(f"{n} rows in {len(groups)} chunks of about {n // len(groups)}, {Z.shape[0]} anchors")
    if settings.transductive:
        check_query_size(settings, model.query_size, dof, n, say)
    if settings.anchored:
        found = learn_anchored(
            kernel, noise, Z, cut(*for_learning(scaled).fields(), groups), settings.engine,
            noise_fixed=settings.noise is not None, stop=plan.clock.out,
        )  # fmt: skip
        kernel, noise = found.kernel, found.noise
        model = replace(model, committee=Committee.start(kernel, noise, Z[:0], scaled.y.shape[1]))
        say(f"by the anchored evidence {kernel!r}, noise {noise:.3g} (standardised targets)")
    learnt = settings.learn and settings.noise is None and free_scale(kernel)
    if learnt and plan.checks() and len(groups) > 1:
        bars = check_bars(model, scaled, groups, Z, settings, rng)
        kernel, noise = kernel.scaled(bars.scale), noise * bars.scale * bars.ratio
        say(
            f"rows left out: NLPD {bars.before:.3f} -> {bars.after:.3f} with the noise ratio "
            f"x {bars.ratio:.3g} and all variances x {bars.scale:.3g}"
        )
    committee = Committee.start(kernel, noise, Z, scaled.y.shape[1])
    chunks = cut(*scaled.fields(), groups)
    committee = committee.add(chunks, settings.engine, keep=settings.keeps_rows)
    say("messages added up")
    model = replace(model, committee=committee, dof=degrees_of_freedom(kernel, noise, scaled))
    plan = plan.with_kernel(kernel)
    return with_weights(model, settings, plan, say) if plan.refines(settings, say) else model


def with_weights(model: Built, settings: Settings, plan: Plan, say: Progress) -> Built:
    """Means on the way to those of the exact GP; see `refine`."""
    found = refined(
        model.committee, settings.engine, tolerance=settings.refine_tol,
        max_iter=settings.refine_max_iter, enough=plan.enough, say=say,
    )  # fmt: skip
    if found.residuals[-1] > settings.refine_tol and plan.enough():
        say(f"time is up: refined to a residual of {found.residuals[-1]:.1e}")
    elif settings.refine and found.residuals[-1] > settings.refine_tol:
        warnings.warn(
            f"refine='cg' stopped after {settings.refine_max_iter} iterations with a residual of "
            f"{found.residuals[-1]:.1e}: give a larger refine_max_iter or refine_tol, or larger "
            "chunks",
            ConvergenceWarning,
            stacklevel=2,
        )
    rest = with_targets(model.committee, found.rest, settings.engine)
    return replace(model, weights=found.weights, rest=rest, residuals=found.residuals)


def with_experts(
    model: Built, scaled: Rows, groups: list[Array], settings: Settings,
    rng: np.random.Generator, say: Progress,
) -> Built:  # fmt: skip
    """Chunks that answer on their own; for a GRBCM the first is the communication set."""
    n = scaled.X.shape[0]
    if settings.combination == "grbcm":
        shared = rng.choice(n, settings.communication_rows(n, model.chunk_size), replace=False)
        out = np.isin(np.arange(n), shared)
        groups = [np.sort(shared), *(group[~out[group]] for group in groups)]
        groups = [group for group in groups if group.size]
        say(f"{shared.size} rows in the communication set")
    say(f"{n} rows in {len(groups)} chunks of about {n // len(groups)}: {settings.combination}")
    chunks = cut(*scaled.fields(), groups)
    committee = model.committee.add(chunks, settings.engine, keep=True)
    return replace(model, committee=committee, n_chunks=len(groups))


def add_rows(built: Built, rows: Rows, settings: Settings, rng: np.random.Generator) -> Built:
    """The model that has heard more rows, in chunks of their own."""
    committee = built.committee
    scaled = Rows(rows.X, built.scaling.forward(rows.y), rows.w)
    size = settings.chunk_rows(rows.X.shape[0], streaming=True)
    metric = Metric.of(committee.basis.kernel, rows.X)
    groups = chunk_groups(metric.forward(rows.X), None, settings.rule, size, rng)
    chunks = cut(*scaled.fields(), groups, first_id=built.n_chunks)
    return replace(
        built,
        committee=committee.add(chunks, settings.engine, keep=settings.keeps_rows),
        chunk_size=size,
        weights=built.weights[:0],  # the committee itself has heard all rows; refining has not
        rest=None,
        residuals=np.empty(0),
        n_chunks=built.n_chunks + len(groups),
        total_weight=built.total_weight + float(rows.w.sum()),
    )


def choose_scaling(rows: Rows, settings: Settings) -> Scaling:
    """Each output by its own scale where the noise is learnt; else in the given proportions."""
    scaling, p = Scaling.of(rows.y, rows.w), rows.y.shape[1]
    if settings.noise is None:
        return scaling
    if settings.noise.size not in (1, p):
        raise ValueError(f"noise has {settings.noise.size} values, but y has {p} outputs")
    if settings.noise[0] == 0.0:
        return scaling.relative_to_first(np.ones(p))
    return scaling.relative_to_first(
        np.broadcast_to(np.sqrt(settings.noise / settings.noise[0]), (p,))
    )


def hyperparameters(
    scaled: Rows,
    scaling: Scaling,
    settings: Settings,
    rng,
    say: Progress,
    earlier: Built | None,
    plan: Plan | None = None,
) -> tuple[Kernel, float, int]:
    """Kernel and noise for scaled targets, and the rows seen when they were learnt."""
    n, d = scaled.X.shape
    unit = 1.0 / float(scaling.scale[0] ** 2)
    kernel = None if settings.kernel is None else settings.kernel.for_width(d).scaled(unit)
    noise = None if settings.noise is None else float(settings.noise[0]) * unit
    if not settings.learn:
        assert kernel is not None and noise is not None
        return kernel, noise, 0
    growth = 1.25 if n < 300 else 2.0  # of a waiting stream, before it is learnt from again
    if earlier is not None and n < min(growth * earlier.learnt_at, settings.enough()):
        change = float(earlier.scaling.scale[0] ** 2) * unit
        old = earlier.committee
        own = old.noise * change if noise is None else noise
        return old.basis.kernel.scaled(change), own, earlier.learnt_at
    start = None if settings.noise_start is None else settings.noise_start * unit
    judged = None
    hurried = plan is not None and plan.effort != Effort().for_rows(n)
    if settings.transductive and settings.chunk_rows(n) < n and not hurried:
        judged = partial(check_joint, scaled, settings)
    found = learn(
        for_learning(scaled), kernel, noise, rng, settings.engine, n_starts=settings.n_starts,
        noise_start=start, judge=judged, say=say,
        effort=None if plan is None else plan.effort,
        clock=None if plan is None else plan.clock.share(LEARNING_AT_MOST),
    )  # fmt: skip
    return found.kernel, found.noise, n


def free_scale(kernel: Kernel) -> bool:
    """Whether learning may scale the kernel: every term has a size that is not fixed."""
    terms = kernel.parts if isinstance(kernel, Sum) else (kernel,)
    return all({"variance", "slope"} & {kind for kind, _ in term.labels} for term in terms)
