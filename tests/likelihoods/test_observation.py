"""What every likelihood promises, checked for each one in the registry.

A new likelihood needs no new code here.
"""

from dataclasses import fields, replace
from functools import cache

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import norm, t

import reference
from collegium import likelihoods as likelihoods
from collegium.likelihoods import (
    Exponential,
    Gaussian,
    Logit,
    Poisson,
    Probit,
    QuadratureWarning,
    Scalar,
    Softmax,
    StudentT,
)
from collegium.likelihoods.quadrature import expect
from likelihood_cases import every, every_scalar


def examples(likelihood):
    """y (n, 1) and f, (n,) or (n, K)."""
    rng = np.random.default_rng(4)
    values = {
        "signs": [-1.0, 1.0],
        "counts": [0.0, 1.0, 7.0, 300.0],
        "positive": [0.03, 0.4, 2.7, 60.0],
        "reals": [-2.1, 0.0, 0.4, 9.0],
        "classes": np.arange(likelihood.latents),
    }[likelihood.support]
    f = np.array([-6.5, -2.2, -0.3, 0.1, 1.4, 4.8])
    y, f = np.meshgrid(values, f, indexing="ij")
    y, f = y.reshape(-1, 1), f.ravel()
    if likelihood.latents > 1:
        f = f[:, None] + rng.normal(size=(f.size, likelihood.latents))
    return y, f


def vary(likelihood, y, f, of):
    """∂/∂f by differences, of each latent number alone."""
    step = 1e-3

    def at(change):
        if f.ndim == 1:
            return of(y, f + change)
        columns = [of(y, f + change * (np.arange(f.shape[1]) == k)) for k in range(f.shape[1])]
        return np.stack([c if c.ndim == 1 else c[:, k] for k, c in enumerate(columns)], axis=1)

    return reference.gradient(lambda t: at(t[0]), np.zeros(1), step)[..., 0]


@every
def test_derivatives_are_derivatives(likelihood):
    y, f = examples(likelihood)
    first, second, third = likelihood.derivatives(y, f)
    size = np.abs(first).max()
    numeric = vary(likelihood, y, f, likelihood.log_density)
    assert_allclose(first, numeric, rtol=1e-8, atol=1e-10 * size)
    numeric = vary(likelihood, y, f, lambda y, f: likelihood.derivatives(y, f)[0])
    assert_allclose(second, numeric, rtol=1e-8, atol=1e-10 * size)
    numeric = vary(likelihood, y, f, lambda y, f: likelihood.derivatives(y, f)[1])
    assert_allclose(third, numeric, rtol=1e-8, atol=1e-10 * size)


@every
def test_curvature_is_what_bends_the_right_way_and_its_slope(likelihood):
    y, f = examples(likelihood)
    W, slope = likelihood.curvature(y, f)
    _, second, _ = likelihood.derivatives(y, f)
    assert_array_equal(W, np.maximum(-second, 0.0))
    numeric = vary(likelihood, y, f, lambda y, f: likelihood.curvature(y, f)[0])
    assert_allclose(slope, numeric, rtol=1e-8, atol=1e-10 * np.abs(W).max())


@every
def test_bounds_make_every_step_climb(likelihood):
    """With a normal prior, one step by ω instead of W never lowers the density: the parabola of
    curvature ω that touches log p at f stays below it (one latent number at a time)."""
    y, f = examples(likelihood)
    W, omega = likelihood.curvature(y, f)[0], likelihood.bound(y, f)
    assert (omega >= W).all()
    if isinstance(likelihood, StudentT):
        value, first = likelihood.log_density(y, f), likelihood.derivatives(y, f)[0]
        for away in (-30.0, -2.0, -0.1, 0.3, 5.0):
            parabola = value + first * away - 0.5 * omega * away**2
            assert (likelihood.log_density(y, f + away) >= parabola - 1e-12).all()


@every
@pytest.mark.parametrize("seed", [0, 1])
def test_slopes_of_curvatures_go_back_to_f(likelihood, seed):
    y, f = examples(likelihood)
    W_bar = np.random.default_rng(seed).normal(size=f.shape)

    def value(change):
        moved = f.copy()
        moved[..., seed % f.shape[-1]] += change[0]
        return (W_bar * likelihood.curvature(y, moved)[0]).sum()

    back = likelihood.curvature_vjp(y, f, W_bar)[..., seed % f.shape[-1]].sum()
    numeric = reference.gradient(value, np.zeros(1), 1e-3)[0]
    assert_allclose(back, numeric, rtol=1e-7, atol=1e-9 * np.abs(W_bar).max())


