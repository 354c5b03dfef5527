"""Row by row, compiled: what an expert says of a row, and what it learns from it.

Letters as in `experts`; arrays change in place. See `stream` for the steps.
"""

from typing import Any

import numpy as np
from numba import njit

#: Least share of a row that a local expert listens to, and of the most confident vote.
FAINT = 1e-4
#: Largest squared error, relative to its variance, that is taken in full.
LARGEST_SURPRISE = 100.0
#: Least variance of noise and misfit, relative to the first guess of the noise; and what is kept
#: at least of what was known.
LEAST = 1e-12
#: Least share of the past that one row may leave.
LEAST_KEPT = 1e-6
#: Rows that count less say nothing.
LEAST_WEIGHT = 1e-100

_leaf: Any = njit(nogil=True, cache=True, fastmath={"contract", "nsz"})


@_leaf
def inputs(row, centre, unit, x):
    """x = [(row − centre)/u, 1]; xᵀx."""
    d = centre.size
    rho = 1.0
    for j in range(d):
        t = (row[j] - centre[j]) / unit
        x[j] = t
        rho += t * t
    x[d] = 1.0
    return rho


@_leaf
def quadratic(factor, x, f):
    """xᵀSx, and f = Uᵀx where S is full."""
    D = x.size
    q = 0.0
    if factor.shape[0] == 1:
        for j in range(D):
            q += factor[0, j] * x[j] * x[j]
        return q
    for j in range(D):
        t = x[j]
        for i in range(j):
            t += factor[i, j] * x[i]
        f[j] = t
        q += t * t * factor[j, j]
    return q


@_leaf
def misfit(x, rho, a, b):
    """γ = ρ Σ_j x_j²/⟨h_j⟩."""
    g = 0.0
    for j in range(x.size):
        g += x[j] * x[j] * b[j] / a[j]
    return rho * g


@_leaf
def votes(
    row, size, unit, local, centres, mu, factor, a, b, c, d, x, f, rho, mean, variance, share,
):  # fmt: skip
    """Each expert's mean, variance and weight at a row; the sums that the committee needs.

    weights α_k = K_k/v_k, K_k = 1 as published: Σα, Σαm, Σα/v, Σα(s + 1/h_D)/v (as published
    Σαs/v), each relative to the nearest expert's K. `share` is α_k, or 0 of those too far to count.
    """
    nearest = np.inf
    for k in range(size):
        r = 1.0
        for j in range(row.size):
            t = (row[j] - centres[k, j]) / unit
            r += t * t
        rho[k] = r
        nearest = min(nearest, r)
    total = total_mean = total_precision = total_noise = 0.0
    for k in range(size):
        K = np.exp(-0.5 * (rho[k] - nearest)) if local else 1.0
        share[k] = 0.0
        if K < FAINT:
            continue
        r = inputs(row, centres[k], unit, x)
        m = 0.0
        for j in range(x.size):
            m += x[j] * mu[k, j]
        s = d[k] / c[k]
        v = quadratic(factor[k], x, f) + misfit(x, r, a[k], b[k]) + s
        mean[k], variance[k], share[k] = m, v, K / v
        total += share[k]
        total_mean += share[k] * m
        total_precision += share[k] / v
        wander = b[k, -1] / a[k, -1] if local else 0.0  # of levels: rows show it as noise
        total_noise += share[k] * (s + wander) / v
    return total, total_mean, total_precision, total_noise


@_leaf
def learn_local(
    row, y, weight, K, unit, sweeps, forgetting, prior, start, centre, mu, factor, a, b, c, d,
    heard, x, f, g, base,
):  # fmt: skip
    """One row for one local expert.

    The error e = y − xᵀμ has variance v = s + γ + xᵀSx before the row is heard. Each part of it
    that is not yet known is credited with its share φ of v: for noise c += Kφ/2, d += Kφs z²/2,
    z² = e²/v, and so for 1/h_j. At rest Σ Kφ(z² − 1) = 0, which is where Σ K log N(e | 0, v) is
    stationary. Then μ and S hear the row with noise (s + γ)/K, in Bierman's form; with more where
    e is ten deviations and beyond. With forgetting, rows of old are trusted no more than those of
    now: where noise grows at the centre, what they said fades as much.
    """
    D = x.size
    share = K * weight
    if share < LEAST_WEIGHT:
        return
    rho = inputs(row, centre, unit, x)
    if forgetting < 1.0:
        keep = max(forgetting**share, LEAST_KEPT)
        _fade(keep, prior, a, b, c, d)
        _fade_line(keep, prior, start, mu, factor, f, g)
    q = quadratic(factor, x, f)
    e = y
    for j in range(D):
        e -= x[j] * mu[j]
        base[0, j], base[1, j] = a[j], b[j]
    c_before, d_before = c[0], d[0]
    believed = d[0] / c[0] + b[D - 1] / a[D - 1]
    surprise = 0.0
    for _ in range(sweeps):
        s = d[0] / c[0]
        v = s + misfit(x, rho, a, b) + q
        surprise = e * e / v
        z2 = min(surprise, LARGEST_SURPRISE)
        for j in range(D):
            own = b[j] / a[j]
            half = 0.5 * share * rho * x[j] * x[j] * own / v
            a[j] = base[0, j] + half
            b[j] = base[1, j] + half * own * z2
        half = 0.5 * share * s / v
        c[0] = c_before + half
        d[0] = d_before + half * s * z2
    _bound(prior, a, b, c, d)
    if forgetting < 1.0:
        keep = believed / (d[0] / c[0] + b[D - 1] / a[D - 1])
        if keep < 1.0:
            _fade_line(max(keep, LEAST_KEPT), prior, start, mu, factor, f, g)
            quadratic(factor, x, f)
            e = y
            for j in range(D):
                e -= x[j] * mu[j]
    noise = (d[0] / c[0] + misfit(x, rho, a, b)) / share
    noise *= max(surprise / LARGEST_SURPRISE, 1.0)
    _hear(noise, e, f, mu, factor, g)
    heard[0] += share


