"""Scores of means and standard deviations."""

from __future__ import annotations

import numpy as np

from benchmarks.harness.data import Array, Split
from collegium.metrics import coverage, interval_score, nlpd

#: Of the standard normal: 95 % lie within ±.
QUANTILE = 1.959963984540054


def scores(y: Array, mean: Array, std: Array) -> dict[str, float]:
    """RMSE, negative log predictive density, coverage and score of 95 % intervals."""
    lower, upper = mean - QUANTILE * std, mean + QUANTILE * std
    return {
        "RMSE": float(np.sqrt(np.mean((y - mean) ** 2))),
        "NLPD": float(nlpd(y, mean, std)),
        "coverage": float(coverage(y, lower, upper)),
        "interval": float(interval_score(y, lower, upper, coverage=0.95)),
    }


def of_answer(split: Split, answer: tuple[Array, Array]) -> dict:
    """Scores of (mean, std); the RMSE in the units of y, too, where these have a name."""
    row = scores(split.y_test, *answer)
    if split.units:
        row |= {"RMSE_original": row["RMSE"] * split.unit, "unit": split.units}
    return row
