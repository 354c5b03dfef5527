"""Experts combined query by query, and nested kriging, against slow code of each paper."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import reference
from collegium.combining import nested_kriging as nested
from collegium.combining import predictors
from collegium.combining.pointwise import RULES, combine
from collegium.combining.predictors import ExpertsPredictor, NestedKriging
from collegium.engines import Serial, Threads
from collegium.kernels import RBF, Linear, Matern12, Matern32
from collegium.messages.committee import Committee
from collegium.rows.chunk import Chunk

ALL = [rule for rule in RULES if rule != "bcm"]


def slow(rule, means, variances, prior):
    """One query, formula by formula, as the papers write them; grbcm: expert 0 is D_c."""
    M = len(means)
    if rule == "barycenter":  # Cohen et al. (2020)
        beta = [0.5 * (np.log(prior) - np.log(v)) for v in variances]
        beta = [b / sum(beta) for b in beta]
        deviation = sum(b * np.sqrt(v) for b, v in zip(beta, variances))
        return sum(b * m for b, m in zip(beta, means)), deviation**2
    if rule == "grbcm":  # Liu et al. (2018), eqs 12-13
        base, rest = variances[0], list(variances[1:])
        beta = [1.0] + [0.5 * (np.log(base) - np.log(v)) for v in rest[1:]]
        precision = sum(b / v for b, v in zip(beta, rest)) - (sum(beta) - 1) / base
        total = sum(b * m / v for b, m, v in zip(beta, means[1:], rest))
        return (total - (sum(beta) - 1) * means[0] / base) / precision, 1 / precision
    beta = {
        "poe": [1.0] * M,
        "gpoe": [1.0 / M] * M,
        "bcm": [1.0] * M,
        "rbcm": [0.5 * (np.log(prior) - np.log(v)) for v in variances],
    }[rule]
    own = {"poe": 0.0, "gpoe": 0.0}.get(rule, 1.0 / prior)
    precision = sum(b / v for b, v in zip(beta, variances)) + (1 - sum(beta)) * own
    return sum(b * m / v for b, m, v in zip(beta, means, variances)) / precision, 1 / precision


def slow_nested(kernel, noise, chunks, Xs):
    """One query at a time: covariances of the experts' means by the dense prior of all rows."""
    X, y, w, groups = reference.stack(chunks)
    K, Ks, Kss = (reference.covariance(kernel, *a) for a in ((X,), (X, Xs), (Xs,)))
    C = K + np.diag(noise / w)
    means, variances = [], []
    for q in range(len(Xs)):
        B = np.zeros((len(chunks), len(X)))  # M = By
        for i, at in enumerate(groups):
            B[i, at] = np.linalg.solve(C[np.ix_(at, at)], Ks[at, q])
        a = np.linalg.solve(B @ C @ B.T, B @ Ks[:, q])
        means.append(a @ B @ y)
        variances.append(Kss[q, q] - a @ B @ Ks[:, q])
    return np.array(means), np.array(variances)


def committee(problem, chunks=None):
    p = problem.chunks[0].y.shape[1]
    empty = Committee.start(problem.kernel, problem.noise, problem.Z[:0], p)
    return empty.add(chunks or problem.chunks, Serial(), keep=True)


def expert(problem, chunk):
    mean, cov, _ = reference.gp(problem.kernel, problem.noise, *chunk.load(), problem.Xs)
    return mean, np.diag(cov)


# --- rules ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_its_formula(rule):
    rng = np.random.default_rng(7)
    prior = rng.uniform(1.0, 2.0, size=11)
    means, variances = rng.normal(size=(5, 11)), prior * rng.uniform(0.05, 0.9, size=(5, 11))
    variances[1:] = np.minimum(variances[1:], 0.9 * variances[0])
    mean, variance = combine(rule, means, variances, prior)
    for j in range(11):
        expected = slow(rule, means[:, j], variances[:, j], prior[j])
        assert_allclose((mean[j], variance[j]), expected, rtol=1e-12)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "poe"])
def test_where_no_expert_knows_anything_the_prior_comes_back(rule):
    prior = np.array([1.3, 0.4])
    mean, variance = combine(rule, np.zeros((6, 2)), np.tile(prior, (6, 1)), prior)
    assert_allclose(mean, 0.0)
    assert_allclose(variance, prior)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_rules_survive_experts_that_know_all_or_nothing(rule, scale):
    prior = scale * np.array([1.0, 1.0, 1.0, 0.0])
    variances = scale * np.array(
        [[1.0, 1.0, 0.0, 0.0], [1.0, 1.0000001, 0.0, 0.0], [0.3, 1.0, 1e-30, 0.0]]
    )
    means = np.sqrt(scale) * np.array([[0.0, 0.0, 2.0, 0.0], [0.0, 0.0, 2.0, 0.0], [1, 0, 2, 0]])
    mean, variance = combine(rule, means, variances, prior)
    assert np.isfinite(mean).all() and np.isfinite(variance).all()
    assert (variance >= 0).all() and (variance <= 1.0000001 * prior + 1e-200).all()
    assert_allclose(mean[2], 2.0 * np.sqrt(scale), rtol=1e-6)


