"""Data and comparisons shared by the tests of local experts."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from collegium import RVCRegressor
from collegium.rvc.committee import LocalCommittee, StreamRules
from collegium.rvc.experts import Assumptions

DIMENSIONS = pytest.mark.parametrize("d", [1, 3])
BOTH = pytest.mark.parametrize("local", [False, True])
MODES = pytest.mark.parametrize("mode", ["local", "paper"])
WAYS = pytest.mark.parametrize("way", ["fit", "partial_fit"])
GRID = np.linspace(-2.5, 2.5, 9)[:, None]


def assumptions(d, local, **changes):
    slope = np.linspace(0.4, -0.3, d)
    found = Assumptions(0.7, local, slope, 2.3, 1.7, a0=1.3, b0=0.06, c0=0.8, d0=0.05)
    return replace(found, **changes)


def one_expert(d, local, **rules):
    centres = np.array([np.linspace(0.3, -0.2, d)])
    rules = StreamRules(max_experts=1, grow=False, **rules)
    return LocalCommittee.start(assumptions(d, local), rules, centres)


def model(**given):
    """Small, seeded; as published with given settings, which are costly to choose."""
    chosen: dict = {}
    if given.get("mode") == "paper":
        chosen = {"width": 0.3, "b": 0.3, "max_iter": 300, "tol": 1e-3}
    return RVCRegressor(**{"max_experts": 12, "max_iter": 4, "random_state": 0, **chosen, **given})


def wave(n, seed=0, noise=0.1):
    """One column in [-3, 3], y = sin x."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sin(X[:, 0]) + noise * rng.normal(size=n)


def assert_alike(one, other, Xs, rtol):
    """Assert equal means, bars and slopes; rtol = 0: to the last bit."""
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
