"""Shared numba leaves: exp, rows of squared distances, sums for length scales.

A kernel works row by row: fill D with squared scaled distances, turn them into values while
they are in the cache. `lower` asks for the lower triangle only.
"""

import math
from typing import Any

import numpy as np
from numba import njit

# "numpy": a test before each division would keep loops from being vectorised.
_options: Any = {"nogil": True, "cache": True, "error_model": "numpy"}
# No flag that lets the compiler reorder: exp_negative relies on the order of its steps.
leaf: Any = njit(**_options, fastmath={"contract", "nsz"})
# For sums over rows, where any order will do (but always the same one).
summing_leaf: Any = njit(**_options, fastmath={"contract", "nsz", "reassoc"})

_LOG2E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # ln 2 with its last 32 bits cleared
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 · 2⁵²: adding it rounds to an integer in the low bits


@leaf
def exp_negative(x):
    """eˣ for x ≤ 0, branch-free so that loops over it vectorise; 2 ulp; below −707: 1e-307."""
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


@leaf
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


@leaf
def log1p_positive(s):
    """log(1 + s) for s ≥ 0, with what 1 + s loses to rounding put back."""
    u = 1.0 + s
    return log_above_one(u) + (s - (u - 1.0)) / u


@leaf
def row_length(i, m, lower):
    return i + 1 if lower else m


@leaf
def squared_distances(X, i, ZT, m, D):
    """D[j] = ‖xᵢ − zⱼ‖² for j < m; ZT is (d, ·)."""
    for j in range(m):
        D[j] = 0.0
    for k in range(ZT.shape[0]):
        x = X[i, k]
        z = ZT[k]
        for j in range(m):
            t = x - z[j]
            D[j] += t * t
    for j in range(m):
        D[j] = min(D[j], 1e300)


@leaf
def root(D):
    """√D, at most 1000: exponentials are zero there, and polynomials times them as well."""
    return math.sqrt(min(D, 1e6))


@leaf
def load_row(K_bar, i, m, lower, B):
    """B[j] = K̄ᵢⱼ; in the symmetric case entries off the diagonal count twice."""
    row = K_bar[i]
    if lower:
        for j in range(m):
            B[j] = 2.0 * row[j]
        B[i] = row[i]
    else:
        for j in range(m):
            B[j] = row[j]


@summing_leaf
def add_length_terms(X, i, ZT, m, W, length_bar):
    """length_bar[k] += −2 Σⱼ Wⱼ (xᵢₖ − zⱼₖ)², W = K̄ ∘ ∂K/∂D: ∂D/∂log ℓₖ = −2(Δₖ/ℓₖ)²."""
    for k in range(ZT.shape[0]):
        x = X[i, k]
        z = ZT[k]
        total = 0.0
        for j in range(m):
            t = x - z[j]
            total += W[j] * t * t
        length_bar[k] -= 2.0 * total
