"""Forecasts by filtered regressions, against the Gaussian process that they are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from collegium.learning.seasons.futures import (
    Futures,
    Persistence,
    Regression,
    Whitened,
    likeliest,
)

RHO, RATIO = 0.9, 0.4


def covariance(n, rho=RHO, ratio=RATIO):
    """Autoregression of unit variance, and noise."""
    lags = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    return rho**lags + ratio * np.eye(n)


def test_innovations_have_the_likelihood_of_the_process():
    """Differences of log densities are those of the dense covariance, once the gain is steady."""
    rng, own, n = np.random.default_rng(0), Persistence(RHO, RATIO), 400
    L = np.linalg.cholesky(covariance(n))
    a, b = 1.3 * (L @ rng.normal(size=(n, 2))).T

    def dense(y):
        quadratic = y @ np.linalg.solve(covariance(n), y)
        return -0.5 * quadratic

    q, v, g = 1 - RHO**2, RATIO, own.gain
    F = v / (1.0 - g)  # of an innovation: P + v
    assert_allclose(RHO**2 * (F - v) * v / F + q, F - v, rtol=1e-12)  # steady
    filtered = [-0.5 * (own.whitened(y[:, None]) ** 2).sum() / F for y in (a, b)]
    assert_allclose(filtered[0] - filtered[1], dense(a) - dense(b), atol=0.5)
    assert abs(filtered[0] - dense(a)) < 1.0 < abs(filtered[0]) / 50


def test_forecasts_are_those_of_the_process():
    rng, n, h = np.random.default_rng(1), 240, 60
    t = np.arange(n) / n
    H = np.column_stack([np.ones(n), t - 0.4, np.sin(40 * t)])
    y = H @ [1.0, 0.8, 0.7] + np.linalg.cholesky(covariance(n)) @ rng.normal(size=n)
    filtered = Whitened.of(Persistence(RHO, RATIO), H, y[:, None], np.array([n - h]))
    beta, _ = filtered.before[0].solve(np.arange(3))
    found = filtered.forecast(0, beta, H[n - h :])[:, 0]
    K = covariance(n)
    known, late = slice(0, n - h), slice(n - h, n)
    R = K[known, known]
    A = H[known].T @ np.linalg.solve(R, H[known]) + np.eye(3)  # β ~ N(0, I)
    own = np.linalg.solve(A, H[known].T @ np.linalg.solve(R, y[known]))
    rest = y[known] - H[known] @ own
    expected = H[late] @ own + K[late, known] @ np.linalg.solve(R, rest)
    assert_allclose(found, expected, atol=0.05)  # the scale, and the first gains
    assert np.abs(found - H[late] @ beta[:, 0])[0] > 0.2  # errors persist


def test_evidence_is_that_of_the_dense_regression():
    rng, n = np.random.default_rng(2), 50
    H = rng.normal(size=(n, 4))
    y = H[:, :3] @ [0.5, -0.8, 0.3] + 0.3 * rng.normal(size=n)
    own = Regression(H.T @ H, (H.T @ y)[:, None], np.array([y @ y]), n)
    for terms in (np.array([0, 1]), np.array([0, 1, 2]), np.arange(4)):
        beta, value = own.solve(terms)
        s2 = np.sum((y - H @ beta[:, 0]) ** 2) / (n - terms.size)
        C = H[:, terms] @ H[:, terms].T + s2 * np.eye(n)
        expected = multivariate_normal(np.zeros(n), C).logpdf(y) + 0.5 * n * np.log(2 * np.pi)
        assert_allclose(value, expected, rtol=2e-3)
        assert not beta[np.setdiff1d(np.arange(4), terms)].any()


@pytest.mark.parametrize("rho, ratio", [(0.99, 0.01), (0.995, 0.02)])
def test_evidence_of_persistent_errors_is_that_of_the_dense_regression(rho, ratio):
    """Persistences are compared by it: the scale of the first row belongs to it."""
    rng, n = np.random.default_rng(3), 60
    t, own = np.arange(n), Persistence(rho, ratio)
    H = np.column_stack([t / n, np.sin(t)])
    R = covariance(n, rho, ratio)
    r = 0.5 * np.linalg.cholesky(R) @ rng.normal(size=n)
    y = H @ [0.4, 0.9] + r - R[:, 0] * (r[0] / R[0, 0])  # at zero, where the first gain is nothing
    filtered = Whitened.of(own, H, y[:, None], np.array([n // 2]))
    beta, value = filtered.solve(-1, np.arange(2))
    innovations = own.whitened((y - H @ beta[:, 0])[:, None])
    s2 = np.sum(innovations**2) / (n - 2)  # of an innovation: of rows s2 / (first · (1 + ratio))
    C = H @ H.T + s2 * R / (own.first * (1.0 + ratio))
    expected = multivariate_normal(np.zeros(n), C).logpdf(y) + 0.5 * n * np.log(2 * np.pi)
    assert_allclose(value, expected, atol=0.6)


@pytest.mark.parametrize("rho, ratio", [(0.0, 0.0), (0.98, 0.3), (0.7, 0.03)])
def test_the_likeliest_persistence_is_about_the_true_one(rho, ratio):
    n = 1500
    L = np.linalg.cholesky(covariance(n, rho, ratio))
    r = L @ np.random.default_rng(3).normal(size=(n, 1))
    found = likeliest(r)
    assert abs(found.rho - rho) < 0.15
    assert abs(found.gain - Persistence(rho, ratio).gain) < 0.2


def test_rows_after_an_origin_do_not_matter():
    rng, n = np.random.default_rng(4), 200
    H = np.column_stack([np.ones(n), np.linspace(-1, 1, n), rng.normal(size=n)])
    y = rng.normal(size=(n, 2)).cumsum(axis=0)
    terms, other = np.arange(3), y.copy()
    one = Whitened.of(Persistence(0.8, 0.1), H, y, np.array([120]))
    other[120:] += 50.0
    two = Whitened.of(Persistence(0.8, 0.1), H, other, np.array([120]))
    (a, _), (b, _) = one.before[0].solve(terms), two.before[0].solve(terms)
    assert_allclose(one.forecast(0, a, H[120:]), two.forecast(0, b, H[120:]))
    blocks = Futures.of(H, y, [terms]).blocks(y)
    assert all(len(block) == 40 for block in blocks)


def test_forecasts_know_nothing_of_the_rows_that_they_are_compared_with():
    rng, n, origins = np.random.default_rng(4), 60, np.array([30, 42])
    H = np.column_stack([np.ones(n), np.linspace(-1.0, 1.0, n), rng.normal(size=n)])
    Y = rng.normal(size=(n, 2)).cumsum(axis=0)
    kinds = Persistence(RHO, RATIO), Persistence(0.5, 0.1)

    def first_block(Y):
        filtered = tuple(Whitened.of(one, H, Y, origins) for one in kinds)
        return Futures(H, Y, origins, 12, filtered).forecasts(np.arange(3))[0]

    later = Y.copy()
    later[30:] += 5.0 * rng.normal(size=(30, 2))
    assert_allclose(first_block(later), first_block(Y), rtol=1e-12)
    later[29] += 1.0
    assert abs(first_block(later) - first_block(Y)).max() > 0.1
