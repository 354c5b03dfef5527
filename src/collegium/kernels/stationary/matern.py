"""The Matérn family: rough (1/2) to smooth (5/2), and its limit, the squared exponential.

Each is given by two functions of one squared scaled distance D, which are compiled into the loops
over rows: k = value(variance, D), and terms(K̄ · variance, D), which are K̄ ∂K/∂ log variance and
K̄ ∂K/∂D. The smoothness ν says which of the leaves is meant.
"""

import math
from dataclasses import dataclass

import numpy as np

from .base import Stationary
from .leaves import (
    FIVE,
    HALF,
    ONE,
    THREE,
    add_length_terms,
    capped_root,
    exp_negative,
    leaf,
    load_row,
    one_third,
    part,
    row_length,
    squared_distances,
    summing_leaf,
    summing_part,
)


@part
def _value12(variance, D):
    return variance * exp_negative(-capped_root(D))


@summing_part
def _terms12(scale, D):
    r = capped_root(D)
    e = scale * exp_negative(-r)
    return e, -0.5 * e / max(r, 1e-150)


@part
def _value32(variance, D):
    r = capped_root(THREE * D)
    return variance * (ONE + r) * exp_negative(-r)


@summing_part
def _terms32(scale, D):
    r = capped_root(3.0 * D)
    e = scale * exp_negative(-r)
    return e * (1.0 + r), -1.5 * e


@part
def _value52(variance, D):
    r = capped_root(FIVE * D)  # a division by 3 would take longer than all distances
    return variance * (ONE + r + r * r * one_third(r)) * exp_negative(-r)


@summing_part
def _terms52(scale, D):
    r = capped_root(5.0 * D)
    e = scale * exp_negative(-r)
    return e * (1.0 + r + r * r * (1.0 / 3.0)), (-5.0 / 6.0) * e * (1.0 + r)


@part
def _value_smooth(variance, D):
    return variance * exp_negative(-HALF * D)


@summing_part
def _terms_smooth(scale, D):
    k = scale * exp_negative(-0.5 * D)
    return k, -0.5 * k


@leaf
def _fill(X, ZT, variance, nu, lower, out):
    """out = k(X, Z). One function for the family: it is compiled once, and the loop over D is
    chosen once per row."""
    D = np.empty(ZT.shape[1], ZT.dtype)
    for i in range(X.shape[0]):
        m = row_length(i, ZT.shape[1], lower)
        squared_distances(X, i, ZT, m, D)
        row = out[i]
        if nu == 0.5:
            for j in range(m):
                row[j] = _value12(variance, D[j])
        elif nu == 1.5:
            for j in range(m):
                row[j] = _value32(variance, D[j])
        elif nu == 2.5:
            for j in range(m):
                row[j] = _value52(variance, D[j])
        else:
            for j in range(m):
                row[j] = _value_smooth(variance, D[j])


@summing_leaf
def _vjp(X, ZT, variance, nu, lower, K_bar, length_bar):
    """Add K̄ ∂K/∂ log ℓ to length_bar, and return K̄ ∂K/∂ log variance."""
    D, B = np.empty(ZT.shape[1]), np.empty(ZT.shape[1])
    variance_bar = 0.0
    for i in range(X.shape[0]):
        m = row_length(i, ZT.shape[1], lower)
        squared_distances(X, i, ZT, m, D)
        load_row(K_bar, i, m, lower, B)
        if nu == 0.5:
            for j in range(m):
                k, B[j] = _terms12(B[j] * variance, D[j])
                variance_bar += k
        elif nu == 1.5:
            for j in range(m):
                k, B[j] = _terms32(B[j] * variance, D[j])
                variance_bar += k
        elif nu == 2.5:
            for j in range(m):
                k, B[j] = _terms52(B[j] * variance, D[j])
                variance_bar += k
        else:
            for j in range(m):
                k, B[j] = _terms_smooth(B[j] * variance, D[j])
                variance_bar += k
        add_length_terms(X, i, ZT, m, B, length_bar)
    return variance_bar


@dataclass(frozen=True, eq=False, repr=False)
class Matern12(Stationary):
    """variance · exp(−r), r = √D: continuous, nowhere smooth functions."""

    value_leaf, vjp_leaf, constants = staticmethod(_fill), staticmethod(_vjp), (0.5,)
    sklearn_twins = {"Matern(nu=0.5)": {"length_scale": "length_scale"}}


@dataclass(frozen=True, eq=False, repr=False)
class Matern32(Stationary):
    """variance · (1 + r) exp(−r), r = √(3D): once differentiable functions."""

    value_leaf, vjp_leaf, constants = staticmethod(_fill), staticmethod(_vjp), (1.5,)
    sklearn_twins = {"Matern(nu=1.5)": {"length_scale": "length_scale"}}


@dataclass(frozen=True, eq=False, repr=False)
class Matern52(Stationary):
    """variance · (1 + r + r²/3) exp(−r), r = √(5D): twice differentiable functions."""

    value_leaf, vjp_leaf, constants = staticmethod(_fill), staticmethod(_vjp), (2.5,)
    sklearn_twins = {"Matern(nu=2.5)": {"length_scale": "length_scale"}}


@dataclass(frozen=True, eq=False, repr=False)
class RBF(Stationary):
    """variance · exp(−½D), the limit of the family: infinitely smooth functions.

    Examples
    --------
    >>> from collegium.kernels import RBF, White
    >>> RBF(length_scale=[1.0, 2.0]) + White(0.1)
    RBF(variance=1, length_scale=[1, 2]) + White(variance=0.1)
    """

    value_leaf, vjp_leaf, constants = staticmethod(_fill), staticmethod(_vjp), (math.inf,)
    sklearn_twins = {
        "RBF": {"length_scale": "length_scale"},
        "Matern(nu=inf)": {"length_scale": "length_scale"},
    }
