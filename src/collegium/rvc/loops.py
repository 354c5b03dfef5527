"""Compiled loops: predict one row, and learn from it, expert by expert.

Letters as in `experts`. Arrays change in place.
Constants stay here, because compiled code reads them.
"""

from typing import Any, NamedTuple

import numpy as np

from ..numerics.compiling import compiled

Array = np.ndarray
#: A local expert ignores rows with a smaller K, and the committee experts whose K is smaller than
#: this share of the largest.
FAINT = 1e-4
#: A row is near an expert where K is at least this.
NEARBY = 0.1
#: Largest squared error, relative to its variance, that counts in full.
LARGEST_SURPRISE = 100.0
#: Least variance of noise and misfit, relative to the prior's noise d0/c0.
LEAST = 1e-12
#: Least share of the past that forgetting leaves after one row.
LEAST_KEPT = 1e-6
#: Rows of a smaller weight are ignored.
LEAST_WEIGHT = 1e-100

# "numpy": no test before each division, which would take long to compile.
_leaf: Any = compiled(fastmath={"contract", "nsz"}, error_model="numpy")


class LoopPrior(NamedTuple):
    """Gamma(a, b) for h_j, InvGamma(c, d) for σ², covariance diag(variance) for β."""

    a: float
    b: float
    c: float
    d: float
    variance: Array  # diagonal of S0  (D,)


class LoopSettings(NamedTuple):
    """Assumptions and rules of a committee, fixed while rows are absorbed."""

    unit: float  # u
    local: bool
    slope: Array  # of f, expected before any row  (d,)
    prior: LoopPrior
    sweeps: int
    forgetting: float
    room: int  # most experts
    reach: float  # a local expert is added where every xᵀx exceeds this
    add_below: float  # as published: where the log density of y is below this
    alike: float  # experts whose variances differ by less than this share are one; 0: never
    past: float  # least log scale of the error bars


class Scratch(NamedTuple):
    """Scratch memory for one row and one expert."""

    x: Array  # (D,)
    f: Array  # Uᵀx  (D,)
    gain: Array  # (D,)
    before: Array  # a, b, μ and 1/diag S before the row  (4, D)


class Each(NamedTuple):
    """Each expert's prediction of one row."""

    rho: Array  # xᵀx  (M,)
    mean: Array  # (M,)
    variance: Array  # (M,)
    weight: Array  # α  (M,)


class ExpertSums(NamedTuple):
    """Sums over experts: Σα, Σαm, Σα/v and Σα(s + 1/h_D)/v (as published Σαs/v)."""

    weight: float
    mean: float
    precision: float
    noise: float


@_leaf
def memory(room, D):
    """Allocate `Each` of `room` experts and `Scratch` of D coefficients."""
    each = Each(np.empty(room), np.empty(room), np.empty(room), np.empty(room))
    return each, Scratch(np.empty(D), np.empty(D), np.empty(D), np.empty((4, D)))


@_leaf
def inputs(row, centre, unit, x):
    """Set x = [(row − centre)/u, 1]; return xᵀx."""
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
    """Return xᵀSx; set f = Uᵀx where S is full."""
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
def residual(y, x, mu):
    """e = y − xᵀμ."""
    e = y
    for j in range(x.size):
        e -= x[j] * mu[j]
    return e


@_leaf
def expert_variance(k, row, unit, experts, work):
    """v = xᵀSx + γ + s of expert k at a row."""
    factor, a, b, c, d = experts.factor[k], experts.a[k], experts.b[k], experts.c, experts.d
    x, f = work.x, work.f
    rho = inputs(row, experts.centres[k], unit, x)
    return quadratic(factor, x, f) + misfit(x, rho, a, b) + d[k] / c[k]


