"""Data and comparisons shared by the tests of RVCRegressor."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from collegium import RVCRegressor

MODES = pytest.mark.parametrize("mode", ["local", "paper"])
WAYS = pytest.mark.parametrize("way", ["fit", "partial_fit"])
GRID = np.linspace(-2.5, 2.5, 9)[:, None]


def model(**given):
    """Small, seeded; as published with settings given, which are dear to choose."""
    chosen = {"width": 0.3, "b": 0.3} if given.get("mode") == "paper" else {}
    return RVCRegressor(**{"max_experts": 12, "max_iter": 4, "random_state": 0, **chosen, **given})


def wave(n, seed=0, noise=0.1):
    """One column in [-3, 3], y = sin x."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sin(X[:, 0]) + noise * rng.normal(size=n)


def assert_alike(one, other, Xs, rtol):
    """The same means, bars and slopes; rtol = 0: to the last bit."""
    for a, b in zip(
        (*one.predict(Xs, return_std=True), *one.predict_gradient(Xs, return_std=True)),
        (*other.predict(Xs, return_std=True), *other.predict_gradient(Xs, return_std=True)),
        strict=True,
    ):
        assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(a).max())


def assert_sound(found, Xs):
    for level in ("function", "observation"):
        mean, std = found.predict(Xs, return_std=True, level=level)
        assert np.isfinite(mean).all() and np.isfinite(std).all() and (std >= 0).all()
        _, cov = found.predict(Xs, return_cov=True, level=level)
        assert np.isfinite(cov).all()
    assert (std > 0).all()
    slopes, bars = found.predict_gradient(Xs, return_std=True)
    assert np.isfinite(slopes).all() and np.isfinite(bars).all() and (bars >= 0).all()
    assert np.isfinite(found.sample_y(Xs, 2)).all()
    experts = found.experts_ if isinstance(found.experts_, list) else [found.experts_]
    assert all(np.isfinite(values).all() for each in experts for values in each.values())
