"""Kernels given by a filter: eqs. 3.7 and 3.8 of Zhu & Rohwer (1995)."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad

from collegium import CommitteeRegressor, RegressionFilter
from collegium.kernels import RBF, Filtered, GaussianFilter, LaplaceFilter, Leaf, Matern32

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.5, 1.5, (9, 1))
Z = RNG.uniform(-1.5, 1.5, (6, 1))


def ramp(X, T):
    """A filter without symmetry: (1 + x²t) for t below x."""
    return np.where(T.T < X, 1.0 + X**2 * T.T, 0.0)


@pytest.mark.parametrize("width", [0.3, 0.8])
def test_the_laplace_filter_makes_the_matern_kernel(width):
    """∫ exp(−|x−t|/σ₀) exp(−|z−t|/σ₀) dt = σ₀(1 + |Δ|/σ₀) exp(−|Δ|/σ₀)."""
    matern = Matern32(width, np.sqrt(3.0) * width)
    found = Filtered(LaplaceFilter(width), -14.0 * width, 14.0 * width, 4096)
    tolerance = 2.0 * found.error(X) + np.exp(-2.0 * (14.0 - 1.5 / width))
    assert tolerance < 2e-4 * width
    assert_allclose(found.value(X, Z), matern.value(X, Z), atol=tolerance)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_gaussian_filter_makes_the_squared_exponential(d):
    A, B = RNG.uniform(-1, 1, (7, d)), RNG.uniform(-1, 1, (5, d))
    rbf = RBF((0.9 * np.sqrt(np.pi / 2)) ** d, 0.9)
    found = Filtered(GaussianFilter(0.9), np.full(d, -6.0), np.full(d, 6.5), 32)
    assert_allclose(found.value(A, B), rbf.value(A, B), rtol=1e-4, atol=1e-6)


def test_the_laplace_filter_is_a_product_over_columns():
    A = RNG.uniform(-1, 1, (5, 2))
    one = Filtered(LaplaceFilter(0.7), -3.0, 3.0, 48)
    two = Filtered(LaplaceFilter(0.7), [-3.0, -3.0], [3.0, 3.0], 48)
    assert_allclose(two.value(A), one.value(A[:, :1]) * one.value(A[:, 1:]), rtol=1e-12)


def test_any_filter_is_integrated_over_the_box():
    kernel = Filtered(ramp, -2.0, 1.0, 4096, variance=1.7)
    for x, z in [(0.4, -0.9), (-1.2, 0.8), (1.3, 1.4)]:
        top = min(x, z, 1.0)
        expected, _ = quad(lambda t, x=x, z=z: (1 + x**2 * t) * (1 + z**2 * t), -2.0, top)
        assert_allclose(kernel.value(np.array([[x]]), np.array([[z]])), 1.7 * expected, rtol=2e-3)


def test_the_error_falls_with_the_nodes_and_has_the_size_of_the_true_one():
    exact = Matern32(0.5, 0.5 * np.sqrt(3.0)).value(X)
    errors = [Filtered(LaplaceFilter(0.5), -9.0, 9.0, n) for n in (64, 256, 1024)]
    told = [kernel.error(X) for kernel in errors]
    true = [np.abs(kernel.value(X) - exact).max() for kernel in errors]
    assert told[0] > 4 * told[1] > 16 * told[2] > 0
    assert all(0.5 * t < e < 2.0 * t for e, t in zip(told, true))


def test_a_kernel_by_a_filter_is_learnt_stored_and_not_listed():
    kernel = Filtered(LaplaceFilter(0.5), -5.0, 5.0, 128)
    assert Filtered not in Leaf.registry
    x = RNG.uniform(-2, 2, (80, 1))
    y = 3.0 * np.sin(2 * x[:, 0]) + 0.1 * RNG.normal(size=80)
    model = CommitteeRegressor(kernel, random_state=0).fit(x, y)
    assert model.kernel_.variance != 1.0
    assert model.kernel_.function == kernel.function
    assert_allclose(model.predict(x), 3.0 * np.sin(2 * x[:, 0]), atol=0.5)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(x), model.predict(x))


def test_a_regression_filter_takes_a_filter_as_its_prior():
    x = RNG.uniform(-2, 2, (60, 1))
    y = np.sin(2 * x[:, 0]) + 0.1 * RNG.normal(size=60)
    means = [
        RegressionFilter(kernel, noise=0.01, n_basis=60, learn=False, linear=False)
        .fit(x, y)
        .predict(X)
        for kernel in (
            Filtered(LaplaceFilter(0.5), -9.0, 9.0, 2048),
            Matern32(0.5, 0.5 * np.sqrt(3.0)),
        )
    ]
    assert_allclose(means[0], means[1], atol=2e-3)


def test_the_box_is_kept_from_outside():
    low = np.array([-1.0, -2.0])
    kernel = Filtered(LaplaceFilter(), low, [1.0, 2.0])
    low[:] = 5.0
    assert_array_equal(kernel.low, [-1.0, -2.0])
    with pytest.raises(ValueError):
        kernel.low[0] = 0.0


@pytest.mark.parametrize(("change", "words"), [
    ({"function": "laplace"}, "function of Filtered"),
    ({"function": lambda X, T: np.ones((len(T), len(X)))}, "function of Filtered gave"),
    ({"low": 2.0}, "low=2.0 and high"),
    ({"low": [-1.0, -1.0]}, "one number per column"),
    ({"low": "left"}, "low='left'"),
    ({"high": np.inf}, "high=inf"),
    ({"low": [-1.0] * 4, "high": [1.0] * 4}, "at most three"),
    ({"n_nodes": 0}, "n_nodes=0"),
    ({"n_nodes": 2.5}, "n_nodes=2.5"),
    ({"variance": -1.0}, "variance of Filtered"),
    ({"low": [-1.0, -1.0], "high": [1.0, 1.0]}, "have 2 columns, X has 1"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused(change, words):
    kernel = Filtered(LaplaceFilter(), -1.0, 1.0, 16)
    with pytest.raises(ValueError, match=words):
        replace(kernel, **change).value(X)
    with pytest.raises(ValueError, match="have 1 columns, X has 2"):
        kernel.for_width(2)
