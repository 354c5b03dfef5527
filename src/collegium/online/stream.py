"""A stream of regression: how it begins, and what it is after some rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..committee.fitting import choose_scaling
from ..engines import engine_for
from ..interface.arguments import given_hyperparameters
from ..interface.model import Model
from ..interface.progress import Progress
from ..interface.stream import Waiting
from ..kernels import Kernel
from ..learning.hyperparameters import learn
from ..likelihoods.base import Scalar
from ..likelihoods.gaussian import Gaussian
from ..likelihoods.poisson import Poisson
from ..likelihoods.units import Units
from ..rows.rows import Prediction, Rows
from ..rows.scaling import Scaling, for_learning
from .arguments import Options
from .gp import OnlineGP
from .learning import default_kernel, search

Array = np.ndarray
LIKELIHOODS = ("gaussian", "poisson")


@dataclass(frozen=True, eq=False)
class RegressionOptions(Options):
    """With what regression adds."""

    counts: bool
    noise: Array | None  # kept as given  (1,) or (p,)
    noise_start: float | None  # from white noise in the kernel

    @classmethod
    def of(cls, estimator) -> RegressionOptions:
        e, plain = estimator, Options.of(estimator)
        if not isinstance(e.likelihood, str) or e.likelihood not in LIKELIHOODS:
            raise ValueError(f"likelihood={e.likelihood!r}: give one of {LIKELIHOODS}")
        counts, noise, start, kernel = e.likelihood == "poisson", None, None, plain.kernel
        if counts and e.noise is not None:
            raise ValueError("noise means nothing with likelihood='poisson': leave it out")
        if counts and not plain.learn and kernel is None:
            raise ValueError("learn=False needs a kernel")
        if not counts:
            kernel, noise, start = given_hyperparameters(e.kernel, e.noise, plain.learn)
        given = {**vars(plain), "kernel": kernel}
        return cls(**given, counts=counts, noise=noise, noise_start=start)


@dataclass(frozen=True, eq=False)
class OnlineModel(Model):
    """An online GP of targets scaled, or of counts, and what it needs to go on."""

    gp: OnlineGP
    targets: Scaling  # how y is scaled
    waiting: Waiting | None
    n_seen: int
    total_weight: float

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

    def predictor(self) -> OnlinePredictor:
        return OnlinePredictor(self.gp)

    def with_rows(self, rows: Rows, *, n_sweeps: int = 1) -> OnlineModel:
        """After rows, one by one in their order, in the units of the user."""
        scaled = self.targets.forward(rows.y)
        weight = self.total_weight + float(rows.w.sum())
        gp = self.gp.sweep(rows.X, scaled, rows.w, n_sweeps)
        return replace(self, gp=gp, total_weight=weight)


@dataclass(frozen=True, eq=False)
class OnlinePredictor:
    """The answers of an online GP; an engine has nothing to do in them."""

    gp: OnlineGP

    def mean(self, X: Array, engine: Any) -> Array:
        return self.gp.means(X)

    def predict(self, X: Array, engine: Any) -> Prediction:
        return self.gp.predict(X)

    def joint(self, X: Array, engine: Any) -> tuple[Prediction, Array]:
        return self.gp.predict(X), self.gp.joint(X)


def begin(
    first: Rows, scaled_by: Rows, options: RegressionOptions, rng: np.random.Generator,
    say: Progress,
) -> OnlineModel:  # fmt: skip
    """Before any row: y scaled by some rows, hyperparameters learnt from the first."""
    d, p = first.X.shape[1], first.y.shape[1]
    kernel = options.kernel_for(d)
    if options.counts:
        scaling = Scaling(np.zeros(1), np.ones(1))
        total, weight = float(scaled_by.w @ scaled_by.y[:, 0]), float(scaled_by.w.sum())
        shift = float(np.log(max(total, 0.5) / weight))
        kernel = _kernel_of_counts(first, shift, kernel, options)
        say(f"{kernel!r} for log rates about {shift:.3g}")
        gp = OnlineGP.start(kernel, Poisson(), d, 1, options.rules, shift)
        return OnlineModel(gp, scaling, None, 0, 0.0)
    scaling = choose_scaling(scaled_by, options)
    unit = 1.0 / float(scaling.scale[0] ** 2)
    kernel = None if kernel is None else kernel.scaled(unit)
    noise = None if options.noise is None else float(options.noise[0]) * unit
    if options.learn:
        start = None if options.noise_start is None else options.noise_start * unit
        scaled = Rows(first.X, scaling.forward(first.y), first.w)
        found = learn(
            for_learning(scaled), kernel, noise, rng, engine_for(None), noise_start=start, say=say
        )
        kernel, noise = found.kernel, found.noise
    assert kernel is not None and noise is not None  # given where nothing is learnt
    gp = OnlineGP.start(kernel, Gaussian(noise), d, p, options.rules)
    return OnlineModel(gp, scaling, None, 0, 0.0)


def _kernel_of_counts(
    first: Rows, shift: float, kernel: Kernel | None, options: RegressionOptions
) -> Kernel:
    kernel = default_kernel(first.X) if kernel is None else kernel
    if not options.learn:
        return kernel

    def log_evidence(tried: Kernel) -> float:
        gp = OnlineGP.start(tried, Poisson(), first.X.shape[1], 1, options.rules, shift)
        return float(gp.add(first.X, first.y)[0].log_evidence[0])

    return search(log_evidence, kernel, first.X)
