"""Labels ±1, of which the mean says everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import Given

Array = np.ndarray


@dataclass(frozen=True)
class SignMoments:
    """P(y = 1) = (1 + E[y])/2."""

    def quantile(self, given: Given, level: float, m: Array, v: Array) -> Array:
        return np.where(0.5 - 0.5 * given.predict(m, v)[0] >= level, -1.0, 1.0)

    def distribution(self, given: Given, y: Array, m: Array, v: Array) -> Array:
        mean = given.predict(m, v)[0]
        return np.where(y < -1.0, 0.0, np.where(y < 1.0, 0.5 - 0.5 * mean, 1.0))

    def draw(self, given: Given, f: Array, rng: Any) -> Array:
        return np.where(rng.uniform(size=f.shape) < 0.5 + 0.5 * given.mean(f), 1.0, -1.0)