def test_a_rule_or_a_shape_that_is_wrong_is_named():
    ones = np.ones((2, 3))
    for arguments, words in (
        (("mean", ones, ones, 2.0), "rule='mean'"),
        (("poe", ones, ones[:, :2], 2.0), "variances"),
        (("poe", ones, ones, np.ones(2)), "prior"),
        (("poe", ones[:0], ones[:0], 2.0), "at least 1"),
        (("grbcm", ones[:1], ones[:1], 2.0), "at least 2"),
    ):
        with pytest.raises(ValueError, match=words):
            combine(*arguments)


# --- whole experts --------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [2**30, 0])
@pytest.mark.parametrize("rule", ALL)
def test_experts_are_exact_gps_on_the_chunks(problem, rule, kept, monkeypatch):
    monkeypatch.setattr(predictors, "TUNING", replace(predictors.TUNING, kept_bytes=kept))
    found = ExpertsPredictor.of(committee(problem), rule).predict(problem.Xs, Serial())
    chunks = list(problem.chunks)
    if rule == "grbcm":  # experts on D_c and their own rows
        first = chunks[0]
        chunks = [first] + [
            Chunk(0, *(np.concatenate(pair) for pair in zip(first.load(), c.load())))
            for c in chunks[1:]
        ]
    answers = [expert(problem, chunk) for chunk in chunks]
    prior = np.diag(reference.covariance(problem.kernel, problem.Xs))
    for q in range(len(problem.Xs)):
        for output in range(2):
            means = [mean[q, output] for mean, _ in answers]
            expected = slow(rule, means, [variance[q] for _, variance in answers], prior[q])
            assert_allclose((found.mean[q, output], found.variance[q]), expected, rtol=1e-9)


def test_threads_give_the_same_bits(problem):
    for make in (lambda c: ExpertsPredictor.of(c, "rbcm"), NestedKriging.of):
        one = make(committee(problem)).predict(problem.Xs, Serial())
        two = make(committee(problem)).predict(problem.Xs, Threads(3))
        assert (one.mean == two.mean).all() and (one.variance == two.variance).all()


def test_queries_in_batches_are_answered_as_in_one(problem, monkeypatch):
    for make in (lambda c: ExpertsPredictor.of(c, "grbcm"), NestedKriging.of):
        whole = make(committee(problem)).predict(problem.Xs, Serial())
        small = replace(predictors.ANSWERS.predictors, batch=2)
        monkeypatch.setattr(predictors, "ANSWERS", replace(predictors.ANSWERS, predictors=small))
        parts = make(committee(problem)).predict(problem.Xs, Serial())
        monkeypatch.undo()
        assert_allclose(parts.mean, whole.mean, rtol=1e-12)
        assert_allclose(parts.variance, whole.variance, rtol=1e-12)


def test_a_product_of_experts_is_surer_than_any_and_the_barycenter_is_between(problem):
    prior = problem.kernel.diag(problem.Xs)
    variances = np.array([expert(problem, chunk)[1] for chunk in problem.chunks])
    poe = ExpertsPredictor.of(committee(problem), "poe").predict(problem.Xs, Serial()).variance
    mid = (
        ExpertsPredictor.of(committee(problem), "barycenter").predict(problem.Xs, Serial()).variance
    )
    assert (poe < variances.min(axis=0)).all()
    assert (variances.min(axis=0) <= mid).all() and (mid <= prior).all()


def test_a_communication_set_and_one_expert_are_the_exact_gp(make):
    """β = 1 for the first enhanced expert: D_c drops out (Liu et al. 2018)."""
    problem = make((7, 12))
    found = ExpertsPredictor.of(committee(problem), "grbcm").predict(problem.Xs, Serial())
    mean, cov, _ = reference.gp(problem.kernel, problem.noise, *problem.rows[:3], problem.Xs)
    assert_allclose(found.mean, mean, rtol=1e-8, atol=1e-10)
    assert_allclose(found.variance, np.diag(cov), rtol=1e-8)


# --- nested kriging -------------------------------------------------------------------------------


def test_nested_kriging_is_the_best_linear_use_of_the_experts(problem):
    found = NestedKriging.of(committee(problem)).predict(problem.Xs, Serial())
    mean, variance = slow_nested(problem.kernel, problem.noise, problem.chunks, problem.Xs)
    assert_allclose(found.mean, mean, rtol=1e-8, atol=1e-10)
    assert_allclose(found.variance, variance, rtol=1e-8)


@pytest.mark.parametrize("sizes", [(20,), (1,) * 20])
def test_nested_kriging_with_one_expert_or_one_row_experts_is_the_exact_gp(make, sizes):
    problem = make(sizes)
    mean, cov, _ = reference.gp(problem.kernel, problem.noise, *problem.rows[:3], problem.Xs)
    found, joint = NestedKriging.of(committee(problem)).joint(problem.Xs, Serial())
    assert_allclose(found.mean, mean, rtol=1e-7, atol=1e-9)
    assert_allclose(found.variance, np.diag(cov), rtol=1e-7)
    assert_allclose(joint, cov, rtol=0, atol=1e-9)


