"""The squared exponential."""

from dataclasses import dataclass

import numpy as np

from ..base import fixed_names, theirs
from .base import Stationary
from .leaves import (
    HALF,
    add_length_terms,
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
            row[j] = variance * exp_negative(-HALF * D[j])


@summing_leaf
def _vjp(X, ZT, variance, lower, K_bar, length_bar):
    D, B = np.empty(ZT.shape[1]), np.empty(ZT.shape[1])
    variance_bar = 0.0
    for i in range(X.shape[0]):
        m = row_length(i, ZT.shape[1], lower)
        squared_distances(X, i, ZT, m, D)
        load_row(K_bar, i, m, lower, B)
        for j in range(m):
            k = B[j] * variance * exp_negative(-0.5 * D[j])
            variance_bar += k
            B[j] = -0.5 * k  # K̄ ∂K/∂D
        add_length_terms(X, i, ZT, m, B, length_bar)
    return variance_bar


@dataclass(frozen=True, eq=False, repr=False)
class RBF(Stationary):
    """variance · exp(−½D): infinitely smooth functions.

    Examples
    --------
    >>> from collegium.kernels import RBF, White
    >>> RBF(length_scale=[1.0, 2.0]) + White(0.1)
    RBF(variance=1, length_scale=[1, 2]) + White(variance=0.1)
    """

    kinds = {"variance": "variance", "length_scale": "length"}
    value_leaf = staticmethod(_value)
    vjp_leaf = staticmethod(_vjp)
    sklearn_twins = ("RBF", "Matern(nu=inf)")

    @classmethod
    def from_sklearn(cls, kernel):
        if theirs(kernel) == "RBF" or (theirs(kernel) == "Matern" and kernel.nu == np.inf):
            fixed = fixed_names(kernel, length_scale="length_scale")
            return cls(length_scale=kernel.length_scale, fixed=fixed)
        return None
