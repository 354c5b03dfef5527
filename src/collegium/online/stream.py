"""Fitted state of online regression: start it, add rows, relearn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..engines import engine_for
from ..errors.checked import Checked, relearnt_errors
from ..errors.errors import ErrorPredictor, Errors
from ..errors.features import ScaleInputs
from ..interface.checks.arguments import given_hyperparameters, noise_word
from ..interface.model import Model
from ..interface.streams.rates import Rates, bounded_log_density
from ..interface.streams.waiting import Waiting
from ..interface.words.progress import Progress
from ..kernels import Kernel
from ..kernels.base import told
from ..learning.hyperparameters import learn
from ..likelihoods.base import Scalar
from ..likelihoods.gaussian import Gaussian
from ..likelihoods.poisson import Poisson
from ..likelihoods.targets.units import Units
from ..numerics.records import record
from ..pipeline.stream.following import gain
from ..rows.partition import evenly_spaced
from ..rows.rows import Prediction, Rows
from ..rows.scaling import Scaling, choose_scaling, for_learning
from .arguments import OnlineOptions
from .gp import OnlineGP
from .learning import default_kernel, search_kernel
from .tuning import TUNING
from .watch import Watch, follow

Array = np.ndarray
LIKELIHOODS, NOISES = ("gaussian", "poisson"), ("constant", "auto", "varying")


@dataclass(frozen=True, eq=False)
class RegressionOptions(OnlineOptions):
    """Options of regression: counts, noise and errors as well."""

    counts: bool
    noise: Array | None  # kept as given  (1,) or (p,)
    noise_start: float | None  # from white noise in the kernel
    errors: str | None  # "auto" or "varying": learn the scale of errors; None: constant

    @classmethod
    def of(cls, estimator) -> RegressionOptions:
        e, plain = estimator, OnlineOptions.of(estimator)
        if not isinstance(e.likelihood, str) or e.likelihood not in LIKELIHOODS:
            raise ValueError(f"likelihood={e.likelihood!r}: give one of {LIKELIHOODS}")
        counts, noise, start, kernel = e.likelihood == "poisson", None, None, plain.kernel
        if counts and not (e.noise is None or isinstance(e.noise, str)):
            raise ValueError("noise means nothing with likelihood='poisson': leave it out")
        if counts and not plain.learn and kernel is None:
            raise ValueError("learn=False needs a kernel")
        if not counts:
            kernel, noise, start = given_hyperparameters(e.kernel, e.noise, plain.learn, NOISES)
        word = noise_word(e.noise, NOISES) if noise is None and not counts else None
        given = {**vars(plain), "kernel": kernel}
        errors = None if word == "constant" else word
        return cls(**given, counts=counts, noise=noise, noise_start=start, errors=errors)

    def with_known_noise(self) -> RegressionOptions:
        """Adapt to rows with known noise variances: noise on top of them is constant."""
        asked = {
            "likelihood='poisson'": self.counts,
            "noise='varying'": self.errors == "varying",
            "noise of several values": self.noise is not None and np.ptp(self.noise) > 0.0,
        }
        named = [name for name, wanted in asked.items() if wanted]
        if named:
            raise ValueError(f"noise_variance does not go with {', '.join(named)}: leave one out")
        return replace(self, errors=None)


@record("online.model/1")
@dataclass(frozen=True, eq=False)
class OnlineModel(Model):
    """Online GP of scaled targets or of counts, with the state that more rows need."""

    for_streams = ("waiting", "watch", "checked")

    gp: OnlineGP
    targets: Scaling  # how y is scaled
    novelty: float  # as given
    keep_noise: bool
    waiting: Waiting | None
    n_seen: int
    total_weight: float
    watch: Watch | None  # None: hyperparameters stay
    errors: Errors | None = None  # None: y ~ N(m, var[f] + noise)
    checked: Checked | None = None  # errors that their scale is learnt from; None: constant
    always: bool = False  # whether to have a scale even where it does not help
    known_noise: bool = False  # whether rows come with noise variances

    @property
    def kernel(self) -> Kernel:  # type: ignore[override]
        return self.gp.kernel

    @property
    def likelihoods(self) -> tuple[Scalar, ...]:  # type: ignore[override]
        return (self.gp.likelihood,) * self.targets.scale.size

    @property
    def units(self) -> Units:  # type: ignore[override]
        return Units(self.targets, self.gp.shift)

    def log_evidence(self) -> Array:
        return self.gp.log_evidence

    def rows_words(self) -> str:
        return f", seen through {len(self.gp.Z):,} of their inputs"

    def some_inputs(self) -> Array:
        if self.waiting is not None:
            return self.waiting.rows.X
        sample = None if self.watch is None else self.watch.sample.rows
        return self.gp.Z if sample is None or not sample.w.size else sample.X

    def predictor(self) -> OnlinePredictor | ErrorPredictor:
        own, likelihood = OnlinePredictor(self.gp), self.gp.likelihood
        if self.errors is None or not isinstance(likelihood, Gaussian):
            return own
        return ErrorPredictor.of(own, self.errors, None, likelihood.noise)

    @property
    def n_rows(self) -> int:
        return self.gp.n_rows

    @property
    def forgetting(self) -> float:
        """λ: how much the past counts after each row."""
        return self.gp.rules.forgetting

    @property
    def n_relearnt(self) -> int:
        return 0 if self.watch is None else self.watch.n_relearnt

    def with_rows(self, rows: Rows) -> OnlineModel:
        """Add rows of a stream, one by one in order, in the user's units."""
        return self.scored(rows)[0]

    def scored(self, rows: Rows) -> tuple[OnlineModel, Array]:
        """Add rows; return the log density of each before it was added too, y scaled  (n,)."""
        model = self._looked_at(rows)
        model, densities = model.absorbed(rows) if self.watch is None else follow(model, rows)
        return (model if model.checked is None else model.with_errors()), densities

    def beside(self, options: OnlineOptions) -> OnlineModel:
        """Change the rate of forgetting before any row has come."""
        rules = replace(options.rules, novelty=self.gp.rules.novelty)
        watch = options.watch(self.gp.Z.shape[1], self.targets.scale.size)
        if watch is not None and rules.forgetting < self.gp.rules.forgetting:
            watch = watch.by_surprise()  # to look at the gain costs more than all else
        return replace(self, gp=replace(self.gp, rules=rules), watch=watch)

    def again_from(self, other: OnlineModel) -> OnlineModel:
        """Go on from what the model of another rate believes, by rules of this one."""
        rules = replace(self.gp.rules, novelty=other.gp.rules.novelty)
        watch = other.watch
        if self.watch is not None and watch is not None:
            watch = self.watch.again_from(watch, other.gp.rules.memory)
        return replace(other, gp=replace(other.gp, rules=rules), watch=watch)

    def fitted(self, rows: Rows, n_sweeps: int) -> OnlineModel:
        """Add all rows of one `fit`, from which hyperparameters were learnt."""
        scaled = self.targets.rows(rows)
        y, watch = scaled.y, self.watch
        gp = self.gp.sweep(rows.X, y, rows.w, n_sweeps, scaled.extra)
        if watch is not None:
            watch = replace(watch, sample=watch.sample.add(rows), learnt_at=gp.n_rows)
        weight = self.total_weight + float(rows.w.sum())
        model = replace(self, gp=gp, total_weight=weight, watch=watch)
        if self.checked is None:
            return model
        checked = self._checked(scaled, self.gp.add(rows.X, y, rows.w)[1])
        return replace(model, checked=checked).with_errors()

    def absorbed(self, rows: Rows) -> tuple[OnlineModel, Array]:
        """Add rows with the present hyperparameters; return their log densities (n,) too."""
        scaled = self.targets.rows(rows)
        gp, before = self.gp.add(rows.X, scaled.y, rows.w, scaled.extra)
        mean, variance = self._expected(before, scaled)
        densities = bounded_log_density(scaled.y, mean, variance).sum(axis=1)
        watch = self.watch
        if watch is not None:
            watch = watch.after(rows, 0.5 * ((scaled.y - mean) ** 2 / variance - 1.0).mean(axis=1))
        weight = self.total_weight + float(rows.w.sum())
        return replace(self, gp=gp, total_weight=weight, watch=watch), densities

    def _looked_at(self, rows: Rows) -> OnlineModel:
        """Predict some arriving rows before any of them is learnt from, and keep their errors.

        They are predicted as far ahead as by a user who predicts a call's rows before learning.
        """
        if self.checked is None or not self.n_rows:
            return self
        some = rows.take(evenly_spaced(rows.w.size, TUNING.checked))
        scaled = self.targets.rows(some)
        return replace(self, checked=self._checked(scaled, self.gp.predict(some.X)))

    def _checked(self, scaled: Rows, before: Prediction) -> Checked:
        """Keep the errors of rows that were predicted before they were learnt from."""
        assert self.checked is not None
        mean, variance = self._expected(before, scaled)
        place = scaled.X if self.errors is None else self.errors.metric.forward(scaled.X)
        at = ScaleInputs.of(mean, variance, place, None)
        return self.checked.add(scaled, at, self.errors)

    def with_errors(self) -> OnlineModel:
        """Learn the scale of the last rows' errors, where that is due."""
        assert self.checked is not None
        errors, checked = relearnt_errors(
            self.errors, self.checked, self.kernel, always=self.always, say=lambda text: None
        )
        return replace(self, errors=errors, checked=checked)

    def _expected(self, before: Prediction, scaled: Rows) -> tuple[Array, Array]:
        """Mean and variance of y given the prediction of f; y is the mean of w rows."""
        likelihood, v = self.gp.likelihood, before.variance[:, None]
        if isinstance(likelihood, Gaussian):
            return before.mean, np.maximum(v + scaled.psi(likelihood.noise)[:, None], 1e-300)
        mean, variance = likelihood.predict(before.mean + self.gp.shift, v)
        return mean, np.maximum(variance, 1e-300)

    def relearnt(self) -> OnlineModel:
        """Relearn hyperparameters from the sample; carry over the belief about f."""
        assert self.watch is not None
        rows = self.watch.sample.rows
        kernel, likelihood = self._learnt(rows)
        known = 0.0 if rows.extra is None else float(np.median(self.targets.known(rows.extra)))
        gp, watch = self.gp.with_prior(kernel, likelihood, known), self.watch.relearnt(self.n_rows)
        rules = replace(gp.rules, novelty=novelty_for(self.novelty, kernel, likelihood, rows.X))
        model, checked = replace(self, gp=replace(gp, rules=rules), watch=watch), self.checked
        if checked is None or not isinstance(likelihood, Gaussian):
            return model
        # these rows were learnt from, but they are few among all
        found = model.gp.predict(checked.rows.X)
        return replace(model, checked=checked.answered(found, likelihood.noise))

    def gain(self) -> float:
        """Estimate the gain of a few learning steps, in log evidence per row of the sample."""
        assert self.watch is not None
        likelihood = self.gp.likelihood
        if not isinstance(likelihood, Gaussian):
            return 0.0
        rows, unit = self._standard(self.watch.sample.rows)
        kernel, noise = self.gp.kernel.scaled(1.0 / unit), likelihood.noise / unit
        return gain(kernel, noise, rows, noise_fixed=self.keep_noise)

    def _standard(self, rows: Rows) -> tuple[Rows, float]:
        """Scale targets to mean square one; return the old mean square too."""
        rows = self.targets.rows(rows)
        y = rows.y
        unit = float((rows.w[:, None] * y**2).sum() / (rows.w.sum() * y.shape[1]))
        if not (np.isfinite(unit) and unit > 0.0):
            unit = 1.0
        extra = None if rows.extra is None else rows.extra / unit
        return Rows(rows.X, y / np.sqrt(unit), rows.w, extra), unit

    def _learnt(self, rows: Rows) -> tuple[Kernel, Scalar]:
        """Learn kernel and likelihood from rows, starting from the present ones."""
        gp = self.gp
        if not isinstance(gp.likelihood, Gaussian):
            return _kernel_by_evidence(rows, gp, gp.kernel), gp.likelihood
        rows, unit = self._standard(rows)
        if not rows.y.any():
            return gp.kernel, gp.likelihood
        noise = gp.likelihood.noise / unit
        found = learn(
            for_learning(rows), gp.kernel.scaled(1.0 / unit),
            noise if self.keep_noise else None, np.random.default_rng(self.n_rows),
            engine_for(None), noise_start=noise,
        )  # fmt: skip
        return found.kernel.scaled(unit), Gaussian(found.noise * unit)


