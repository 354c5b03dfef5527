"""Gaussian predictions combined: jointly with and without a prior, and point by point."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import reference
from collegium.combining.joint import JointGaussian, bayesian, correlated, independent
from collegium.kernels import RBF, Matern32
from collegium.rows.chunk import Chunk

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
        predictions.append(JointGaussian(mean, covariance))
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
    nothing = JointGaussian(np.zeros_like(predictions[0].mean), prior)
    with_it, without = bayesian([*predictions, nothing], prior), bayesian(predictions, prior)
    assert_allclose(with_it.mean, without.mean, rtol=1e-8, atol=1e-10)
    assert_allclose(with_it.covariance, without.covariance, rtol=1e-8, atol=1e-11)


def test_a_prior_mean_moves_everything_with_it(modules):
    kernel, _, Xq, predictions = modules
    prior, level = kernel.value(Xq), np.linspace(-3, 4, 16).reshape(8, 2)
    moved = [JointGaussian(g.mean + level, g.covariance) for g in predictions]
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


# --- priors of their own --------------------------------------------------------------------------


def slow(predictions, priors, prior):
    """p(f) Π N(f; mᵢ, Sᵢ)/N(f; pᵢ, Pᵢ), inverse by inverse."""
    inverse = np.linalg.inv
    precision = inverse(prior.covariance)
    shift = precision @ prior.mean
    for given, own in zip(predictions, priors):
        precision = precision + inverse(given.covariance) - inverse(own.covariance)
        shift = shift + inverse(given.covariance) @ given.mean - inverse(own.covariance) @ own.mean
    return np.linalg.solve(precision, shift), inverse(precision)


def conditioned(kernel, level, chunk, Xq):
    """A GP with a constant prior mean: posterior and prior."""
    X, y, w = chunk.load()
    mean, covariance, _ = reference.gp(kernel, NOISE, X, y - level, w, Xq)
    prior = reference.covariance(kernel, Xq)
    return JointGaussian(mean + level, covariance), JointGaussian(np.full_like(mean, level), prior)


def test_every_module_may_start_from_a_prior_of_its_own(modules):
    _, chunks, Xq, _ = modules
    kernels = [Matern32(1.7, [0.8, 1.9]), RBF(0.3, 0.5), Matern32(9.0, [2.1, 0.9])]
    levels = (0.7, -2.0, 4.0)
    made = [conditioned(k, l, c, Xq) for k, l, c in zip(kernels, levels, chunks)]
    predictions, priors = [m[0] for m in made], [m[1] for m in made]
    average = np.mean([own.covariance for own in priors], axis=0)
    common = JointGaussian(np.full_like(predictions[0].mean, 0.9), average)
    found = bayesian(predictions, common, priors=priors)
    mean, covariance = slow(predictions, priors, common)
    assert_allclose(found.mean, mean, rtol=1e-7, atol=1e-8)
    assert_allclose(found.covariance, covariance, rtol=1e-7, atol=1e-9)


def test_equal_priors_of_their_own_are_the_common_prior(modules):
    kernel, _, Xq, predictions = modules
    prior = JointGaussian(np.full((8, 2), 0.4), kernel.value(Xq))
    found = bayesian(predictions, prior, priors=[prior] * 3)
    expected = bayesian(predictions, prior.covariance, 0.4)
    assert_allclose(found.mean, expected.mean, rtol=1e-12, atol=1e-13)
    assert_allclose(found.covariance, expected.covariance, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("level", [0.0, 3.0])
def test_one_module_replaces_the_committees_prior_by_what_it_learnt(level):
    """A module with a vague prior of its own, and a sharp common one: Bayes' rule."""
    rng = np.random.default_rng(2)
    Phi, Phiq = rng.normal(size=(30, 4)), rng.normal(size=(4, 4))
    y = Phi @ rng.normal(size=4) + level + 0.3 * rng.normal(size=30)
    made = {}
    for scale in (50.0, 0.2):
        mean, S, _ = reference.linear_regression(
            Phi, 0.09, y[:, None] - level, np.ones(30), np.zeros((4, 1)), scale * np.eye(4)
        )
        made[scale] = (
            JointGaussian(level + (Phiq @ mean)[:, 0], Phiq @ S @ Phiq.T),
            JointGaussian(np.full(4, level), scale * Phiq @ Phiq.T),
        )
    found = bayesian([made[50.0][0]], made[0.2][1], priors=[made[50.0][1]])
    assert_allclose(found.mean, made[0.2][0].mean, rtol=1e-8, atol=1e-9)
    assert_allclose(found.covariance, made[0.2][0].covariance, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("length", [0.3, 1.0, 4.0])
def test_a_smooth_module_that_learnt_nothing_does_not_speak_by_rounding(modules, length):
    """Its prior excludes all rough functions to rounding; a rough committee must not use that."""
    rng = np.random.default_rng(4)
    X, Xq = rng.uniform(-2, 2, size=(15, 2)), rng.uniform(-2, 2, size=(40, 2))
    chunk = Chunk(0, X, rng.normal(size=(15, 1)), np.ones(15))
    rough, rough_prior = conditioned(Matern32(1.0, 0.7), 0.0, chunk, Xq)
    K = RBF(1.3, length).value(Xq)
    error = 1e-15 * rng.normal(size=K.shape)
    smooth = (
        JointGaussian(np.zeros((40, 1)), K + error + error.T),
        JointGaussian(np.zeros((40, 1)), K),
    )
    common = JointGaussian(np.zeros((40, 1)), 0.5 * (rough_prior.covariance + K))
    alone = bayesian([rough], common, priors=[rough_prior])
    both = bayesian([rough, smooth[0]], common, priors=[rough_prior, smooth[1]])
    assert_allclose(both.mean, alone.mean, atol=1e-4)
    assert_allclose(both.covariance, alone.covariance, atol=1e-4)


@pytest.mark.parametrize("noise", [1e-2, 1e-4, 1e-6])
def test_rounding_of_smooth_modules_does_not_show_in_a_rough_committee(noise):
    rng = np.random.default_rng(4)
    Xq, error = rng.uniform(-2, 2, size=(40, 1)), 1e-15 * rng.normal(size=(40, 40))
    exact, rounded, priors = [], [], []
    for kernel in (Matern32(1.0, 0.7), RBF(1.3, 1.0), RBF(1.0, 2.0)):
        X = rng.uniform(-2, 2, size=(15, 1))
        mean, S, _ = reference.gp(kernel, noise, X, np.sin(2 * X), np.ones(15), Xq)
        exact.append(JointGaussian(mean, S))
        rounded.append(JointGaussian(mean, S + error + error.T))
        priors.append(JointGaussian(np.zeros_like(mean), kernel.value(Xq)))
    average = np.mean([own.covariance for own in priors], axis=0)
    one, other = (
        bayesian(given, JointGaussian(priors[0].mean, average), priors=priors)
        for given in (exact, rounded)
    )
    sd = np.sqrt(one.covariance.diagonal())
    assert_allclose((one.mean - other.mean)[:, 0] / sd, 0.0, atol=2e-4)
    assert_allclose(np.sqrt(other.covariance.diagonal()) / sd, 1.0, atol=2e-4)
    assert_allclose((one.mean - np.sin(2 * Xq))[:, 0] / sd, 0.0, atol=1.0)  # and it is right


def test_exact_knowledge_of_one_point_leaves_the_others_open(modules):
    """A narrow prior of its own, f known at one point: the common prior, given that value."""
    kernel, _, Xq, _ = modules
    P = kernel.value(Xq)
    gain = P[:, :1] / P[0, 0]
    given = P - gain @ P[:1]
    own = JointGaussian(np.zeros((8, 1)), 1e-9 * P)
    told = JointGaussian(0.3 * gain, 1e-9 * given)
    found = bayesian([told], P, priors=[own])
    assert_allclose(found.mean, 0.3 * gain, atol=1e-3)
    assert_allclose(found.covariance, given, atol=1e-3)


# --- singular and degenerate ----------------------------------------------------------------------


def as_expected(found):
    assert np.isfinite(found.mean).all() and np.isfinite(found.covariance).all()
    assert_allclose(found.covariance, found.covariance.T, rtol=0, atol=0)
    assert found.covariance.diagonal().min() >= 0.0
    assert np.linalg.eigvalsh(found.covariance).min() > -1e-12


@pytest.mark.parametrize("unit", [1e-60, 1.0, 1e60])
def test_duplicate_query_points_say_what_they_say_once(modules, unit):
    kernel, _, Xq, predictions = modules
    twice = np.r_[0:8, 2, 5, 5]
    again = [
        JointGaussian(unit * g.mean[twice], unit**2 * g.covariance[np.ix_(twice, twice)])
        for g in predictions
    ]
    prior = unit**2 * kernel.value(Xq[twice])
    for once, found in [
        (bayesian(predictions, kernel.value(Xq)), bayesian(again, prior)),
        (independent(predictions), independent(again)),
    ]:
        as_expected(JointGaussian(found.mean / unit, found.covariance / unit**2))
        assert_allclose(found.mean / unit, once.mean[twice], rtol=1e-7, atol=1e-8)
        assert_allclose(
            found.covariance / unit**2, once.covariance[np.ix_(twice, twice)], rtol=1e-7, atol=1e-9
        )


def test_where_the_prior_has_no_variance_its_mean_stays(modules):
    kernel, _, Xq, predictions = modules
    known = np.where(np.arange(8) == 3, 0.0, 1.0)
    prior = kernel.value(Xq) * np.outer(known, known)
    fitting = [JointGaussian(g.mean, g.covariance * np.outer(known, known)) for g in predictions]
    found = bayesian(fitting, prior, 0.25)
    as_expected(found)
    assert_allclose(found.mean[3], 0.25, rtol=0)
    assert_allclose(found.covariance[3], 0.0, atol=0)
    rest = np.flatnonzero(known)
    without = bayesian(
        [JointGaussian(g.mean[rest], g.covariance[np.ix_(rest, rest)]) for g in predictions],
        kernel.value(Xq[rest]),
        0.25,
    )
    assert_allclose(found.mean[rest], without.mean, rtol=1e-9, atol=1e-10)
    nothing = bayesian(predictions, np.zeros((8, 8)), 0.25)
    assert_allclose(nothing.mean, 0.25)
    assert_allclose(nothing.covariance, 0.0)


@pytest.mark.parametrize("combine", ["bayesian", "independent", "own prior"])
def test_a_module_that_knows_exactly_is_believed(modules, combine):
    kernel, _, Xq, predictions = modules
    prior = kernel.value(Xq)
    truth = np.linalg.cholesky(prior) @ np.linspace(-1, 1, 16).reshape(8, 2)
    exact = JointGaussian(truth, np.zeros((8, 8)))
    if combine == "independent":
        found = independent([*predictions, exact, predictions[0]])
    elif combine == "bayesian":
        found = bayesian([*predictions, exact], prior)
    else:
        own = [JointGaussian(np.zeros((8, 2)), share * prior) for share in (1.0, 1.0, 1.0, 1e-9)]
        found = bayesian([*predictions, exact], own[0], priors=own)
    as_expected(found)
    assert_allclose(found.mean, truth, atol=1e-4)
    assert found.covariance.max() < 1e-6


def test_below_rounding_no_module_is_surer_than_another():
    """One variance of the difference rounded up, one down: their means count the same."""
    prior = np.array([[1.0, 1.0 - 1e-6], [1.0 - 1e-6, 1.0]])
    level, difference = np.ones((2, 2)), np.array([[1.0, -1.0], [-1.0, 1.0]])
    told = [
        JointGaussian(side * np.array([1e-4, -1e-4]), 0.1 * level + side * 1e-17 * difference)
        for side in (-1, 1)
    ]
    assert_allclose(bayesian(told, prior).mean, 0.0, atol=1e-7)


def test_estimators_that_are_all_certain_are_averaged():
    certain = [JointGaussian(np.array([1.0, level]), np.zeros((2, 2))) for level in (2.0, 5.0)]
    for found in (independent(certain), correlated([g.mean for g in certain], np.zeros((4, 4)))):
        assert_allclose(found.mean, [1.0, 3.5])
        assert_allclose(found.covariance, 0.0, atol=0)


def test_the_same_estimator_twice_is_that_estimator(modules):
    """Ω is singular: the copies are perfectly correlated."""
    _, _, _, predictions = modules
    given = predictions[0]
    found = correlated([given.mean] * 2, np.tile(given.covariance, (2, 2)))
    assert_allclose(found.mean, given.mean, rtol=1e-6, atol=1e-7)
    assert_allclose(found.covariance, given.covariance, rtol=1e-6, atol=1e-8)


def test_correlated_estimators_are_weighed_by_their_joint_covariance():
    rng = np.random.default_rng(8)
    root = rng.normal(size=(6, 9))
    omega, means = root @ root.T, rng.normal(size=(3, 2))
    stacked, inverse = np.tile(np.eye(2), (3, 1)), np.linalg.inv(omega)
    covariance = np.linalg.inv(stacked.T @ inverse @ stacked)
    found = correlated(list(means), omega)
    assert_allclose(found.mean, covariance @ stacked.T @ inverse @ means.ravel(), rtol=1e-8)
    assert_allclose(found.covariance, covariance, rtol=1e-8)


def test_no_queries_are_answered_with_nothing():
    nothing = JointGaussian(np.empty(0), np.empty((0, 0)))
    for found in (bayesian([nothing], np.empty((0, 0))), independent([nothing])):
        assert found.mean.shape == (0,) and found.covariance.shape == (0, 0)


# --- bad input ------------------------------------------------------------------------------------

GOOD, SHORT = JointGaussian(np.zeros(3), np.eye(3)), JointGaussian(np.zeros(2), np.eye(2))
NARROW = JointGaussian(np.zeros(3), np.eye(2))
LOPSIDED = JointGaussian(np.zeros(3), np.eye(3) + np.diag([0.5, 0.0], 1))


@pytest.mark.parametrize(
    "words, call",
    [
        ("predictions is empty", lambda: bayesian([], np.eye(3))),
        ("predictions is empty", lambda: independent([])),
        ("means is empty", lambda: correlated([], np.eye(3))),
        (r"predictions\[1\].mean has shape", lambda: independent([GOOD, SHORT])),
        (r"mean has shape \(\)", lambda: bayesian([JointGaussian(0.0, np.eye(1))], np.eye(1))),
        (r"predictions\[0\].covariance has shape", lambda: bayesian([NARROW], np.eye(3))),
        ("prior has shape", lambda: bayesian([GOOD], np.eye(4))),
        ("prior is not symmetric", lambda: bayesian([GOOD], LOPSIDED.covariance)),
        ("prior has negative variances", lambda: bayesian([GOOD], -np.eye(3))),
        ("prior has values that are not finite", lambda: bayesian([GOOD], np.full((3, 3), np.nan))),
        ("prior_mean has shape", lambda: bayesian([GOOD], np.eye(3), np.zeros(2))),
        ("prior_mean is given twice", lambda: bayesian([GOOD], GOOD, 1.0)),
        ("priors has 2", lambda: bayesian([GOOD], GOOD, priors=[GOOD, GOOD])),
        (r"priors\[0\].covariance is not", lambda: bayesian([GOOD], GOOD, priors=[LOPSIDED])),
        ("not finite", lambda: independent([JointGaussian(np.full(3, np.inf), np.eye(3))])),
        (r"means\[1\] has shape", lambda: correlated([np.zeros(3), np.zeros(2)], np.eye(6))),
    ],
)  # fmt: skip
def test_bad_input_is_named(words, call):
    with pytest.raises(ValueError, match=words):
        call()


def test_many_who_are_certain_do_not_drown_what_they_do_not_know():
    rng = np.random.default_rng(0)
    Xq, half = rng.uniform(-3, 3, size=(80, 2)), 40
    P = RBF(1.0, 0.3).value(Xq)
    f = np.linalg.cholesky(P + 1e-10 * np.eye(80)) @ rng.normal(size=80)
    G = np.linalg.solve(P[:half, :half] + 1e-13 * np.eye(half), P[:half]).T
    S = P - G @ P[:half]
    found = bayesian([JointGaussian(G @ f[:half], 0.5 * (S + S.T))] * 200, P)
    unknown = np.arange(80) >= half
    sd = np.sqrt(np.diag(S)[unknown])
    assert np.abs((found.mean - G @ f[:half])[unknown] / sd).max() < 1e-3
    assert_allclose(np.sqrt(np.diag(found.covariance)[unknown]), sd, rtol=0.02)
