"""Shared compiled functions (leaves): exp, rows of squared distances, sums for length scales.

A kernel works row by row: it fills D with squared scaled distances and turns them into values
while they are in the cache. `lower` asks for the lower triangle only.

Where X (n, d + c) has c more columns than ZT (d, m) has rows, the last c of the d columns are
codes of categories, and the c further columns hold the amount 1/ℓ² that a mismatch adds to D.

A leaf works in the precision of its rows. Where that matters, constants are `ONE`, `THREE`, …:
exact in single precision, so that nothing is widened to double.
"""

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from ...numerics.compiling import INNER, compiled, inner

# "numpy": a test before each division would prevent vectorised loops.
_options: Any = {"error_model": "numpy"}
# No flag that lets the compiler reorder: exp_negative relies on the order of its steps.
_IN_ORDER = {"contract", "nsz"}
leaf: Any = compiled(**_options, fastmath=_IN_ORDER)
# For sums over rows, whose order is free (but always the same).
_ANY_ORDER = {*_IN_ORDER, "reassoc"}
summing_leaf: Any = compiled(**_options, fastmath=_ANY_ORDER)
# For functions that only leaves call.
part: Any = inner(**_options, fastmath=_IN_ORDER)
summing_part: Any = inner(**_options, fastmath=_ANY_ORDER)

ZERO, HALF, ONE, THREE, FIVE = (np.float32(value) for value in (0.0, 0.5, 1.0, 3.0, 5.0))
_MILLION = np.float32(1e6)

_LOG2E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # ln 2 with its last 32 bits cleared
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 · 2⁵²: adding it rounds to an integer in the low bits


def exp_negative(x):
    """eˣ for x ≤ 0 in the precision of x, branch-free so that loops over it vectorise."""
    return exp_double(x)


@overload(exp_negative, jit_options={**INNER, "fastmath": _IN_ORDER})
def _exp_negative(x):
    if x == types.float32:
        return lambda x: exp_single(x)
    return lambda x: exp_double(x)


def one_third(x):
    """1/3 in the precision of x."""
    return 1.0 / 3.0


@overload(one_third, jit_options=INNER)
def _one_third(x):
    third = np.float32(1.0 / 3.0) if x == types.float32 else 1.0 / 3.0
    return lambda x: third


@part
def exp_double(x):
    """eˣ to 2 ulp; 1e-307 below −707."""
    x = max(x, -707.0)
    t = x * _LOG2E + _ROUND
    k = t - _ROUND
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW  # |r| ≤ ½ ln 2
    p = 1.0 / 479001600.0  # Taylor to r¹²: remainder 2e-16
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    bits = (np.float64(t).view(np.int64) << 52) + np.float64(p).view(np.int64)  # p · 2ᵏ
    return np.int64(bits).view(np.float64)


_LOG2E_SINGLE = np.float32(_LOG2E)
_LN2_HIGH_SINGLE = np.float32(0.693359375)
_LN2_LOW_SINGLE = np.float32(-2.12194440e-4)
_ROUND_SINGLE = np.float32(12582912.0)  # 1.5 · 2²³
_LEAST_SINGLE = np.float32(-87.0)
_C7, _C6, _C5, _C4, _C3 = (np.float32(1.0 / math.factorial(k)) for k in (7, 6, 5, 4, 3))


@part
def exp_single(x):
    """eˣ in single precision; 1e-38 below −87."""
    x = max(x, _LEAST_SINGLE)
    t = x * _LOG2E_SINGLE + _ROUND_SINGLE
    k = t - _ROUND_SINGLE
    r = (x - k * _LN2_HIGH_SINGLE) - k * _LN2_LOW_SINGLE
    p = _C7
    p = p * r + _C6
    p = p * r + _C5
    p = p * r + _C4
    p = p * r + _C3
    p = p * r + HALF
    p = p * r + ONE
    p = p * r + ONE
    bits = (np.float32(t).view(np.int32) << np.int32(23)) + np.float32(p).view(np.int32)
    return np.int32(bits).view(np.float32)