@every
def test_parameters_have_derivatives_in_their_logs(likelihood):
    y, f = examples(likelihood)
    f = f.astype(float)

    def of(k):
        def value(theta):
            other = likelihood.with_theta(theta)
            return other.derivatives(y, f)[k - 1] if k else other.log_density(y, f)

        return value

    found = likelihood.theta_derivatives(y, f)
    for k in range(3):
        assert found[k].shape[0] == likelihood.theta.size == len(likelihood.free)
        if likelihood.free:
            numeric = np.moveaxis(reference.gradient(of(k), likelihood.theta, 1e-3), -1, 0)
            assert_allclose(found[k], numeric, rtol=1e-8, atol=1e-10)
    held = replace(likelihood, fixed=likelihood.free)
    assert held.theta.size == 0
    assert held.theta_derivatives(y, f)[1].shape[0] == 0
    assert held.with_theta(held.theta) == held


def density(likelihood, values, f):
    """p(y | f) of several y at one f, a number or (K,)."""
    y = np.asarray(values, dtype=float).reshape(-1, 1)
    return np.exp(likelihood.log_density(y, np.broadcast_to(f, (len(y), *np.shape(f)))))


def moment(likelihood, g, f):
    """E[g(y) | f], by a sum or an adaptive integral."""
    values = {
        "signs": np.array([-1.0, 1.0]),
        "counts": np.arange(4000.0),
        "classes": np.arange(likelihood.latents),
    }
    if likelihood.support in values:
        y = values[likelihood.support]
        return (g(y) * density(likelihood, y, f)).sum()
    if likelihood.support == "positive":  # in t = log y
        centre = np.log(likelihood.mean(np.array([f]))[0])
        ends = centre + np.array([-300, -100, -30, -10, -3, -1, 0, 1, 3, 10, 30])

        def weighed(t):
            return g(np.exp(t)) * density(likelihood, [np.exp(t)], f)[0] * np.exp(t)

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


@every
def test_densities_sum_to_one(likelihood):
    for f in examples(likelihood)[1][:6]:
        assert_allclose(moment(likelihood, np.ones_like, f), 1.0, rtol=1e-10)


@every_scalar
@pytest.mark.parametrize("f", [-1.7, 0.4, 2.1])
def test_moments_given_f_are_those_of_the_density(likelihood, f):
    mean = moment(likelihood, lambda y: y, f)
    variance = moment(likelihood, lambda y: (y - mean) ** 2, f)
    assert_allclose(likelihood.mean(np.array([f])), mean, rtol=1e-8)
    assert_allclose(likelihood.variance(np.array([f])), variance, rtol=1e-6)


@pytest.mark.diagonal(9)
@every_scalar
@pytest.mark.parametrize("v", [0.0, 1e-6, 0.3, 4.0, 30.0])
@pytest.mark.parametrize("m", [-2.3, 0.2, 1.9])
def test_predictions_are_integrals_over_f(likelihood, m, v):
    mean, variance = likelihood.predict(np.array([m]), np.array([v]))
    first = expected(likelihood.mean, m, v)
    second = expected(lambda f: likelihood.variance(f) + (likelihood.mean(f) - first) ** 2, m, v)
    assert_allclose(mean, first, rtol=1e-8, atol=1e-12)
    assert_allclose(variance, second, rtol=1e-8)
    generic = Scalar.predict(likelihood, np.array([m]), np.array([v]))
    assert_allclose(generic, (mean, variance), rtol=1e-8)


def log_predictive(likelihood, row, m, v):
    """log E[p(y | f)] by Gauss's rule in pieces around m, around y and where counts have it."""
    s, y = np.sqrt(v), row[0, 0]
    widths = np.array([0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])
    widths = np.concatenate([-widths[::-1], widths])
    ends = [m + s * np.linspace(-14.0, 14.0, 57), y + widths, np.log(max(y, 0.1)) + widths, widths]
    ends = np.unique(np.clip(np.concatenate(ends), m - 14.0 * s, m + 14.0 * s))

    def integral(n_nodes):
        nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
        half = 0.5 * np.diff(ends)[:, None]
        f = (ends[:-1, None] + half * (1.0 + nodes)).ravel()
        density = np.exp(likelihood.log_density(np.repeat(row, f.size, axis=0), f))
        return (density * norm.pdf(f, m, s)) @ (half * weights).ravel()

    assert_allclose(integral(64), integral(48), rtol=1e-10)  # as exact as it is compared with
    return np.log(integral(64))


