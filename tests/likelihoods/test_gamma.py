"""Positive numbers whose relative spread is constant."""

import mpmath
import numpy as np
import pytest
from likelihood_cases import LEVELS, expected, log_predictive
from numpy.testing import assert_allclose
from scipy.stats import gamma

from collegium import CommitteeRegressor, kernels
from collegium.likelihoods import Exponential, Gamma


@pytest.mark.parametrize("shape", [0.2, 3.0, 900.0])
def test_densities_are_those_of_the_gamma_distribution(shape):
    y, f = np.array([0.01, 0.3, 8.0, 90.0]), np.array([-2.0, 0.4, 2.0, 5.0])
    found = Gamma(shape).log_density(y[:, None], f)
    assert_allclose(found, gamma.logpdf(y, shape, scale=np.exp(f) / shape), rtol=1e-10)


def test_densities_of_large_shapes_keep_their_digits():
    y, f, k = 1.0003, 0.0002, 1e9
    with mpmath.workdps(50):
        a, b, c = mpmath.mpf(k), mpmath.mpf(y), mpmath.mpf(f)
        exact = a * mpmath.log(a * b) - a * c - a * b * mpmath.exp(-c) - mpmath.loggamma(a)
        exact = float(exact - mpmath.log(b))
    assert_allclose(Gamma(k).log_density(np.array([[y]]), np.array([f])), exact, rtol=1e-7)


def test_shape_one_is_exponential():
    m, v, y = (
        np.array([-3.0, 0.4, 2.0]),
        np.array([0.0, 0.7, 30.0]),
        np.array([[0.2], [3.0], [9.0]]),
    )
    one, known = Gamma(1.0), Exponential()
    assert_allclose(one.log_density(y, m), known.log_density(y, m), rtol=1e-13)
    assert_allclose(one.predict(m, v), known.predict(m, v), rtol=1e-13)
    assert_allclose(one.log_predictive(y, m, v), known.log_predictive(y, m, v), rtol=1e-13)
    for level in LEVELS:
        assert_allclose(one.quantile(level, m, v), known.quantile(level, m, v), rtol=1e-12)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("v", [0.0, 0.3, 4.0, 30.0])
@pytest.mark.parametrize("shape", [0.3, 1.0, 2.7, 50.0])
def test_quantiles_reach_their_level(level, v, shape):
    own, m = Gamma(shape), np.array([-2.1, 0.0, 1.7])
    q = own.quantile(level, m, np.full(3, v))
    for y, one in zip(q, m):
        found = expected(lambda f, y=y: gamma.cdf(y, shape, scale=np.exp(f) / shape), one, v)
        assert_allclose(found, level, rtol=1e-6)
    assert_allclose(own.distribution(q, m, np.full(3, v)), level, rtol=1e-8)


@pytest.mark.parametrize("shape", [0.3, 40.0])
def test_predictive_densities_are_integrals(shape):
    y, m = np.array([[0.3], [4.0]]), np.array([0.4, -1.0])
    for v in (0.1, 9.0):
        found = Gamma(shape).log_predictive(y, m, np.full(2, v))
        slow = [log_predictive(Gamma(shape), y[i : i + 1], m[i], v) for i in range(2)]
        assert_allclose(found, slow, rtol=1e-8)


def test_exposure_multiplies_the_mean():
    y, e, f = np.array([3.0, 0.2]), np.array([0.3, 7.0]), np.array([0.3, -1.0])
    both, own = np.stack([y, e], axis=1), Gamma(2.6)
    assert_allclose(own.log_density(both, f), own.log_density(y[:, None], f + np.log(e)))
    found = own.log_predictive(both, f, 0.4)
    assert_allclose(found, own.log_predictive(y[:, None], f + np.log(e), 0.4))
    with pytest.raises(ValueError, match="exposures"):
        own.check(np.array([[1.0, 0.0]]))


def test_amounts_are_learnt_and_covered_whatever_their_units():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, size=(900, 1))
    mu = 40.0 * np.exp(np.sin(2.0 * X[:, 0]))
    y = mu * rng.gamma(3.0, size=900) / 3.0
    given = {"kernel": kernels.RBF(1.0, 1.0), "chunks": 200, "random_state": 0}
    model = CommitteeRegressor(likelihood="gamma", **given).fit(X[:600], y[:600])
    assert 2.4 < model.likelihood_.shape < 3.8
    assert_allclose(np.log(model.predict(X[600:], level="function") / mu[600:]), 0.0, atol=0.4)
    for coverage in (0.5, 0.9):
        lower, upper = model.predict_interval(X[600:], coverage)
        assert (lower > 0.0).all()
        assert abs(((lower <= y[600:]) & (y[600:] <= upper)).mean() - coverage) < 0.07
    small = CommitteeRegressor(likelihood="gamma", **given).fit(X[:600], 1e-3 * y[:600])
    assert_allclose(1e3 * small.predict(X[600:]), model.predict(X[600:]), rtol=1e-3)
