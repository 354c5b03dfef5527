"""Matérn 3/2: once differentiable functions."""

from dataclasses import dataclass

import numpy as np

from ..base import fixed_names, theirs
from .base import Stationary
from .leaves import (
    ONE,
    THREE,
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
    for i in range(X.shape[0]):
        m = row_length(i, ZT.shape[1], lower)
        squared_distances(X, i, ZT, m, D)
        row = out[i]
        for j in range(m):
            r = capped_root(THREE * D[j])
            row[j] = variance * (ONE + r) * exp_negative(-r)


@summing_leaf
def _vjp(X, ZT, variance, lower, K_bar, length_bar):
    D, B = np.empty(ZT.shape[1]), np.empty(ZT.shape[1])
    variance_bar = 0.0
    for i in range(X.shape[0]):
        m = row_length(i, ZT.shape[1], lower)
        squared_distances(X, i, ZT, m, D)
        load_row(K_bar, i, m, lower, B)
        for j in range(m):
            r = capped_root(3.0 * D[j])
            e = B[j] * variance * exp_negative(-r)
            variance_bar += e * (1.0 + r)
            B[j] = -1.5 * e  # K̄ ∂K/∂D
        add_length_terms(X, i, ZT, m, B, length_bar)
    return variance_bar


@dataclass(frozen=True, eq=False, repr=False)
class Matern32(Stationary):
    """variance · (1 + r) exp(−r), r = √(3D): once differentiable functions."""

    kinds = {"variance": "variance", "length_scale": "length"}
    value_leaf = staticmethod(_value)
    vjp_leaf = staticmethod(_vjp)
    sklearn_twins = ("Matern(nu=1.5)",)

    @classmethod
    def from_sklearn(cls, kernel):
        if theirs(kernel) == "Matern" and kernel.nu == 1.5:
            fixed = fixed_names(kernel, length_scale="length_scale")
            return cls(length_scale=kernel.length_scale, fixed=fixed)
        return None
