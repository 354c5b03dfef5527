"""Quantiles and draws of a y of which only mean and variance given f are known."""

import numpy as np
import pytest
from likelihood_cases import LEVELS
from numpy.testing import assert_allclose, assert_array_equal
from own_likelihoods import Angles, Counts, Debts, Scores, Shares, Times, Visits
from scipy.stats import norm

from collegium import likelihoods
from collegium.likelihoods import (
    Beta,
    Gaussian,
    Scalar,
)


@pytest.mark.parametrize("level", LEVELS)
def test_quantiles_where_nothing_better_is_known_are_those_of_a_normal(level):
    """With the moments of y; for a Gaussian that is exact."""
    m, v = np.array([1.3, -2.0, 0.0]), np.array([0.4, 9.0, 1e-4])
    expected = norm.ppf(level, m, np.sqrt(v + 0.37))
    assert_allclose(Scalar.quantile(Gaussian(0.37), level, m, v), expected, rtol=1e-12)


def test_counts_have_whole_quantiles_and_draws():
    f, v = np.array([-3.0, 0.0, 2.0, 12.0]), np.array([0.1, 1.0, 0.0, 0.3])
    for level in (0.001, 0.025, 0.5, 0.975):
        found, exact = Counts().quantile(level, f, v), likelihoods.Poisson().quantile(level, f, v)
        assert (found == np.floor(found)).all() and (found >= 0.0).all()
        np.testing.assert_allclose(found, exact, rtol=0.06, atol=0.0)
    drawn = Counts().draw(np.tile(f[:3], (4000, 1)), np.random.RandomState(0))
    assert (drawn == np.floor(drawn)).all()
    np.testing.assert_allclose(drawn.mean(axis=0), np.exp(f[:3]), rtol=0.15)
    np.testing.assert_allclose(drawn.var(axis=0), np.exp(f[:3]), rtol=0.2)


def test_positive_numbers_have_positive_quantiles_and_draws():
    """A gamma of shape one is the exponential distribution, whose quantiles are exact."""
    m, v = np.array([-3.0, 0.0, 2.0, 12.0]), np.array([0.1, 1.0, 0.0, 30.0])
    for level in (1e-4, 0.025, 0.5, 0.975):
        found, exact = (one.quantile(level, m, v) for one in (Times(), likelihoods.Exponential()))
        np.testing.assert_allclose(found, exact, rtol=2e-3)
    f = np.tile(m[:3], (40_000, 1))
    drawn = Times(0.4).draw(f, np.random.RandomState(0))
    assert (drawn > 0.0).all() and (found > 0.0).all()
    np.testing.assert_allclose(drawn.mean(axis=0), np.exp(m[:3]), rtol=0.03)
    np.testing.assert_allclose(drawn.var(axis=0), np.exp(2.0 * m[:3]) / 0.4, rtol=0.08)
    extreme = Times(300.0).quantile(0.5, np.array([-290.0, 290.0]), np.zeros(2))
    np.testing.assert_allclose(np.log(extreme), [-290.0, 290.0], atol=0.01)


@pytest.mark.parametrize("level", LEVELS)
def test_numbers_between_bounds_have_quantiles_between_them(level):
    m, v = np.array([-1.2, 0.0, 1.0]), np.array([0.2, 1.0, 0.4])
    exact = Beta(5.0).quantile(level, m, v)
    assert_allclose(Shares().quantile(level, m, v), exact, rtol=1e-12)
    found = Angles().quantile(level, m, v)
    assert_allclose((found + np.pi) / (2.0 * np.pi), exact, rtol=1e-9)
    assert_allclose(Angles().distribution(found, m, v), level, rtol=1e-6)


def test_numbers_below_an_edge_are_those_above_it_mirrored():
    m, v = np.array([-1.2, 0.0, 2.0]), np.array([0.2, 1.0, 3.0])
    own, mirrored = Debts(3.0), Times(3.0)
    q = own.quantile(0.9, m, v)
    assert_allclose(2.0 - q, mirrored.quantile(0.1, -m, v), rtol=1e-6)
    assert_allclose(own.distribution(q, m, v), 0.9, rtol=1e-6)
    drawn = own.draw(np.full(100_000, 0.4), np.random.RandomState(0))
    assert (drawn < 2.0).all()
    assert_allclose(
        [drawn.mean(), drawn.var()], [2.0 - np.exp(-0.4), np.exp(-0.8) / 3.0], rtol=0.02
    )


def test_finitely_many_values_have_their_probabilities_added_up():
    own, m, v = Scores(), np.array([-1.2, 0.0, 2.0]), np.array([0.2, 1.0, 3.0])
    p = np.exp([own.log_predictive(np.full((3, 1), k), m, v) for k in np.arange(1.0, 8.0)])
    assert_allclose(p.sum(axis=0), 1.0, rtol=1e-9)
    for k in range(1, 8):
        found = own.distribution(np.full(3, k + 0.5), m, v)
        assert_allclose(found, p[:k].sum(axis=0), rtol=1e-9)
    assert_array_equal(own.distribution(np.full(3, 0.9), m, v), 0.0)
    for level in LEVELS:
        q = own.quantile(level, m, v)
        assert (own.distribution(q, m, v) >= level).all()
        assert (own.distribution(q - 1.0, m, v) < level).all()
    drawn = own.draw(np.full((50_000, 2), 0.7), np.random.RandomState(0))
    exact = [own.mean(np.array([0.7]))[0], own.variance(np.array([0.7]))[0]]
    assert_allclose([drawn.mean(), drawn.var()], exact, rtol=0.01)


def test_counts_may_start_anywhere():
    m, v = np.array([-3.0, 0.0, 2.0]), np.array([0.1, 1.0, 0.4])
    for level in LEVELS:
        assert_array_equal(Visits().quantile(level, m, v), 1.0 + Counts().quantile(level, m, v))
    assert_allclose(
        Visits().distribution(np.array([1.0, 3.0, 9.0]), m, v),
        Counts().distribution(np.array([0.0, 2.0, 8.0]), m, v), rtol=1e-12,
    )  # fmt: skip
    drawn = Visits().draw(np.full(1000, 0.1), np.random.RandomState(0))
    assert drawn.min() == 1.0
