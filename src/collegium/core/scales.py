"""Sizes of inputs: of columns as they come, and of directions as a kernel sees them."""

from __future__ import annotations

import numpy as np

from .kernels import Kernel

Array = np.ndarray


def column_scales(X: Array) -> Array:
    """Standard deviations, at least 1e-150; the magnitude where a column is constant."""
    size = np.abs(X).max(axis=0, initial=0.0)
    size[size == 0.0] = 1.0
    centred = X / size
    centred = centred - centred.mean(axis=0) if X.shape[0] else centred
    sd = np.sqrt((centred**2).mean(axis=0)) if X.shape[0] else np.ones(X.shape[1])
    scale = sd * size
    return np.maximum(np.where(sd <= 1e-14, size, scale), 1e-150)


def metric(kernel: Kernel, X: Array) -> Array:
    """What to multiply columns by, so that distance means loss of correlation  (d,)."""
    scales = column_scales(X)
    with np.errstate(over="ignore", divide="ignore"):
        weights = np.sqrt(np.minimum(kernel.inverse_squares(X.shape[1]), 1e304))
    if not (weights > 0).any():
        weights = 1.0 / scales
    weights = np.maximum(weights, 1e-152)  # a column is never lost: anchors are divided by it
    return weights / (weights * scales).max()


def seen(X: Array, weights: Array) -> Array:
    """X in the metric; queries far beyond the data stay where their squares are finite."""
    with np.errstate(over="ignore"):
        return np.clip(X * weights, -1e100, 1e100)
