"""Student's t with a scale: derivatives, the normal as its limit, quantiles, draws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import reference
from collegium.errors.density import bend, log_t_density, nu_slope, slope, squared
from collegium.errors.margins import Margins

Z = np.array([-30.0, -1.3, 0.0, 1e-4, 0.7, 4.0, 1500.0])
G = np.array([0.3, -2.0, -8.0, 1.0, 0.0, -0.5, 2.0])


@pytest.mark.parametrize("nu", [1.3, 2.7, 9.0, 300.0, np.inf])
def test_log_density_is_that_of_the_t(nu):
    expected = stats.t.logpdf(Z, nu, scale=np.exp(0.5 * G))
    assert_allclose(log_t_density(squared(Z, G), G, nu), expected, rtol=1e-10)


@pytest.mark.parametrize("nu", [1.3, 2.7, 9.0])
def test_slopes_against_differences(nu):
    def value(a):
        return log_t_density(squared(Z, G + a[0]), G + a[0], nu + a[1])

    found, zeta = reference.gradient(value, np.zeros(2)), squared(Z, G)
    assert_allclose(slope(zeta, nu), found[:, 0], rtol=1e-7, atol=1e-9)
    assert_allclose(nu_slope(zeta, nu), found[:, 1], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("nu", [1.3, 9.0, np.inf])
def test_bend_is_minus_the_slope_of_the_slope(nu):
    found = reference.gradient(lambda a: slope(squared(Z, G + a[0]), nu), np.zeros(1))[:, 0]
    assert_allclose(bend(squared(Z, G), nu), -found, rtol=1e-6, atol=1e-9)


def test_many_degrees_of_freedom_are_the_normal():
    for f in (slope, lambda zeta, nu: log_t_density(zeta, G[1:6], nu)):
        zeta = squared(Z[1:6], G[1:6])
        assert_allclose(f(zeta, 1e8), f(zeta, np.inf), rtol=1e-6)


def test_errors_beyond_all_bounds_give_finite_slopes():
    zeta = squared(np.array([1e200, 0.0]), np.array([-50.0, 50.0]))
    assert_allclose(slope(zeta, 3.0), [1.5, -0.5])


def margins(n=5):
    rng = np.random.default_rng(0)
    nu = np.array([2.3, np.inf])
    return Margins(rng.normal(size=(n, 2)), np.exp(rng.normal(size=(n, 2))), nu)


def test_margins_are_those_of_scipy():
    one = margins()
    y = one.location + one.scale * np.linspace(-6.0, 9.0, 5)[:, None]
    nu = np.array([2.3, 1e12])
    theirs = stats.t(nu, one.location, one.scale)
    assert_allclose(one.log_density(y), theirs.logpdf(y), rtol=1e-3)
    assert_allclose(one.log_density(y)[:, 0], theirs.logpdf(y)[:, 0], rtol=1e-10)
    assert_allclose(one.cdf(y), stats.t.cdf(y, nu, one.location, one.scale), rtol=1e-6)
    assert_allclose(one.quantile(0.975), theirs.ppf(0.975), rtol=1e-6)
    assert_allclose(one.cdf(one.quantile(0.02)), 0.02, rtol=1e-9)


def test_normal_scores_and_their_values_are_inverse():
    one, u = margins(), np.linspace(-7.0, 7.0, 5)[:, None] * np.ones(2)
    assert_allclose(one.normal_scores(one.from_normal(u)), u, rtol=1e-6, atol=1e-12)


def test_draws_have_the_distribution():
    one = margins(3)
    y = one.draw(4000, np.random.default_rng(1))
    assert y.shape == (4000, 3, 2)
    share = (y <= one.quantile(0.8)).mean(axis=0)
    assert_allclose(share, 0.8, atol=5 * np.sqrt(0.16 / 4000))
