"""Trend: what its registry tests do not say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium.kernels import Matern32, Trend
from collegium.kernels.trend import has_trend


def test_nothing_of_it_is_learnt_unless_asked_for():
    kernel = Trend(2.0, [1.0, 3.0], [4.0, 5.0])
    assert kernel.theta.size == 0 and kernel.labels == ()
    free = Trend(2.0, [1.0, 3.0], [4.0, 5.0], fixed=())
    assert [kind for kind, _ in free.labels] == ["variance", "slope", "slope"]
    assert_array_equal(kernel.inverse_squares(2), 0.0)
    assert_array_equal(kernel.scaled(3.0).variance, 6.0)


def test_dates_and_years_keep_their_digits():
    X = 1.7e9 + 86_400.0 * np.arange(5)[:, None]
    kernel = Trend(1.0, 86_400.0, X[2, 0])
    steps = np.arange(-2.0, 3.0)
    assert_allclose(kernel.value(X), 1.0 + np.outer(steps, steps), rtol=1e-14)
    assert_array_equal(kernel.diag(X), 1.0 + steps**2)


def test_features_are_those_of_its_covariance():
    X = np.random.default_rng(0).normal(size=(6, 2))
    kernel = Trend(2.5, [0.7, 1.9], [0.3, -4.0])
    H = kernel.features(X)
    assert_allclose(2.5 * H @ H.T, kernel.value(X), rtol=1e-13)


def test_it_is_found_in_sums_and_on_columns():
    assert has_trend(Matern32() + Trend(columns="year"))
    assert not has_trend(Matern32() * Matern32(columns=1))


def test_wrong_centres_are_refused():
    for wrong in (np.nan, "a", [[1.0]]):
        with pytest.raises(ValueError, match="centre of Trend must be finite"):
            Trend(centre=wrong)
    with pytest.raises(ValueError, match="centre of Trend has 2 values, but X has 3"):
        Trend(centre=[1.0, 2.0]).for_width(3)
