"""Rows of a model that moved its predictions most.

Given the anchors' values v, the rows N near x correct the prediction of the anchors (see
`answers.local`):

    mean = V*ᵀE[v] + Σ_{i in N} wᵢ (yᵢ − VᵢᵀE[v]),

so that row i moves it by wᵢ(yᵢ − VᵢᵀE[v]); of an exact Gaussian process without anchors by wᵢyᵢ,
where w = (K + Ψ)⁻¹k* and y is centred.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..answers import local
from ..answers.predictors import ExactPredictor, LocalPredictor
from ..numerics import linalg
from ..rows.rows import Rows
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Moved:
    """Rows that moved each prediction most, as the model sees them, the strongest first."""

    X: Array  # (n, k, D)
    y: Array  # (n, k)
    weight: Array  # (n, k)
    moved: Array  # (n, k)


def rows_below(predictor: Any) -> ExactPredictor | LocalPredictor | None:
    """The predictor of f from rows in memory with Gaussian noise, below errors, members, refined
    means and cells; None: there is none."""
    own = predictor
    while own is not None and not isinstance(own, ExactPredictor | LocalPredictor):
        own = getattr(own, "own", None) or getattr(own, "accurate", None)
    return own if own is not None and isinstance(own.committee.rows(), Rows) else None


def moved_most(own: ExactPredictor | LocalPredictor, X: Array, k: int) -> Moved:
    """Find the rows that moved the predictions of output k most."""
    c = own.committee
    if isinstance(own, ExactPredictor):
        rows, V = own.shared.rows, own.shared.V
        _, _, a = own.shared._given(c.basis, X)
        weights = linalg.solve_upper(own.shared.factor, a).T  # (n, rows)
        members = np.broadcast_to(np.arange(weights.shape[1]), weights.shape)
    else:
        near = own.near.nearest(X, own.k)
        found = local.correct(c.basis, c.noise, own.rows, X, near, own.design)
        rows, V, weights, members = found.rows, found.V, found.weights, found.members
    assert isinstance(rows, Rows)
    left = rows.y[:, k] - (V.T @ c.belief.mean)[:, k]
    moved = weights * left[members]
    order = np.argsort(-np.abs(moved), axis=1, kind="stable")[:, : TUNING.rows_near]
    at = np.take_along_axis(members, order, axis=1)
    return Moved(
        rows.X[at], rows.y[at, k], np.take_along_axis(weights, order, axis=1),
        np.take_along_axis(moved, order, axis=1),
    )  # fmt: skip