@pytest.mark.diagonal
@every_scalar
@pytest.mark.parametrize("v", [1e-6, 0.3, 4.0, 300.0])
def test_predictive_densities_are_integrals_over_f(likelihood, v):
    y, _ = examples(likelihood)
    y = y[y[:, 0] < 100][::4]
    m = np.linspace(-2.0, 3.0, len(y))
    found = likelihood.log_predictive(y, m, np.full(m.size, v))
    expected = [log_predictive(likelihood, y[i : i + 1], m[i], v) for i in range(m.size)]
    assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
    generic = Scalar.log_predictive(likelihood, y, m, np.full(m.size, v))
    assert_allclose(np.exp(generic), np.exp(expected), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("dof", [0.4, 1.0, 7.0, 1e5])
def test_student_densities_hold_in_the_tails(dof):
    m, y = np.array([0.3, -1.0, 2.0, 0.0]), np.array([[0.2], [3.0], [-40.0], [1e5]])
    found = StudentT(dof, 0.37).log_predictive(y, m, 1e-13)
    assert_allclose(found, t.logpdf(y[:, 0], dof, m, np.sqrt(0.37)), rtol=1e-10)


@pytest.mark.parametrize("v", [0.5, 40.0, 1e5])
def test_student_densities_hold_at_any_variance(v):
    likelihood = StudentT(2.6, 0.37)
    m, y = np.array([0.3, -1.0, 2.0, 7.0]), np.array([[0.2], [3.0], [-60.0], [900.0]])
    expected = [log_predictive(likelihood, y[i : i + 1], m[i], v) for i in range(2)]
    found = likelihood.log_predictive(y, m, v)
    assert_allclose(found[:2], expected, rtol=1e-9)
    far = [log_predictive(StudentT(2.6, 0.37), y[i : i + 1], m[i], v) for i in (2, 3)]
    if v > 1e3:  # else what matters lies beyond 14 deviations
        assert_allclose(found[2:], far, rtol=1e-9)


@every
def test_impossible_y_is_refused(likelihood):
    bad = {
        "signs": 0.0, "counts": 1.5, "positive": 0.0, "reals": np.inf, "classes": likelihood.latents
    }  # fmt: skip
    y, _ = examples(likelihood)
    likelihood.check(y)
    for wrong in (bad[likelihood.support], np.nan):
        with pytest.raises(ValueError, match="y "):
            likelihood.check(np.concatenate([y, [[wrong]]]))
    with pytest.raises(ValueError, match="shape"):
        likelihood.check(y[:, 0])


@every
def test_parameters_are_positive_numbers(likelihood):
    for one in fields(likelihood):
        if one.name != "fixed":
            for wrong in (0, -1.0, np.nan, np.inf):
                if wrong == 0 and one.name in likelihood.may_be_zero:
                    replace(likelihood, **{one.name: wrong})
                    continue
                with pytest.raises(ValueError, match=one.name):
                    replace(likelihood, **{one.name: wrong})


@every
def test_extreme_latents_give_finite_numbers(likelihood):
    y, _ = examples(likelihood)
    for size in (-1e5, -800.0, 800.0, 1e5):
        f = np.full(y.shape[0], size)
        if likelihood.latents > 1:
            f = np.stack([f] + [np.zeros_like(f)] * (likelihood.latents - 1), axis=1)
        for values in (likelihood.log_density(y, f), *likelihood.derivatives(y, f)):
            assert np.isfinite(values).all()
        assert (likelihood.curvature(y, f)[0] >= 0.0).all()


def test_every_likelihood_is_public():
    names = {"Exponential", "Gaussian", "Logit", "Poisson", "Probit", "Softmax", "StudentT"}
    assert names <= set(likelihoods.__all__)


def test_likelihoods_say_their_own_names():
    assert {*likelihoods.Observation.named()} >= {
        "exponential", "gaussian", "logit", "poisson", "probit", "softmax", "student-t"
    }  # fmt: skip
    assert Scalar.named()["student-t"] is StudentT and "softmax" not in Scalar.named()
    derived = type("Derived", (StudentT,), {})
    named = type("Named", (StudentT,), {"name": "own-name"})
    assert derived.name == "" and Scalar.named()["own-name"] is named
    assert Scalar.named()["student-t"] is StudentT
    for own in (derived, named):
        likelihoods.Observation.registry.remove(own)


# --- single likelihoods ---------------------------------------------------------------------------


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


@pytest.mark.diagonal
@pytest.mark.parametrize("v", [1e-9, 0.2, 1.0, 30.0, 200.0, 256.0, 257.0, 3e3, 1e7])
def test_logistic_probabilities_hold_at_any_variance(v):
    for m in (-600.0, -45.0, -3.0, 0.0, 0.8, 21.0):
        expected = logistic_mean(m, v)
        assert_allclose(Logit().log_probability(m, v), float(mpmath.log(expected)), rtol=1e-10)
        assert_allclose(Logit().probability(m, v), float(expected), rtol=3e-9)


@pytest.mark.parametrize("v", [0.0, 1e-3, 0.24, 0.26, 2.0, 40.0, 900.0, 1e5])
def test_softmax_of_two_is_the_logistic_function_of_their_difference(v):
    m = np.array([[0.7, -0.4], [-3.0, 2.0], [40.0, 0.0], [0.0, 700.0]])
    found = Softmax(2).probability(m, np.array([0.3 * v, 0.7 * v]))
    expected = Logit().probability(m[:, 0] - m[:, 1], v)
    assert_allclose(found[:, 0], expected, atol=1e-10)
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)


