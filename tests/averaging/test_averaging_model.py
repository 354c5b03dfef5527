"""Kernel, priors and evidence of the model of few rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

import reference
from collegium.averaging import model
from collegium.averaging.model import SmallTable, weak_prior
from collegium.averaging.tuning import TUNING

THETA = np.array([0.4, 0.3, -0.9, -0.6, 0.5, -0.7, 0.2])


def rows(n=12, d=3, seed=3, levels=()):
    rng = np.random.default_rng(seed)
    X = 1.6 * rng.normal(size=(n, d))  # some beyond ±2.5
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=n)
    X[:, list(levels)] = rng.integers(-2, 4, (n, len(levels)))
    return X, y


def table(n=12, d=3, levels=()):
    X, y = rows(n, d, levels=levels)
    return SmallTable(X, y, np.random.default_rng(5).uniform(0.4, 3.0, n), levels)


some_levels = pytest.mark.parametrize("levels", [(), (1,), (0, 2)], ids=["none", "one", "two"])


@some_levels
@pytest.mark.parametrize("size", [4, 7])
def test_covariances_are_the_plain_formula(size, levels):
    (X, _), theta = rows(levels=levels), THETA[:size]
    assert np.abs(X).max() > TUNING.clip
    slow = reference.few_rows_covariance(theta, X, X, levels)
    assert_allclose(model.prior_covariance(theta, X, levels=levels), slow, rtol=1e-12)
    assert_allclose(model.prior_covariance(theta, X[:5], X, levels), slow[:5], rtol=1e-12)
    squares = model.linear_squares(X, levels)
    assert_allclose(model.prior_variances(theta, squares), np.diag(slow), rtol=1e-12)


@some_levels
@pytest.mark.parametrize("size", [4, 7])
def test_the_evidence_is_the_log_density_of_y(size, levels):
    (X, y), theta = rows(levels=levels), THETA[:size]
    found, _ = SmallTable(X, y, np.ones(y.size), levels).log_evidence(theta)
    assert_allclose(found, reference.few_rows_evidence(theta, X, y, levels), rtol=1e-12)


def test_a_weight_is_a_repetition():
    X, y = rows()
    w = np.array([1.0, 3.0, 2.0] + [1.0] * 9)
    found, _ = SmallTable(X, y, w).log_evidence(THETA)
    again = np.repeat(np.arange(y.size), w.astype(int))
    assert_allclose(found, reference.few_rows_evidence(THETA, X[again], y[again]), rtol=1e-12)


@some_levels
@pytest.mark.parametrize("size", [4, 7])
def test_gradients_are_those_of_the_evidence_and_of_the_posterior(size, levels):
    rows, theta = table(levels=levels), THETA[:size]
    slow = reference.gradient(lambda t: rows.log_evidence(t)[0], theta)
    assert_allclose(rows.log_evidence(theta)[1], slow, rtol=1e-7, atol=1e-7)
    weak = weak_prior(3, 1.3 if size > 4 else 0.0)
    slow = reference.gradient(lambda t: rows.log_posterior(t, weak)[0], theta)
    assert_allclose(rows.log_posterior(theta, weak)[1], slow, rtol=1e-7, atol=1e-7)


@some_levels
@pytest.mark.parametrize("size", [4, 7])
def test_information_is_the_average_of_observed_and_expected(size, levels):
    """½ αᵀAᵢA⁻¹Aⱼα, with derivatives of A by central differences of the plain formula."""
    few, theta = table(levels=levels), THETA[:size]

    def A(at):
        noise = np.exp(2.0 * at[model.NOISE]) / few.w
        return reference.few_rows_covariance(at, few.X, few.X, levels) + np.diag(noise)

    steps = 1e-5 * np.eye(size)
    D = [(A(theta + s) - A(theta - s)) / 2e-5 for s in steps]
    V = np.stack([d @ np.linalg.solve(A(theta), few.y) for d in D], axis=1)
    slow = 0.5 * V.T @ np.linalg.solve(A(theta), V)
    assert_allclose(few.information(theta), slow, rtol=1e-3, atol=1e-3 * np.abs(slow).max())


def test_without_deltas_all_columns_have_one_length_scale():
    rows = table()
    theta = np.concatenate([THETA[:4], np.zeros(3)])
    value, gradient = rows.log_evidence(theta)
    shared, shared_gradient = rows.log_evidence(THETA[:4])
    assert_allclose(shared, value, rtol=1e-13)
    assert_allclose(shared_gradient, gradient[:4], rtol=1e-10)
    assert_allclose(gradient[4:].sum(), gradient[0], rtol=1e-10)


def test_priors_are_those_of_the_docstring():
    weak, theta = weak_prior(3, 2.0), THETA
    own = [
        norm(0.5 * np.log(3) + 0.7, 1.0), norm(0, 1), norm(-1.5, 1.5), norm(-1, 1.5),
        *[norm(0, 2.0)] * 3,
    ]  # fmt: skip
    slow = sum(p.logpdf(t) - p.logpdf(p.mean()) for p, t in zip(own, theta))
    assert_allclose(weak.log_density(theta)[0], slow, rtol=1e-12)
    assert (weak.low[2], weak.high[2]) == (-6.0, 1.0)
    assert weak_prior(3, 0.0).centre.size == 4