@part
def log_above_one(y):
    """log y for y ≥ 1, branch-free; absolute error 2e-16."""
    bits = np.float64(y).view(np.uint64)
    # y = m 2ᵏ with m in [√½, √2): add so much that the carry rounds the exponent
    k = (bits - np.uint64(0x3FE6_A09E_667F_3BCC)) >> np.uint64(52)
    m = np.uint64(bits - (k << np.uint64(52))).view(np.float64)
    exponent = np.uint64(k | np.uint64(0x4330_0000_0000_0000)).view(np.float64) - 2.0**52
    t = (m - 1.0) / (m + 1.0)  # log m = 2 artanh t, |t| < 0.172
    s = t * t
    p = 1.0 / 21.0
    p = p * s + 1.0 / 19.0
    p = p * s + 1.0 / 17.0
    p = p * s + 1.0 / 15.0
    p = p * s + 1.0 / 13.0
    p = p * s + 1.0 / 11.0
    p = p * s + 1.0 / 9.0
    p = p * s + 1.0 / 7.0
    p = p * s + 1.0 / 5.0
    p = p * s + 1.0 / 3.0
    p = p * s + 1.0
    return exponent * 0.6931471805599453 + 2.0 * t * p


@part
def log1p_positive(s):
    """log(1 + s) for s ≥ 0, corrected for the rounding of 1 + s."""
    u = 1.0 + s
    return log_above_one(u) + (s - (u - 1.0)) / u


@part
def row_length(i, m, lower):
    return i + 1 if lower else m


@part
def squared_distances(X, i, ZT, m, D):
    """D[j] = ‖xᵢ − zⱼ‖² for j < m, plus 1/ℓ² per mismatch of codes; ZT is (d, ·)."""
    for j in range(m):
        D[j] = 0.0
    codes = X.shape[1] - ZT.shape[0]
    d = ZT.shape[0] - codes
    for k in range(0, d - 3, 4):  # four columns at a time: D is loaded and stored less often
        x0, x1, x2, x3 = X[i, k], X[i, k + 1], X[i, k + 2], X[i, k + 3]
        z0, z1, z2, z3 = ZT[k], ZT[k + 1], ZT[k + 2], ZT[k + 3]
        for j in range(m):
            t0, t1, t2, t3 = x0 - z0[j], x1 - z1[j], x2 - z2[j], x3 - z3[j]
            D[j] += (t0 * t0 + t1 * t1) + (t2 * t2 + t3 * t3)
    for k in range(d - d % 4, d):
        x = X[i, k]
        z = ZT[k]
        for j in range(m):
            t = x - z[j]
            D[j] += t * t
    for k in range(d, d + codes):
        x, more = X[i, k], X[i, k + codes]
        z = ZT[k]
        for j in range(m):
            D[j] += ZERO if x == z[j] else more
    largest = D.dtype.type(1e300)  # no bound in single precision
    for j in range(m):
        D[j] = min(D[j], largest)


@part
def capped_root(D):
    """√D, at most 1000: beyond it e⁻ʳ and its products with polynomials are zero."""
    return math.sqrt(min(D, _MILLION))


@part
def load_row(K_bar, i, m, lower, B):
    """B[j] = K̄ᵢⱼ; in the symmetric case off-diagonal entries count twice."""
    row = K_bar[i]
    if lower:
        for j in range(m):
            B[j] = 2.0 * row[j]
        B[i] = row[i]
    else:
        for j in range(m):
            B[j] = row[j]


@summing_part
def add_length_terms(X, i, ZT, m, W, length_bar):
    """length_bar[k] += −2 Σⱼ Wⱼ (xᵢₖ − zⱼₖ)², W = K̄ ∘ ∂K/∂D: ∂D/∂log ℓₖ = −2(Δₖ/ℓₖ)²."""
    codes = X.shape[1] - ZT.shape[0]
    d = ZT.shape[0] - codes
    for k in range(d):
        x = X[i, k]
        z = ZT[k]
        total = 0.0
        for j in range(m):
            t = x - z[j]
            total += W[j] * t * t
        length_bar[k] -= 2.0 * total
    for k in range(d, d + codes):
        x, more = X[i, k], X[i, k + codes]
        z = ZT[k]
        total = 0.0
        for j in range(m):
            total += 0.0 if x == z[j] else W[j]
        length_bar[k] -= 2.0 * more * total
