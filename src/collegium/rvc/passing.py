"""Rows that pass by a committee of local experts, compiled: predict, grow, learn, prune."""

import numpy as np

from .loops import FAINT, _leaf, inputs, learn_local, learn_published, misfit, quadratic, votes

#: Normal quantile of the bars that are watched, and the share of rows that may lie outside.
QUANTILE, OUTSIDE = 1.959963984540054, 0.05
#: Steps of the scale of the bars: the first, the rows over which it falls, the last.
FIRST_STEP, FALLING, LAST_STEP = 0.5, 10.0, 0.02
#: The least log of it: after rows that were all foretold exactly bars must find back.
NARROWEST_BARS = -3.0
#: Share of a row from which on it has come near an expert. One is idle, and gives its place to a
#: newcomer, after so many of its usual gaps, and so many rows an expert.
NEARBY, IDLE_GAPS, IDLE_ROWS, HURRIED_ROWS = 0.1, 20.0, 10.0, 1.0
#: xᵀx of a row that is far: it counts a hundredth.
FAR = 10.2
#: Pairs of experts are compared after so many rows an expert.
PRUNE_EVERY = 4


@_leaf
def _insert(
    k, row, level, slope, unit, prior, centres, mu, start, factor, a, b, c, d, heard, times, now,
):  # fmt: skip
    """A fresh expert at a row, that expects level + slopeᵀ(x − row)."""
    D = mu.shape[1]
    for j in range(D - 1):
        centres[k, j] = row[j]
        start[k, j] = slope[j] * unit
    start[k, D - 1] = level
    for j in range(D):
        mu[k, j] = start[k, j]
        for i in range(factor.shape[1]):
            factor[k, i, j] = 0.0
        factor[k, j % factor.shape[1], j] = prior[5 + j]
        a[k, j], b[k, j] = prior[0], prior[1]
    c[k], d[k], heard[k] = prior[2], prior[3], 0.0
    times[k, 0], times[k, 1], times[k, 2] = now, now, 0.0


@_leaf
def _variance_at(k, row, unit, centres, factor, a, b, c, d, x, f):
    rho = inputs(row, centres[k], unit, x)
    return quadratic(factor[k], x, f) + misfit(x, rho, a[k], b[k]) + d[k] / c[k]


@_leaf
def _prune(size, unit, alike, centres, mu, start, factor, a, b, c, d, heard, times, x, f):
    """Drop experts as confident as another one, at its centre and at their own; the new size."""
    k = 0
    while k < size:
        drop = -1
        for o in range(k + 1, size):
            at_k = _variance_at(k, centres[k], unit, centres, factor, a, b, c, d, x, f)
            other = _variance_at(o, centres[k], unit, centres, factor, a, b, c, d, x, f)
            if abs(other - at_k) > alike * at_k:
                continue
            at_o = _variance_at(o, centres[o], unit, centres, factor, a, b, c, d, x, f)
            other = _variance_at(k, centres[o], unit, centres, factor, a, b, c, d, x, f)
            if abs(other - at_o) <= alike * at_o:
                drop = o if heard[o] <= heard[k] else k
                break
        if drop < 0:
            k += 1
            continue
        size -= 1
        for A in (centres, mu, start, a, b, times):
            A[drop] = A[size]
        for v in (c, d, heard):
            v[drop] = v[size]
        factor[drop] = factor[size]
    return size


@_leaf
def _idle(size, times, now, far):
    """An expert that no row has come near for long, by its own measure and by that of all; −1.

    Where a row is far from every expert there is less patience.
    """
    found, longest = -1, (HURRIED_ROWS if far else IDLE_ROWS) * size
    for k in range(size):
        gap = now - times[k, 1]
        usual = (times[k, 1] - times[k, 0] + 1.0) / max(times[k, 2], 1.0)
        if gap > longest and gap > IDLE_GAPS * usual:
            found, longest = k, gap
    return found