@pytest.mark.diagonal
@pytest.mark.parametrize("v", [1e-6, 0.2, 0.9, 4.0, 10.0, 100.0, 1e3, 1e4])
@pytest.mark.parametrize("share", [0.5, 0.1, 1.0 - 1e-6])
def test_softmax_probabilities_keep_their_logs(v, share):
    """Of two classes, against the logistic function of their difference; to the least numbers."""
    for m in (-690.0, -120.0, -19.0, -7.0, 0.3, 9.0):
        expected = float(mpmath.log(logistic_mean(m, v))) if v < 100.0 else None
        expected = expected or float(Logit().log_probability(m, v))
        given = np.array([[m, 0.0]]), np.array([[share * v, v - share * v]])
        assert_allclose(np.log(Softmax(2).probability(*given)[0, 0]), expected, atol=1e-9)
        least = np.log(np.finfo(float).tiny)
        found = Softmax(2).log_predictive(np.array([[0.0]]), *given)
        assert_allclose(found, max(expected, least), atol=1e-9)


def test_softmax_tails_of_several_classes():
    """Far below the first, a class has e^(m + v/2) of its chance if the first is sure."""
    m, v = np.array([[0.0, -60.0, -90.0, -400.0]]), np.array([[1e-12, 4.0, 0.1, 30.0]])
    found = np.log(Softmax(4).probability(m, v)[0])
    assert_allclose(found[1:], (m + 0.5 * v)[0, 1:], rtol=1e-9)


def test_softmax_means_may_be_anywhere():
    """Also where differences of means are beyond any lattice, or beyond numbers."""
    m = np.array([[1e20, 0.0, 1e20], [-1e308, 1e308, 0.0], [-1e308, -1e308, -1e308]])
    found = Softmax(3).probability(m, np.array([1.0, 0.01, 1.0]))
    expected = [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0], found[2]]
    assert_allclose(found, expected, atol=1e-12)
    assert_allclose(found[2], Softmax(3).probability(np.zeros((1, 3)), [1.0, 0.01, 1.0])[0])
    wide = Softmax(2).probability(np.array([[3e5, 0.0]]), np.array([[1e9, 1e9]]))
    assert_allclose(wide[0, 1], norm.cdf(-3e5 / np.sqrt(2e9)), rtol=1e-6)
    for m, v in (([[np.nan, 0.0]], 1.0), ([[np.inf, 0.0]], 1.0), ([[1.0, 0.0]], np.nan)):
        with pytest.raises(ValueError, match="finite"):
            Softmax(2).probability(np.array(m), np.full((1, 2), v))


