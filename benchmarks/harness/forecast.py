"""Forecasts of test rows: a method's own predictive distribution, or a normal by mean and sd."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from benchmarks.harness.data import Array

#: Of the 95 % interval.
ENDS = (0.025, 0.975)
#: Of the standard normal: 95 % lie within ±.
QUANTILE = 1.959963984540054


@dataclass(frozen=True, eq=False)
class Forecast:
    """A forecast of rows with targets y (n,)."""

    mean: Array  # (n,)
    log_density: Array  # log p(y)  (n,)
    probability: Array  # P(Y ≤ y)  (n,)
    lower: Array  # ends of the 95 % interval  (n,)
    upper: Array

    @classmethod
    def normal(cls, y: Array, mean: Array, std: Array) -> Forecast:
        with np.errstate(divide="ignore", over="ignore"):
            z = (y - mean) / std
            density = -0.5 * z * z - np.log(std) - 0.5 * np.log(2.0 * np.pi)
        return cls(mean, density, ndtr(z), mean - QUANTILE * std, mean + QUANTILE * std)

    @classmethod
    def own(cls, model: Any, X: Array, y: Array, mean: Array | None = None) -> Forecast:
        """Forecast by a regressor of ours; `mean`: its means, where they are known already."""
        return cls(
            model.predict(X) if mean is None else mean,
            model.log_density(X, y), model.cdf(X, y), *model.quantile(X, ENDS).T,
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: list[Forecast], order: Array) -> Forecast:
        """Join forecasts of parts of the rows; `order`: the positions of the rows."""
        back = np.argsort(order)
        return cls(
            *(np.concatenate([getattr(part, name) for part in parts])[back]
              for name in cls.__dataclass_fields__)
        )  # fmt: skip
