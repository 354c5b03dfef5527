"""Matérn 5/2: twice differentiable functions."""

from dataclasses import dataclass

import numpy as np

from ..base import fixed_names, theirs
from .base import Stationary
from .leaves import (
    FIVE,
    ONE,
    add_length_terms,
    capped_root,
    exp_negative,
    leaf,
    load_row,
    row_length,
    squared_distances,
    summing_leaf,
)


@leaf
def _value(X, ZT, variance, lower, out):
    D = np.empty(ZT.shape[1], ZT.dtype)
    third = D.dtype.type(1.0 / 3.0)  # a division would take longer than all distances
    for i in range(X.shape[0]):
        m = row_length(i, ZT.shape[1], lower)
        squared_distances(X, i, ZT, m, D)
        row = out[i]
        for j in range(m):
            r = capped_root(FIVE * D[j])
            row[j] = variance * (ONE + r + r * r * third) * exp_negative(-r)


@summing_leaf
def _vjp(X, ZT, variance, lower, K_bar, length_bar):
    D, B = np.empty(ZT.shape[1]), np.empty(ZT.shape[1])
    variance_bar = 0.0
    for i in range(X.shape[0]):
        m = row_length(i, ZT.shape[1], lower)
        squared_distances(X, i, ZT, m, D)
        load_row(K_bar, i, m, lower, B)
        for j in range(m):
            r = capped_root(5.0 * D[j])
            e = B[j] * variance * exp_negative(-r)
            variance_bar += e * (1.0 + r + r * r * (1.0 / 3.0))
            B[j] = (-5.0 / 6.0) * e * (1.0 + r)  # K̄ ∂K/∂D
        add_length_terms(X, i, ZT, m, B, length_bar)
    return variance_bar


@dataclass(frozen=True, eq=False, repr=False)
class Matern52(Stationary):
    """variance · (1 + r + r²/3) exp(−r), r = √(5D): twice differentiable functions."""

    kinds = {"variance": "variance", "length_scale": "length"}
    value_leaf = staticmethod(_value)
    vjp_leaf = staticmethod(_vjp)
    sklearn_twins = ("Matern(nu=2.5)",)

    @classmethod
    def from_sklearn(cls, kernel):
        if theirs(kernel) == "Matern" and kernel.nu == 2.5:
            fixed = fixed_names(kernel, length_scale="length_scale")
            return cls(length_scale=kernel.length_scale, fixed=fixed)
        return None
