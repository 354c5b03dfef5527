"""Fitted state of a regression filter: start it, add rows, predict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..engines import engine_for
from ..errors.checked import Checked
from ..errors.errors import ErrorPredictor, Errors
from ..interface.model import Model
from ..interface.streams.rates import Rates, bounded_log_density
from ..interface.streams.waiting import Waiting
from ..interface.words.progress import Progress
from ..kernels import Kernel
from ..kernels.base import told
from ..kernels.stationary.matern import RBF
from ..learning.hyperparameters import learn
from ..learning.optimise import Scales
from ..likelihoods.base import Scalar
from ..likelihoods.gaussian import Gaussian
from ..likelihoods.targets.units import Units
from ..numerics.records import record
from ..rows.metric import column_scales
from ..rows.partition import blocks, evenly_spaced
from ..rows.rows import Prediction, Rows
from ..rows.scaling import Balance, Scaling, choose_scaling, for_learning, merged
from .arguments import Fading, FilterOptions
from .densities import typical
from .errors import checked_in_fit, emptied, with_deviations
from .evidence import Relearning, relearnt
from .following import (
    BasisFollowing,
    Inputs,
    carried_sums,
    out_of_sight,
    remade,
)
from .kalman import Drifting
from .model import (
    MODEL,
    PAPER,
    FilterModel,
    LinearPart,
    Posterior,
    StillColumns,
    projection_error,
)
from .sums import Sums
from .tuning import TUNING

Array = np.ndarray


@record("filter.state/1")
@dataclass(frozen=True, eq=False)
class FilterState:
    """Sums over rows, which give the posterior; for drifting weights the posterior itself."""

    sums: Sums
    learning: Sums | None = None  # by the weights to learn by; None while all weights are one
    drifting: Drifting | None = None
    n_left_out: int = 0  # rows outside a density that stays, which are ignored

    @classmethod
    def start(cls, model: FilterModel, p: int, *, drifting: bool = False) -> FilterState:
        if drifting:
            return cls(Sums.start(0, 0), drifting=Drifting.start(model.weights.shape[1], p))
        return cls(Sums.start(model.k, p))

    def add(
        self, model: FilterModel, rows: Rows, fading: Fading, balance: Balance
    ) -> FilterState:  # fmt: skip
        """Add rows, y scaled."""
        X, Y, w, n = rows.X, rows.y, rows.w, rows.X.shape[0]
        left_out = self.n_left_out + n - int(model.covered(X).sum())
        if self.drifting is not None:
            drifting = self.drifting.add(model, X, Y, w, fading.drift)
            return replace(self, drifting=drifting, n_left_out=left_out)
        sums, learning, times = self.sums, self.learning, np.ones(n)
        if learning is None and not (w == 1.0).all():
            learning = sums
        if fading.forgetting < 1.0:
            sums = sums.faded(fading.forgetting**n)
            learning = learning and learning.faded(fading.forgetting**n)
            times = fading.forgetting ** np.arange(n - 1, -1, -1.0)
        if learning is not None:
            learning = model.add(learning, X, Y, times * balance(w))
        return FilterState(model.add(sums, X, Y, times * w), learning, None, left_out)

    def carried(self, old: FilterModel, new: FilterModel, rows: Rows, own: Array) -> FilterState:
        """Carry the sums to a new basis by a sample of rows; `own`: its weights to learn by."""
        learning = self.learning
        if learning is not None:
            learning = carried_sums(old, learning, new, replace(rows, w=own))
        return replace(self, sums=carried_sums(old, self.sums, new, rows), learning=learning)

    @property
    def weight(self) -> float:
        return self.sums.weight if self.drifting is None else self.drifting.weight

    def posterior(self, model: FilterModel) -> Posterior:
        return (
            Posterior.of(model, self.sums) if self.drifting is None else self.drifting.posterior()
        )


@record("filter.stream/2")
@dataclass(frozen=True, eq=False)
class FilterStream(Model):
    """Fitted filter, and the settings with which it takes more rows."""

    model: FilterModel
    state: FilterState
    units: Units
    fading: Fading
    relearning: Relearning
    following: BasisFollowing
    n_seen: int = 0
    waiting: Waiting | None = None
    errors: Errors | None = None  # None: y ~ N(m, var[f] + noise)
    checked: Checked | None = None  # errors that their scale is learnt from; None: constant
    always: bool = False  # whether to have a scale even where it does not help

    def without_rows(self) -> FilterStream:
        """Drop all rows; answers are unchanged, but basis and density no longer follow."""
        d, p = self.following.held.X.shape[1], self.following.held.y.shape[1]
        return replace(
            self, waiting=None, following=self.following.without_rows(),
            checked=self.checked and Checked.start(d, p),
        )  # fmt: skip

    def with_rows(self, rows: Rows) -> FilterStream:
        """Add rows; y without the prior mean, in the user's units.

        Where basis and density follow the stream, rows outside wait until they are many or a
        large share of a call; then both are remade, and those rows are added.
        """
        stays = self.following.making is None or self.state.drifting is not None
        if stays or self.waiting is not None:
            return replace(self.absorbed(rows), following=self.following.sampled(rows))
        stream = self
        for part in blocks(rows.w.size, TUNING.followed):
            stream = stream._followed(rows.take(part))
        return stream

    def scored(self, rows: Rows) -> tuple[FilterStream, Array]:
        """Add rows; return the log density of each given those before too, y scaled  (n,)."""
        return self.with_rows(rows), self.ahead(rows)

    def ahead(self, rows: Rows) -> Array:
        """log p(y | the rows before it) of rows that are yet to be added  (n,)."""
        scaled = Rows(rows.X, self.scaling.forward(rows.y), rows.w)
        mean, variance = self.posterior().one_step_ahead(self.model, scaled)
        return bounded_log_density(scaled.y, mean, variance).sum(axis=1)

    def again_from(self, other: FilterStream) -> FilterStream:
        """Go on from what the filter of another rate believes, at this one's rate.

        Rows are counted as if the stream had begun with those that the other one remembers.
        """
        memory = other.fading.memory
        n = int(min(memory, other.n_seen))
        return replace(
            other, fading=self.fading, n_seen=n, state=replace(other.state, n_left_out=0),
            following=other.following.since(n, other.n_seen),
            relearning=replace(other.relearning, learnt_at=n),
        )  # fmt: skip

    def _followed(self, rows: Rows) -> FilterStream:
        own, n = self.following, self.n_seen + rows.w.size
        inside = self.model.covers(rows.X)
        out = rows.take(~inside)
        lost = own.held.w.size + out.w.size > TUNING.most_held
        lost = lost or (~inside).mean() > TUNING.large_share
        if not lost and n >= own.looked_at + TUNING.look_rows:
            lost = out_of_sight(self.model, rows.X) > TUNING.many_unseen
            lost = lost or own.made.differs(own.sample.rows.X, n)
            own = replace(own, looked_at=n)
        if lost:
            return self.reprojected(rows)
        own = replace(own.sampled(rows), held=own.held + out)
        return replace(self.absorbed(rows.take(inside)), following=own, n_seen=n)

    def reprojected(self, rows: Rows) -> FilterStream:
        """Remake basis and density for further rows, carry the sums over, add those rows."""
        own, old, n = self.following, self.model, self.n_seen + rows.w.size
        assert own.making is not None
        waiting, sample = own.held + rows, own.sample.add(rows)
        usual = typical((sample.rows + waiting).X)
        known, others = np.split(usual, [sample.rows.w.size])
        inputs = Inputs(sample.rows.X[known], waiting.X[others], 1.0 - own.made.n / n)
        kernel, noise = self._guess(sample.rows.take(known))
        model = remade(old, own.making, kernel, noise, inputs, np.random.default_rng(0))
        stream = replace(self, model=model, following=own.remade(sample, inputs.known, n))
        if model.still is not old.still:  # further columns from now on
            stream = replace(
                stream, following=replace(stream.following, making=own.making.of_several()),
                relearning=replace(self.relearning, scales=Scales.of(model.moving(inputs.all))),
            )  # fmt: skip
        if sample.seen <= sample.size and self.fading.forgetting == 1.0:  # all rows are there
            state = FilterState.start(model, rows.y.shape[1])
            stream = replace(stream, state=state, n_seen=0).absorbed(sample.rows)
        else:
            inside = own.sample.rows.take(old.covers(own.sample.rows.X))
            aged, balance = self._aged(inside), self.relearning.balance
            state = self.state.carried(old, model, aged, aged.w * balance(inside.w) / inside.w)
            stream = replace(stream, state=state, n_seen=self.n_seen - own.held.w.size)
            stream = stream.absorbed(waiting)
        learns = self.relearning.learns
        return stream.relearnt(Progress(0)) if learns else with_deviations(stream)

    def _aged(self, rows: Rows) -> Rows:
        """Weigh rows of the sample, in order, by how much each still counts; y scaled."""
        age = np.linspace(self.n_seen, 0.0, rows.w.size)
        w = rows.w * self.fading.forgetting**age
        return Rows(rows.X, self.scaling.forward(rows.y), w)

    def _guess(self, rows: Rows) -> tuple[Kernel, float]:
        """Learn kernel and noise from some rows, starting from the present ones."""
        kernel, noise = self.model.kernel, self.model.noise
        scaled = Rows(self.model.moving(rows.X), self.scaling.forward(rows.y), rows.w)
        if self.model.linear is not None:
            linear = LinearPart(scaled.X.mean(axis=0), column_scales(scaled.X))
            scaled = replace(scaled, y=_residuals(linear, scaled))
        unit = float((rows.w[:, None] * scaled.y**2).sum() / (rows.w.sum() * rows.y.shape[1]))
        learning, making = self.relearning, self.following.making
        if not (learning.learns and np.isfinite(unit) and unit > 0.0):
            return kernel, noise
        few = evenly_spaced(rows.w.size, TUNING.guess_rows)
        rest, kernel = replace(scaled, y=scaled.y / np.sqrt(unit)), kernel.scaled(1.0 / unit)
        if making is not None and making.c0 is not None:
            kernel = _by_c0(rest, making.c0)
        found = learn(
            for_learning(rest.take(few)), kernel, noise / unit if learning.keep_noise else None,
            np.random.default_rng(0), engine_for(None), noise_start=noise / unit,
        )  # fmt: skip
        return found.kernel.scaled(unit), found.noise * unit

    def absorbed(self, rows: Rows) -> FilterStream:
        """Add rows in the present basis; rows outside the density are ignored."""
        scaled = Rows(rows.X, self.scaling.forward(rows.y), rows.w)
        state = self.state.add(self.model, scaled, self.fading, self.relearning.balance)
        return replace(self, state=state, n_seen=self.n_seen + rows.X.shape[0])

    @property
    def n_outside(self) -> int:
        """Rows outside the density that are not in the sums."""
        return self.state.n_left_out + self.following.held.w.size

    @property
    def due(self) -> bool:
        """Whether to relearn: rows have doubled since, or most are forgotten."""
        own = self.relearning
        since = self.n_seen - self.n_outside - own.learnt_at
        memory = TUNING.memories * self.fading.memory
        return own.learns and self.state.drifting is None and since >= min(own.learnt_at, memory)

    @property
    def forgetting(self) -> float:
        """λ: how much the past counts after each row."""
        return self.fading.forgetting

    @property
    def outside(self) -> float:
        """Share of rows outside the density."""
        return self.n_outside / max(self.n_seen, 1)

    @property
    def total_weight(self) -> float:  # type: ignore[override]
        return self.state.weight

    def relearnt(self, say: Progress) -> FilterStream:
        """Relearn hyperparameters from the sums; no row is needed again."""
        own, sums = self.relearning, self.state.learning or self.state.sums
        model = relearnt(self.model, sums, own.scales, noise_fixed=own.keep_noise)
        say(f"{told(say, model.kernel)}, noise {model.noise:.3g} (y scaled)")
        own = replace(own, learnt_at=self.n_seen - self.n_outside)
        return with_deviations(replace(self, model=model, relearning=own))

    @property
    def kernel(self) -> Kernel:  # type: ignore[override]
        return self.model.whole_kernel

    @property
    def likelihoods(self) -> tuple[Scalar, ...]:  # type: ignore[override]
        return (Gaussian(self.model.noise),) * self.scaling.scale.size

    @property
    def projection_error(self) -> float:
        """Difference of the projection's integrals from those of a finer rule."""
        return projection_error(self.model.basis, self.model.density, self.model.kernel)

    def posterior(self) -> Posterior:
        return self.state.posterior(self.model)

    def log_evidence(self) -> Array:
        return self.posterior().log_evidence

    def predictor(self) -> FilterPredictor | ErrorPredictor:
        own = FilterPredictor(self.model, self.posterior())
        if self.errors is None:
            return own
        return ErrorPredictor.of(own, self.errors, None, self.model.noise)


