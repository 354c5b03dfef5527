"""Scores of class probabilities and of counts."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from collegium.metrics import coverage, interval_score

Array = np.ndarray
BINS = 15
#: Probabilities below are taken to be this: who says never, and errs, loses 34.5.
LEAST = 1e-15


def of_classes(y: Array, P: Array) -> dict:
    """y (n,) codes, P (n, K) probabilities.

    log loss −mean log p_y; Brier mean Σₖ (pₖ − 1[y = k])²; expected calibration error
    Σ_b share_b |accuracy_b − mean top probability_b| over equal bins of the top probability.
    """
    own = np.maximum(P[np.arange(y.size), y], LEAST)
    hit, top = P.argmax(axis=1) == y, P.max(axis=1)
    bins = reliability(hit, top)
    return {
        "accuracy": float(hit.mean()),
        "log_loss": float(-np.log(own).mean()),
        "ece": float(sum(b["share"] * abs(b["right"] - b["said"]) for b in bins)),
        "brier": float(((P - np.eye(P.shape[1])[y]) ** 2).sum(axis=1).mean()),
        "top": float(top.mean()),
        "reliability": bins,
    }


def reliability(hit: Array, top: Array) -> list[dict[str, float]]:
    """Per bin that is not empty: its share of the rows, what was said and what was right."""
    which = np.minimum((top * BINS).astype(int), BINS - 1)
    return [
        {
            "share": float((which == b).mean()),
            "said": float(top[which == b].mean()),
            "right": float(hit[which == b].mean()),
        }
        for b in np.unique(which)
    ]


def of_counts(y: Array, mean: Array, lower: Array, upper: Array) -> dict:
    """Poisson deviance a row, 2 mean(y log(y/μ) − y + μ), and 95 % intervals."""
    mean = np.maximum(mean, 1e-10)
    return {
        "deviance": float(2.0 * np.mean(xlogy(y, y / mean) - y + mean)),
        "RMSE": float(np.sqrt(np.mean((y - mean) ** 2))),
        "coverage": float(coverage(y, lower, upper)),
        "width": float(np.mean(upper - lower)),
        "interval": float(interval_score(y, lower, upper, coverage=0.95)),
    }
