"""Columns of one value: they change no bit, until they move; away from that value f is unknown."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium import RegressionFilter

GIVEN = {"random_state": 0}


def table(n=60, d=2, seed=4):
    """A function that bends often, with little noise: what is learnt has several optima."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(6.0 * X[:, 0]) * X[:, -1] + 0.01 * rng.normal(size=n)


def beside(X, value, at=0):
    return np.insert(X, at, value, axis=1)


def answers(model, X):
    found = [*model.predict(X, return_std=True), *model.predict_interval(X, 0.8)]
    function = model.predict(X, return_std=True, level="function")
    return [*found, *function, model.predict(X[:7], return_cov=True)[1], model.log_evidence_]


def assert_same(one, other):
    for a, b in zip(one, other, strict=True):
        assert_array_equal(a, b)


@pytest.mark.parametrize(("d", "options"), [
    (1, {}), (2, {}), (4, {"n_basis": 30}), (1, {"basis": "bumps", "linear": False}),
    (2, {"basis": "harmonics", "n_basis": 20}), (2, {"basis": "splines", "n_basis": 25}),
    (3, {"density": "gaussian", "basis": "fourier", "n_basis": 30}), (2, {"noise": "auto"}),
], ids=str)  # fmt: skip
def test_a_column_of_one_value_changes_no_bit(d, options):
    (X, y), Xs = table(d=d), table(25, d, 9)[0]
    plain = RegressionFilter(**GIVEN, **options).fit(X, y)
    for value, at in ((0.0, 0), (-2.5e6, d)):
        model = RegressionFilter(**GIVEN, **options).fit(beside(X, value, at), y)
        if options.get("noise") == "auto":  # the scale of errors may depend on every column
            found, expected = model.predict(beside(Xs, value, at)), plain.predict(Xs)
            assert_array_equal(found, expected)
        else:
            assert_same(answers(model, beside(Xs, value, at)), answers(plain, Xs))
            assert model.kernel_.length_scale.size == d + 1


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_column_of_one_value_changes_no_bit_of_a_stream():
    """Inputs wander: basis and density are remade on the way."""
    X, y = table(500)
    X = X + np.linspace(0.0, 8.0, 500)[:, None]
    one, other = (RegressionFilter(**GIVEN, start_rows=60, n_basis=20) for _ in range(2))
    for part in np.split(np.arange(500), 10):
        one.partial_fit(X[part], y[part])
        other.partial_fit(beside(X[part], 7.0, 1), y[part])
    assert one.model_.following.n_reprojected > 0
    assert_same(answers(other, beside(X[-30:], 7.0, 1)), answers(one, X[-30:]))


@pytest.mark.parametrize("value", [0.0, 40.0])
def test_away_from_the_value_of_a_column_the_prior_returns(value):
    """All rows at c: f(x, c + t) ~ N(ρm, ρ²v + (1 − ρ²)k), ρ the kernel's correlation."""
    (X, y), Xs = table(), table(6, 2, 9)[0]
    model = RegressionFilter(**GIVEN, linear=False, n_basis=20).fit(beside(X, value, 2), y)
    kernel, centre = model.kernel_, model.model_.scaling.centre[0]
    mean, std = model.predict(beside(Xs, value, 2), return_std=True, level="function")
    for t in (0.3, 1.0, 4.0):
        away = beside(Xs, value + t * kernel.length_scale[2], 2)
        rho = np.exp(-0.5 * t * t)
        found, spread = model.predict(away, return_std=True, level="function")
        assert_allclose(found - centre, rho * (mean - centre), rtol=1e-9, atol=1e-12)
        variance = rho**2 * std**2 + (1.0 - rho**2) * kernel.variance
        assert_allclose(spread**2, variance, rtol=1e-9)
    both = np.concatenate([beside(Xs, value, 2), away])
    _, covariance = model.predict(both, return_cov=True, level="function")
    assert np.linalg.eigvalsh(covariance).min() > -1e-9 * kernel.variance


def test_slopes_of_a_column_of_one_value_are_unknown():
    X, y = table(40, 1)
    model = RegressionFilter(**GIVEN).fit(beside(X, 3.0), 2.0 * X[:, 0] + 0.1 * y)
    far = np.array([[3.0, 0.0], [30.0, 0.0], [300.0, 0.0], [1e300, 0.0]])
    std = model.predict(far, return_std=True)[1]
    assert np.isfinite(std).all() and (np.diff(std) > 0.0).all()


def test_slopes_of_a_column_of_one_value_are_in_covariances():
    """Var f(x) is that of a single query; cov of two has sd² times both distances in it."""
    X, y = table(40, 1)
    model = RegressionFilter(**GIVEN).fit(beside(X, 3.0), 2.0 * X[:, 0] + 0.1 * y)
    far = np.array([[3.0, 0.2], [6.0, 0.2], [300.0, -0.4], [-600.0, 0.1]])
    _, std = model.predict(far, return_std=True, level="function")
    _, covariance = model.predict(far, return_cov=True, level="function")
    assert_allclose(covariance.diagonal(), std**2, rtol=1e-9)
    slope = std[2] ** 2 / 99.0**2  # of a standard deviation, which is 3 here
    assert_allclose(covariance[2, 3], -99.0 * 201.0 * slope, rtol=1e-3)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("d", [1, 2])
def test_a_column_that_begins_to_move_is_learnt_from(d):
    rng = np.random.default_rng(0)
    X = beside(rng.uniform(-1.0, 1.0, (900, d)), 1.0, d)
    X[400:, d] = rng.uniform(0.5, 1.5, 500)
    y = np.sin(2.0 * X[:, 0]) + 3.0 * np.sin(3.0 * (X[:, d] - 1.0)) + 0.05 * rng.normal(size=900)
    model = RegressionFilter(**GIVEN, start_rows=200)
    for part in np.split(np.arange(800), 16):
        model.partial_fit(X[part], y[part])
    assert model.model_.model.still is None
    mean, std = model.predict(X[800:], return_std=True)
    assert np.sqrt(np.mean((y[800:] - mean) ** 2)) < 0.15
    assert np.mean(np.abs(y[800:] - mean) < 2.0 * std) > 0.85
