"""Proportions."""

import warnings

import numpy as np
import pytest
from likelihood_cases import LEVELS, expected
from numpy.testing import assert_allclose
from scipy.special import expit, logit
from scipy.stats import beta, norm

from collegium import CommitteeRegressor, kernels
from collegium.likelihoods import Beta, Gaussian

LAST = np.nextafter(1.0, 0.0)


@pytest.mark.parametrize("precision", [0.3, 4.0, 900.0])
def test_densities_are_those_of_the_beta_distribution(precision):
    y, f = np.array([0.01, 0.3, 0.8, 0.999]), np.array([-2.0, 0.4, 3.0, 5.0])
    found = Beta(precision).log_density(y[:, None], f)
    assert_allclose(found, beta.logpdf(y, precision * expit(f), precision * expit(-f)), rtol=1e-10)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("v", [0.0, 0.3, 4.0])
def test_quantiles_reach_their_level(level, v):
    own, m = Beta(7.3), np.array([-2.1, 0.0, 1.7])
    q = own.quantile(level, m, np.full(3, v))
    for y, one in zip(q, m):
        found = expected(lambda f, y=y: beta.cdf(y, 7.3 * expit(f), 7.3 * expit(-f)), one, v)
        if y < LAST:
            assert_allclose(found, level, rtol=1e-5)
        else:  # numbers end before the mass does
            assert found < level and v == 4.0
    reached = own.distribution(q, m, np.full(3, v))
    assert_allclose(reached[q < LAST], level, rtol=1e-6)


@pytest.mark.parametrize("v", [1e-6, 0.01, 1.0, 100.0])
@pytest.mark.parametrize("precision", [300.0, 1e4, 1e6, 1e8])
def test_predictive_densities_of_precise_proportions(precision, v):
    """logit y is then about N(f, 1/φy(1 − y)); no node may step over so narrow a peak."""
    y = np.array([0.03, 0.2, 0.5, 0.9])
    spread = v + 1.0 / (precision * y * (1.0 - y))
    m = logit(y) + np.array([0.3, -1.0, 0.5, 2.0]) * np.sqrt(spread)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = Beta(precision).log_predictive(y[:, None], m, np.full(4, v))
    about = norm.logpdf(logit(y), m, np.sqrt(spread)) - np.log(y * (1.0 - y))
    assert_allclose(found, about, atol=3.0 / np.sqrt(precision * y * (1.0 - y)).min() + 1e-6)


def test_the_bound_holds_everywhere():
    y, f = (a.ravel() for a in np.meshgrid([1e-6, 0.02, 0.5, 0.97], np.linspace(-30.0, 30.0, 601)))
    for precision in (0.2, 6.0, 500.0):
        own = Beta(precision)
        second = own.derivatives(y[:, None], f)[1]
        assert (own.bound(y[:, None], f) >= -second).all()


def test_proportions_are_learnt_and_covered():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, size=(900, 1))
    mu = expit(1.5 * np.sin(2.0 * X[:, 0]) - 1.0)
    y = np.clip(rng.beta(20.0 * mu, 20.0 * (1.0 - mu)), 1e-9, 1.0 - 1e-9)
    given = {"kernel": kernels.RBF(1.0, 1.0), "chunks": 200, "random_state": 0}
    model = CommitteeRegressor(likelihood="beta", **given).fit(X[:600], y[:600])
    assert 14.0 < model.likelihood_.precision < 28.0
    assert_allclose(model.predict(X[600:]), mu[600:], atol=0.08)
    for coverage in (0.5, 0.9):
        lower, upper = model.predict_interval(X[600:], coverage)
        assert (lower > 0.0).all() and (upper < 1.0).all()
        assert abs(((lower <= y[600:]) & (y[600:] <= upper)).mean() - coverage) < 0.07
    drawn = model.sample_y(X[600:], 3, random_state=1)
    assert (drawn > 0.0).all() and (drawn < 1.0).all()
    plain = CommitteeRegressor(likelihood=Gaussian(), **given).fit(X[:600], y[:600])
    better = model.log_density(X[600:], y[600:]) - plain.log_density(X[600:], y[600:])
    assert better.mean() > 0.1
    with pytest.raises(ValueError, match="y of Beta must be proportions .between 0 and 1"):
        CommitteeRegressor(likelihood="beta").fit(X, np.round(y))
