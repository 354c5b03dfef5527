"""Predict outputs by averaged models, one per output, and answer by mixtures of Gaussians."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..answers.answers import OBSERVATION, Answers
from ..answers.arrived import COVERAGE, Arrived
from ..answers.leave_one_out import LeftOut
from ..numerics.linalg import LOG_2PI
from ..rows.groups import numbered
from ..rows.rows import Prediction
from .averaged import Averaged
from .mixture import Mixture, as_unseen
from .model import noise_variance

Array = np.ndarray


class AveragedAnswers(Answers):
    """y and f ~ Σₖ πₖ N(mₖ, vₖ); the predictor is an `AveragedPredictor`."""

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


@dataclass(frozen=True, eq=False)
class AveragedPredictor:
    """Predicts means (q, p) and variances (q, p) of f, the moments of mixtures."""

    outputs: tuple[Averaged, ...]

    answers: ClassVar[type[Answers]] = AveragedAnswers

    @classmethod
    def of(cls, outputs: tuple[Averaged, ...]) -> AveragedPredictor:
        """Copy the records, so that factors are cached in the copies."""
        return cls(tuple(replace(one) for one in outputs))

    def mixtures(self, X: Array, *, noise: bool) -> list[Mixture]:
        """Predict observations or functions, one mixture per output."""
        return [one.predict(X, noise=noise) for one in self.outputs]

    def predict(self, X: Array, engine: Any = None) -> Prediction:
        return _moments(self.mixtures(X, noise=False))

    def mean(self, X: Array, engine: Any = None) -> Array:
        return np.stack([one.mean(X) for one in self.outputs], axis=1)

    def joint(self, X: Array, engine: Any = None) -> tuple[Prediction, Array]:
        """Predict moments and covariances  (q, q, p)."""
        found = self.predict(X)
        return found, np.stack([one.covariance(X, noise=False) for one in self.outputs], axis=-1)

    def prepare(self, engine: Any, stop: Callable[[], bool] = lambda: False) -> int:
        """Prepare nothing: there are no cells."""
        return 0

    def noises(self) -> Array:
        """Mean noise of each output  (p,)."""
        return np.array([one.noise() for one in self.outputs])

    def leave_one_out(self) -> tuple[Prediction, Array, Array]:
        """Predict f at each row given the others; also y as if hyperparameters had not seen it
        (`as_unseen`), and its log density  (n, p)."""
        parts = [one.left_out() for one in self.outputs]
        found = [one.leave_one_out(part) for one, part in zip(self.outputs, parts)]
        targets = [one.targets.mean(one.rows.y)[:, 0] for one in self.outputs]
        unseen = [
            as_unseen(one, y, _together(own, part))
            for one, y, own, part in zip(found, targets, self.outputs, parts)
        ]
        moments = _moments(found)
        variance = np.maximum(moments.variance - self.noises(), 0.0)
        y, density = (np.stack(each, axis=1) for each in zip(*unseen))
        return Prediction(moments.mean, variance), y, density


def _together(own: Averaged, parts: list[LeftOut]) -> Array | None:
    """log p of the group of each row under each θ, where there are groups  (n, k).

    w copies of y have the density N(y; f, σ²)ʷ = N(y; f, σ²/w)(2πσ²)^(−(w − 1)/2) w^(−½); only the
    first factor is in the density of merged rows.
    """
    group, w = own.rows.group, own.rows.w
    if group is None:
        return None
    number, noise = numbered(group), np.array([noise_variance(theta) for theta in own.theta])
    more, logs = (np.bincount(number, each)[number, None] for each in (w - 1.0, np.log(w)))
    copies = -0.5 * (more * (LOG_2PI + np.log(noise)) + logs)
    return np.concatenate([part.log_density for part in parts], axis=1) + copies


def _moments(mixtures: list[Mixture]) -> Prediction:
    mean = np.stack([one.mean() for one in mixtures], axis=1)
    return Prediction(mean, np.stack([one.variance() for one in mixtures], axis=1))
