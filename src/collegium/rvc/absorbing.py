"""Compiled loops: absorb rows one by one (predict, add an expert, learn, prune); answer queries."""

import numpy as np

from .loops import (
    _leaf,
    expert_variance,
    learn_local,
    learn_published,
    memory,
    predict_experts,
)

#: Normal quantile of the error bars that are checked, and the expected share of rows outside.
QUANTILE, OUTSIDE = 1.959963984540054, 0.05
#: Step of the log scale of the error bars after n rows: FIRST_STEP/(1 + n/FALLING), or LAST_STEP.
FIRST_STEP, FALLING, LAST_STEP = 0.5, 10.0, 0.02
#: Least log scale, so that bars recover after many rows that were predicted exactly.
NARROWEST_BARS = -3.0
#: An expert is idle, and may be replaced, after this many times its mean gap between near rows
#: and this many rows per expert; the last number where the new row is far from all experts.
IDLE_GAPS, IDLE_ROWS, HURRIED_ROWS = 20.0, 10.0, 1.0
#: A row is far from an expert where xᵀx exceeds this: K = 0.01.
FAR = 10.2
#: Pairs of experts are compared after this many rows per expert.
#: (Constants, because compiled loops read them.)
PRUNE_EVERY = 4


@_leaf
def absorb_rows(X, y, w, size, settings, experts, scale, mean, variance):
    """Predict each row, then learn from it; return the number of experts.

    mean, variance (n,): set to the committee's prediction of each row before it is learnt.
    scale (3,): log factor of the error bars, rows learnt, rows since experts were compared.
    """
    each, work = memory(experts.centres.shape[0], X.shape[1] + 1)
    slope, rho = np.empty(X.shape[1]), each.rho
    for i in range(X.shape[0]):
        row = X[i]
        total = predict_experts(row, size, settings, experts, each, work)
        mean[i], variance[i] = _combined(row, size, settings, total)
        e = y[i] - mean[i]
        z2 = e * e / variance[i]
        if settings.local:
            variance[i] *= np.exp(2.0 * max(scale[0], settings.past))
            z2 *= np.exp(-2.0 * scale[0])
        if w[i] <= 0.0:
            continue
        log_density = -0.5 * (e * e / variance[i] + np.log(2 * np.pi * variance[i]))
        place = _place(size, log_density, settings, experts.times, rho, scale[1])
        if place >= 0:
            _slopes(size, total, settings, experts.mu, each.weight, slope)
            level = mean[i] if settings.local else 0.0
            _insert(place, row, level, slope, scale[1], settings, experts)
            rho[place] = 1.0
            size = max(size, place + 1)
        if settings.local:
            learn_local(row, y[i], w[i], size, scale[1], settings, experts, rho, work)
        else:
            learn_published(row, y[i], w[i], size, settings, experts, work)
        _rescale(z2, w[i], scale)
        if settings.alike > 0.0 and scale[2] >= PRUNE_EVERY * size:
            scale[2] = 0.0
            size = _prune(size, settings, experts, work)
    return size


@_leaf
def _combined(row, size, settings, total):
    """Mean and variance of the committee; without experts the prior line and 1."""
    if size == 0:
        mean = 0.0
        for j in range(row.size):
            mean += settings.slope[j] * row[j]
        return mean, 1.0
    if settings.local:
        return total.mean / total.weight, total.weight / total.precision
    return total.mean / total.weight, 1.0 / total.weight


@_leaf
def _place(size, log_density, settings, times, rho, now):
    """Place of a new expert; −1 where none is needed, or there is no room."""
    if not settings.local:
        needed = size == 0 or log_density < settings.add_below
        return size if needed and size < settings.room else -1
    nearest = np.inf
    for k in range(size):
        nearest = min(nearest, rho[k])
    if size > 0 and not nearest > settings.reach:
        return -1
    if size < settings.room:
        return size
    return _idle(size, times, now, nearest > FAR) if settings.alike > 0.0 else -1


@_leaf
def _idle(size, times, now, far):
    """Return the expert that has waited longest for a near row, if it is idle; else −1."""
    found, longest = -1, (HURRIED_ROWS if far else IDLE_ROWS) * size
    for k in range(size):
        gap = now - times[k, 1]
        usual = (times[k, 1] - times[k, 0] + 1.0) / max(times[k, 2], 1.0)
        if gap > longest and gap > IDLE_GAPS * usual:
            found, longest = k, gap
    return found


