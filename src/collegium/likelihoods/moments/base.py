"""A family of distributions of y, and what it is told by a likelihood."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

Array = np.ndarray


class Given(Protocol):
    """The part of a likelihood that a family asks."""

    def log_density(self, y: Array, f: Array) -> Array: ...
    def mean(self, f: Array) -> Array: ...
    def variance(self, f: Array) -> Array: ...
    def predict(self, m: Array, v: Array) -> tuple[Array, Array]: ...
    def log_predictive(self, y: Array, m: Array, v: Array) -> Array: ...


class Family(Protocol):
    """Quantiles, distribution function and draws of a new y."""

    def quantile(self, given: Given, level: float, m: Array, v: Array) -> Array:
        """The smallest y whose distribution function reaches `level`, f ~ N(m, v)."""

    def distribution(self, given: Given, y: Array, m: Array, v: Array) -> Array:
        """P(Y ≤ y) of each row, f ~ N(m, v)."""

    def draw(self, given: Given, f: Array, rng: Any) -> Array:
        """One y for each f."""