def begin_filter(
    rows: Rows, options: FilterOptions, rng: np.random.Generator, say: Progress
) -> FilterStream:
    """Start before any row: scale y, guess hyperparameters, make basis and density."""
    projection = options.projection
    projection.check_memory(*rows.X.shape)
    scaling = choose_scaling(rows, options.noise)
    if options.prior_mean is not None:
        size = np.hypot(scaling.centre, scaling.scale)  # the prior mean may be far off
        scaling = Scaling(np.zeros_like(size), size)
    balance = Balance.of(rows)
    rows, (d, p) = rows.take(typical(rows.X)), (rows.X.shape[1], rows.y.shape[1])
    c0 = options.c0 if options.kernel is None else None
    follows = options.fading.drift == 0.0
    still = StillColumns.of(rows.X) if c0 is not None and projection.making(d, c0) else None
    X = rows.X if still is None else np.ascontiguousarray(rows.X[:, still.moving])
    making = projection.making(X.shape[1], c0) if follows else None
    scaled = Rows(X, scaling.forward(rows.y), rows.w)
    linear = LinearPart(X.mean(axis=0), column_scales(X)) if projection.linear else None
    kernel, noise = _hyperparameters(scaled, scaling, linear, options, rng, say)
    density = projection.density_for(X, rng)
    basis = projection.basis_for(kernel, X, density, rng)
    model = FilterModel.of(
        kernel, noise, basis, density, linear, projection.cut, misfit=projection.misfit, still=still
    )
    say(
        f"{type(basis).__name__}, {basis.m} functions; {told(say, kernel)}, noise {noise:.3g} "
        "(y scaled)"
    )
    return FilterStream(
        model=model, state=FilterState.start(model, p), units=Units(scaling),
        fading=options.fading,
        relearning=Relearning(
            options.learn, options.noise is not None, Scales.of(X), balance
        ),
        following=BasisFollowing.start(making, TUNING.sample if making else 0, rows.X, p),
        checked=None if options.errors is None else Checked.start(d, p),
        always=options.errors == "varying",
    )  # fmt: skip


