"""Degrees of freedom and rank."""

import numpy as np
import pytest

from collegium.kernels import RBF, Constant, Linear, Matern12
from collegium.learning.dof import exact_dof, kernel_rank, sampled_dof

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("noise", [1e-6, 0.03, 5.0])
def test_degrees_of_freedom_are_the_trace_of_the_smoother(noise):
    X, kernel = RNG.uniform(-2, 2, size=(40, 2)), RBF(1.7, [0.6, 1.1])
    K = kernel.value(X)
    expected = np.trace(K @ np.linalg.inv(K + noise * np.eye(40)))
    assert exact_dof(kernel, noise, X) == pytest.approx(expected, rel=1e-6)


def test_more_noise_leaves_fewer_degrees_of_freedom_and_more_rows_add_to_them():
    X, kernel = RNG.uniform(-2, 2, size=(200, 1)), Matern12(1.0, 0.8)
    by_noise = [exact_dof(kernel, noise, X) for noise in (1e-3, 1e-2, 1e-1, 1.0)]
    assert by_noise == sorted(by_noise, reverse=True)
    by_rows = [exact_dof(kernel, 0.05, X[:n]) for n in (10, 50, 100, 200)]
    assert by_rows == sorted(by_rows)
    assert 0.0 < min(by_noise) and max(by_noise) < 200.0


def test_a_degenerate_kernel_has_the_rank_of_its_features():
    X = RNG.normal(size=(30, 4))
    assert kernel_rank(Linear(0.7), X) == 4
    assert kernel_rank(Linear(0.7) + Constant(2.0), X) == 5
    assert exact_dof(Linear(0.7) + Constant(2.0), 1e-9, X) == pytest.approx(5.0, abs=1e-3)
    assert kernel_rank(Matern12(1.0, 0.5), X) == 30


def test_zero_noise_counts_every_row_of_a_regular_kernel():
    X = RNG.normal(size=(20, 2))
    assert exact_dof(Matern12(1.0, 0.5), 0.0, X) == pytest.approx(20.0)


def test_a_sample_estimates_the_degrees_of_freedom_of_all_rows():
    X, kernel = RNG.uniform(-2, 2, size=(1500, 2)), RBF(1.3, [0.5, 0.9])
    exact = exact_dof(kernel, 0.05, X)
    one = np.ones(1500)
    found = sampled_dof(kernel, 0.05, X, one, np.random.default_rng(0), sample=300)
    assert found == pytest.approx(exact, rel=0.15)
    assert found > 1.2 * exact_dof(kernel, 0.05, X[:300])
    few = sampled_dof(kernel, 0.05, X[:200], one[:200], np.random.default_rng(0))
    assert few == exact_dof(kernel, 0.05, X[:200])


def test_a_weighted_row_counts_as_so_many_equal_rows():
    X, kernel, w = RNG.uniform(-2, 2, size=(30, 2)), RBF(1.3, [0.5, 0.9]), np.arange(1, 31)
    repeated = exact_dof(kernel, 0.4, np.repeat(X, w, axis=0))
    found = sampled_dof(kernel, 0.4, X, w.astype(float), np.random.default_rng(0))
    assert found == pytest.approx(repeated, rel=1e-6)


def test_weights_count_in_a_sample_too():
    X, kernel = RNG.uniform(-2, 2, size=(900, 2)), RBF(1.3, [0.5, 0.9])
    found = sampled_dof(kernel, 0.5, X, np.full(900, 5.0), np.random.default_rng(0), sample=400)
    assert found == pytest.approx(exact_dof(kernel, 0.1, X), rel=0.1)


def test_equal_rows_without_noise_are_one_degree_of_freedom():
    X = np.repeat(RNG.normal(size=(10, 2)), 3, axis=0)
    assert exact_dof(RBF(1.0, 1.0), 0.0, X) == pytest.approx(10.0, abs=0.01)