@_leaf
def listen(
    X, y, w, size, room, unit, local, sweeps, forgetting, prior, slope, reach, add_below, alike,
    scale, centres, mu, start, factor, a, b, c, d, heard, times, mean, variance,
):  # fmt: skip
    """All rows, one after the other; the number of experts after them.

    mean and variance: of the committee, before each row was heard. scale = [log of the factor of
    the bars, rows it was learnt from, rows since experts were compared].
    """
    n, D = X.shape[0], mu.shape[1]
    x, f, g, base = np.empty(D), np.empty(D), np.empty(D), np.empty((4, D))
    M = centres.shape[0]
    rho, means, variances, share = np.empty(M), np.empty(M), np.empty(M), np.empty(M)
    local_slope = np.empty(D - 1)
    for i in range(n):
        row = X[i]
        total, total_mean, total_precision, _ = votes(
            row, size, unit, local, centres, mu, factor, a, b, c, d, x, f, rho, means,
            variances, share,
        )  # fmt: skip
        nearest = np.inf
        for k in range(size):
            nearest = min(nearest, rho[k])
        if size == 0:
            mean[i], v = 0.0, 1.0
            for j in range(D - 1):
                mean[i] += slope[j] * row[j]
        elif local:
            mean[i], v = total_mean / total, total / total_precision
        else:
            mean[i], v = total_mean / total, 1.0 / total
        factor_of_bars = np.exp(2.0 * scale[0]) if local else 1.0
        variance[i] = v * factor_of_bars
        if w[i] <= 0.0:
            continue
        e = y[i] - mean[i]
        z2 = e * e / variance[i]
        low = -0.5 * (z2 + np.log(2 * np.pi * variance[i])) < add_below
        unknown = size == 0 or (nearest > reach if local else low)
        place = size if size < room else -1
        if unknown and local and place < 0 and alike > 0.0:
            place = _idle(size, times, scale[1], nearest > FAR)
        if unknown and place >= 0:
            for j in range(D - 1):
                local_slope[j] = slope[j]
            if local and size > 0:
                for j in range(D - 1):
                    t = 0.0
                    for k in range(size):
                        t += share[k] * mu[k, j]
                    local_slope[j] = t / (total * unit)
            level = mean[i] if local else 0.0
            _insert(
                place, row, level, local_slope, unit, prior, centres, mu, start, factor, a, b, c,
                d, heard, times, scale[1],
            )  # fmt: skip
            rho[place] = 1.0
            size = max(size, place + 1)
        for k in range(size):
            if local:
                K = np.exp(-0.5 * (rho[k] - 1.0))
                if K >= NEARBY:
                    times[k, 1] = scale[1]
                    times[k, 2] += 1.0
                if K >= FAINT:
                    learn_local(
                        row, y[i], w[i], K, unit, sweeps, forgetting, prior, start[k],
                        centres[k], mu[k], factor[k], a[k], b[k], c[k : k + 1], d[k : k + 1],
                        heard[k : k + 1], x, f, g, base,
                    )  # fmt: skip
            else:
                learn_published(
                    row, y[i], w[i], unit, sweeps, forgetting, prior, start[k], centres[k],
                    mu[k], factor[k], a[k], b[k], c[k : k + 1], d[k : k + 1], heard[k : k + 1],
                    x, base,
                )  # fmt: skip
        step = max(FIRST_STEP / (1.0 + scale[1] / FALLING), LAST_STEP)
        step *= min(w[i], 1.0)
        scale[0] += step * ((1.0 if z2 > QUANTILE * QUANTILE else 0.0) - OUTSIDE)
        scale[0] = max(scale[0], NARROWEST_BARS)
        scale[1] += 1.0
        scale[2] += 1.0
        if alike > 0.0 and scale[2] >= PRUNE_EVERY * size:
            scale[2] = 0.0
            size = _prune(
                size, unit, alike, centres, mu, start, factor, a, b, c, d, heard, times, x, f
            )  # fmt: skip
    return size


@_leaf
def answers(
    X, size, unit, local, centres, mu, factor, spread, a, b, c, d, mean, variance, noise, slopes,
    slope_variance,
):  # fmt: skip
    """The committee's mean, variance, the noise in it, and the slopes, at queries.

    spread: the diagonals of S  (size, D). Slopes vary as those of an expert drawn by its weight:
    experts heard the same rows, so that many of them know no more than one.
    """
    n, D = X.shape[0], mu.shape[1]
    x, f = np.empty(D), np.empty(D)
    rho, means, variances, share = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    for i in range(n):
        total, total_mean, total_precision, total_noise = votes(
            X[i], size, unit, local, centres, mu, factor, a, b, c, d, x, f, rho, means, variances,
            share,
        )  # fmt: skip
        mean[i] = total_mean / total
        variance[i] = total / total_precision if local else 1.0 / total
        noise[i] = variance[i] * min(total_noise / total, 1.0)
        for j in range(D - 1):
            t = square = 0.0
            for k in range(size):
                t += share[k] * mu[k, j]
            t /= total
            for k in range(size):
                square += share[k] * (spread[k, j] + (mu[k, j] - t) ** 2)
            slopes[i, j] = t / unit
            slope_variance[i, j] = square / (total * unit * unit)


@_leaf
def weights(X, size, unit, local, centres, mu, factor, a, b, c, d, found):
    """Each expert's share of the mean at queries  (n, size)."""
    D = mu.shape[1]
    x, f = np.empty(D), np.empty(D)
    rho, means, variances = np.empty(size), np.empty(size), np.empty(size)
    for i in range(X.shape[0]):
        total, _, _, _ = votes(
            X[i], size, unit, local, centres, mu, factor, a, b, c, d, x, f, rho, means, variances,
            found[i],
        )  # fmt: skip
        for k in range(size):
            found[i, k] /= total