def fitted_filter(
    rows: Rows, options: FilterOptions, rng: np.random.Generator, say: Progress
) -> FilterStream:
    """Make a filter from its first rows: start it, learn from them, keep held-out errors."""
    stream = settled(begin_filter(rows, options, rng, say), rows, options, say)
    return checked_in_fit(stream, rows, in_order=options.fading.in_order)


def filters_by_rates(
    rows: Rows, options: FilterOptions, rng: Callable[[], np.random.Generator], say: Progress
) -> Any:
    """Make one filter per rate of forgetting, if there are several, from their first rows.

    The one is followed whose predictions, from the rows before, were best at the end. `rng()`
    makes a generator.
    """
    if len(options.rates) == 1:
        return fitted_filter(rows, options, rng(), say)
    made = Rates.start(
        lambda rate: fitted_filter(rows, options.beside(rate), rng(), say), options.rates,
        TUNING.compared,
    )  # fmt: skip
    begun = [replace(emptied(one), following=one.following.without_rows()) for one in made.models]
    return made.compared_by(begun, rows)


def settled(
    stream: FilterStream, rows: Rows, options: FilterOptions, say: Progress
) -> FilterStream:
    """Add the first rows and learn hyperparameters by evidence."""
    stream = stream.absorbed(rows)
    following = stream.following.sampled(rows).settled(stream.n_seen)
    stream = replace(stream, following=following)
    if options.learn:
        stream = stream.relearnt(say)
    if options.fading.drift == 0.0:
        return stream
    start = FilterState.start(stream.model, rows.y.shape[1], drifting=True)
    return replace(stream, state=start, n_seen=0).absorbed(rows)


