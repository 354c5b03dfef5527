"""Inner loop of the online GP, compiled; `gp` explains the letters and the steps."""

from typing import Any, NamedTuple

import numpy as np

from ..likelihoods.integrals.sites import shifted_site
from ..numerics.compiling import compiled

#: Relative variance of f that no two points share. It bounds the condition of K(Z, Z).
#: (Compiled into the loops: a constant, not a tuning record.)
NUGGET = 1e-6

_leaf: Any = compiled(fastmath={"contract", "nsz", "reassoc"})


class RowBlock(NamedTuple):
    """Block of rows to absorb, and their likelihood."""

    K: np.ndarray  # K(X, points), the n rows themselves the last of the points  (n, …)
    prior: np.ndarray  # k(x, x), nugget included  (n,)
    y: np.ndarray  # (n, p)
    parameter: np.ndarray  # of the likelihood, per row: the noise of a Gaussian one  (n,)
    code: int  # of the likelihood
    shift: float  # added to f before the likelihood sees it


class Basis(NamedTuple):
    """State at the basis points, with room for more; arrays change in place."""

    column: np.ndarray  # of K, for each point  (room,)
    mean: np.ndarray  # μ  (room, p)
    S: np.ndarray  # (room, room)
    Q: np.ndarray  # (room, room)
    alpha: np.ndarray  # Qμ  (room, p)
    spread: np.ndarray  # the diagonal of QSQ  (room,)


class LoopLimits(NamedTuple):
    """LoopLimits that decide which points stay in the basis."""

    budget: int
    novelty: float
    by_posterior: bool


class Expected(NamedTuple):
    """Predictions of each row before it was absorbed; filled in place."""

    mean: np.ndarray  # of f  (n, p)
    variance: np.ndarray  # of f  (n,)
    log_z: np.ndarray  # log p(y)  (n, p)


@_leaf
def absorb(rows, basis, limits, expected, start, stop, size):
    """Absorb rows start … stop − 1 in place; return the new size of the basis."""
    K, prior, Y = rows.K, rows.prior, rows.y
    column, mean, S, Q = basis.column, basis.mean, basis.S, basis.Q
    alpha, spread = basis.alpha, basis.spread
    before, variance, log_z = expected.mean, expected.variance, expected.log_z
    n, p = Y.shape
    room = S.shape[0]
    k, e, c, s = np.empty(room), np.empty(room), np.empty(room), np.empty(room)
    q = np.empty(p)
    for i in range(start, stop):
        for j in range(size):
            k[j] = K[i, column[j]]
        _times(Q, k, size, e)
        gamma = prior[i] - _dot(k, e, size)
        gamma = max(gamma, NUGGET / (1.0 + NUGGET) * prior[i])
        _times(S, e, size, c)
        v = gamma + max(_dot(e, c, size), 0.0)
        variance[i] = v
        r = 0.0
        for o in range(p):
            m = 0.0
            for j in range(size):
                m += e[j] * mean[j, o]
            before[i, o] = m
            q[o], r, log_z[i, o] = shifted_site(
                rows.code, rows.parameter[i], rows.shift, Y[i, o], m, v
            )
        r = min(max(r, -1.0 / v), 0.0) if v > 0.0 else 0.0
        _times(Q, c, size, s)
        novel = gamma > limits.novelty * prior[i]
        if novel:  # C&O eq. 13: s = (Ck, 1), Ck = Qc − e
            for j in range(size):
                s[j] -= e[j]
            for o in range(p):
                mean[size, o] = before[i, o] + q[o] * v
                alpha[size, o] = q[o]
            for j in range(size):
                S[size, j] = S[j, size] = (1.0 + r * v) * c[j]
                Q[size, j] = Q[j, size] = -e[j] / gamma
            S[size, size] = (1.0 + r * v) * v
            Q[size, size] = 1.0 / gamma
            spread[size] = 1.0 / gamma + r
            column[size] = K.shape[1] - n + i
            _rank_one(Q, 1.0 / gamma, e, size)
            for j in range(size):
                spread[j] += e[j] * e[j] / gamma
        _rank_one(S, r, c, size)
        for j in range(size):
            spread[j] = max(spread[j] + r * s[j] * s[j], 0.0)
            for o in range(p):
                mean[j, o] += q[o] * c[j]
                alpha[j, o] += q[o] * s[j]
        if novel:
            size += 1
            if size > limits.budget:
                size -= 1
                worst = _worst(alpha, spread, Q, size + 1, limits.by_posterior)
                _drop(worst, size, basis, e, c, s)
    return size


@_leaf
def _worst(alpha, spread, Q, size, by_posterior):
    """Find the smallest α²/(QSQ)ᵢᵢ, or |α|/Qᵢᵢ; Csató & Opper write QSQ as Q + C."""
    worst, least = size - 1, np.inf
    for i in range(size):
        square = 0.0
        for o in range(alpha.shape[1]):
            square += alpha[i, o] * alpha[i, o]
        if by_posterior:
            score = square / max(spread[i], 1e-12 * Q[i, i])
        else:
            score = np.sqrt(square) / Q[i, i]
        if score < least:
            worst, least = i, score
    return worst


@_leaf
def _drop(i, last, basis, a, t, g):
    """Delete point i of last + 1; the last one takes its place.

    Q ← Q − aaᵀ/aᵢ, a = Qᵢ; so QSQ loses (agᵀ + gaᵀ)/aᵢ − aaᵀ gᵢ/aᵢ², g = QSa.
    """
    column, mean, S, Q = basis.column, basis.mean, basis.S, basis.Q
    alpha, spread = basis.alpha, basis.spread
    for j in range(last + 1):
        a[j] = Q[i, j]
    _times(S, a, last + 1, t)
    _times(Q, t, last + 1, g)
    own = a[i]
    for j in range(last + 1):
        ratio = a[j] / own
        spread[j] = max(spread[j] - ratio * (2.0 * g[j] - ratio * g[i]), 0.0)
    for o in range(alpha.shape[1]):
        share = alpha[i, o] / own
        for j in range(last + 1):
            alpha[j, o] -= share * a[j]
    _rank_one(Q, -1.0 / own, a, last + 1)
    column[i], spread[i] = column[last], spread[last]
    for o in range(alpha.shape[1]):
        mean[i, o], alpha[i, o] = mean[last, o], alpha[last, o]
    for A in (S, Q):
        for j in range(last):
            A[i, j] = A[last, j]
        A[i, i] = A[last, last]
        for j in range(last):
            A[j, i] = A[i, j]


@_leaf
def _times(A, x, n, out):
    """out = Ax, n × n."""
    for i in range(n):
        row, total = A[i], 0.0
        for j in range(n):
            total += row[j] * x[j]
        out[i] = total


@_leaf
def _rank_one(A, factor, x, n):
    """A += factor·xxᵀ, n × n."""
    for i in range(n):
        row, f = A[i], factor * x[i]
        for j in range(n):
            row[j] += f * x[j]


@_leaf
def _dot(x, y, n):
    total = 0.0
    for i in range(n):
        total += x[i] * y[i]
    return total
