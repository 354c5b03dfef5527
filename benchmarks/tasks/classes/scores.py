"""Scores of class probabilities."""

from __future__ import annotations

import numpy as np

from benchmarks.harness.data import Array, Split

BINS = 15
#: Probabilities below are taken to be this: a class that was ruled out, and came, costs 34.5.
LEAST = 1e-15


def of_answer(split: Split, answer: tuple[Array, Array]) -> dict:
    """Score (probabilities, the classes of their columns)."""
    P, known = answer
    K = int(max(split.y.max(), split.y_test.max())) + 1
    full = np.zeros((P.shape[0], K))
    full[:, known] = P  # a subset may lack a class
    return {"classes": K, **of_classes(split.y_test, full)}


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
    """Per bin that is not empty: its share of rows, mean probability and share that is right."""
    which = np.minimum((top * BINS).astype(int), BINS - 1)
    return [
        {
            "share": float((which == b).mean()),
            "said": float(top[which == b].mean()),
            "right": float(hit[which == b].mean()),
        }
        for b in np.unique(which)
    ]