def test_softmax_densities_keep_their_digits():
    f = np.array([[40.0, 1.0, -2.0], [0.3, 0.1, -0.2], [-800.0, 3.0, 2.0], [1e5, 0.0, 30.0]])
    for code in range(3):
        found = Softmax(3).log_density(np.full((4, 1), float(code)), f)
        with mpmath.workdps(60):
            rest = [mpmath.fsum(mpmath.exp(mpmath.mpf(v) - row[code])
                                for j, v in enumerate(row) if j != code) for row in f]  # fmt: skip
            exact = [float(-mpmath.log1p(r)) for r in rest]
        assert_allclose(found, exact, rtol=1e-14)


def test_softmax_probabilities_are_the_integral_over_all_latents():
    m, v = np.array([0.4, -0.9, 1.3]), np.array([0.1, 3.0, 0.9])
    z, weights = np.polynomial.hermite_e.hermegauss(60)
    grid = np.stack(np.meshgrid(*(mi + np.sqrt(vi) * z for mi, vi in zip(m, v)), indexing="ij"), -1)
    w = np.einsum("i,j,k->ijk", weights, weights, weights) / weights.sum() ** 3
    expected = np.einsum("ijk,ijkc->c", w, Softmax(3).inverse_link(grid))
    assert_allclose(Softmax(3).probability(m[None], v[None])[0], expected, atol=1e-8)


def test_probit_probabilities_are_those_of_a_wider_normal():
    m, v = np.array([-3.0, 0.4]), np.array([0.7, 250.0])
    assert_allclose(Probit().probability(m, v), norm.cdf(m / np.sqrt(1 + v)), rtol=1e-12)


def test_exposure_multiplies_the_rate():
    y, e = np.array([3.0, 0.0, 11.0]), np.array([0.2, 5.0, 1.7])
    f = np.array([0.3, -1.0, 1.2])
    both = np.stack([y, e], axis=1)
    Poisson().check(both)
    for found, expected in zip(
        (Poisson().log_density(both, f), *Poisson().derivatives(both, f)),
        (
            Poisson().log_density(y[:, None], f + np.log(e)),
            *Poisson().derivatives(y[:, None], f + np.log(e)),
        ),
    ):
        assert_allclose(found, expected, rtol=1e-13)
    both[1, 1] = 0.0
    with pytest.raises(ValueError, match="exposures"):
        Poisson().check(both)


def test_log_probabilities_of_counts_in_many_digits():
    for y in (0, 1, 15, 16, 17, 40, 1000, 10**9, 10**15):
        for away in (-30.0, -1.0, -1e-4, 0.0, 1e-6, 0.4, 5.0):
            f = np.log(max(y, 1)) + away
            with mpmath.workdps(50):
                r = mpmath.mpf(f)
                expected = float(y * r - mpmath.exp(r) - mpmath.loggamma(y + 1))
            found = Poisson().log_density(np.array([[float(y)]]), np.array([f]))[0]
            blurred = 1e-15 * y * abs(np.expm1(away)) * abs(f)  # by the last digit of f
            assert_allclose(found, expected, rtol=1e-12, atol=1e-13 + blurred)


@pytest.mark.parametrize("dof", [3.0, 150.0, 250.0, 1e5, 1e12])
def test_student_densities_of_any_degree_in_many_digits(dof):
    y, f, noise = np.array([[0.3], [2.0], [-9.0]]), np.array([0.1, -0.4, 1.0]), 0.37
    with mpmath.workdps(50):
        nu = mpmath.mpf(dof)
        start = mpmath.loggamma((nu + 1) / 2) - mpmath.loggamma(nu / 2)
        start -= mpmath.log(mpmath.pi * nu * noise) / 2
        far = [(mpmath.mpf(a) - mpmath.mpf(b)) ** 2 / (nu * noise) for a, b in zip(y[:, 0], f)]
        exact = [float(start - (nu + 1) / 2 * mpmath.log1p(r)) for r in far]
    assert_allclose(StudentT(dof, noise).log_density(y, f), exact, rtol=1e-12)
    assert_allclose(StudentT(dof, noise).log_predictive(y, f, 1e-15), exact, rtol=1e-8)