def _hyperparameters(
    scaled: Rows, scaling: Scaling, linear: LinearPart | None, options: FilterOptions,
    rng: np.random.Generator, say: Progress,
) -> tuple[Kernel, float]:  # fmt: skip
    """Kernel and noise: given, learnt from residuals of a linear fit, or by C₀, C₂ (sec. 5)."""
    n, d = scaled.X.shape
    unit = 1.0 / float(scaling.scale[0] ** 2)
    kernel = options.kernel_for(d)
    kernel = None if kernel is None else kernel.scaled(unit)
    noise = None if options.noise is None else float(options.noise[0]) * unit
    scaled = for_learning(scaled) if options.learn else scaled
    rest = scaled if linear is None else replace(scaled, y=_residuals(linear, scaled))
    if options.learn:
        chosen = np.sort(rng.permutation(n)[: TUNING.guess_rows])
        start = None if options.noise_start is None else options.noise_start * unit
        found = learn(
            rest.take(chosen), kernel or _by_c0(rest, options.c0), noise, rng, engine_for(None),
            noise_start=start, say=say,
        )  # fmt: skip
        return found.kernel, found.noise
    kernel = _by_c0(rest, options.c0) if kernel is None else kernel
    if noise is None:
        noise = options.c2**2 * float(kernel.diag(scaled.X[:1])[0])
    return kernel, noise


