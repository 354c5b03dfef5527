"""Predict rows whose y is known, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr
from sklearn.utils import _safe_indexing

from ..interface.checks.rows import check_queries
from ..interface.frames.encoded import KnownColumns
from ..interface.judging import known_answers
from ..interface.regressor import Regressor
from .histogram import randomised_pit

Array = np.ndarray
#: Rows that are predicted at a time.
BLOCK = 10_000


@dataclass(frozen=True, eq=False)
class Predicted:
    """Rows, and the mean, standard deviation, P(Y ≤ y) and log density of their predictions.

    For counts `pit` is randomised between P(Y < y) and P(Y ≤ y).
    """

    X: Any  # (n, d) columns of numbers, as the model sees them; of other libraries' as given
    y: Array  # (n,)
    mean: Array
    sd: Array
    pit: Array
    log_density: Array

    @property
    def n(self) -> int:
        return len(self.y)


def inputs_seen(model: Any, X: Any) -> Array:
    """X as the columns of numbers that a model sees  (n, d)."""
    return np.asarray(check_queries(model, X))


def count_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take_rows(X: Any, rows: Array) -> Any:
    """Rows of a frame, an array or a list."""
    return X.take(rows) if hasattr(X, "column_names") else _safe_indexing(X, rows)


def unwrapped(model: Any, X: Any) -> tuple[Any, Any]:
    """The last step of a pipeline of scikit-learn, and X as the steps before it make it."""
    from sklearn.pipeline import Pipeline  # slow to load

    while isinstance(model, Pipeline):
        X = model[:-1].transform(X) if len(model.steps) > 1 else X
        model = model[-1]
    return model, X


def predicted_rows(model: Any, X: Any, y: Any, *, exposure: Any = None, seed: int = 0) -> Predicted:
    """Predict rows of known y by a regressor of one output, in blocks.

    Parameters
    ----------
    model : fitted regressor
        Of this library; of others the normal distribution
        of `predict(X, return_std=True)` is taken. Of a pipeline the last step counts.
    X, y : array-like or frame of shape (n, d), and array-like of shape (n,)
    exposure : array-like of shape (n,), default=None
        Of counts, as in `predict`.
    seed : int, default=0
        Of the uniform numbers that counts are randomised by.
    """
    model, X = unwrapped(model, X)
    own = hasattr(model, "model_")
    X = inputs_seen(model, X) if own else X
    y = np.asarray(y, dtype=float)
    e = None if exposure is None else np.asarray(exposure, dtype=float)
    if e is not None and e.ndim and e.shape != y.shape:
        raise ValueError(f"exposure has shape {e.shape}: give one per row, {y.shape}")
    e = None if e is None else np.broadcast_to(e, y.shape)
    whole = takes_counts(model)
    each = []
    for start in range(0, len(y), BLOCK):
        part = slice(start, start + BLOCK)
        known = X[part].view(KnownColumns) if own else take_rows(X, np.arange(len(y))[part])
        given = {} if e is None else {"exposure": e[part]}
        each.append(_block(model, known, y[part], given, whole))
    mean, sd, below, upto, density = (np.concatenate(one) for one in zip(*each))
    pit = randomised_pit(below, upto, seed) if whole else np.clip(upto, 0.0, 1.0)
    return Predicted(X, y, mean, sd, pit, density)


def _block(model: Any, X: Any, y: Array, given: dict[str, Array], whole: bool) -> list[Array]:
    """Mean, standard deviation, P(Y < y), P(Y ≤ y) and log density  (n,) each."""
    if isinstance(model, Regressor):
        mean, sd, upto, density = known_answers(model, X, y, given.get("exposure"))
    else:
        mean, sd = model.predict(X, return_std=True, **given)
        z = (y - mean) / np.maximum(sd, 1e-300)
        upto = ndtr(z)
        density = -0.5 * z * z - np.log(np.maximum(sd, 1e-300)) - 0.5 * np.log(2.0 * np.pi)
    # what is added by y itself: P(Y = y), of which the log density of counts is the logarithm
    below = np.maximum(upto - np.exp(density), 0.0) if whole else upto
    return [mean, sd, below, upto, density]


def takes_counts(model: Any) -> bool:
    """Whether y are whole numbers to the likelihood of a model."""
    likelihoods = getattr(getattr(model, "model_", None), "likelihoods", ())
    support = getattr(likelihoods[0], "support", None) if likelihoods else None
    return bool(getattr(support, "whole", False))
