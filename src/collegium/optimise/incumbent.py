"""The best of the rows that a model was fitted to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .surface import Surface
from .tuning import TUNING

Array = np.ndarray


class Incumbent(NamedTuple):
    """Rows as the model sees them, the best first, and the value of the best."""

    X: Array  # (k, d)
    value: float  # of f, or −f where it is maximised


def incumbent(surface: Surface, inside: Any = None) -> Incumbent | None:
    """Find the best row: by y where there is no noise, else by the mean of the posterior.

    `inside(X)`: which rows count, where some of them do. None: the model has kept no rows.
    """
    X, y = observed(surface.model.model_)
    if not X.shape[0]:
        return None
    counts = np.ones(X.shape[0], dtype=bool) if inside is None else inside(X)
    if counts.any():
        X, y = X[counts], None if y is None else y[counts]
    if y is not None:
        order = np.argsort(surface.sign * y, kind="stable")[: TUNING.rows]
        X, y = X[order], surface.sign * y[order]
    values = y if y is not None and noiseless(surface.model.model_) else surface.moments(X)[0]
    order = np.argsort(values, kind="stable")
    return Incumbent(X[order], float(values[order[0]]))


def observed(model: Any) -> tuple[Array, Array | None]:
    """Inputs of the rows kept, or of points where none are, and y where it is known."""
    try:
        rows = _rows(model)
        if rows is not None and rows.w.size:
            return rows.X, rows.y[:, 0]
        X = model.some_inputs()
    except TypeError:  # a model of another kind, which keeps neither
        return np.empty((0, 0)), None
    inputs = getattr(getattr(model, "warping", None), "inputs", None)
    return (X if inputs is None else inputs.backward(X)), None


def _rows(model: Any) -> Any:
    """All rows where they are in memory, else some of them; None: there are none with their y."""
    if getattr(model, "stored", None) is None and hasattr(model, "rows"):
        rows = model.rows()
        if rows.w.size:
            return rows
    return model.some_targets()


def noiseless(model: Any) -> bool:
    """Whether the noise is negligible beside the variance of y."""
    noise = model.noise_in_units
    if noise is None:
        return False
    return bool(np.max(noise) <= TUNING.no_noise * np.min(model.scaling.scale) ** 2)
