"""Distribution and quantiles of counts whose log rate is uncertain."""

import numpy as np
import pytest
from likelihood_cases import LEVELS
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr, pdtr
from scipy.stats import norm

from collegium.likelihoods import (
    Poisson,
)
from collegium.likelihoods.integrals.counts import count_distribution, count_quantile


def brute(k, m, v):
    """P(Y ≤ k): a fine midpoint rule in f."""
    z = np.linspace(-10.0, 10.0, 20_001)
    weights = norm.pdf(z)
    return pdtr(k, np.exp(m + np.sqrt(v) * z)) @ weights / weights.sum()


@pytest.mark.diagonal
@pytest.mark.parametrize("v", [0.0, 1e-6, 1e-3, 0.02, 0.3, 1.0, 4.0, 20.0, 50.0])
def test_the_distribution_of_counts_holds_at_any_variance(v):
    for m in (-20.0, -3.0, 0.0, 2.2, 8.0):
        k = np.array([0.0, 1.0, 5.0, 30.0, 1000.0])
        slow = [brute(one, m, v) for one in k]
        assert_allclose(count_distribution(k, m, v), slow, rtol=0, atol=1e-10)


def test_the_distribution_of_huge_counts_is_that_of_their_rate():
    k, v = np.array([1e9, 1e12]), np.array([1.0, 50.0])
    for away in (-2.0, 0.3, 3.0):
        m = np.log(k) - away * np.sqrt(v)
        assert_allclose(count_distribution(k, m, v), ndtr(away), atol=1e-8)
    assert_allclose(count_distribution(1e9 + 2e4, np.log(1e9), 0.0), pdtr(1e9 + 2e4, 1e9))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("v", [0.0, 1e-8, 0.1, 4.0, 50.0])
def test_quantiles_of_counts_are_the_smallest_that_reach_the_level(level, v):
    m = np.array([-20.0, -1.0, 0.4, 3.0, 9.0])
    found = Poisson().quantile(level, m, np.full(5, v))
    assert_array_equal(found, np.floor(found))
    for k, one in zip(found, m):
        assert count_distribution(k, one, v) >= level
        assert k == 0.0 or count_distribution(k - 1.0, one, v) < level


def test_quantiles_of_counts_that_no_float_could_hold_stay_finite():
    found = count_quantile(0.975, np.array([800.0, 0.0, 20.7]), np.array([1.0, 1e6, 1e-9]))
    assert np.isfinite(found).all()
    assert abs(found[2] - np.exp(20.7)) < 5.0 * np.exp(20.7 / 2.0)
