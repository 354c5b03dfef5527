"""Answers of an exact GP at its own rows, each given all others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import reference
from collegium.answers.leave_one_out import leave_one_out, left_out
from collegium.kernels import Matern32
from collegium.rows.rows import Rows


@pytest.mark.parametrize("p", [1, 2])
def test_each_row_is_answered_by_the_gp_of_the_others(p):
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(9, 2)), rng.normal(size=(9, p)), rng.uniform(0.5, 3.0, 9)
    kernel, noise = Matern32(1.7, [0.8, 1.9]), 0.3
    found = leave_one_out(kernel, noise, Rows(X, y, w))
    for i in range(9):
        rest = np.arange(9) != i
        K = kernel.value(X[rest]) + np.diag(noise / w[rest])
        k = kernel.value(X[i : i + 1], X[rest])[0]
        assert_allclose(found.mean[i], k @ np.linalg.solve(K, y[rest]), rtol=1e-9)
        assert_allclose(found.variance[i], 1.7 - k @ np.linalg.solve(K, k), rtol=1e-9)


def test_copies_without_noise_give_finite_numbers():
    X = np.repeat(np.arange(3.0), 2)[:, None]
    found = leave_one_out(Matern32(), 0.0, Rows(X, X.copy(), np.ones(6)))
    assert np.isfinite(found.mean).all() and (found.variance >= 0).all()


@pytest.mark.parametrize("p", [1, 2])
def test_each_group_is_answered_by_the_gp_of_the_others(p):
    rng = np.random.default_rng(1)
    X, y, w = rng.normal(size=(11, 2)), rng.normal(size=(11, p)), rng.uniform(0.5, 3.0, 11)
    group = np.array([4, 4, 2, 9, 2, 4, 7, 9, 9, 2, 4])
    kernel, noise = Matern32(1.7, [0.8, 1.9]), 0.3
    found = leave_one_out(kernel, noise, Rows(X, y, w, group=group))
    for k in (2, 4, 7, 9):
        own, rest = group == k, group != k
        mean, cov, _ = reference.gp(kernel, noise, X[rest], y[rest], w[rest], X[own])
        assert_allclose(found.mean[own], mean, rtol=1e-8)
        assert_allclose(found.variance[own], cov.diagonal(), rtol=1e-8)


def test_the_density_of_a_group_is_the_evidence_it_adds():
    rng = np.random.default_rng(2)
    X, y, w = rng.normal(size=(7, 2)), rng.normal(size=(7, 1)), rng.uniform(0.5, 3.0, 7)
    group, kernel = np.array([0, 1, 0, 2, 1, 1, 2]), Matern32(1.7, 0.9)
    L = np.linalg.cholesky(kernel.value(X) + np.diag(0.3 / w))
    alpha = np.linalg.solve(L.T, np.linalg.solve(L, y))
    everything = reference.gp(kernel, 0.3, X, y, w, X[:1])[2]
    for codes in (group, None):
        found = left_out(L, alpha, codes).log_density
        for i in range(7):
            rest = np.arange(7) != i if codes is None else group != group[i]
            others = reference.gp(kernel, 0.3, X[rest], y[rest], w[rest], X[:1])[2]
            assert_allclose(found[i, 0], (everything - others)[0], rtol=1e-8)


def test_copies_in_a_group_without_noise_give_finite_numbers():
    X = np.repeat(np.arange(3.0), 4)[:, None]
    group = np.tile([0, 1], 6)
    found = leave_one_out(Matern32(), 0.0, Rows(X, X.copy(), np.ones(12), group=group))
    assert np.isfinite(found.mean).all() and (found.variance >= 0).all()
