"""Scores of means and intervals of counts."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from benchmarks.harness.data import Array, Split
from collegium.metrics import coverage, interval_score


def of_answer(split: Split, answer: tuple[Array, Array, Array]) -> dict:
    """Score (mean, lower, upper)."""
    return of_counts(split.y_test, *answer)


def of_counts(y: Array, mean: Array, lower: Array, upper: Array) -> dict:
    """Poisson deviance per row, 2 mean(y log(y/μ) − y + μ), and 95 % intervals."""
    mean = np.maximum(mean, 1e-10)
    return {
        "deviance": float(2.0 * np.mean(xlogy(y, y / mean) - y + mean)),
        "RMSE": float(np.sqrt(np.mean((y - mean) ** 2))),
        "coverage": float(coverage(y, lower, upper)),
        "width": float(np.mean(upper - lower)),
        "interval": float(interval_score(y, lower, upper, coverage=0.95)),
    }
