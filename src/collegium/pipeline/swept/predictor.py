"""Answers of latent functions: moments of each, or of the one of a regressor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...laplace.calibration import LatentScale
from ...laplace.committee import predict_latents
from ...laplace.transductive import JointLatents
from ...rows.rows import Prediction

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class LatentPredictor:
    """Moments of every latent function."""

    each: tuple[Any, ...]
    together: JointLatents | None
    scale: LatentScale

    def predict(self, X: Array, engine: Any) -> list[Prediction]:
        if self.together is not None:
            found = self.together.predict(X, engine)
        else:
            found = predict_latents(self.each, X, engine)
        return [self.scale.of(one) for one in found]

    def mean(self, X: Array, engine: Any) -> list[Array]:
        if self.together is not None:
            return [found.mean for found in self.predict(X, engine)]
        return [self.scale.mean * one.mean(X, engine) for one in self.each]

    def joint(self, X: Array, engine: Any) -> list[tuple[Prediction, Array]]:
        if self.together is not None:
            return self.together.joint(X, engine)
        return [one.joint(X, engine) for one in self.each]


@dataclass(frozen=True, eq=False)
class OneLatent:
    """The one latent function of a regressor."""

    latents: LatentPredictor

    def predict(self, X: Array, engine: Any) -> Prediction:
        return self.latents.predict(X, engine)[0]

    def mean(self, X: Array, engine: Any) -> Array:
        return self.latents.mean(X, engine)[0]

    def joint(self, X: Array, engine: Any) -> tuple[Prediction, Array]:
        return self.latents.joint(X, engine)[0]