@_leaf
def _slopes(size, total, settings, mu, weight, slope):
    """Set the slopes that a new expert expects: the local committee's, or the prior's."""
    for j in range(slope.size):
        slope[j] = settings.slope[j]
    if settings.local and size > 0:
        for j in range(slope.size):
            t = 0.0
            for k in range(size):
                t += weight[k] * mu[k, j]
            slope[j] = t / (total.weight * settings.unit)


@_leaf
def _insert(k, row, level, slope, now, settings, experts):
    """Set expert k to the prior at a row, with the line level + slopeᵀ(x − row)."""
    prior, factor, start = settings.prior, experts.factor, experts.start
    D = start.shape[1]
    for j in range(D - 1):
        experts.centres[k, j] = row[j]
        start[k, j] = slope[j] * settings.unit
    start[k, D - 1] = level
    for j in range(D):
        experts.mu[k, j] = start[k, j]
        for i in range(factor.shape[1]):
            factor[k, i, j] = 0.0
        factor[k, j % factor.shape[1], j] = prior.variance[j]
        experts.a[k, j], experts.b[k, j] = prior.a, prior.b
    experts.c[k], experts.d[k], experts.seen[k] = prior.c, prior.d, 0.0
    times = experts.times
    times[k, 0], times[k, 1], times[k, 2] = now, now, 0.0


@_leaf
def _rescale(z2, weight, scale):
    """Widen the error bars after a row outside of them, narrow them after one inside.

    log scale += step·(outside − 5 %): at rest 5 % of the rows lie outside.
    """
    step = max(FIRST_STEP / (1.0 + scale[1] / FALLING), LAST_STEP)
    step *= min(weight, 1.0)
    scale[0] += step * ((1.0 if z2 > QUANTILE * QUANTILE else 0.0) - OUTSIDE)
    scale[0] = max(scale[0], NARROWEST_BARS)
    scale[1] += 1.0
    scale[2] += 1.0


@_leaf
def _prune(size, settings, experts, work):
    """Drop the less experienced of two experts with similar variances at both centres.

    Returns the new number of experts.
    """
    seen = experts.seen
    k = 0
    while k < size:
        drop = -1
        for o in range(k + 1, size):
            if _alike(k, o, settings, experts, work):
                drop = o if seen[o] <= seen[k] else k
                break
        if drop < 0:
            k += 1
            continue
        size -= 1
        for A in (experts.centres, experts.mu, experts.start, experts.a, experts.b, experts.times):
            _copy(A[size], A[drop])
        for v in (experts.c, experts.d, seen):
            v[drop] = v[size]
        for j in range(experts.factor.shape[1]):
            _copy(experts.factor[size, j], experts.factor[drop, j])
    return size


@_leaf
def _copy(row, out):
    """out ← row, in a loop: to compile an assignment of arrays takes many seconds."""
    for j in range(row.size):
        out[j] = row[j]


@_leaf
def _alike(k, o, settings, experts, work):
    """Whether the variances of two experts differ little at both centres."""
    for one, other in ((k, o), (o, k)):
        centre = experts.centres[one]
        own = expert_variance(one, centre, settings.unit, experts, work)
        theirs = expert_variance(other, centre, settings.unit, experts, work)
        if abs(theirs - own) > settings.alike * own:
            return False
    return True


@_leaf
def answer_queries(X, size, settings, experts, spread, answer):
    """Set the committee's mean, variance, noise and slopes at queries.

    spread (size, D): the diagonals of S. The slopes vary as those of one expert drawn by its
    weight: experts share their rows, so their number adds no information.
    """
    d, unit, mu = X.shape[1], settings.unit, experts.mu
    each, work = memory(size, d + 1)
    weight = each.weight
    mean, variance, noise, slopes, slope_variance = answer
    for i in range(X.shape[0]):
        total = predict_experts(X[i], size, settings, experts, each, work)
        mean[i], variance[i] = _combined(X[i], size, settings, total)
        noise[i] = variance[i] * min(total.noise / total.weight, 1.0)
        for j in range(d):
            t = square = 0.0
            for k in range(size):
                t += weight[k] * mu[k, j]
            t /= total.weight
            for k in range(size):
                square += weight[k] * (spread[k, j] + (mu[k, j] - t) ** 2)
            slopes[i, j] = t / unit
            slope_variance[i, j] = square / (total.weight * unit * unit)


@_leaf
def expert_weights(X, size, settings, experts, found):
    """Set each expert's share of the mean at queries  (n, size)."""
    each, work = memory(size, X.shape[1] + 1)
    weight = each.weight
    for i in range(X.shape[0]):
        total = predict_experts(X[i], size, settings, experts, each, work)
        for k in range(size):
            found[i, k] = weight[k] / total.weight