@dataclass(frozen=True, eq=False)
class OnlinePredictor:
    """Predictions of an online GP; the engine is not used."""

    gp: OnlineGP

    def mean(self, X: Array, engine: Any) -> Array:
        return self.gp.means(X)

    def predict(self, X: Array, engine: Any) -> Prediction:
        return self.gp.predict(X)

    def joint(self, X: Array, engine: Any) -> tuple[Prediction, Array]:
        return self.gp.predict(X), self.gp.joint(X)


def begin_regression(
    first: Rows, scaled_by: Rows, options: RegressionOptions, rng: np.random.Generator,
    say: Progress,
) -> OnlineModel:  # fmt: skip
    """Start before any row: scale y by some rows, learn hyperparameters from the first."""
    d, p = first.X.shape[1], first.y.shape[1]
    kernel = options.kernel_for(d)
    if options.counts:
        scaling = Scaling(np.zeros(1), np.ones(1))
        total, weight = float(scaled_by.w @ scaled_by.y[:, 0]), float(scaled_by.w.sum())
        shift = float(np.log(max(total, 0.5) / weight))
        kernel = default_kernel(first.X, options.levels) if kernel is None else kernel
        gp = OnlineGP.start(kernel, Poisson(), d, 1, options.rules, shift)
        if options.learn:
            gp = replace(gp, kernel=_kernel_by_evidence(first, gp, kernel))
        say(f"{told(say, gp.kernel)} for log rates about {shift:.3g}")
        return OnlineModel(
            gp, scaling, options.rules.novelty, False, None, 0, 0.0, options.watch(d, 1)
        )
    scaling = choose_scaling(scaled_by, options.noise)
    unit = 1.0 / float(scaling.scale[0] ** 2)
    kernel = None if kernel is None else kernel.scaled(unit)
    noise = None if options.noise is None else float(options.noise[0]) * unit
    if options.learn:
        start = None if options.noise_start is None else options.noise_start * unit
        scaled = scaling.rows(first)
        found = learn(
            for_learning(scaled), kernel, noise, rng, engine_for(None), noise_start=start, say=say,
            levels=options.levels,
        )  # fmt: skip
        kernel, noise = found.kernel, found.noise
    assert kernel is not None and noise is not None  # given where nothing is learnt
    novelty, likelihood = options.rules.novelty, Gaussian(noise)
    rules = replace(options.rules, novelty=novelty_for(novelty, kernel, likelihood, first.X))
    gp = OnlineGP.start(kernel, likelihood, d, p, rules)
    keep, watch = options.noise is not None, options.watch(d, p)
    checked = None if options.errors is None else Checked.start(d, p)
    always = options.errors == "varying"
    return OnlineModel(
        gp, scaling, novelty, keep, None, 0, 0.0, watch, checked=checked, always=always,
        known_noise=first.extra is not None,
    )  # fmt: skip


