"""Sizes of inputs: of columns as they come, and of directions as a kernel sees them."""

from __future__ import annotations

import numpy as np

from .kernels import Kernel

Array = np.ndarray


def column_scales(X: Array) -> Array:
    """Standard deviations, safe at any magnitude; 1 where a column is constant."""
    size = np.abs(X).max(axis=0, initial=0.0)
    size[size == 0.0] = 1.0
    centred = X / size
    centred = centred - centred.mean(axis=0) if X.shape[0] else centred
    sd = np.sqrt((centred**2).mean(axis=0)) if X.shape[0] else np.ones(X.shape[1])
    scale = sd * size
    constant = (sd <= 1e-14) | (scale < np.finfo(float).tiny) | ~np.isfinite(scale)
    return np.where(constant, np.maximum(size, 1e-300), scale)


def metric(kernel: Kernel, X: Array) -> Array:
    """What to multiply columns by, so that distance means loss of correlation  (d,)."""
    weights = np.sqrt(kernel.inverse_squares(X.shape[1]))
    if not (weights > 0).any():
        weights = 1.0 / column_scales(X)
    return weights / weights.max()
