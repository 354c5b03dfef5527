"""Predictions of fitted local experts: each query has its own noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from ..answers.answers import OBSERVATION
from ..answers.arrived import Arrived
from ..numerics.linalg import LOG_2PI
from .committee import Answer
from .stream import RVCStream

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class RVCAnswers:
    """Methods of `interface.answers.Answers`, for noise that varies over X."""

    X: Array  # (n, d)
    stream: RVCStream

    def mean(self, level: str) -> Array:
        return self._means(self.stream.answers(self.X))

    def moments(self, level: str) -> tuple[Array, Array]:
        answers = self.stream.answers(self.X)
        variance = np.column_stack([_variance(answer, level) for answer in answers])
        return self._means(answers), np.sqrt(variance) * self.stream.scaling.scale

    def covariance(self, level: str) -> tuple[Array, Array]:
        """Means and covariances (n, n, p); correlations are those of the experts' lines."""
        answers, found = self.stream.answers(self.X), []
        scaled = self.stream.inputs.forward(self.X)
        for committee, answer in zip(self.stream.committees, answers, strict=True):
            sd = np.sqrt(np.maximum(answer.variance - answer.noise, 0.0))
            C = committee.correlation(scaled) * np.outer(sd, sd)
            np.fill_diagonal(C, _variance(answer, level))
            found.append(C)
        scale = self.stream.scaling.scale
        return self._means(answers), np.stack(found, axis=-1) * scale**2

    def interval(self, coverage: float, level: str) -> tuple[Array, Array]:
        mean, std = self.moments(level)
        z = ndtri(0.5 + 0.5 * coverage)
        return mean - z * std, mean + z * std

    def quantiles(self, probabilities: Sequence[float], level: str) -> list[Array]:
        mean, std = self.moments(level)
        return [mean + ndtri(q) * std for q in probabilities]

    def log_density(self, y: Array) -> Array:
        mean, std = self.moments(OBSERVATION)
        std = np.maximum(std, 1e-150)
        return -0.5 * (((y - mean) / std) ** 2 + LOG_2PI) - np.log(std)

    def distribution(self, y: Array) -> Array:
        mean, std = self.moments(OBSERVATION)
        return ndtr((y - mean) / np.maximum(std, 1e-150))

    def arrived(self, y: Array) -> Arrived:
        """Compare observations y (n, p), in the user's units, with these answers."""
        answers, scaling = self.stream.answers(self.X), self.stream.scaling
        variance = np.column_stack([answer.variance for answer in answers])
        mean = np.column_stack([answer.mean for answer in answers])
        function = np.column_stack([_variance(answer, "function") for answer in answers])
        found = Arrived.gaussian(scaling.forward(y), mean, variance, (function > 0.5).mean(axis=1))
        return found.in_units(scaling.scale)

    def draws(self, n_samples: int, rng: Any, level: str) -> Array:
        mean, covariance = self.covariance(level)
        each = [
            _draw(rng, m, C, n_samples)
            for m, C in zip(mean.T, np.moveaxis(covariance, -1, 0), strict=True)
        ]
        return np.stack(each, axis=1)

    def slopes(self) -> tuple[Array, Array]:
        """Slopes and their standard deviations  (n, d, p): weighted means over experts."""
        answers = self.stream.answers(self.X)
        units = self.stream.scaling.scale / self.stream.inputs.scale[:, None]
        slopes = np.stack([answer.slopes for answer in answers], axis=-1) * units
        spread = np.stack([answer.slope_variance for answer in answers], axis=-1)
        return slopes, np.sqrt(spread) * units

    def _means(self, answers: list[Answer]) -> Array:
        return self.stream.scaling.mean(np.column_stack([answer.mean for answer in answers]))


def _variance(answer: Answer, level: str) -> Array:
    if level == OBSERVATION:
        return answer.variance
    return np.maximum(answer.variance - answer.noise, 0.0)


def _draw(rng: Any, mean: Array, covariance: Array, n_samples: int) -> Array:
    """Draw columns from a Gaussian whose covariance may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return mean[:, None] + root @ rng.standard_normal((mean.size, n_samples))
