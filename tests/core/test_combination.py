"""Gaussian predictions combined: jointly with and without a prior, and point by point."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import reference
from collegium.core import combination
from collegium.core.chunk import Chunk
from collegium.core.combination import Gaussian, bayesian, correlated, independent
from collegium.core.kernels import RBF, Matern32

NOISE = 0.07


@pytest.fixture(params=[Matern32(1.7, [0.8, 1.9]), RBF(0.6, [0.5, 0.7])], ids=["rough", "smooth"])
def modules(request):
    """Three exact GPs on chunks of their own, asked at eight common points."""
    rng = np.random.default_rng(3)
    kernel, Xq = request.param, rng.uniform(-1.5, 1.5, size=(8, 2))
    chunks = []
    for i, n in enumerate((6, 9, 4)):
        X = rng.uniform(-2, 2, size=(n, 2))
        y = np.column_stack([np.sin(X.sum(axis=1)), X[:, 0] * X[:, 1]])
        chunks.append(Chunk(i, X, y, np.ones(n)))
    predictions = []
    for chunk in chunks:
        mean, covariance, _ = reference.gp(kernel, NOISE, *chunk.load(), Xq)
        predictions.append(Gaussian(mean, covariance))
    return kernel, chunks, Xq, predictions


def test_bayesian_is_eqs_4_and_5(modules):
    kernel, _, Xq, predictions = modules
    prior = np.linalg.inv(kernel.value(Xq))
    precisions = [np.linalg.inv(given.covariance) for given in predictions]
    covariance = np.linalg.inv(sum(precisions) - (len(predictions) - 1) * prior)
    mean = covariance @ sum(P @ g.mean for P, g in zip(precisions, predictions))
    found = bayesian(predictions, kernel.value(Xq))
    assert_allclose(found.mean, mean, rtol=1e-8, atol=1e-9)
    assert_allclose(found.covariance, covariance, rtol=1e-8, atol=1e-10)


def test_one_module_is_left_as_it_is(modules):
    kernel, _, Xq, predictions = modules
    found = bayesian(predictions[:1], kernel.value(Xq))
    assert_allclose(found.mean, predictions[0].mean, rtol=1e-9, atol=1e-10)
    assert_allclose(found.covariance, predictions[0].covariance, rtol=1e-9, atol=1e-11)


def test_a_module_that_knows_nothing_changes_nothing(modules):
    kernel, _, Xq, predictions = modules
    prior = kernel.value(Xq)
    nothing = Gaussian(np.zeros_like(predictions[0].mean), prior)
    with_it, without = bayesian([*predictions, nothing], prior), bayesian(predictions, prior)
    assert_allclose(with_it.mean, without.mean, rtol=1e-8, atol=1e-10)
    assert_allclose(with_it.covariance, without.covariance, rtol=1e-8, atol=1e-11)


def test_a_prior_mean_moves_everything_with_it(modules):
    kernel, _, Xq, predictions = modules
    prior, level = kernel.value(Xq), np.linspace(-3, 4, 16).reshape(8, 2)
    moved = [Gaussian(g.mean + level, g.covariance) for g in predictions]
    found, plain = bayesian(moved, prior, level), bayesian(predictions, prior)
    assert_allclose(found.mean, plain.mean + level, rtol=1e-9, atol=1e-10)


def test_without_a_prior_the_committee_is_the_frequentist_combination(modules):
    _, _, Xq, predictions = modules
    wide = bayesian(predictions, 1e7 * (np.eye(8) + 0.3))
    free = independent(predictions)
    assert_allclose(wide.mean, free.mean, rtol=1e-5, atol=1e-6)
    assert_allclose(wide.covariance, free.covariance, rtol=1e-5, atol=1e-7)


def test_independent_is_correlated_with_a_block_diagonal(modules):
    _, _, _, predictions = modules
    omega = np.zeros((24, 24))
    for i, given in enumerate(predictions):
        omega[8 * i : 8 * i + 8, 8 * i : 8 * i + 8] = given.covariance
    found = correlated([given.mean for given in predictions], omega)
    expected = independent(predictions)
    assert_allclose(found.mean, expected.mean, rtol=1e-7, atol=1e-9)
    assert_allclose(found.covariance, expected.covariance, rtol=1e-7, atol=1e-10)


def test_no_other_unbiased_combination_has_less_variance():
    rng = np.random.default_rng(5)
    root = rng.normal(size=(9, 12))
    omega = root @ root.T / 12 + 0.01 * np.eye(9)
    best = correlated([np.zeros(3)] * 3, omega).covariance
    stacked = np.tile(np.eye(3), (3, 1))
    for _ in range(200):
        A = rng.normal(size=(3, 9))
        A = A + (np.eye(3) - A @ stacked) @ stacked.T / 3  # A I = identity: unbiased
        assert np.linalg.eigvalsh(A @ omega @ A.T - best).min() > -1e-10


def test_a_covariance_of_the_wrong_size_is_refused():
    with pytest.raises(ValueError, match="covariance has shape"):
        correlated([np.zeros(3), np.zeros(3)], np.eye(5))


# --- point by point -------------------------------------------------------------------------------


def slow(rule, means, variances, prior):
    """One query at a time, formula by formula (spec of each paper)."""
    M = len(means)
    if rule == "barycenter":
        beta = [0.5 * (np.log(prior) - np.log(v)) for v in variances]
        beta = [b / sum(beta) for b in beta]
        deviation = sum(b * np.sqrt(v) for b, v in zip(beta, variances))
        return sum(b * m for b, m in zip(beta, means)), deviation**2
    if rule == "grbcm":
        base, rest = variances[0], list(variances[1:])
        beta = [1.0] + [0.5 * (np.log(base) - np.log(v)) for v in rest[1:]]
        precision = sum(b / v for b, v in zip(beta, rest)) + (1 - sum(beta)) / base
        total = sum(b * m / v for b, m, v in zip(beta, means[1:], rest))
        total += (1 - sum(beta)) * means[0] / base
        return total / precision, 1 / precision
    beta = {
        "poe": [1.0] * M,
        "gpoe": [1.0 / M] * M,
        "bcm": [1.0] * M,
        "rbcm": [0.5 * (np.log(prior) - np.log(v)) for v in variances],
    }[rule]
    own = {"poe": 0.0, "gpoe": 0.0}.get(rule, 1.0 / prior)
    precision = sum(b / v for b, v in zip(beta, variances)) + (1 - sum(beta)) * own
    return sum(b * m / v for b, m, v in zip(beta, means, variances)) / precision, 1 / precision


@pytest.mark.parametrize("rule", ["poe", "gpoe", "bcm", "rbcm", "grbcm", "barycenter"])
def test_each_rule_is_its_formula(rule):
    rng = np.random.default_rng(7)
    prior = rng.uniform(1.0, 2.0, size=11)
    means, variances = rng.normal(size=(5, 11)), prior * rng.uniform(0.05, 0.9, size=(5, 11))
    variances[1:] = np.minimum(variances[1:], 0.9 * variances[0])
    mean, variance = getattr(combination, rule)(means, variances, prior)
    for j in range(11):
        expected = slow(rule, means[:, j], variances[:, j], prior[j])
        assert_allclose((mean[j], variance[j]), expected, rtol=1e-12)


@pytest.mark.parametrize("rule", ["bcm", "rbcm"])
def test_where_no_expert_knows_anything_the_prior_comes_back(rule):
    prior = np.array([1.3, 0.4])
    means, variances = np.zeros((6, 2)), np.tile(prior, (6, 1))
    mean, variance = getattr(combination, rule)(means, variances, prior)
    assert_allclose(mean, 0.0)
    assert_allclose(variance, prior)


def test_the_pointwise_committee_is_the_joint_one_at_a_single_query(modules):
    kernel, _, Xq, predictions = modules
    means = np.array([g.mean[:1, 0] for g in predictions])
    variances = np.array([g.covariance[:1, 0] for g in predictions])
    mean, variance = combination.bcm(means, variances, kernel.diag(Xq[:1]))
    single = [Gaussian(g.mean[:1, 0], g.covariance[:1, :1]) for g in predictions]
    found = bayesian(single, kernel.value(Xq[:1]))
    assert_allclose((mean[0], variance[0]), (found.mean[0], found.covariance[0, 0]), rtol=1e-10)
