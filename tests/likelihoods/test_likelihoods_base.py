"""Promises of every likelihood in the registry: a new one needs no new code here."""

from dataclasses import fields, replace

import numpy as np
import pytest
from likelihood_cases import (
    every,
    every_scalar,
    expected,
    log_predictive,
    moment,
)
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

import reference
from collegium import likelihoods
from collegium.likelihoods import (
    CLASSES,
    Beta,
    Exponential,
    Gamma,
    Gaussian,
    Logit,
    Poisson,
    Scalar,
    StudentT,
)
from collegium.likelihoods.conformance import examples


def vary(likelihood, y, f, of):
    """∂/∂f by differences, of each latent number alone."""
    step = 1e-3

    def at(change):
        if f.ndim == 1:
            return of(y, f + change)
        columns = [of(y, f + change * (np.arange(f.shape[1]) == k)) for k in range(f.shape[1])]
        return np.stack([c if c.ndim == 1 else c[:, k] for k, c in enumerate(columns)], axis=1)

    return reference.gradient(lambda t: at(t[0]), np.zeros(1), step)[..., 0]


def slope(of, theta):
    """∂/∂θ by two stencils and Richardson's rule: right to h⁶, for terms that grow like e^30θ."""
    wide, narrow = (reference.gradient(of, theta, step) for step in (1e-3, 5e-4))
    return (16.0 * narrow - wide) / 15.0


def assert_near(found, numeric, size, rtol):
    """Compare with differences of terms of a size, which are rounded to about 1e-12 of it."""
    assert np.shape(found) == np.shape(numeric)
    wrong = np.abs(found - numeric) > rtol * np.abs(numeric) + np.maximum(1e-10, 1e-11 * size)
    assert not wrong.any(), (found[wrong], numeric[wrong])


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
    if isinstance(likelihood, (Beta, StudentT)):
        value, first = likelihood.log_density(y, f), likelihood.derivatives(y, f)[0]
        for away in (-30.0, -2.0, -0.1, 0.3, 5.0):
            parabola = value + first * away - 0.5 * omega * away**2
            assert (likelihood.log_density(y, f + away) >= parabola - 1e-12).all()


@every
@pytest.mark.parametrize("seed", [0, 1])
def test_slopes_of_curvatures_go_back_to_f(likelihood, seed):
    y, f = examples(likelihood)
    W_bar, k = np.random.default_rng(seed).normal(size=f.shape), seed % likelihood.latents
    move = np.eye(likelihood.latents)[k] if f.ndim == 2 else 1.0

    def terms(change):
        return W_bar * likelihood.curvature(y, f + change[0] * move)[0]

    def by_row(term):
        return term.reshape(len(f), -1).sum(axis=1)

    back = likelihood.curvature_vjp(y, f, W_bar).reshape(len(f), -1)[:, k]
    numeric = by_row(slope(terms, np.zeros(1))[..., 0])
    assert_near(back, numeric, by_row(np.abs(terms(np.zeros(1)))), rtol=1e-8)


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
            numeric = np.moveaxis(slope(of(k), likelihood.theta), -1, 0)
            assert_near(found[k], numeric, np.abs(of(k)(likelihood.theta)), rtol=1e-8)
    held = replace(likelihood, fixed=likelihood.free)
    assert held.theta.size == 0
    assert held.theta_derivatives(y, f)[1].shape[0] == 0
    assert held.with_theta(held.theta) == held


@every
def test_densities_sum_to_one(likelihood):
    found = [moment(likelihood, np.ones_like, f) for f in examples(likelihood)[1][:6]]
    known = [one for one in found if one is not None]
    assert_allclose(known, 1.0, rtol=1e-10)
    assert len(known) >= (1 if likelihood.support.bounded else 6)


@every_scalar
@pytest.mark.parametrize("f", [-1.7, 0.4, 2.1])
def test_moments_given_f_are_those_of_the_density(likelihood, f):
    mean = moment(likelihood, lambda y: y, f)
    if mean is None:
        assert likelihood.support.bounded
        return
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


@every_scalar
def test_the_function_behind_y_has_the_moments_of_its_mean(likelihood):
    m, v = np.array([0.4, -1.1, 2.0]), np.array([0.5, 0.0, 1.7])
    z = np.linspace(-9.0, 9.0, 20_001)
    weights = norm.pdf(z) / norm.pdf(z).sum()
    values = likelihood.mean(m[:, None] + np.sqrt(v)[:, None] * z)
    mean, variance = likelihood.function(m, v)
    assert_allclose(mean, values @ weights, rtol=1e-8)
    slow = ((values - mean[:, None]) ** 2) @ weights
    assert_allclose(variance, slow, rtol=1e-7, atol=1e-12)
    C = np.sqrt(np.outer(v, v)) * [[1.0, 0.3, -0.6], [0.3, 1.0, 0.1], [-0.6, 0.1, 1.0]]
    C.flat[::4] = v
    covariance = likelihood.covariance(m, v, C)
    assert_allclose(np.diag(covariance), variance, rtol=1e-9, atol=1e-14)
    assert np.linalg.eigvalsh(covariance).min() > -1e-9 * variance.max()


@pytest.mark.parametrize(
    "likelihood",
    [Gaussian(0.4), StudentT(5.0, 0.4), Poisson(), Logit(), Exponential(), Gamma(0.6), Beta(7.0)],
)
def test_draws_have_the_moments_and_the_quantiles_of_a_new_y(likelihood):
    rng, m, v = np.random.RandomState(3), 0.7, 0.3
    y = likelihood.draw(m + np.sqrt(v) * rng.standard_normal(200_000), rng)
    mean, variance = likelihood.predict(np.array([m]), np.array([v]))
    assert_allclose(y.mean(), mean[0], atol=4.0 * np.sqrt(variance[0] / y.size))
    assert_allclose(y.var(), variance[0], rtol=0.03)
    for level in (0.1, 0.6, 0.95):
        q = likelihood.quantile(level, np.array([m]), np.array([v]))[0]
        assert (y <= q).mean() >= level - 0.004
        assert (y < q).mean() <= level + 0.004


@every
def test_impossible_y_is_refused(likelihood):
    y, _ = examples(likelihood)
    likelihood.check(y)
    own = [likelihood.latents] if likelihood.support == CLASSES else []
    for wrong in (*likelihood.support.counterexamples, *own):
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
    names = {"Beta", "Exponential", "Gamma", "Gaussian", "Logit", "Poisson", "Probit", "Softmax"}
    assert names | {"StudentT", "Support", "UNIT"} <= set(likelihoods.__all__)


def test_likelihoods_say_their_own_names():
    assert {*likelihoods.Observation.named()} >= {
        "beta", "exponential", "gamma", "gaussian", "logit", "poisson", "probit", "softmax",
        "student-t",
    }  # fmt: skip
    assert Scalar.named()["student-t"] is StudentT and "softmax" not in Scalar.named()
    derived = type("Derived", (StudentT,), {})
    named = type("Named", (StudentT,), {"name": "own-name"})
    assert derived.name == "" and Scalar.named()["own-name"] is named
    assert Scalar.named()["student-t"] is StudentT
    for own in (derived, named):
        likelihoods.Observation.registry.remove(own)
