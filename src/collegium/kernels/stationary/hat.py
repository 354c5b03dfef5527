"""The hat: a product of triangular functions, zero beyond one length scale."""

from dataclasses import dataclass

import numpy as np

from .base import Stationary
from .leaves import ONE, ZERO, leaf, load_row, row_length, summing_leaf


@leaf
def _value(X, ZT, variance, lower, out):
    for i in range(X.shape[0]):
        m = row_length(i, ZT.shape[1], lower)
        row = out[i]
        for j in range(m):
            row[j] = variance
        for k in range(ZT.shape[0]):
            x = X[i, k]
            z = ZT[k]
            for j in range(m):
                row[j] *= max(ONE - abs(x - z[j]), ZERO)


@summing_leaf
def _vjp(X, ZT, variance, lower, K_bar, length_bar):
    K = np.empty(ZT.shape[1])
    variance_bar = 0.0
    for i in range(X.shape[0]):
        m = row_length(i, ZT.shape[1], lower)
        load_row(K_bar, i, m, lower, K)
        for k in range(ZT.shape[0]):
            x = X[i, k]
            z = ZT[k]
            for j in range(m):
                K[j] *= max(1.0 - abs(x - z[j]), 0.0)
        for j in range(m):
            K[j] *= variance
            variance_bar += K[j]
        for k in range(ZT.shape[0]):
            x = X[i, k]
            z = ZT[k]
            total = 0.0
            for j in range(m):  # ∂ log(1 − |Δ|/ℓ)/∂ log ℓ; beyond ℓ, K is zero
                distance = abs(x - z[j])
                total += K[j] * distance / max(1.0 - distance, 1e-300)
            length_bar[k] += total
    return variance_bar


@dataclass(frozen=True, eq=False, repr=False)
class Hat(Stationary):
    """variance · Πₖ (1 − |Δₖ|/ℓₖ)₊: compact support (Zhu & Rohwer 1995)."""

    value_leaf = staticmethod(_value)
    vjp_leaf = staticmethod(_vjp)
    of_distance = False