@_leaf
def predict_experts(row, size, settings, experts, each, work):
    """Set each expert's mean, variance and weight α_k = K_k/v_k at a row; return their sums.

    K_k is relative to the nearest expert's, and 1 as published. Experts with K_k below `FAINT`
    get weight zero.
    """
    unit, local = settings.unit, settings.local
    centres, mu, factor = experts.centres, experts.mu, experts.factor
    a, b, c, d = experts.a, experts.b, experts.c, experts.d
    rho, mean, variance, weight = each
    x, f = work.x, work.f
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
        weight[k] = 0.0
        if K < FAINT:
            continue
        r = inputs(row, centres[k], unit, x)
        m = 0.0
        for j in range(x.size):
            m += x[j] * mu[k, j]
        s = d[k] / c[k]
        v = quadratic(factor[k], x, f) + misfit(x, r, a[k], b[k]) + s
        mean[k], variance[k], weight[k] = m, v, K / v
        total += weight[k]
        total_mean += weight[k] * m
        total_precision += weight[k] / v
        level = b[k, -1] / a[k, -1] if local else 0.0  # 1/h_D: in the rows it looks like noise
        total_noise += weight[k] * (s + level) / v
    return ExpertSums(total, total_mean, total_precision, total_noise)


@_leaf
def learn_local(row, y, weight, size, now, settings, experts, rho, work):
    """Update the local experts that are not too far from a row.

    1. With forgetting, the past fades.
    2. `_share_error` updates the variances.
    3. With forgetting, where the noise at the centre has grown by that, μ and S fade by the same
       ratio: old rows are trusted no more than new ones.
    4. `_update_line`: the noise of the row is (s + γ)/(K·weight), and more where the error is
       beyond ten standard deviations.
    """
    # Fields are read before the loop: each reading of an array field counts references.
    unit, sweeps, forgetting = settings.unit, settings.sweeps, settings.forgetting
    prior, x, f, g = settings.prior, work.x, work.f, work.gain
    centres, starts, times, seen = experts.centres, experts.start, experts.times, experts.seen
    means, factors = experts.mu, experts.factor
    shapes, rates, c, d = experts.a, experts.b, experts.c, experts.d
    for k in range(size):
        K = np.exp(-0.5 * (rho[k] - 1.0))
        if K >= NEARBY:
            times[k, 1] = now
            times[k, 2] += 1.0
        share = K * weight
        if K < FAINT or share < LEAST_WEIGHT:
            continue
        start, mu, factor, a, b = starts[k], means[k], factors[k], shapes[k], rates[k]
        r = inputs(row, centres[k], unit, x)
        if forgetting < 1.0:
            keep = max(forgetting**share, LEAST_KEPT)
            _fade_variances(k, keep, prior, a, b, c, d)
            _fade_line(keep, prior.variance, start, mu, factor, f, g)
        q, e = quadratic(factor, x, f), residual(y, x, mu)
        noise_before = d[k] / c[k] + b[-1] / a[-1]
        c[k], d[k], surprise = _share_error(e, r, q, share, sweeps, a, b, c[k], d[k], work)
        _keep_positive(k, prior, a, b, c, d)
        if forgetting < 1.0:
            keep = noise_before / (d[k] / c[k] + b[-1] / a[-1])
            if keep < 1.0:
                _fade_line(max(keep, LEAST_KEPT), prior.variance, start, mu, factor, f, g)
                quadratic(factor, x, f)
                e = residual(y, x, mu)
        noise = (d[k] / c[k] + misfit(x, r, a, b)) / share
        noise *= max(surprise / LARGEST_SURPRISE, 1.0)
        _update_line(noise, e, f, mu, factor, g)
        seen[k] += share


@_leaf
def _share_error(e, rho, q, share, sweeps, a, b, c, d, work):
    """Update a and b with an error e of variance v = s + γ + xᵀSx; return new c and d, and e²/v.

    Each part of v learns from its share φ of v: c += κφ/2 and d += κφs z²/2 for the noise, with
    z² = e²/v and κ = K·weight, and the same for 1/h_j. This is at rest where Σ κφ(z² − 1) = 0,
    the stationary point of Σ κ log N(e | 0, v).
    """
    x, before = work.x, work.before
    D = x.size
    for j in range(D):
        before[0, j], before[1, j] = a[j], b[j]
    c_before, d_before = c, d
    surprise = 0.0
    for _ in range(sweeps):
        s = d / c
        v = s + misfit(x, rho, a, b) + q
        surprise = e * e / v
        z2 = min(surprise, LARGEST_SURPRISE)
        for j in range(D):
            own = b[j] / a[j]
            half = 0.5 * share * rho * x[j] * x[j] * own / v
            a[j] = before[0, j] + half
            b[j] = before[1, j] + half * own * z2
        half = 0.5 * share * s / v
        c = c_before + half
        d = d_before + half * s * z2
    return c, d, surprise


