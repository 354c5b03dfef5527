"""Scores of predictive distributions."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from benchmarks.harness.data import Array, Split
from benchmarks.harness.forecast import Forecast
from benchmarks.tasks.regression.student import of_peer
from collegium.metrics import coverage, interval_score

__all__ = ["of_answer", "of_peer", "scores"]

#: Widths that differ by less, relative to the largest, are one width for all rows.
SAME = 1e-9


def scores(y: Array, forecast: Forecast) -> dict[str, float]:
    """RMSE, negative log predictive density, pinball loss, CRPS, 95 % intervals, median |z|.

    z = Φ⁻¹(P(Y ≤ y)) is standard normal, and the median of |z| .67, where forecasts are right.
    There is no NLPD where a method has no density.
    """
    ends = forecast.lower, forecast.upper
    density = -float(np.mean(forecast.log_density))
    return {
        "RMSE": float(np.sqrt(np.mean((y - forecast.mean) ** 2))),
        **({} if np.isnan(forecast.log_density).all() else {"NLPD": density}),
        "pinball": float(forecast.pinball.mean()),
        "CRPS": float(forecast.crps.mean()),
        "coverage": float(coverage(y, *ends)),
        "interval": float(interval_score(y, *ends, coverage=0.95)),
        "median_z": float(np.median(np.abs(ndtri(forecast.probability)))),
    }


def where(y: Array, forecast: Forecast) -> dict[str, list[float] | None]:
    """Coverage of 95 % intervals by thirds and tenths of their widths, and by thirds of means."""
    inside = (forecast.lower <= y) & (y <= forecast.upper)
    width = forecast.upper - forecast.lower
    constant = np.ptp(width) <= SAME * width.max()
    return {
        "coverage_by_width": None if constant else by_parts(inside, width, 3),
        "coverage_by_mean": by_parts(inside, forecast.mean, 3),
        "coverage_by_tenths_of_width": None if constant else by_parts(inside, width, 10),
    }


def by_parts(inside: Array, of: Array, count: int) -> list[float]:
    """The share inside, of so many equal parts of the rows in order of something."""
    parts = np.array_split(inside[np.argsort(of, kind="stable")], count)
    return [float(part.mean()) for part in parts]


def of_answer(split: Split, answer: Forecast | tuple[Array, Array]) -> dict:
    """Scores of a forecast, or of (mean, std); the RMSE also in units of y that have a name."""
    y = split.y_test
    forecast = answer if isinstance(answer, Forecast) else Forecast.normal(y, *answer)
    row = scores(y, forecast) | where(y, forecast)
    if split.units:
        row |= {"RMSE_original": row["RMSE"] * split.unit, "unit": split.units}
    return row
