"""Covariances combined with sites, against dense matrices and many digits."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from collegium.laplace.covariances import (
    DenseCovariance,
    DiagonalCovariance,
    LowRankCovariance,
)


def covariances(n=9, m=4, seed=0):
    rng = np.random.default_rng(seed)
    A, T = rng.normal(size=(n, n)), rng.normal(size=(m, n))
    d = rng.uniform(0.2, 1.4, n)
    yield "dense", DenseCovariance(A @ A.T), A @ A.T
    yield "dense plus", DenseCovariance(A @ A.T).plus(T), A @ A.T + T.T @ T
    yield "diagonal", DiagonalCovariance(d), np.diag(d)
    yield "diagonal plus", DiagonalCovariance(d).plus(T), np.diag(d) + T.T @ T


@pytest.mark.parametrize("own, C", [case[1:] for case in covariances()],
                         ids=[case[0] for case in covariances()])  # fmt: skip
def test_covariances_are_combined_with_sites(own, C):
    rng = np.random.default_rng(1)
    W = rng.uniform(0.1, 5.0, 9)
    W[[2, 5]] = 0.0
    A = np.linalg.solve(np.eye(9) + W[:, None] * C, np.diag(W))  # (I + WC)⁻¹W
    factored, x, X = own.factorise(W), rng.normal(size=9), rng.normal(size=(9, 3))
    assert_allclose(own.times(x), C @ x, rtol=1e-12)
    assert_allclose(factored.solve(x), A @ x, rtol=1e-10, atol=1e-12)
    assert_allclose(factored.matrix(), A, rtol=1e-10, atol=1e-12)
    assert_allclose(
        factored.log_det(), np.linalg.slogdet(np.eye(9) + W[:, None] * C)[1], rtol=1e-12
    )
    u, Cu = factored.solve_damped(x)
    expected = np.linalg.solve(np.eye(9) + W[:, None] * C, x)
    assert_allclose(u, expected, rtol=1e-10, atol=1e-12)
    assert_allclose(Cu, C @ expected, rtol=1e-10, atol=1e-12)
    if not isinstance(own, LowRankCovariance):
        assert_allclose(
            factored.whiten(X).T @ factored.whiten(X), X.T @ A @ X, rtol=1e-10, atol=1e-12
        )
    if isinstance(own, DenseCovariance):
        W[3] = -0.4
        expected = np.linalg.solve(np.eye(9) + W[:, None] * C, x)
        assert_allclose(own.solve_indefinite(W, x), expected, rtol=1e-10)


@pytest.mark.parametrize("own, C", [case[1:] for case in covariances()],
                         ids=[case[0] for case in covariances()])  # fmt: skip
@pytest.mark.parametrize("power", [8, 16, 24])
def test_damped_solves_are_accurate_at_any_precision(own, C, power):
    """(I + WC)⁻¹x, and C times it, where x − ACx has no digits left."""
    rng = np.random.default_rng(1)
    W, x = 10.0 ** rng.uniform(0.5 * power, power, 9), rng.normal(size=9)
    with mpmath.workdps(80):
        M = mpmath.eye(9) + mpmath.diag(W.tolist()) * mpmath.matrix(C.tolist())
        exact = mpmath.lu_solve(M, mpmath.matrix(x.tolist()))
        Cu_exact = mpmath.matrix(C.tolist()) * exact
        exact, Cu_exact = (np.array(z.tolist(), dtype=float)[:, 0] for z in (exact, Cu_exact))
    u, Cu = own.factorise(W).solve_damped(x)
    assert_allclose(u, exact, rtol=1e-9, atol=1e-11 * np.abs(exact).max())
    assert_allclose(Cu, Cu_exact, rtol=1e-9, atol=1e-11 * np.abs(Cu_exact).max())
