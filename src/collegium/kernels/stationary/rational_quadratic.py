"""The rational quadratic: a scale mixture of squared exponentials."""

from dataclasses import dataclass

import numpy as np

from .base import Stationary
from .leaves import (
    add_length_terms,
    exp_negative,
    leaf,
    load_row,
    log1p_positive,
    row_length,
    squared_distances,
    summing_leaf,
)


@leaf
def _value(X, ZT, variance, alpha, lower, out):
    D = np.empty(ZT.shape[1])
    for i in range(X.shape[0]):
        m = row_length(i, ZT.shape[1], lower)
        squared_distances(X, i, ZT, m, D)
        row = out[i]
        for j in range(m):
            row[j] = variance * exp_negative(-alpha * log1p_positive(D[j] / (2.0 * alpha)))


@summing_leaf
def _vjp(X, ZT, variance, alpha, lower, K_bar, length_bar):
    D, B = np.empty(ZT.shape[1]), np.empty(ZT.shape[1])
    variance_bar = 0.0
    alpha_bar = 0.0
    for i in range(X.shape[0]):
        m = row_length(i, ZT.shape[1], lower)
        squared_distances(X, i, ZT, m, D)
        load_row(K_bar, i, m, lower, B)
        for j in range(m):
            s = D[j] / (2.0 * alpha)
            log1p = log1p_positive(s)
            k = B[j] * variance * exp_negative(-alpha * log1p)
            variance_bar += k
            alpha_bar += k * alpha * (s / (1.0 + s) - log1p)
            B[j] = -0.5 * k / (1.0 + s)  # K̄ ∂K/∂D
        add_length_terms(X, i, ZT, m, B, length_bar)
    return variance_bar, alpha_bar


@dataclass(frozen=True, eq=False, repr=False)
class RationalQuadratic(Stationary):
    """variance · (1 + D/2α)^(−α): a mixture of length scales; α → ∞ is the RBF."""

    kinds = {"variance": "variance", "length_scale": "length", "alpha": "shape"}
    value_leaf = staticmethod(_value)
    vjp_leaf = staticmethod(_vjp)
    shapes = ("alpha",)
    sklearn_twins = {"RationalQuadratic": {"length_scale": "length_scale", "alpha": "alpha"}}

    alpha: float = 1.0
