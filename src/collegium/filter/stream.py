"""Fitted state of a regression filter: start it, add rows, predict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..engines import engine_for
from ..errors.checked import Checked
from ..errors.errors import ErrorPredictor, Errors
from ..interface.model import Model
from ..interface.streams.waiting import Waiting
from ..interface.words.progress import Progress
from ..kernels import Kernel
from ..kernels.stationary.rbf import RBF
from ..learning.hyperparameters import learn
from ..learning.optimise import Scales
from ..likelihoods.base import Scalar
from ..likelihoods.gaussian import Gaussian
from ..likelihoods.units import Units
from ..numerics.records import record
from ..pipeline.fitting import choose_scaling
from ..rows.metric import column_scales
from ..rows.partition import blocks, evenly_spaced
from ..rows.reservoir import Reservoir
from ..rows.rows import Prediction, Rows
from ..rows.scaling import Balance, Scaling, for_learning, merged
from .arguments import FilterOptions, Making
from .densities import typical
from .errors import checked_in_fit, with_deviations
from .evidence import relearnt
from .following import (
    Inputs,
    MadeFrom,
    carried_sums,
    out_of_sight,
    remade,
)
from .kalman import Drifting
from .model import FilterModel, LinearPart, Posterior
from .projection import projection_error
from .sums import Sums
from .tuning import TUNING

Array = np.ndarray
#: Level of the projection of f onto the basis.
MODEL = "model"


@record("filter.stream/1")
@dataclass(frozen=True, eq=False)
class FilterStream(Model):
    """Fitted filter, and the settings with which it takes more rows."""

    model: FilterModel
    sums: Sums
    drifting: Drifting | None
    drift: float
    forgetting: float
    scales: Scales  # of the inputs: priors and bounds of the hyperparameters
    keep_noise: bool
    learns: bool
    units: Units
    waiting: Waiting | None
    n_seen: int
    n_left_out: int  # rows outside a density that stays, which are ignored
    learnt_at: int  # rows used when hyperparameters were last learnt
    making: Making | None  # None: basis and density stay
    sample: Reservoir  # of the rows, y without the prior mean
    held: Rows  # rows outside the density that wait for a new basis
    looked_at: int  # rows when it was last checked whether the basis shows f at them
    made: MadeFrom  # the inputs that basis and density were made from
    n_reprojected: int
    balance: Balance  # the weights to learn by
    learning: Sums | None = None  # sums by these weights; None while all weights are one
    errors: Errors | None = None  # None: y ~ N(m, var[f] + noise)
    checked: Checked | None = None  # errors that their scale is learnt from; None: constant
    always: bool = False  # whether to have a scale even where it does not help

    def without_rows(self) -> FilterStream:
        """Drop all rows; answers are unchanged, but basis and density no longer follow."""
        none = self.held.take(slice(0))
        d, p = none.X.shape[1], none.y.shape[1]
        return replace(
            self, waiting=None, making=None, sample=Reservoir.start(0, d, p), held=none,
            checked=self.checked and Checked.start(d, p),
        )  # fmt: skip

    def with_rows(self, rows: Rows) -> FilterStream:
        """Add rows; y without the prior mean, in the user's units.

        Where basis and density follow the stream, rows outside wait until they are many or a
        large share of a call; then both are remade, and those rows are added.
        """
        if self.making is None or self.waiting is not None or self.drifting is not None:
            return replace(self.absorbed(rows), sample=self.sample.add(rows))
        stream = self
        for part in blocks(rows.w.size, TUNING.followed):
            stream = stream._followed(rows.take(part))
        return stream

    def _followed(self, rows: Rows) -> FilterStream:
        stream, n = self, self.n_seen + rows.w.size
        inside = self.model.density.covers(rows.X)
        out = rows.take(~inside)
        lost = self.held.w.size + out.w.size > TUNING.most_held
        lost = lost or (~inside).mean() > TUNING.large_share
        if not lost and n >= self.looked_at + TUNING.look_rows:
            lost = out_of_sight(self.model, rows.X) > TUNING.many_unseen
            lost = lost or self.made.differs(self.sample.rows.X, n)
            stream = replace(stream, looked_at=n)
        if lost:
            return stream.reprojected(rows)
        stream = stream.absorbed(rows.take(inside))
        return replace(stream, held=self.held + out, n_seen=n, sample=self.sample.add(rows))

    def reprojected(self, rows: Rows) -> FilterStream:
        """Remake basis and density for further rows, carry the sums over, add those rows."""
        assert self.making is not None
        old, waiting, sample = self.model, self.held + rows, self.sample.add(rows)
        n = self.n_seen + rows.w.size
        usual = typical((sample.rows + waiting).X)
        known, others = np.split(usual, [sample.rows.w.size])
        inputs = Inputs(sample.rows.X[known], waiting.X[others], 1.0 - self.made.n / n)
        kernel, noise = self._guess(sample.rows.take(known))
        model = remade(old, self.making, kernel, noise, inputs, np.random.default_rng(0))
        stream = replace(
            self, model=model, sample=sample, held=waiting.take(slice(0)), looked_at=n,
            made=MadeFrom.of(inputs.known, n), n_reprojected=self.n_reprojected + 1,
        )  # fmt: skip
        if sample.seen <= sample.size and self.forgetting == 1.0:  # all rows are there
            sums = Sums.start(model.k, rows.y.shape[1])
            stream = replace(stream, sums=sums, learning=None, n_seen=0, n_left_out=0)
            stream = stream.absorbed(sample.rows)
        else:
            inside = self.sample.rows.take(old.density.covers(self.sample.rows.X))
            aged, before = self._aged(inside), self.n_seen - self.held.w.size
            learning = self.learning
            if learning is not None:
                own = replace(aged, w=aged.w * self.balance(inside.w) / inside.w)
                learning = carried_sums(old, learning, model, own)
            sums = carried_sums(old, self.sums, model, aged)
            stream = replace(stream, sums=sums, learning=learning, n_seen=before)
            stream = stream.absorbed(waiting)
        return stream.relearnt(Progress(0)) if self.learns else with_deviations(stream)

    def _aged(self, rows: Rows) -> Rows:
        """Weigh rows of the sample, in order, by how much each still counts; y scaled."""
        age = np.linspace(self.n_seen, 0.0, rows.w.size)
        return Rows(rows.X, self.scaling.forward(rows.y), rows.w * self.forgetting**age)

    def _guess(self, rows: Rows) -> tuple[Kernel, float]:
        """Learn kernel and noise from some rows, starting from the present ones."""
        kernel, noise = self.model.kernel, self.model.noise
        scaled = Rows(rows.X, self.scaling.forward(rows.y), rows.w)
        if self.model.linear is not None:
            linear = LinearPart(rows.X.mean(axis=0), column_scales(rows.X))
            scaled = replace(scaled, y=_residuals(linear, scaled))
        unit = float((rows.w[:, None] * scaled.y**2).sum() / (rows.w.sum() * rows.y.shape[1]))
        if not (self.learns and np.isfinite(unit) and unit > 0.0):
            return kernel, noise
        few = evenly_spaced(rows.w.size, TUNING.guess_rows)
        rest, kernel = replace(scaled, y=scaled.y / np.sqrt(unit)), kernel.scaled(1.0 / unit)
        if self.making is not None and self.making.c0 is not None:
            kernel = _by_c0(rest, self.making.c0)
        found = learn(
            for_learning(rest.take(few)), kernel, noise / unit if self.keep_noise else None,
            np.random.default_rng(0), engine_for(None), noise_start=noise / unit,
        )  # fmt: skip
        return found.kernel.scaled(unit), found.noise * unit

    def absorbed(self, rows: Rows) -> FilterStream:
        """Add rows in the present basis; rows outside the density are ignored."""
        Y, w, n = self.scaling.forward(rows.y), rows.w, rows.X.shape[0]
        outside = n - int(self.model.covered(rows.X).sum())
        self = replace(self, n_seen=self.n_seen + n, n_left_out=self.n_left_out + outside)
        if self.drifting is not None:
            drifting = self.drifting.add(self.model, rows.X, Y, w, self.drift)
            return replace(self, drifting=drifting)
        sums, learning, fading = self.sums, self.learning, np.ones(n)
        if learning is None and not (w == 1.0).all():
            learning = sums
        if self.forgetting < 1.0:
            sums = sums.faded(self.forgetting**n)
            learning = learning and learning.faded(self.forgetting**n)
            fading = self.forgetting ** np.arange(n - 1, -1, -1.0)
        if learning is not None:
            learning = self.model.add(learning, rows.X, Y, fading * self.balance(w))
        sums = self.model.add(sums, rows.X, Y, fading * w)
        return replace(self, sums=sums, learning=learning)

    @property
    def n_outside(self) -> int:
        """Rows outside the density that are not in the sums."""
        return self.n_left_out + self.held.w.size

    @property
    def due(self) -> bool:
        """Whether to relearn: rows have doubled since, or most are forgotten."""
        since = self.n_seen - self.n_outside - self.learnt_at
        memory = TUNING.memories / (1.0 - self.forgetting) if self.forgetting < 1.0 else np.inf
        return self.learns and self.drifting is None and since >= min(self.learnt_at, memory)

    @property
    def outside(self) -> float:
        """Share of rows outside the density."""
        return self.n_outside / max(self.n_seen, 1)

    @property
    def total_weight(self) -> float:  # type: ignore[override]
        return self.sums.weight if self.drifting is None else self.drifting.weight

    def relearnt(self, say: Progress) -> FilterStream:
        """Relearn hyperparameters from the sums; no row is needed again."""
        sums = self.learning or self.sums
        model = relearnt(self.model, sums, self.scales, noise_fixed=self.keep_noise)
        say(f"{model.kernel!r}, noise {model.noise:.3g} (y scaled)")
        learnt_at = self.n_seen - self.n_outside
        return with_deviations(replace(self, model=model, learnt_at=learnt_at))

    @property
    def kernel(self) -> Kernel:  # type: ignore[override]
        return self.model.kernel

    @property
    def likelihoods(self) -> tuple[Scalar, ...]:  # type: ignore[override]
        return (Gaussian(self.model.noise),) * self.scaling.scale.size

    @property
    def projection_error(self) -> float:
        """Difference of the projection's integrals from those of a finer rule."""
        return projection_error(self.model.basis, self.model.density, self.model.kernel)

    def posterior(self) -> Posterior:
        if self.drifting is not None:
            return self.drifting.posterior()
        return Posterior.of(self.model, self.sums)

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
    options.check_memory(*rows.X.shape)
    scaling = choose_scaling(rows, options)
    if options.prior_mean is not None:
        size = np.hypot(scaling.centre, scaling.scale)  # the prior mean may be far off
        scaling = Scaling(np.zeros_like(size), size)
    balance = Balance.of(rows)
    rows, (d, p) = rows.take(typical(rows.X)), (rows.X.shape[1], rows.y.shape[1])
    making = options.making(d) if options.drift == 0.0 else None
    scaled = Rows(rows.X, scaling.forward(rows.y), rows.w)
    linear = LinearPart(rows.X.mean(axis=0), column_scales(rows.X)) if options.linear else None
    kernel, noise = _hyperparameters(scaled, scaling, linear, options, rng, say)
    density = options.density_for(rows.X, rng)
    basis = options.basis_for(kernel, rows.X, density, rng)
    model = FilterModel.of(
        kernel, noise, basis, density, linear, options.cut, misfit=options.misfit
    )
    say(f"{type(basis).__name__}, {basis.m} functions; {kernel!r}, noise {noise:.3g} (y scaled)")
    return FilterStream(
        model=model, sums=Sums.start(model.k, p), drifting=None, drift=options.drift,
        forgetting=options.forgetting, scales=Scales.of(rows.X),
        keep_noise=options.noise is not None, learns=options.learn, units=Units(scaling),
        waiting=None, n_seen=0, n_left_out=0, learnt_at=0, making=making,
        sample=Reservoir.start(TUNING.sample if making else 0, d, p),
        held=Rows(np.empty((0, d)), np.empty((0, p)), np.empty(0)), looked_at=0,
        made=MadeFrom.of(rows.X, 0), n_reprojected=0, balance=balance,
        checked=None if options.errors is None else Checked.start(d, p),
        always=options.errors == "varying",
    )  # fmt: skip


