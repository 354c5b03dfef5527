"""Learns hyperparameters of latent functions by the Laplace evidence of independent chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..kernels.base import told
from ..kernels.trend import has_trend
from ..learning.families import roughest_good
from ..learning.optimise import Learnt, Objective, Prior, Scales, maximise
from ..learning.pool import Pool
from ..learning.trend import Lines
from ..likelihoods.base import Observation
from ..numerics.clock import Clock
from ..rows.chunk import Chunk, cut
from ..rows.rows import Rows
from .evidence import Gradients, evidence_together
from .steps import Forms
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True)
class LatentEffort:
    """Rows and iterations that learning uses."""

    rough_rows: int = 400
    chunks: int = 8
    size: int = 400
    max_iter: int = 30

    def clusters(self, problems: int) -> int:
        """Number of chunks to learn from; fewer for many problems, which take longer."""
        return max(4, self.chunks // (1 + problems // 6))


@dataclass(frozen=True, eq=False)
class Problem:
    """Targets of one likelihood; several problems share a kernel (one class against the rest)."""

    likelihood: Observation
    y: Array  # (n, c)
    unit: float = 1.0  # mean square of y about the prior mean: unit of the latent variance
    noise_unit: float = 1.0  # mean square of y about its mean: unit of the noise variance
    least_noise: float = 0.0  # variance: y has no finer resolution

    def gradient_at_zero(self) -> Array:
        """∂ log p(y | f)/∂f at f = 0  (n, K)."""
        n, K = self.y.shape[0], self.likelihood.latents
        f = np.zeros(n) if K == 1 else np.zeros((n, K))
        return self.likelihood.derivatives(self.y, f)[0].reshape(n, K)


@dataclass(frozen=True, eq=False)
class LearntLatent:
    """Kernel, and likelihoods with their parameters."""

    kernel: Kernel
    likelihoods: tuple[Observation, ...]


def learn_from(
    pool: Pool, problems: Sequence[Problem], kernel: Kernel | None, rng: np.random.Generator,
    engine: Any, *, effort: LatentEffort | None = None, clock: Clock | None = None,
    say: Callable[[str], None] = lambda text: None,
    weigh: Callable[[Rows], Rows] = lambda rows: rows, forms: Forms | None = None,
    trend: Lines | None = None,
) -> LearntLatent:  # fmt: skip
    """Learn first from random rows, then from clusters in the metric of the kernel found.

    The y of the pool has the targets of all problems side by side. `kernel` gives the family and
    the start. `weigh` gives rows the weights to learn by. `forms`: how kernels that are not given
    see columns. `trend` is added to the kernel.
    """
    effort, clock, forms = effort or LatentEffort(), clock or Clock(), forms or Forms()
    term = None if trend is None else trend.kernel(pool.sample.X, latent_size(problems))
    learner = _LatentLearner(
        pool, tuple(problems), rng, engine, effort, clock, say, weigh, forms, term
    )
    found = learner.run(kernel)
    return replace(found, kernel=learner.whole(found.kernel))


def first_kernel(
    X: Array, levels: tuple[int, ...] = (), size: float = TUNING.learning.size,
    family: str = TUNING.learning.families[0],
) -> Kernel:  # fmt: skip
    """Kernel that learning starts from."""
    return Scales.of(X, levels).kernel(family, size)


@dataclass(eq=False)
class _LatentLearner:
    """Steps of `learn_from`."""

    pool: Pool
    problems: tuple[Problem, ...]
    rng: np.random.Generator
    engine: Any
    effort: LatentEffort
    clock: Clock
    say: Callable[[str], None]
    weigh: Callable[[Rows], Rows]
    forms: Forms
    trend: Kernel | None = None  # without free parameters

    def whole(self, kernel: Kernel) -> Kernel:
        """Let the kernel see columns in their forms, and add the trend; θ stays the same."""
        own = self.forms.kernel(kernel)
        return own if self.trend is None or has_trend(kernel) else own + self.trend

    def run(self, kernel: Kernel | None) -> LearntLatent:
        """Fit random rows, then clusters in the metric of the kernel found."""
        X, e = self.pool.sample.X, self.effort
        self.scales = self.forms.scales(X)
        sample = np.sort(self.rng.permutation(X.shape[0])[: e.rough_rows])
        noise = self._noise()
        if kernel is not None:
            found = self._fit(kernel, noise, [sample])
        else:
            found = self._family(noise, [sample])
        if self.pool.n > e.rough_rows and not self.clock.out():
            groups = self._clusters(found.kernel)
            found = self._fit(found.kernel, found.noise, groups)
        self.say(f"learnt {told(self.say, found.kernel)}{self._words(found)}")
        return LearntLatent(
            found.kernel, tuple(_with_noise(p.likelihood, found.noise) for p in self.problems)
        )

    def _family(self, noise: float, groups: list[Array]) -> Learnt:
        """Take the roughest family whose evidence is close to the best."""
        size = latent_size(self.problems)
        tried = []
        for name in TUNING.learning.families:
            tried.append(self._fit(self.scales.kernel(name, size), noise, groups))
            self.say(f"{name}: log evidence per row {tried[-1].value:.3f}")
            if self.clock.out():
                break
        values = np.array([found.value for found in tried])
        t = TUNING.learning
        robust = any(problem.likelihood.corrected for problem in self.problems)
        return tried[roughest_good(values, t.robust_margin if robust else t.margin)]

    def _fit(self, kernel: Kernel, noise: float, groups: list[Array]) -> Learnt:
        X, y, w = self.weigh(self.pool.rows).fields()
        chunks = cut(X, y, w, groups)
        weight = sum(float(w[group].sum()) for group in groups) * len(self.problems)
        return maximise(
            self._objective(chunks), kernel, noise, self._prior(kernel, noise), weight,
            noise_fixed=not self._noisy(), max_iter=self.effort.max_iter, stop=self.clock.out,
        )  # fmt: skip

    def _objective(self, chunks: list[Chunk]) -> Objective:
        """Evidence of the chunks; each search for modes starts from the previous ones."""
        modes: Gradients = {}

        def at(kernel: Kernel, noise: float) -> tuple[float, Array]:
            nonlocal modes
            likelihoods = [_with_noise(problem.likelihood, noise) for problem in self.problems]
            found = evidence_together(
                self.whole(kernel), likelihoods, chunks, self.engine, modes,
                TUNING.learning.mode_tolerance, corrected=True,
            )  # fmt: skip
            modes, gradient = found.modes, np.zeros(kernel.theta.size + 1)
            gradient[: found.gradient.size] = found.gradient
            return found.value, gradient

        return at

    def _prior(self, kernel: Kernel, noise: float) -> Prior:
        """Prior for targets of unit variance, with the latent function's own size."""
        prior, first = self.scales.prior(kernel), self.problems[0]
        if not (self._measured() and "noise" in first.likelihood._names()):
            prior = _own_parameter(prior, noise)
        if self._measured():
            prior = _in_units(prior, kernel, first.unit, first.noise_unit)
            least = np.log(max(first.least_noise, 1e-300))
            low = np.append(prior.low[:-1], np.clip(least, prior.low[-1], prior.high[-1]))
            return replace(prior, low=low)
        sizes = np.array([kind == "variance" for kind, _ in kernel.labels] + [False])
        return replace(
            prior,
            centre=np.where(sizes, np.log(TUNING.learning.size), prior.centre),
            spread=np.where(sizes, TUNING.learning.size_spread, prior.spread),
        )

    def _clusters(self, kernel: Kernel) -> list[Array]:
        few = self.effort.clusters(len(self.problems))
        return self.pool.clusters(self.forms.kernel(kernel), self.effort.size, few, self.rng)

    def _measured(self) -> bool:
        """Whether the latent function is in the units of y."""
        return _in_units_of_y(self.problems)

    def _noisy(self) -> bool:
        return bool(self.problems[0].likelihood.theta.size)

    def _noise(self) -> float:
        theta = self.problems[0].likelihood.theta
        return float(np.exp(theta[0])) if theta.size else 1.0

    def _words(self, found: Learnt) -> str:
        return f", noise {found.noise:.3g} (scaled targets)" if self._noisy() else ""


