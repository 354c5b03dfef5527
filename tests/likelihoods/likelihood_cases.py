"""One of every likelihood in the registry, with nothing at its default; slow integrals."""

from dataclasses import fields
from functools import cache

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm

from collegium.likelihoods import CLASSES, Observation, Scalar

LEVELS = [0.005, 0.025, 0.5, 0.9, 0.995]


def at_random(cls):
    """A likelihood of this class with nothing at its default."""
    rng = np.random.default_rng([*cls.__name__.encode()])
    given = {f.name: f.default for f in fields(cls) if f.name != "fixed"}
    return cls(**{n: v + 1 if isinstance(v, int) else v * rng.uniform(1.1, 1.6) for n, v in
                  given.items()})  # fmt: skip


ALL = {cls.__name__: at_random(cls) for cls in Observation.registry}


every = pytest.mark.parametrize("likelihood", ALL.values(), ids=ALL.keys())


every_scalar = pytest.mark.parametrize(
    "likelihood",
    [one for one in ALL.values() if isinstance(one, Scalar)],
    ids=[name for name, one in ALL.items() if isinstance(one, Scalar)],
)


def density(likelihood, values, f):
    """p(y | f) of several y at one f, a number or (K,)."""
    y = np.asarray(values, dtype=float).reshape(-1, 1)
    return np.exp(likelihood.log_density(y, np.broadcast_to(f, (len(y), *np.shape(f)))))


def moment(likelihood, g, f):
    """E[g(y) | f], by a sum or an adaptive integral; None where floats end before the mass does."""
    support = likelihood.support
    values = np.arange(likelihood.latents) if support == CLASSES else np.array(support.all_values)
    if support.whole and not values.size:
        values = support.low + np.arange(4000.0)
    if values.size:
        return (g(values) * density(likelihood, values, f)).sum()
    if np.isfinite([support.low, support.high]).any():  # in t, y(t) = low + e^t or the like
        centre = support.to_line(likelihood.mean(np.array([f]))[0])
        ends = centre + np.array([-300, -100, -30, -10, -3, -1, 0, 1, 3, 10, 30])
        if support.high < np.inf:  # as far as y has digits left
            ends = np.clip(ends, -300 if support.low == 0 else -33, 33)

        def weighed(t):
            y = support.from_line(t)
            return g(y) * density(likelihood, [y], f)[0] * support.slope(t)

        if support.high < np.inf and max(weighed(ends[0]), weighed(ends[-1])) > 1e-13:
            return None
    else:
        ends = [-np.inf, f - 30, f - 3, f + 3, f + 30, np.inf]

        def weighed(y):
            return g(y) * density(likelihood, [y], f)[0]

    return sum(
        quad(weighed, *part, epsabs=1e-11, epsrel=1e-10, limit=400)[0]
        for part in zip(ends, ends[1:])
    )


def expected(g, m, v):
    """E[g(f)], f ~ N(m, v), adaptively; as far as g like e^(2f) has its integral at v ≤ 30."""
    s = np.sqrt(v)
    if s == 0.0:
        return g(np.array([m]))[0]
    ends = m + s * np.array([-22.0, -14, -9, -6, -3, -1, 0, 1, 3, 6, 9, 14, 22])
    return sum(
        quad(lambda f: g(np.array([f]))[0] * norm.pdf(f, m, s), *part, epsabs=1e-13, epsrel=1e-12)[
            0
        ]
        for part in zip(ends, ends[1:])
    )


def log_predictive(likelihood, row, m, v):
    """log E[p(y | f)] by Gauss's rule in pieces around m, around y and where counts have it."""
    s, y, support = np.sqrt(v), row[0, 0], likelihood.support
    widths = np.array([0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])
    widths = np.concatenate([-widths[::-1], widths])
    ends = [m + s * np.linspace(-14.0, 14.0, 57), y + widths, np.log(max(y, 0.1)) + widths, widths]
    if not (support.whole or support.values):
        ends.append(support.to_line(y) + widths)
    ends = np.unique(np.clip(np.concatenate(ends), m - 14.0 * s, m + 14.0 * s))

    def integral(n_nodes):
        nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
        half = 0.5 * np.diff(ends)[:, None]
        f = (ends[:-1, None] + half * (1.0 + nodes)).ravel()
        density = np.exp(likelihood.log_density(np.repeat(row, f.size, axis=0), f))
        return (density * norm.pdf(f, m, s)) @ (half * weights).ravel()

    assert_allclose(integral(64), integral(48), rtol=1e-10)  # as exact as it is compared with
    return np.log(integral(64))


@cache
def logistic_mean(m, v):
    """E[1/(1 + e^−f)] in many digits."""
    with mpmath.workdps(20):
        m, s = mpmath.mpf(m), mpmath.sqrt(v)
        peak = min(m + v, 0) if m < 0 else m
        far = [peak + s * k for k in (-40, -20, -12, -8, -4, -2, -1, 1, 2, 4, 8, 12, 20, 40)]
        near = [mpmath.mpf(k) for k in (-100, -30, -10, -3, 0, 3, 10, 30, 100)]
        near = [k for k in near if far[0] < k < far[-1]]
        return mpmath.quad(
            lambda f: mpmath.npdf(f, m, s) / (1 + mpmath.exp(-f)), sorted({*far, *near, peak})
        )