def fitted_filter(
    rows: Rows, options: FilterOptions, rng: np.random.Generator, say: Progress
) -> FilterStream:
    """Make a filter from its first rows: start it, learn from them, keep held-out errors."""
    stream = settled(begin_filter(rows, options, rng, say), rows, options, say)
    return checked_in_fit(stream, rows, in_order=options.in_order)


def settled(
    stream: FilterStream, rows: Rows, options: FilterOptions, say: Progress
) -> FilterStream:
    """Add the first rows and learn hyperparameters by evidence."""
    stream = replace(stream.absorbed(rows), sample=stream.sample.add(rows))
    n = stream.n_seen
    stream = replace(stream, looked_at=n, made=replace(stream.made, n=n))
    if options.learn:
        stream = stream.relearnt(say)
    if options.drift == 0.0:
        return stream
    start = Drifting.start(stream.model.weights.shape[1], rows.y.shape[1])
    stream = replace(
        stream, drifting=start, sums=Sums.start(0, 0), learning=None, n_seen=0, n_left_out=0
    )
    return stream.absorbed(rows)


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
    """Predict f, or at the level "model" its projection, in batches."""

    model: FilterModel
    posterior: Posterior
    of_model: bool = False

    def at(self, level: str) -> FilterPredictor:
        return replace(self, of_model=level == MODEL)

    def predict(self, X: Array, engine: Any) -> Prediction:
        ask = self.posterior.of_model if self.of_model else self.posterior.of_function
        return Prediction.by_tiles(partial(ask, self.model), X)

    def mean(self, X: Array, engine: Any) -> Array:
        return self.predict(X, engine).mean

    def joint(self, X: Array, engine: Any) -> tuple[Prediction, Array]:
        return self.predict(X, engine), self.posterior.joint(self.model, X, of_model=self.of_model)


def ordered(rows: Rows, options: FilterOptions) -> Rows:
    """Prepare rows of one `fit`: sort and merge equal ones where order does not matter."""
    if options.in_order:
        return rows.take(rows.w > 0)
    return merged(rows, None, in_order=False)[0]
