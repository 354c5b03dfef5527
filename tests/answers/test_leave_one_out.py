"""Answers of an exact GP at its own rows, each given all others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from collegium.answers.leave_one_out import leave_one_out
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
