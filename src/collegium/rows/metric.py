"""Scales of inputs: standard deviations of columns, and the metric of a kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels import Kernel
from ..kernels.base import nearest_to_zero
from ..numerics.records import record

Array = np.ndarray


def column_scales(X: Array) -> Array:
    """Standard deviations of columns, at least 1e-150; of a constant column its magnitude."""
    size = np.abs(X).max(axis=0, initial=0.0)
    size[size == 0.0] = 1.0
    centred = X / size
    centred = centred - centred.mean(axis=0) if X.shape[0] else centred
    sd = np.sqrt((centred**2).mean(axis=0)) if X.shape[0] else np.ones(X.shape[1])
    scale = sd * size
    return np.maximum(np.where(sd <= 1e-14, size, scale), 1e-150)


@record("rows.metric/1")
@dataclass(frozen=True, eq=False)
class Metric:
    """s = (x − origin)·weights: distances in s are those of a kernel, up to one factor."""

    origin: Array  # (d,)
    weights: Array  # (d,)

    @classmethod
    def of(cls, kernel: Kernel, X: Array) -> Metric:
        """The metric of a kernel; columns without a length scale get almost no weight."""
        scales = column_scales(X)
        with np.errstate(over="ignore", divide="ignore"):
            weights = np.sqrt(np.minimum(kernel.inverse_squares(X.shape[1]), 1e304))
        if not (weights > 0).any():
            weights = 1.0 / scales
        weights = np.maximum(weights, 1e-152)  # `backward` divides by them
        return cls(nearest_to_zero(X), weights / (weights * scales).max())

    def forward(self, X: Array) -> Array:
        """X in the metric, clipped so that squared distances are finite."""
        with np.errstate(over="ignore"):
            return np.clip((X - self.origin) * self.weights, -1e100, 1e100)

    def backward(self, S: Array) -> Array:
        """X from its values in the metric."""
        return S / self.weights + self.origin