@_leaf
def _hear(noise, e, f, mu, factor, g):
    """μ and S after e = y − xᵀμ, whose noise has this variance, f = Uᵀx (Bierman 1977)."""
    D = mu.size
    alpha = noise
    for j in range(D):
        before = alpha
        gain = factor[j, j] * f[j]
        alpha = before + f[j] * gain
        p = -f[j] / before
        factor[j, j] *= before / alpha
        g[j] = gain
        for i in range(j):
            old = factor[i, j]
            factor[i, j] = old + g[i] * p
            g[i] += gain * old
    for j in range(D):
        mu[j] += g[j] * e / alpha


@_leaf
def _bound(prior, a, b, c, d):
    """Noise and misfit that do not vanish."""
    least = LEAST * prior[4]
    if d[0] < least * c[0]:
        d[0] = least * c[0]
    for j in range(a.size):
        if b[j] < least * a[j]:
            b[j] = least * a[j]


@_leaf
def _fade(keep, prior, a, b, c, d):
    """Counts return towards the prior's: a0, b0, c0, d0, then d0/c0 and the diagonal of S0."""
    c[0] = prior[2] + keep * (c[0] - prior[2])
    d[0] = prior[3] + keep * (d[0] - prior[3])
    for j in range(a.size):
        a[j] = prior[0] + keep * (a[j] - prior[0])
        b[j] = prior[1] + keep * (b[j] - prior[1])


@_leaf
def _fade_line(keep, prior, start, mu, factor, f, g):
    """S⁻¹ ← keep·S⁻¹ + (1 − keep)S0⁻¹, and so for S⁻¹μ: the prior is heard again, by its parts."""
    D = mu.size
    for j in range(D):
        factor[j, j] /= keep
    if keep == 1.0:  # to rounding
        return
    for j in range(D):
        for i in range(D):
            f[i] = factor[j, i] if i > j else 0.0
        f[j] = 1.0
        _hear(prior[5 + j] / (1.0 - keep), start[j] - mu[j], f, mu, factor, g)


@_leaf
def learn_published(
    row, y, weight, unit, sweeps, forgetting, prior, start, centre, mu, factor, a, b, c, d, heard,
    x, base,
):  # fmt: skip
    """One row for one expert as published: eqs 14–15 and 24–29, the prior fixed over sweeps."""
    if weight < LEAST_WEIGHT:
        return
    D = x.size
    rho = inputs(row, centre, unit, x)
    if forgetting < 1.0:
        keep = max(forgetting**weight, LEAST_KEPT)
        _fade(keep, prior, a, b, c, d)
        for j in range(D):
            old, prior_part = keep / factor[0, j], (1.0 - keep) / prior[5 + j]
            factor[0, j] = 1.0 / (old + prior_part)
            mu[j] = factor[0, j] * (old * mu[j] + prior_part * start[j])
    for j in range(D):
        base[0, j], base[1, j] = a[j], b[j]
        base[2, j], base[3, j] = mu[j], 1.0 / factor[0, j]
    c_before, d_before = c[0], d[0]
    for _ in range(sweeps):
        s, total, e = d[0] / c[0], misfit(x, rho, a, b), y
        for j in range(D):
            e -= x[j] * mu[j]
        total += s
        for j in range(D):
            C = rho * b[j] / a[j]
            pull = C * x[j] / total
            nu = mu[j] + pull * e
            G = C - pull * C * x[j]
            precision = base[3, j] + weight / C
            S = 1.0 / precision
            new = S * (base[3, j] * base[2, j] + weight * nu / C)
            a[j] = base[0, j] + 0.5 * weight
            b[j] = base[1, j] + 0.5 * weight * ((nu - new) ** 2 + G + S) / rho
            factor[0, j], mu[j] = S, new
        c[0] = c_before + 0.5 * weight
        left = e * s / total  # y − νᵀx
        d[0] = d_before + 0.5 * weight * (left * left + s * (total - s) / total)
    _bound(prior, a, b, c, d)
    heard[0] += weight
