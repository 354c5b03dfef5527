"""Forecasts of test rows: a method's own predictive distribution, or a normal by mean and sd."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from benchmarks.harness.data import Array
from benchmarks.harness.quantiles import LEVELS, NODES, WEIGHTS, crps, interpolated, mean_pinball
from collegium import metrics

#: Of the 95 % interval.
ENDS = (0.025, 0.975)
#: Of the standard normal: 95 % lie within ±.
QUANTILE = 1.959963984540054
#: All levels that a distribution of quantiles is asked for, in one call.
ASKED = np.concatenate([ENDS, LEVELS, NODES])


@dataclass(frozen=True, eq=False)
class Forecast:
    """A forecast of rows with targets y (n,)."""

    mean: Array  # (n,)
    log_density: Array  # log p(y)  (n,); NaN where a method has no density
    probability: Array  # P(Y ≤ y)  (n,)
    lower: Array  # ends of the 95 % interval  (n,)
    upper: Array
    pinball: Array  # mean loss of the quantiles at LEVELS  (n,)
    crps: Array  # continuous ranked probability score  (n,)

    @classmethod
    def normal(cls, y: Array, mean: Array, std: Array) -> Forecast:
        with np.errstate(divide="ignore", over="ignore"):
            z = (y - mean) / std
            density = -0.5 * z * z - np.log(std) - 0.5 * np.log(2.0 * np.pi)
        Q = mean[:, None] + std[:, None] * ndtri(LEVELS)
        # each row as an output of its own: one score for each
        scores = metrics.crps(y[None], mean[None], std[None], multioutput="raw_values")
        ends = mean - QUANTILE * std, mean + QUANTILE * std
        return cls(mean, density, ndtr(z), *ends, mean_pinball(y, Q), scores)

    @classmethod
    def own(cls, model: Any, X: Array, y: Array, mean: Array | None = None) -> Forecast:
        """Forecast by a regressor of ours; `mean`: its means, where they are known already."""
        mean = model.predict(X) if mean is None else mean
        losses = cls._losses(y, model.quantile(X, ASKED))
        return cls(mean, model.log_density(X, y), model.cdf(X, y), *losses)

    @classmethod
    def of_quantiles(cls, y: Array, mean: Array, levels: Array, Q: Array) -> Forecast:
        """Forecast by quantiles Q (n, k) at increasing levels, which increase in each row.

        There is no density; between the levels quantiles are interpolated, and beyond the
        outermost they are constant.
        """
        dense = interpolated(levels, Q, ASKED)
        below = (dense[:, -NODES.size :] <= y[:, None]) @ WEIGHTS
        return cls(mean, np.full(y.size, np.nan), np.minimum(below, 1.0), *cls._losses(y, dense))

    @staticmethod
    def _losses(y: Array, Q: Array) -> tuple[Array, Array, Array, Array]:
        """Ends of the interval, mean pinball loss and CRPS from quantiles at the levels ASKED."""
        ends, at_levels, at_nodes = np.split(Q, [len(ENDS), len(ENDS) + LEVELS.size], axis=1)
        return *ends.T, mean_pinball(y, at_levels), crps(y, at_nodes)

    @classmethod
    def joined(cls, parts: list[Forecast], order: Array) -> Forecast:
        """Join forecasts of parts of the rows; `order`: the positions of the rows."""
        back = np.argsort(order)
        return cls(
            *(np.concatenate([getattr(part, name) for part in parts])[back]
              for name in cls.__dataclass_fields__)
        )  # fmt: skip
