"""The four forms of the committee machine agree; the recursions hold one matrix and one vector."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import kernels as sk

import reference
from collegium.answers import local
from collegium.combining.joint import JointGaussian, bayesian
from collegium.combining.recursive import OnlineCommittee, OnlineMoments
from collegium.kernels import RBF, Matern12, Matern32
from collegium.messages.basis import Anchors
from collegium.messages.experts import Block
from collegium.messages.message import normalise
from collegium.rows.chunk import Chunk


def by_moments(problem):
    """Eqs 4-5."""
    found = reference.modules(problem.kernel, problem.noise, problem.chunks, problem.Xs)
    return bayesian([JointGaussian(*module) for module in found], problem.kernel.value(problem.Xs))


def by_messages(problem):
    """App. 10.2, eqs 20-21: what estimators use."""
    basis = Anchors.at(problem.kernel, problem.Xs)
    p = problem.chunks[0].y.shape[1]
    messages = [Block(problem.noise).send(basis, chunk) for chunk in problem.chunks]
    belief = normalise(sum(messages, start=basis.prior(p)))
    mean = local.predict_global(basis, belief, problem.Xs).mean
    return JointGaussian(mean, local.covariance_global(basis, belief, problem.Xs))


def by_online_moments(problem):
    """Sec. 7.1."""
    state = OnlineMoments.start(problem.kernel.value(problem.Xs), problem.chunks[0].y.shape[1])
    for module in reference.modules(problem.kernel, problem.noise, problem.chunks, problem.Xs):
        state = state.add(JointGaussian(*module))
    return state.posterior()


def by_online_measurements(problem):
    """App. 10.2, online."""
    p = problem.chunks[0].y.shape[1]
    state = OnlineCommittee.start(problem.kernel, problem.noise, problem.Xs, p)
    for chunk in problem.chunks:
        state = state.add(*chunk.load())
    return state.joint(problem.Xs)


FORMS = [by_moments, by_messages, by_online_moments, by_online_measurements]
KERNELS = [Matern32(1.7, [0.8, 1.9]), RBF(0.4, [0.5, 0.6]), Matern12(3.0, [2.0, 0.3])]


@pytest.mark.parametrize("kernel", KERNELS, ids=["matern32", "rbf", "matern12"])
@pytest.mark.parametrize("noise", [0.9, 0.02])
@pytest.mark.parametrize("form", FORMS)
def test_all_forms_are_the_committee_machine(make, form, noise, kernel):
    problem = make((9, 1, 14, 6), kernel=kernel, noise=noise)
    mean, cov = reference.bcm_moments(kernel, noise, problem.chunks, problem.Xs)
    found = form(problem)
    assert_allclose(found.mean, mean, rtol=1e-8, atol=1e-9)
    assert_allclose(found.covariance, cov, rtol=0, atol=1e-9 * kernel.variance)


@pytest.mark.parametrize("form", FORMS)
def test_one_module_is_the_exact_gp(make, form):
    problem = make((17,))
    mean, cov, _ = reference.gp(problem.kernel, problem.noise, *problem.rows[:3], problem.Xs)
    found = form(problem)
    assert_allclose(found.mean, mean, rtol=1e-8, atol=1e-9)
    assert_allclose(found.covariance, cov, rtol=0, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_the_order_of_modules_means_nothing(make, form):
    problem = make((9, 1, 14, 6))
    turned = make((9, 1, 14, 6))
    turned.chunks.reverse()
    a, b = form(problem), form(turned)
    assert_allclose(a.mean, b.mean, rtol=1e-9, atol=1e-11)
    assert_allclose(a.covariance, b.covariance, rtol=0, atol=1e-11)


@pytest.mark.parametrize("form", FORMS)
def test_hardly_any_noise_and_many_modules_stay_sound(make, form):
    problem = make((3,) * 12, kernel=RBF(2.0, [3.0, 4.0]), noise=1e-8, weighted=False)
    found = form(problem)
    assert np.isfinite(found.mean).all()
    assert (np.diag(found.covariance) >= 0).all()
    assert np.linalg.eigvalsh(found.covariance).min() > -1e-9


def test_other_points_are_answered_from_the_query_points(problem):
    """Sec. 7.2, eq. 17 and the covariance after it."""
    state = OnlineCommittee.start(problem.kernel, problem.noise, problem.Z, 2)
    for chunk in problem.chunks:
        state = state.add(*chunk.load())
    E, S = reference.bcm_measurements(problem.kernel, problem.noise, problem.chunks, problem.Z)
    Kss = reference.covariance(problem.kernel, problem.Xs)
    P = reference.covariance(problem.kernel, problem.Xs, problem.Z) @ np.linalg.inv(
        reference.covariance(problem.kernel, problem.Z)
    )
    cov = Kss - P @ reference.covariance(problem.kernel, problem.Z, problem.Xs) + P @ S @ P.T
    mean, variance = state.predict(problem.Xs)
    assert_allclose(mean, P @ E, rtol=1e-8, atol=1e-10)
    assert_allclose(variance, np.diag(cov), rtol=1e-8)
    assert_allclose(state.joint(problem.Xs).covariance, cov, rtol=0, atol=1e-10)


@pytest.mark.parametrize("n", [50_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_many_rows_leave_one_matrix_and_one_vector(n):
    rng = np.random.default_rng(0)
    state = OnlineCommittee.start(Matern32(1.3, 0.5), 0.04, np.linspace(-3, 3, 25)[:, None])
    size = len(pickle.dumps(state))
    for _ in range(n // 100):
        X = rng.uniform(-3, 3, size=(100, 1))
        state = state.add(X, np.sin(3 * X[:, 0]) + 0.2 * rng.normal(size=100))
    assert state.n_rows == n
    assert abs(len(pickle.dumps(state)) - size) < 100  # a longer count of rows, nothing else
    Xs = np.linspace(-2.9, 2.9, 60)[:, None]  # between the query points
    mean, variance = state.predict(Xs)
    assert np.abs(mean[:, 0] - np.sin(3 * Xs[:, 0])).max() < 0.05
    assert (variance > 0).all()


@pytest.mark.parametrize("arguments, words", [
    ((np.zeros((3, 3)), np.zeros(3)), "do not fit 2 columns"),
    ((np.zeros((3, 2)), np.zeros((3, 2))), "1 outputs"),
    ((np.full((3, 2), np.nan), np.zeros(3)), "finite"),
    ((np.zeros((3, 2)), np.zeros(3), np.array([1.0, 0.0, 1.0])), "weights positive"),
])  # fmt: skip
def test_rows_that_do_not_fit_are_refused(arguments, words):
    state = OnlineCommittee.start(Matern32(), 0.1, np.zeros((1, 2)))
    with pytest.raises(ValueError, match=words):
        state.add(*arguments)


def test_a_start_without_sense_is_refused():
    with pytest.raises(ValueError, match="queries"):
        OnlineCommittee.start(Matern32(), 0.1, np.zeros(3))
    with pytest.raises(ValueError, match="noise"):
        OnlineCommittee.start(Matern32(), -0.1, np.zeros((2, 1)))


@pytest.mark.parametrize("form", FORMS)
def test_overlapping_chunks_count_what_they_share_twice(make, form):
    problem = make((9, 6, 7))
    first, second = problem.chunks[:2]
    shared = [np.concatenate([a, b[:4]]) for a, b in zip(second.load(), first.load())]
    problem.chunks[1] = Chunk(1, *shared)
    mean, cov = reference.bcm_moments(problem.kernel, problem.noise, problem.chunks, problem.Xs)
    found = form(problem)
    assert_allclose(found.mean, mean, rtol=1e-8, atol=1e-9)
    assert_allclose(found.covariance, cov, rtol=0, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_more_modules_than_rows_and_a_single_query(make, form):
    problem = make((1,) * 6 + (0,) * 3, q=1)
    mean, cov = reference.bcm_moments(problem.kernel, problem.noise, problem.chunks, problem.Xs)
    found = form(problem)
    assert_allclose(found.mean, mean, rtol=1e-8, atol=1e-10)
    assert_allclose(found.covariance, cov, rtol=1e-8)


@pytest.mark.parametrize("form", FORMS)
def test_duplicate_queries_agree_with_each_other(make, form):
    problem = make((9, 1, 14))
    alone = form(problem)
    problem = replace(problem, Xs=np.concatenate([problem.Xs, problem.Xs[:3]]))
    found = form(problem)
    assert_allclose(found.mean[-3:], found.mean[:3], rtol=1e-4, atol=1e-5)
    assert_allclose(found.mean[:7], alone.mean, rtol=1e-4, atol=1e-5)
    assert_allclose(np.diag(found.covariance)[:7], np.diag(alone.covariance), rtol=1e-4)


@pytest.mark.parametrize("form", FORMS)
def test_far_from_all_rows_the_prior_comes_back(make, form):
    problem = make((9, 1, 14))
    problem = replace(problem, Xs=problem.Xs + 1e5)
    found = form(problem)
    assert_allclose(found.mean, 0.0, atol=1e-12)
    assert_allclose(np.diag(found.covariance), problem.kernel.diag(problem.Xs), rtol=1e-9)


@pytest.mark.parametrize("noise", [0.0, 1e-16, 1e-10])
@pytest.mark.parametrize("seed", [1, 24, 30])
def test_without_noise_the_recursion_stays_positive_definite(noise, seed):
    rng = np.random.default_rng(seed)
    state = OnlineCommittee.start(RBF(1.0, 1.0), noise, np.linspace(-3, 3, 25)[:, None])
    for _ in range(80):
        X = rng.uniform(-3, 3, size=(8, 1))
        state = state.add(X, np.sin(2 * X[:, 0]))
        assert np.linalg.eigvalsh(state.covariance).min() > -1e-6
    mean, variance = state.predict(np.linspace(-2.9, 2.9, 31)[:, None])
    assert np.abs(mean[:, 0] - np.sin(2 * np.linspace(-2.9, 2.9, 31))).max() < 0.01
    assert (variance >= 0).all()


def test_modules_that_know_nothing_leave_the_prior_to_rounding():
    P = RBF(1.0, 0.7).value(np.random.default_rng(0).normal(size=(12, 2)))
    state = OnlineMoments.start(P)
    for i in range(30):
        state = state.add(JointGaussian(np.zeros(12), (1.0 + 1e-14 * (-1) ** i) * P))
    found = state.posterior().covariance
    assert np.linalg.eigvalsh(P - found).min() > -1e-9
    assert_allclose(found, P, atol=1e-6)


@pytest.mark.parametrize("points", [
    [[0.5, 9.0]], [0.5], [[np.nan]], np.zeros((2, 3)),
])  # fmt: skip
def test_queries_that_do_not_fit_are_refused(points):
    state = OnlineCommittee.start(Matern32(), 0.1, np.zeros((1, 1)))
    for ask in (state.predict, state.joint):
        with pytest.raises(ValueError, match="give finite points of shape"):
            ask(points)


def test_a_kernel_of_scikit_learn_will_do_and_must_fit_the_columns():
    Q = np.zeros((2, 2))
    ours = OnlineCommittee.start(RBF(1.0, 0.8), 0.1, Q).basis.kernel.value(Q)
    assert_allclose(OnlineCommittee.start(sk.RBF(0.8), 0.1, Q).basis.kernel.value(Q), ours)
    with pytest.raises(ValueError, match="3 values, but X has 2"):
        OnlineCommittee.start(RBF(1.0, [0.8, 0.7, 1.0]), 0.1, Q)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("unit", [2.0**-20, 2.0**20])
def test_the_units_of_y_are_those_of_the_answer(make, form, unit):
    """Also at equal queries: what is added to a diagonal is relative to the prior."""
    problem, square = make((9, 1, 14, 6)), unit**2
    problem = replace(problem, Xs=np.concatenate([problem.Xs, problem.Xs[:3]]))
    chunks = [replace(chunk, y=unit * chunk.y) for chunk in problem.chunks]
    kernel = replace(problem.kernel, variance=square * problem.kernel.variance)
    other = replace(problem, kernel=kernel, noise=square * problem.noise, chunks=chunks)
    found, expected = form(other), form(problem)
    assert_allclose(found.mean / unit, expected.mean, rtol=1e-9, atol=1e-12)
    assert_allclose(found.covariance / square, expected.covariance, rtol=0, atol=1e-11)
