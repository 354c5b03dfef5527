"""Counts and exposures."""

import warnings

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from collegium.likelihoods import (
    Poisson,
)


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


@pytest.mark.parametrize("y", [3.0, 16.0, 1e4, 1e9, 1e12])
def test_predictive_probabilities_of_large_counts(y):
    """A belief narrower than what the count says: p(y | f) itself, at the mean."""
    f, v = np.log(y) + 0.5 / np.sqrt(y), 1e-6 / y
    found = Poisson().log_predictive(np.array([[y]]), np.array([f]), np.array([v]))
    exact = Poisson().log_density(np.array([[y]]), np.array([f]))
    assert_allclose(found, exact, atol=2e-6 + 1e-15 * np.sqrt(y) * f)


def test_fractions_are_warned_of_with_what_to_do():
    with pytest.warns(UserWarning, match="fractions.*exposure=.*'gamma'"):
        Poisson().accept(np.array([[2.0, 1.0], [0.5, 3.0]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Poisson().accept(np.array([[2.0, 0.5], [0.0, 0.7]]))  # exposures may be fractions


@pytest.mark.parametrize("level", [0.025, 0.5, 0.975])
def test_quantiles_of_counts_sum_probabilities_up_to_the_level(level):
    m, v = np.array([1.3, -2.0, 4.0]), np.array([0.3, 0.2, 0.1])
    found = Poisson().quantile(level, m, v)
    for i in range(3):
        p = np.exp(Poisson().site(np.arange(found[i] + 1.0), m[i], v[i])[2])
        assert p.sum() >= level - 1e-9
        assert p[:-1].sum() < level
