"""Season, and trends that bend: what their registry tests do not say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from collegium.kernels import Matern32, Season, Trend
from collegium.kernels.trend import split_trend
from collegium.messages.basis import Anchors


def test_features_are_those_of_its_covariance():
    X = np.random.default_rng(0).normal(size=(7, 2))
    kernel = Season(1.7, [2.3, 0.9], 4)
    H = kernel.features(X)
    assert H.shape == (7, kernel.count(2))
    assert_allclose(1.7 * H @ H.T, kernel.value(X), rtol=1e-12, atol=1e-12)
    by_column = [
        1.7 * np.cos(2 * np.pi * j * (X[:, None, k] - X[None, :, k]) / p)
        for k, p in enumerate((2.3, 0.9))
        for j in (1, 2, 3, 4)
    ]
    assert_allclose(kernel.value(X), sum(by_column), rtol=1e-12, atol=1e-12)


def test_a_season_repeats_itself_whatever_the_distance():
    x = np.array([[0.3], [1.1], [4.6]])
    kernel = Season(0.8, 7.0, 3)
    assert_allclose(kernel.value(x, x + 7.0 * 5000), kernel.value(x), atol=1e-9)
    assert Season(period="1 week").period == 604_800.0


@pytest.mark.parametrize("wrong", [0, 1.5, True, 201, "two"])
def test_harmonics_are_whole_numbers(wrong):
    with pytest.raises(ValueError, match="harmonics=.* of Season: give a whole number"):
        Season(harmonics=wrong)


@pytest.mark.parametrize("wrong", [0, 4, 1.5, True])
def test_degrees_are_few(wrong):
    with pytest.raises(ValueError, match="degree=.* of Trend: give one of"):
        Trend(degree=wrong)


def test_a_trend_that_bends_has_powers_of_each_column():
    X = np.random.default_rng(1).normal(size=(6, 2))
    kernel = Trend(2.5, [0.7, 1.9], [0.3, -4.0], degree=3)
    S = (X - [0.3, -4.0]) / [0.7, 1.9]
    expected = 2.5 * (1.0 + sum(S**g @ (S**g).T for g in (1, 2, 3)))
    assert_allclose(kernel.value(X), expected, rtol=1e-12)
    assert_allclose(kernel.diag(X), expected.diagonal(), rtol=1e-12)
    H = kernel.features(X)
    assert_allclose(2.5 * H @ H.T, expected, rtol=1e-12)
    assert H.shape[1] == kernel.count(2)
    assert "degree=3" in repr(kernel) and "degree" not in repr(Trend())


def test_gradient_of_a_trend_that_bends():
    rng = np.random.default_rng(2)
    X, Z, K_bar = rng.normal(size=(5, 2)), rng.normal(size=(4, 2)), rng.normal(size=(5, 4))
    kernel = Trend(1.3, [0.8, 1.4], [0.2, 0.5], fixed=(), degree=2)
    theta, step = kernel.theta, 1e-6
    for k, bar in enumerate(kernel.vjp(X, Z, K_bar)):
        up, down = (kernel.with_theta(theta + s * step * np.eye(3)[k]) for s in (1, -1))
        slope = (K_bar * (up.value(X, Z) - down.value(X, Z))).sum() / (2 * step)
        assert_allclose(bar, slope, rtol=1e-6)


def test_coefficients_are_part_of_the_basis():
    """K(X, Z) of the whole kernel is the design times its transpose, exactly for the features."""
    X = np.random.default_rng(3).uniform(0, 9, size=(8, 1))
    terms = Season(4.0, 3.0, 2) + Trend(9.0, 2.0, 5.0, degree=2)
    kernel = Matern32(0.7, 1.2) + terms
    rest, beta = split_trend(kernel)
    assert isinstance(rest, Matern32) and beta.count(1) == 4 + 3
    basis = Anchors.at(kernel, X)
    V = basis.design(X)
    assert basis.first == 7
    assert_allclose(V.T @ V, kernel.value(X), rtol=1e-7, atol=1e-7)
