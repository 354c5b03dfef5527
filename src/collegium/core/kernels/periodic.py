"""Functions that repeat themselves."""

import math
from dataclasses import dataclass

import numpy as np
from sklearn.gaussian_process import kernels as sk

from ..linalg import mirror
from .base import Leaf, fixed_names
from .leaves import exp_negative, leaf, row_length

Array = np.ndarray


@leaf
def _value(X, Z, variance, length, period, lower, out):
    d = X.shape[1]
    for i in range(X.shape[0]):
        for j in range(row_length(i, Z.shape[0], lower)):
            D = 0.0
            for k in range(d):
                s = math.sin(math.pi * ((X[i, k] - Z[j, k]) / period[k])) / length[k]
                D += s * s
            out[i, j] = variance * exp_negative(-2.0 * D)


@leaf
def _vjp(X, Z, variance, length, period, lower, K_bar, length_bar, period_bar):
    d = X.shape[1]
    S, C = np.empty(d), np.empty(d)
    variance_bar = 0.0
    for i in range(X.shape[0]):
        for j in range(row_length(i, Z.shape[0], lower)):
            D = 0.0
            for k in range(d):
                angle = math.pi * ((X[i, k] - Z[j, k]) / period[k])
                s = math.sin(angle) / length[k]
                S[k] = s * s
                C[k] = s * math.cos(angle) / length[k] * angle
                D += S[k]
            weight = 2.0 if lower and j < i else 1.0
            kbar = weight * K_bar[i, j] * variance * exp_negative(-2.0 * D)
            variance_bar += kbar
            for k in range(d):
                length_bar[k] += 4.0 * kbar * S[k]
                period_bar[k] += 4.0 * kbar * C[k]
    return variance_bar


@dataclass(frozen=True, eq=False, repr=False)
class Periodic(Leaf):
    """variance · exp(−2 Σₖ sin²(πΔₖ/periodₖ)/ℓₖ²); ℓ has no unit, the period that of its column.

    The sum over columns keeps it positive definite in any dimension; scikit-learn's
    `ExpSineSquared`, a function of the Euclidean distance, is so in one dimension only.
    """

    kinds = {"variance": "variance", "length_scale": "shape", "period": "length"}

    variance: float = 1.0
    length_scale: float | Array = 1.0
    period: float | Array = 1.0

    @classmethod
    def from_sklearn(cls, kernel):
        if type(kernel) is sk.ExpSineSquared:
            fixed = fixed_names(kernel, length_scale="length_scale", period="periodicity")
            return cls(length_scale=kernel.length_scale, period=kernel.periodicity, fixed=fixed)
        return None

    def for_width(self, d: int):
        if d > 1 and np.ndim(self.period) == 0:
            return self  # one period for all columns, unless they are given one by one
        return super().for_width(d)

    def _arguments(self, X: Array, Z: Array | None):
        d = X.shape[1]
        length = np.broadcast_to(self.length_scale, (d,)).copy()
        period = np.broadcast_to(self.period, (d,)).copy()
        return np.ascontiguousarray(X), np.ascontiguousarray(X if Z is None else Z), (
            self.variance
        ), length, period

    def value(self, X: Array, Z: Array | None = None) -> Array:
        K = np.empty((X.shape[0], X.shape[0] if Z is None else Z.shape[0]))
        _value(*self._arguments(X, Z), Z is None, K)
        return mirror(K) if Z is None else K

    def diag(self, X: Array) -> Array:
        return np.full(X.shape[0], self.variance)

    def vjp(self, X: Array, Z: Array | None, K_bar: Array) -> Array:
        length_bar, period_bar = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        variance_bar = _vjp(*self._arguments(X, Z), Z is None, K_bar, length_bar, period_bar)
        return self.gradient(variance=variance_bar, length_scale=length_bar, period=period_bar)

    def diag_vjp(self, X: Array, d_bar: Array) -> Array:
        zeros = np.zeros(X.shape[1])
        return self.gradient(
            variance=self.variance * d_bar.sum(), length_scale=zeros, period=zeros
        )
