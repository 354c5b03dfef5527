"""Weights that say nothing of the noise leave error bars honest, in every regressor."""

import numpy as np
import pytest

from collegium import (
    CommitteeRegressor,
    OnlineGPRegressor,
    RegressionFilter,
    SparseGPRegressor,
    kernels,
)

START = {"kernel": kernels.RBF(1.0, 1.0), "random_state": 0}
REGRESSORS = {
    "committee": CommitteeRegressor(**START),
    "chunks": CommitteeRegressor(**START, chunks=100, anchors=15),
    "fitc": SparseGPRegressor(**START, method="fitc"),
    "dtc": SparseGPRegressor(**START, method="dtc"),
    "vfe": SparseGPRegressor(**START, method="vfe"),
    "filter": RegressionFilter(**START, n_basis=60),
    "online": OnlineGPRegressor(**START),
    "student": CommitteeRegressor(**START, likelihood="student-t"),
}


def rows(seed, weights):
    rng = np.random.default_rng(seed)
    X, w = rng.uniform(-3, 3, size=(200, 1)), np.ones(200)
    if weights == "log-normal":
        w = rng.lognormal(0.0, 2.0, 200)
    else:
        w[rng.integers(200)] = weights
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=200), w


def covered(model, seed):
    rng = np.random.default_rng([seed, 1])
    X = rng.uniform(-3, 3, size=(1000, 1))
    low, high = model.predict_interval(X, 0.95)
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=1000)
    return np.mean((low <= y) & (y <= high))


@pytest.mark.diagonal
@pytest.mark.parametrize("weights", [1e6, "log-normal"])
@pytest.mark.parametrize("name", REGRESSORS)
def test_intervals_cover_whatever_the_weights(name, weights):
    found = []
    for seed in (4, 5):
        X, y, w = rows(seed, weights)
        found.append(covered(REGRESSORS[name].fit(X, y, sample_weight=w), seed))
    assert 0.90 <= np.mean(found) <= 0.99


def test_a_heavy_row_of_a_later_batch_leaves_a_filter_honest():
    X, y, w = rows(5, 1.0)
    model = RegressionFilter(**START, start_rows=60).partial_fit(X[:100], y[:100])
    w[150] = 1e6
    model.partial_fit(X[100:], y[100:], sample_weight=w[100:]).relearn()
    assert 0.90 <= covered(model, 5) <= 0.99
    assert 0.06 < model.noise_ < 0.13


def test_precisions_are_used_as_such():
    rng = np.random.default_rng(0)
    X, w = rng.uniform(-3, 3, size=(200, 1)), rng.lognormal(0.0, 1.5, 200)
    y = np.sin(X[:, 0]) + 0.3 / np.sqrt(w) * rng.normal(size=200)
    model = CommitteeRegressor(**START).fit(X, y, sample_weight=w)
    assert 0.5 < model.noise_ * w.mean() / 0.09 < 2.0
