"""Filters whose weights drift."""

import numpy as np
from filter_cases import (
    BOX,
    data,
    model_of,
    posterior_after,
)
from numpy.testing import assert_allclose

from collegium.filter.bases import (
    LinearSplines,
)
from collegium.filter.kalman import Drifting
from collegium.kernels import (
    RBF,
    Matern32,
)


def test_drift_is_the_random_walk_of_the_weights():
    X, Y = data(30, p=2)
    w = np.random.default_rng(1).uniform(0.5, 2.0, 30)
    model = model_of(RBF(1.0, 0.8), 0.1, LinearSplines((np.linspace(-2, 3, 12),)), BOX)
    V = model.columns(X) @ model.weights
    r, q = V.shape[1], 0.02
    mean, S, evidence = np.zeros((r, 2)), np.eye(r), np.zeros(2)
    for v, y, one in zip(V, Y, w):
        S = S + q * np.eye(r)
        total = v @ S @ v + 0.1 / one
        e = y - v @ mean
        evidence -= 0.5 * (np.log(2 * np.pi * total) + e**2 / total)
        evidence -= 0.5 * ((one - 1) * np.log(2 * np.pi * 0.1) + np.log(one))  # w equal rows
        precision = np.linalg.inv(S) + np.outer(v, v) * one / 0.1
        mean = np.linalg.solve(precision, np.linalg.inv(S) @ mean + np.outer(v, y) * one / 0.1)
        S = np.linalg.inv(precision)
    found = Drifting.start(r, 2).add(model, X[:11], Y[:11], w[:11], q)
    found = found.add(model, X[11:], Y[11:], w[11:], q)
    assert_allclose(found.mean, mean, rtol=1e-7, atol=1e-9)
    assert_allclose(found.covariance, S, rtol=1e-6, atol=1e-9)
    assert_allclose(found.log_evidence, evidence, rtol=1e-9)
    assert_allclose(found.weight, w.sum())
    twice = Drifting.start(r, 2).add(model, X, Y, np.full(30, 2.0), 0.0)
    again = Drifting.start(r, 2).add(
        model, np.repeat(X, 2, 0), np.repeat(Y, 2, 0), np.ones(60), 0.0
    )
    assert_allclose(twice.log_evidence, again.log_evidence, rtol=1e-9)


def test_no_drift_is_the_filter_itself():
    X, Y = data(40)
    model = model_of(Matern32(1.0, 0.8), 0.1, LinearSplines((np.linspace(-2, 3, 15),)), BOX)
    still = Drifting.start(model.projection.r, 1).add(model, X, Y, np.ones(40), 0.0).posterior()
    same = posterior_after(model, X, Y)
    Xs = np.linspace(-3, 4, 20)[:, None]
    for one, other in zip(
        (still.of_function(model, Xs), still.of_model(model, Xs)),
        (same.of_function(model, Xs), same.of_model(model, Xs)),
    ):
        assert_allclose(one.mean, other.mean, atol=1e-9)
        assert_allclose(one.variance, other.variance, rtol=1e-7)
    assert_allclose(still.log_evidence, same.log_evidence, rtol=1e-9)