@pytest.mark.parametrize("y", [3.0, 16.0, 1e4, 1e9, 1e12])
def test_predictive_probabilities_of_large_counts(y):
    """A belief narrower than what the count says: p(y | f) itself, at the mean."""
    f, v = np.log(y) + 0.5 / np.sqrt(y), 1e-6 / y
    found = Poisson().log_predictive(np.array([[y]]), np.array([f]), np.array([v]))
    exact = Poisson().log_density(np.array([[y]]), np.array([f]))
    assert_allclose(found, exact, atol=2e-6 + 1e-15 * np.sqrt(y) * f)


def test_third_derivatives_of_probit_hold_in_the_tail():
    for f in (-4.9, -5.1, -8.0, -40.0, -1e3):
        with mpmath.workdps(60):
            z = mpmath.mpf(f)
            h = mpmath.npdf(z) / (mpmath.erfc(-z / mpmath.sqrt(2)) / 2)
            exact = float(h * ((z + h) ** 2 + h * (z + h) - 1))
        for sign in (1.0, -1.0):
            third = Probit().derivatives(np.array([[sign]]), np.array([sign * f]))[2]
            assert_allclose(third, sign * exact, rtol=1e-8, atol=1e-9 / abs(f))


@pytest.mark.parametrize("v", [0.01, 3.0, 250.0, 260.0, 1e6])
@pytest.mark.parametrize("m", [-4000.0, -30.0, 0.0, 2.0])
def test_expectations_of_given_numbers_keep_their_places(v, m):
    m, v = np.array([[m, 1.0, m - 2.0]]), np.array([[v], [0.5]])
    found = expect(lambda f, a: a * f**2, m, v, np.array([1.0, 2.0, -3.0]))
    assert_allclose(found, np.array([1.0, 2.0, -3.0]) * (m**2 + v), rtol=1e-12)


# --- quadrature -----------------------------------------------------------------------------------


@pytest.mark.parametrize("v", [0.0, 1e-4, 0.7, 30.0, 77.0, 100.0])
@pytest.mark.parametrize("power", [1.0, 2.0, -1.5])
def test_expectations_of_exponentials_hold_at_large_variances(power, v):
    """E[e^(af)] = e^(am + a²v/2), and of the square about the mean."""
    m = np.array([-3.1, 0.4, 2.0])
    found = expect(lambda f: np.exp(power * f), m, np.full(3, v))
    with mpmath.workdps(30):
        exact = [float(mpmath.exp(power * mpmath.mpf(one) + power**2 * v / 2)) for one in m]
    assert_allclose(found, exact, rtol=1e-11)
    if abs(power) == 1.0:
        spread = expect(lambda f, c: (np.exp(f) - c) ** 2, m, v, np.array(exact))
        assert_allclose(spread, np.expm1(v) * np.array(exact) ** 2, rtol=1e-10)


@pytest.mark.parametrize("v", [3.0, 400.0, 1e4])
@pytest.mark.parametrize("width", [0.5, 0.05, 0.01])
def test_expectations_of_narrow_bumps_have_steps_that_see_them(v, width):
    m, c = np.array([0.3, -2.0]), np.array([1.1, 4.0])
    found = expect(lambda f, c: np.exp(-0.5 * ((f - c) / width) ** 2), m, v, c)
    exact = np.exp(-0.5 * (m - c) ** 2 / (width**2 + v)) * width / np.sqrt(width**2 + v)
    assert_allclose(found, exact, rtol=1e-8)


def test_expectations_far_from_the_mean_are_found():
    """A bump 25 deviations away; half of an integral 20 away, which no node within nine sees."""
    found = expect(lambda f: np.exp(-0.5 * (f - 25.0) ** 2), np.array([0.0]), np.array([1.0]))
    assert_allclose(found, np.exp(-(25.0**2) / 4.0) / np.sqrt(2.0), rtol=1e-10)
    found = expect(lambda f: 1.0 + np.exp(2.0 * f - 200.0), np.array([0.0]), np.array([100.0]))
    assert_allclose(found, 2.0, rtol=1e-10)


@pytest.mark.parametrize(
    "g, v",
    [
        (lambda f: np.exp(f), 1000.0),  # beyond floats
        (lambda f: np.exp(0.51 * f**2), 1.0),  # no expectation at all
        (lambda f: np.where(f > -0.123, 1.0, 0.0), 2.0),  # a jump
        (lambda f: np.exp(4.0 * f), 100.0),  # 40 deviations away
    ],
)
def test_expectations_in_doubt_are_warned_of(g, v):
    with pytest.warns(QuadratureWarning, match="1 of 2 integrals .* not to be trusted"):
        found = expect(g, np.array([0.0, 0.0]), np.array([1e-4, v]))
    assert_allclose(found[0], g(np.zeros(1))[0], rtol=1e-3)