def latent_size(problems: Sequence[Problem]) -> float:
    """Expected variance of a latent function."""
    return problems[0].unit if _in_units_of_y(problems) else TUNING.learning.size


def _in_units_of_y(problems: Sequence[Problem]) -> bool:
    return getattr(problems[0].likelihood, "identity", False)


def _own_parameter(prior: Prior, value: float) -> Prior:
    """Prior about the given value, for a parameter that is not a noise in the units of y."""
    t, reach = np.log(value), TUNING.learning.own_reach
    own = {"centre": t, "spread": TUNING.learning.own_spread, "low": t - reach, "high": t + reach}
    return replace(prior, **{k: np.append(getattr(prior, k)[:-1], v) for k, v in own.items()})


def _in_units(prior: Prior, kernel: Kernel, unit: float, noise_unit: float) -> Prior:
    """Prior for functions and noise of these variances; slopes are lengths, 1/√variance."""
    powers = {"variance": 1.0, "slope": -0.5}
    shift = np.array([powers.get(kind, 0.0) for kind, _ in kernel.labels] + [0.0]) * np.log(unit)
    shift[-1] = np.log(noise_unit)
    return replace(
        prior, centre=prior.centre + shift, low=prior.low + shift, high=prior.high + shift
    )


def _with_noise(likelihood: Observation, noise: float) -> Observation:
    return likelihood.with_theta(np.log([noise])) if likelihood.theta.size else likelihood