def _by_c0(rest: Rows, c0: float) -> Kernel:
    """σ₁ the scale of the residuals, length scales σ₀ = C₀N^(−1/d) column scales."""
    n, d = rest.X.shape
    variance = float((rest.w[:, None] * rest.y**2).sum() / (rest.w.sum() * rest.y.shape[1]))
    lengths = c0 * rest.w.sum() ** (-1.0 / d) * column_scales(rest.X)
    return RBF(max(variance, 1e-12), lengths)


def _residuals(linear: LinearPart, scaled: Rows) -> Array:
    """y minus its least-squares fit, with a ridge of 1e-12."""
    root = np.sqrt(scaled.w)[:, None]
    F = linear(scaled.X)
    few = np.vstack([root * F, 1e-6 * np.eye(linear.m)])
    target = np.vstack([root * scaled.y, np.zeros((linear.m, scaled.y.shape[1]))])
    return scaled.y - F @ np.linalg.lstsq(few, target, rcond=None)[0]


@dataclass(frozen=True, eq=False)
class FilterPredictor:
    """Predict f, at the level "model" its projection, at "paper" f as published, in batches."""

    model: FilterModel
    posterior: Posterior
    level: str = ""

    def at(self, level: str) -> FilterPredictor:
        return replace(self, level=level)

    def predict(self, X: Array, engine: Any) -> Prediction:
        own = {MODEL: self.posterior.of_model, PAPER: self.posterior.as_published}
        ask = own.get(self.level, self.posterior.of_function)
        return Prediction.by_tiles(partial(ask, self.model), X)

    def mean(self, X: Array, engine: Any) -> Array:
        return self.predict(X, engine).mean

    def joint(self, X: Array, engine: Any) -> tuple[Prediction, Array]:
        return self.predict(X, engine), self.posterior.joint(self.model, X, self.level)


def ordered(rows: Rows, options: FilterOptions) -> Rows:
    """Prepare rows of one `fit`: sort and merge equal ones where order does not matter."""
    if options.in_order:
        return rows.take(rows.w > 0)
    return merged(rows, None, in_order=False)[0]