def test_moments_by_default_hold_where_the_mean_grows_exponentially():
    """At a variance of 30 the second moment lies eleven deviations away."""
    m, v = np.array([-1.2, 0.3, 2.0]), np.array([0.4, 30.0, 100.0])
    for likelihood in (Exponential(), Poisson()):
        assert_allclose(Scalar.predict(likelihood, m, v), likelihood.predict(m, v), rtol=1e-10)
        assert_allclose(Scalar.function(likelihood, m, v), likelihood.function(m, v), rtol=1e-10)


# --- waiting times, Gaussian noise and units ------------------------------------------------------


@pytest.mark.diagonal
@pytest.mark.parametrize("level", [1e-5, 0.025, 0.5, 0.975, 1.0 - 1e-5])
@pytest.mark.parametrize("v", [0.0, 1e-6, 0.3, 4.0, 100.0])
def test_quantiles_of_waiting_times_reach_their_level(level, v):
    m = np.array([-3.0, 0.4, 5.0])
    for y, one in zip(Exponential().quantile(level, m, np.full(3, v)), m):
        assert y > 0.0
        beyond = expected(lambda f, y=y: np.exp(-y * np.exp(-f)), one, v)
        assert_allclose(1.0 - beyond, level, rtol=1e-6, atol=1e-12)


def test_exposure_multiplies_the_mean_of_waiting_times():
    y, e, f = np.array([3.0, 0.2]), np.array([0.3, 7.0]), np.array([0.3, -1.0])
    both = np.stack([y, e], axis=1)
    Exponential().check(both)
    for found, plain in zip(
        (Exponential().log_density(both, f), *Exponential().derivatives(both, f)),
        (
            Exponential().log_density(y[:, None], f + np.log(e)),
            *Exponential().derivatives(y[:, None], f + np.log(e)),
        ),
    ):
        assert_allclose(found, plain, rtol=1e-13)
    with pytest.raises(ValueError, match="exposures"):
        Exponential().check(np.array([[1.0, 0.0]]))


def test_without_noise_a_gaussian_answers_with_f_itself():
    m, v, C = np.array([0.4, -1.0]), np.array([0.5, 2.0]), np.array([[0.5, 0.3], [0.3, 2.0]])
    for noise in (0.0, 0.7):
        own = Gaussian(noise)
        assert_array_equal(own.predict(m, v), (m, v + noise))
        assert_array_equal(own.function(m, v), (m, v))
        assert_array_equal(own.covariance(m, v, C), C)
        assert_allclose(own.quantile(0.9, m, v), norm.ppf(0.9, m, np.sqrt(v + noise)), rtol=1e-14)
    assert_array_equal(Gaussian(0.0).draw(m, np.random.RandomState(0)), m)


@every_scalar
def test_units_go_back_and_forth(likelihood):
    y, _ = examples(likelihood)
    w = np.linspace(0.5, 2.0, len(y))
    columns = [y]
    if likelihood.takes_exposure:
        columns.append(np.linspace(0.2, 3.0, len(y))[:, None])
    y = np.hstack(columns)
    units = likelihood.units(y, w)
    assert_allclose(units.backward(units.forward(y)), y, rtol=1e-13, atol=1e-13)
    likelihood.check(units.forward(y))
    if likelihood.takes_exposure:  # f = 0 is the mean rate
        seen = units.forward(y)
        assert_allclose(w @ seen[:, 0], w @ seen[:, 1], rtol=1e-12)
        assert (
            units.exposed
            and not likelihood.units(np.hstack([y[:, :1], 1 + 0 * y[:, 1:]]), w).exposed
        )
    f = np.linspace(-1.0, 1.0, len(y))
    same = likelihood.log_density(
        y, units.scaling.mean(f) if likelihood.identity else f + units.shift
    )
    seen = replace(likelihood, **seen_noise(likelihood, units)).log_density(units.forward(y), f)
    assert_allclose(seen, same + np.log(units.scaling.scale[0]), rtol=1e-11)


def seen_noise(likelihood, units):
    noise = getattr(likelihood, "noise", None)
    return {} if noise is None else {"noise": noise / units.square}
