"""Any real y: the normal with the moments of y."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from .base import Given

Array = np.ndarray


@dataclass(frozen=True)
class NormalMoments:
    """N(E[y], var[y])."""

    def quantile(self, given: Given, level: float, m: Array, v: Array) -> Array:
        mean, variance = given.predict(m, v)
        return mean + np.sqrt(variance) * ndtri(level)

    def distribution(self, given: Given, y: Array, m: Array, v: Array) -> Array:
        mean, variance = given.predict(m, v)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(y == mean, 0.0, (y - mean) / np.sqrt(variance))
        return ndtr(z)

    def draw(self, given: Given, f: Array, rng: Any) -> Array:
        return given.mean(f) + np.sqrt(given.variance(f)) * rng.standard_normal(f.shape)
