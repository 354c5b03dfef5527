"""Answers of models that are averaged over hyperparameters: mixtures of Gaussians."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..answers.answers import OBSERVATION, Answers
from ..answers.arrived import COVERAGE, Arrived
from .mixture import Mixture

Array = np.ndarray


class AveragedAnswers(Answers):
    """y and f ~ Σₖ πₖ N(mₖ, vₖ); the predictor is an `averaging.predictor.AveragedPredictor`."""

    def moments(self, level: str) -> tuple[Array, Array]:
        found = self._mixtures(level)
        mean = np.stack([one.mean() for one in found], axis=1)
        std = np.stack([one.std() for one in found], axis=1)
        return self._in_units(mean), std * self.units.scaling.scale

    def covariance(self, level: str) -> tuple[Array, Array]:
        noise = level == OBSERVATION
        each = [one.covariance(self.X, noise=noise) for one in self.predictor.outputs]
        mean, std = self.moments(level)
        C = np.stack(each, axis=-1) * self.units.scaling.scale**2
        n = np.arange(C.shape[0])
        C[n, n] = std**2  # as `moments` has it
        return mean, C

    def quantiles(self, probabilities: Sequence[float], level: str) -> list[Array]:
        found = self._mixtures(level)
        return [
            self._in_units(np.stack([one.quantile(q) for one in found], axis=1))
            for q in probabilities
        ]

    def log_density(self, y: Array) -> Array:
        found = self._mixtures(OBSERVATION)
        each = [one.log_density(self._seen(y, j)[:, 0]) for j, one in enumerate(found)]
        return np.stack(each, axis=1) - np.log(self.units.scaling.scale)

    def distribution(self, y: Array) -> Array:
        found = self._mixtures(OBSERVATION)
        return np.stack([one.cdf(self._seen(y, j)[:, 0]) for j, one in enumerate(found)], axis=1)

    def arrived(self, y: Array, known: Array | None = None) -> Arrived:
        """As `Answers` has it; averaged models have no rows of known noise."""
        lower, upper = self.interval(COVERAGE, OBSERVATION)
        mean, std = self.moments(OBSERVATION)
        square = ((y - mean) / np.maximum(std, 1e-150)) ** 2
        missed = ((y < lower) | (y > upper)).mean(axis=1)
        return Arrived(
            missed, np.full(missed.shape, 1.0 - COVERAGE), self.log_density(y).mean(axis=1),
            square.mean(axis=1), np.zeros(missed.shape),
        )  # fmt: skip

    def draws(self, n_samples: int, rng: Any, level: str) -> Array:
        own = np.random.default_rng(rng.randint(2**31 - 1))
        noise = level == OBSERVATION
        each = [one.sample(self.X, n_samples, own, noise=noise) for one in self.predictor.outputs]
        return self._in_units(np.stack(each, axis=1))

    def _mixtures(self, level: str) -> list[Mixture]:
        noise = level == OBSERVATION
        return self.made.named(level, lambda: self.predictor.mixtures(self.X, noise=noise))
