"""Degrees of freedom and rank."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sk

from collegium import dof
from collegium.kernels import RBF, Constant, Linear, Matern12
from collegium.learning.dof import effective_dof, estimated_dof, numerical_rank

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("noise", [1e-6, 0.03, 5.0])
def test_degrees_of_freedom_are_the_trace_of_the_smoother(noise):
    X, kernel = RNG.uniform(-2, 2, size=(40, 2)), RBF(1.7, [0.6, 1.1])
    K = kernel.value(X)
    expected = np.trace(K @ np.linalg.inv(K + noise * np.eye(40)))
    assert effective_dof(kernel, noise, X) == pytest.approx(expected, rel=1e-6)


def test_more_noise_leaves_fewer_degrees_of_freedom_and_more_rows_add_to_them():
    X, kernel = RNG.uniform(-2, 2, size=(200, 1)), Matern12(1.0, 0.8)
    by_noise = [effective_dof(kernel, noise, X) for noise in (1e-3, 1e-2, 1e-1, 1.0)]
    assert by_noise == sorted(by_noise, reverse=True)
    by_rows = [effective_dof(kernel, 0.05, X[:n]) for n in (10, 50, 100, 200)]
    assert by_rows == sorted(by_rows)
    assert 0.0 < min(by_noise) and max(by_noise) < 200.0


def test_a_degenerate_kernel_has_the_rank_of_its_features():
    X = RNG.normal(size=(30, 4))
    assert numerical_rank(Linear(0.7), X) == 4
    assert numerical_rank(Linear(0.7) + Constant(2.0), X) == 5
    assert effective_dof(Linear(0.7) + Constant(2.0), 1e-9, X) == pytest.approx(5.0, abs=1e-3)
    assert numerical_rank(Matern12(1.0, 0.5), X) == 30


def test_zero_noise_counts_every_row_of_a_regular_kernel():
    X = RNG.normal(size=(20, 2))
    assert effective_dof(Matern12(1.0, 0.5), 0.0, X) == pytest.approx(20.0)


def test_a_sample_estimates_the_degrees_of_freedom_of_all_rows():
    X, kernel = RNG.uniform(-2, 2, size=(1500, 2)), RBF(1.3, [0.5, 0.9])
    exact = effective_dof(kernel, 0.05, X)
    one = np.ones(1500)
    found = estimated_dof(kernel, 0.05, X, one, np.random.default_rng(0), sample=300)
    assert found == pytest.approx(exact, rel=0.15)
    assert found > 1.2 * effective_dof(kernel, 0.05, X[:300])
    few = estimated_dof(kernel, 0.05, X[:200], one[:200], np.random.default_rng(0))
    assert few == effective_dof(kernel, 0.05, X[:200])


def test_a_weighted_row_counts_as_so_many_equal_rows():
    X, kernel, w = RNG.uniform(-2, 2, size=(30, 2)), RBF(1.3, [0.5, 0.9]), np.arange(1, 31)
    repeated = effective_dof(kernel, 0.4, np.repeat(X, w, axis=0))
    found = estimated_dof(kernel, 0.4, X, w.astype(float), np.random.default_rng(0))
    assert found == pytest.approx(repeated, rel=1e-6)


def test_weights_count_in_a_sample_too():
    X, kernel = RNG.uniform(-2, 2, size=(900, 2)), RBF(1.3, [0.5, 0.9])
    found = estimated_dof(kernel, 0.5, X, np.full(900, 5.0), np.random.default_rng(0), sample=400)
    assert found == pytest.approx(effective_dof(kernel, 0.1, X), rel=0.1)


def test_equal_rows_without_noise_are_one_degree_of_freedom():
    X = np.repeat(RNG.normal(size=(10, 2)), 3, axis=0)
    assert effective_dof(RBF(1.0, 1.0), 0.0, X) == pytest.approx(10.0, abs=0.01)


def test_the_public_functions_take_what_scikit_learn_users_have():
    X = RNG.normal(size=(20, 2))
    ours = effective_dof(RBF(1.0, [0.7, 0.7]), 0.1, X)
    assert dof.effective_dof(sk.RBF(0.7), 0.1, X.tolist()) == pytest.approx(ours)
    assert dof.estimated_dof(sk.RBF(0.7), 0.1, X) == pytest.approx(ours)
    assert dof.numerical_rank(sk.DotProduct(0.0), X) in (2, 3)
    for arguments, words in (
        ((sk.RBF(), -1.0, X), "noise=-1.0"),
        (("rbf", 0.1, X), "not a kernel known here"),
        ((sk.RBF(), 0.1, X[0]), "1D array"),
    ):
        with pytest.raises(ValueError, match=words):
            dof.effective_dof(*arguments)