def test_nested_kriging_knows_more_than_any_expert_and_less_than_the_exact_gp(problem):
    variance = NestedKriging.of(committee(problem)).predict(problem.Xs, Serial()).variance
    exact = reference.gp(problem.kernel, problem.noise, *problem.rows[:3], problem.Xs)[1]
    best = np.min([expert(problem, chunk)[1] for chunk in problem.chunks], axis=0)
    assert (np.diag(exact) < variance).all() and (variance < best).all()


def test_the_joint_error_of_nested_kriging_is_that_of_a_linear_predictor(problem):
    predictor = NestedKriging.of(committee(problem))
    found, cov = predictor.joint(problem.Xs, Serial())
    X, _, w, groups = problem.rows
    omega = np.zeros((len(X), len(problem.Xs)))
    for at, weights in zip(groups, predictor._batch(problem.Xs, Serial())[1]):
        omega[at] = weights
    K, Ks = (
        reference.covariance(problem.kernel, X),
        reference.covariance(problem.kernel, X, problem.Xs),
    )
    C = K + np.diag(problem.noise / w)
    expected = reference.covariance(problem.kernel, problem.Xs) + omega.T @ C @ omega
    expected = expected - omega.T @ Ks - Ks.T @ omega
    assert_allclose(cov, expected, rtol=0, atol=1e-12)
    assert_allclose(np.diag(cov), found.variance, rtol=1e-8)
    assert np.linalg.eigvalsh(cov).min() > 0


def test_experts_that_say_the_same_or_nothing_do_not_break_nested_kriging():
    cross = np.array([[0.5, 0.0, 0.2], [0.5, 0.0, 0.0], [0.0, 0.0, 0.1]])
    joint = np.zeros((3, 3, 3))
    joint[:2, :2, 0] = 0.5  # two equal experts, one silent
    joint[0, 0, 2], joint[2, 2, 2] = 0.2, 0.1
    a = nested.best_linear(cross, joint, np.ones(3))
    assert np.isfinite(a).all()
    assert_allclose(a[:, 0] @ cross[:, 0], 0.5, rtol=1e-6)
    assert_allclose(a[:, 1], 0.0)
    assert_allclose(a[:, 2], [1.0, 0.0, 1.0])


def test_far_from_all_rows_nested_kriging_is_the_prior(problem):
    far = problem.Xs + 1e4
    found = NestedKriging.of(committee(problem)).predict(far, Serial())
    assert_allclose(found.mean, 0.0, atol=1e-12)
    assert_allclose(found.variance, problem.kernel.diag(far))


@pytest.mark.parametrize("rule", [*ALL, "npae"])
def test_a_kernel_without_variance_at_the_query_gives_zero(make, rule):
    problem = make((5, 6, 4), kernel=Linear(0.8) + 1e-30 * Matern32())
    found = committee(problem)
    predictor = NestedKriging.of(found) if rule == "npae" else ExpertsPredictor.of(found, rule)
    at_origin = predictor.predict(np.zeros((2, 2)), Serial())
    assert_allclose(at_origin.mean, 0.0, atol=1e-12)
    assert (at_origin.variance >= 0).all() and (at_origin.variance < 1e-12).all()


@pytest.mark.parametrize("kernel, at", [
    (Matern12(1.0, 0.5), 187.9699248120301), (RBF(1.0, 0.5), 16.265664160401002),
    (Matern32(1.0, 0.5), 111.278),
])  # fmt: skip
def test_covariances_that_are_all_but_zero_do_not_break_nested_kriging(kernel, at):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(60, 1))
    chunks = [Chunk(i, X[i::6], np.sin(2 * X[i::6]), np.ones(10)) for i in range(6)]
    empty = Committee.start(kernel, 0.01, X[:0], 1)
    predictor = NestedKriging.of(empty.add(chunks, Serial(), keep=True))
    far = at + np.linspace(-3, 3, 61)[:, None]
    found = predictor.predict(far, Serial())
    assert_allclose(found.mean, 0.0, atol=1e-12)
    assert_allclose(found.variance, 1.0)


@pytest.mark.parametrize("arguments", [
    ([[1.0], [1.0]], [[-0.1], [0.1]], [1.0]), ([[np.nan], [1.0]], [[0.1], [0.1]], [1.0]),
    ([[1.0], [1.0]], [[0.1], [np.inf]], [1.0]), ([[1.0]], [[0.1]], [-1.0]),
    ([[1.0], [1.0, 2.0]], [[0.1], [0.1]], [1.0]),
])  # fmt: skip
def test_what_is_no_prediction_is_refused(arguments):
    with pytest.raises(ValueError, match="means|prior"):
        combine("poe", *arguments)
