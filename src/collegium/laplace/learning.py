"""Hyperparameters of latent functions, by the Laplace evidence of independent chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import kernels
from ..kernels import Kernel
from ..learning.optimise import Learnt, Objective, Prior, Scales, maximise
from ..likelihoods.base import Observation
from ..numerics.clock import Clock
from ..rows import partition
from ..rows.chunk import Chunk, cut
from ..rows.metric import Metric
from ..rows.rows import Rows
from .evidence import Slopes, factorised_together

Array = np.ndarray
#: Tried where no kernel is given, roughest first; a rougher one is kept unless the evidence of a
#: smoother one is better by so much a row.
FAMILIES, BETTER = ("Matern32", "Matern52", "RBF"), 0.002
#: Prior of the log variance of a latent function: log rates and log odds are of order one.
SIZE, SIZE_SPREAD = 4.0, 1.5
#: Worth of the last of Newton's steps; see `laplace`.
MODE_TOLERANCE = 1e-10
#: Prior of the log of a parameter that a likelihood has of its own: spread and reach about the
#: value it was given.
OWN_SPREAD, OWN_REACH = 2.0, 7.0


@dataclass(frozen=True)
class LatentEffort:
    """How many rows learning looks at."""

    rough_rows: int = 400
    chunks: int = 8
    size: int = 400
    max_iter: int = 30


@dataclass(frozen=True, eq=False)
class Problem:
    """Targets of one likelihood: several of them share a kernel (classes against the rest)."""

    likelihood: Observation
    y: Array  # (n, c)
    unit: float = 1.0  # of squared functions in the units of y: sizes are relative to it
    noise_unit: float = 1.0  # of squared targets about their mean

    def pull(self) -> Array:
        """∂ log p(y | f)/∂f at f = 0  (n, K): where each row would have f go."""
        n, K = self.y.shape[0], self.likelihood.latents
        f = np.zeros(n) if K == 1 else np.zeros((n, K))
        return self.likelihood.derivatives(self.y, f)[0].reshape(n, K)


@dataclass(frozen=True, eq=False)
class LearntLatent:
    """A kernel, and likelihoods with their own parameters."""

    kernel: Kernel
    likelihoods: tuple[Observation, ...]


def learn_latent(
    rows: Rows, problems: Sequence[Problem], kernel: Kernel | None, rng: np.random.Generator,
    engine: Any, *, effort: LatentEffort | None = None, clock: Clock | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> LearntLatent:  # fmt: skip
    """Roughly on random rows, then on clusters in the metric found; `kernel` gives family and
    start. Only X and w of `rows` are read.
    """
    effort, clock = effort or LatentEffort(), clock or Clock()
    learner = _Learner(rows, tuple(problems), rng, engine, effort, clock, say)
    return learner.run(kernel)


def first_kernel(X: Array, size: float = SIZE, family: str = FAMILIES[0]) -> Kernel:
    """What learning starts from."""
    return getattr(kernels, family)(size, Scales.of(X).columns * np.sqrt(X.shape[1]))


@dataclass(eq=False)
class _Learner:
    rows: Rows
    problems: tuple[Problem, ...]
    rng: np.random.Generator
    engine: Any
    effort: LatentEffort
    clock: Clock
    say: Callable[[str], None]

    def run(self, kernel: Kernel | None) -> LearntLatent:
        n, e = self.rows.X.shape[0], self.effort
        self.scales = Scales.of(self.rows.X)
        sample = np.sort(self.rng.permutation(n)[: e.rough_rows])
        noise = self._noise()
        if kernel is not None:
            found = self._fit(kernel, noise, [sample])
        else:
            found = self._family(noise, [sample])
        if n > e.rough_rows and not self.clock.out():
            groups = self._clusters(found.kernel)
            found = self._fit(found.kernel, found.noise, groups)
        self.say(f"learnt {found.kernel!r}{self._words(found)}")
        return LearntLatent(
            found.kernel, tuple(_with_noise(p.likelihood, found.noise) for p in self.problems)
        )

    def _family(self, noise: float, groups: list[Array]) -> Learnt:
        """The roughest family that is about as good as the best, by evidence."""
        size = self.problems[0].unit if self._measured() else SIZE
        tried = []
        for name in FAMILIES:
            start = first_kernel(self.rows.X, size, name)
            tried.append(self._fit(start, noise, groups))
            self.say(f"{name}: log evidence a row {tried[-1].value:.3f}")
            if self.clock.out():
                break
        best = max(found.value for found in tried)
        return next(found for found in tried if found.value >= best - BETTER)

    def _fit(self, kernel: Kernel, noise: float, groups: list[Array]) -> Learnt:
        X, w = self.rows.X, self.rows.w
        chunks = cut(X, np.hstack([problem.y for problem in self.problems]), w, groups)
        weight = sum(float(w[group].sum()) for group in groups) * len(self.problems)
        return maximise(
            self._objective(chunks), kernel, noise, self._prior(kernel, noise), weight,
            noise_fixed=not self._noisy(), max_iter=self.effort.max_iter, stop=self.clock.out,
        )  # fmt: skip

    def _objective(self, chunks: list[Chunk]) -> Objective:
        """Modes are looked for where they were for the last kernel."""
        slopes: Slopes = {}

        def at(kernel: Kernel, noise: float) -> tuple[float, Array]:
            nonlocal slopes
            likelihoods = [_with_noise(problem.likelihood, noise) for problem in self.problems]
            found = factorised_together(
                kernel, likelihoods, chunks, self.engine, slopes, MODE_TOLERANCE
            )
            slopes, gradient = found.slopes, np.zeros(kernel.theta.size + 1)
            gradient[: found.gradient.size] = found.gradient
            return found.value, gradient

        return at

    def _prior(self, kernel: Kernel, noise: float) -> Prior:
        """As for targets of unit variance, but for the size of a latent function."""
        prior, first = self.scales.prior(kernel), self.problems[0]
        if not (self._measured() and "noise" in first.likelihood._names()):
            prior = _own_parameter(prior, noise)
        if self._measured():
            return _in_units(prior, kernel, first.unit, first.noise_unit)
        sizes = np.array([kind == "variance" for kind, _ in kernel.labels] + [False])
        return replace(
            prior,
            centre=np.where(sizes, np.log(SIZE), prior.centre),
            spread=np.where(sizes, SIZE_SPREAD, prior.spread),
        )

    def _clusters(self, kernel: Kernel) -> list[Array]:
        X, e = self.rows.X, self.effort
        groups = partition.balanced(Metric.of(kernel, X).forward(X), e.size, self.rng)
        few = max(4, e.chunks // (1 + len(self.problems) // 6))  # many problems take longer
        pick = self.rng.choice(len(groups), min(few, len(groups)), replace=False)
        return [groups[i] for i in np.sort(pick)]

    def _measured(self) -> bool:
        """Whether the function is in the units of y."""
        return getattr(self.problems[0].likelihood, "identity", False)

    def _noisy(self) -> bool:
        return bool(self.problems[0].likelihood.theta.size)

    def _noise(self) -> float:
        theta = self.problems[0].likelihood.theta
        return float(np.exp(theta[0])) if theta.size else 1.0

    def _words(self, found: Learnt) -> str:
        return f", noise {found.noise:.3g} (scaled targets)" if self._noisy() else ""


def _own_parameter(prior: Prior, value: float) -> Prior:
    """About the given value of a parameter that is no noise in the units of y."""
    t = np.log(value)
    parts = (prior.centre, t), (prior.spread, OWN_SPREAD), (prior.low, t - OWN_REACH)
    return Prior(*(np.append(a[:-1], own) for a, own in (*parts, (prior.high, t + OWN_REACH))))


def _in_units(prior: Prior, kernel: Kernel, unit: float, noise_unit: float) -> Prior:
    """Of targets whose squares are of this size; slopes are lengths, 1/√ of a variance."""
    powers = {"variance": 1.0, "slope": -0.5}
    moved = np.array([powers.get(kind, 0.0) for kind, _ in kernel.labels] + [0.0]) * np.log(unit)
    moved[-1] = np.log(noise_unit)
    return Prior(prior.centre + moved, prior.spread, prior.low + moved, prior.high + moved)


def _with_noise(likelihood: Observation, noise: float) -> Observation:
    return likelihood.with_theta(np.log([noise])) if likelihood.theta.size else likelihood