@_leaf
def _update_line(noise, e, f, mu, factor, g):
    """Update μ and S with e = y − xᵀμ of this noise variance, f = Uᵀx (Bierman 1977)."""
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
def _keep_positive(k, prior, a, b, c, d):
    """Keep noise d/c and misfit b/a above `LEAST` of the prior noise."""
    least = LEAST * (prior.d / prior.c)
    if d[k] < least * c[k]:
        d[k] = least * c[k]
    for j in range(a.size):
        if b[j] < least * a[j]:
            b[j] = least * a[j]


@_leaf
def _fade_variances(k, keep, prior, a, b, c, d):
    """a ← a0 + keep·(a − a0), and the same for b, c and d."""
    c[k] = prior.c + keep * (c[k] - prior.c)
    d[k] = prior.d + keep * (d[k] - prior.d)
    for j in range(a.size):
        a[j] = prior.a + keep * (a[j] - prior.a)
        b[j] = prior.b + keep * (b[j] - prior.b)


@_leaf
def _fade_line(keep, variance, start, mu, factor, f, g):
    """S⁻¹ ← keep·S⁻¹ + (1 − keep)S0⁻¹, and the same for S⁻¹μ.

    S0 is diagonal, so its part comes in as D rows, one for each coefficient.
    """
    D = mu.size
    for j in range(D):
        factor[j, j] /= keep
    if keep == 1.0:  # to rounding
        return
    for j in range(D):
        for i in range(D):
            f[i] = factor[j, i] if i > j else 0.0
        f[j] = 1.0
        _update_line(variance[j] / (1.0 - keep), start[j] - mu[j], f, mu, factor, g)


@_leaf
def learn_published(row, y, weight, size, settings, experts, work):
    """Update all experts with one row as published: eqs 14–15 and 24–29, the prior fixed over
    sweeps."""
    if weight < LEAST_WEIGHT:
        return
    unit, sweeps, forgetting = settings.unit, settings.sweeps, settings.forgetting
    prior, x, before, D = settings.prior, work.x, work.before, work.x.size
    centres, starts, seen = experts.centres, experts.start, experts.seen
    means, factors = experts.mu, experts.factor
    shapes, rates, c, d = experts.a, experts.b, experts.c, experts.d
    for k in range(size):
        mu, S, a, b = means[k], factors[k, 0], shapes[k], rates[k]
        rho = inputs(row, centres[k], unit, x)
        if forgetting < 1.0:
            keep = max(forgetting**weight, LEAST_KEPT)
            _fade_variances(k, keep, prior, a, b, c, d)
            _fade_diagonal(keep, prior.variance, starts[k], mu, S)
        for j in range(D):
            before[0, j], before[1, j] = a[j], b[j]
            before[2, j], before[3, j] = mu[j], 1.0 / S[j]
        c_before, d_before = c[k], d[k]
        for _ in range(sweeps):
            s, e = d[k] / c[k], residual(y, x, mu)
            total = misfit(x, rho, a, b) + s
            for j in range(D):
                C = rho * b[j] / a[j]
                pull = C * x[j] / total
                nu = mu[j] + pull * e
                G = C - pull * C * x[j]
                spread = 1.0 / (before[3, j] + weight / C)
                centre = spread * (before[3, j] * before[2, j] + weight * nu / C)
                a[j] = before[0, j] + 0.5 * weight
                b[j] = before[1, j] + 0.5 * weight * ((nu - centre) ** 2 + G + spread) / rho
                S[j], mu[j] = spread, centre
            c[k] = c_before + 0.5 * weight
            left = e * s / total  # y − νᵀx
            d[k] = d_before + 0.5 * weight * (left * left + s * (total - s) / total)
        _keep_positive(k, prior, a, b, c, d)
        seen[k] += weight


@_leaf
def _fade_diagonal(keep, variance, start, mu, S):
    """`_fade_line` for a diagonal S."""
    for j in range(mu.size):
        old, new = keep / S[j], (1.0 - keep) / variance[j]
        S[j] = 1.0 / (old + new)
        mu[j] = S[j] * (old * mu[j] + new * start[j])