def by_rates(model: Any, options: OnlineOptions) -> Any:
    """Begin one model per rate of forgetting, where there are several, from one without rows."""
    if len(options.rates) == 1:
        return model
    return Rates.start(lambda rate: model.beside(options.beside(rate)), options.rates)


def points_by_rates(model: Any, rows: Rows, options: OnlineOptions) -> Any:
    """Add all rows of one `fit`; of several rates follow the one that predicted best at the end."""
    begun = by_rates(model, options)
    if begun is model:
        return model.fitted(rows, options.n_sweeps)
    fitted = [one.fitted(rows, options.n_sweeps) for one in begun.models]
    return replace(begun, models=tuple(fitted)).compared_by(begun.models, rows)


def novelty_for(given: float, kernel: Kernel, likelihood: Scalar, X: Array) -> float:
    """Lower the given novelty where it would leave more than the noise unexplained.

    The unexplained part of a row counts as independent noise, though neighbours share it.
    """
    if not isinstance(likelihood, Gaussian):
        return given
    variance = max(float(kernel.diag(X).mean()), 1e-300)
    return min(given, likelihood.noise / variance)


def _kernel_by_evidence(first: Rows, gp: OnlineGP, kernel: Kernel) -> Kernel:
    """Search variance and lengths of a kernel, for a likelihood that is not Gaussian."""

    def log_evidence(tried: Kernel) -> float:
        start = OnlineGP.start(
            tried, gp.likelihood, first.X.shape[1], 1, gp.rules, gp.shift
        )  # fmt: skip
        return float(start.add(first.X, first.y)[0].log_evidence[0])

    return search_kernel(log_evidence, kernel, first.X)
