"""The local correction between its limits: PITC, PIC, the exact GP."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial import cKDTree

import reference
from collegium.answers.local import Shared, correct, covariance_global, predict_global
from collegium.answers.predictors import LocalPredictor
from collegium.engines import Serial
from collegium.kernels import RBF, Linear, Matern12, Matern32, White
from collegium.messages.basis import Anchors
from collegium.messages.committee import Committee
from collegium.messages.experts import Block
from collegium.messages.message import normalise
from collegium.rows.nearest import nearest
from collegium.rows.rows import Rows

KERNELS = {
    "Matern32": Matern32(1.7, [0.8, 1.9]),
    "white": Matern12(1.1, [1.4, 0.7]) + White(0.3),
    "linear": RBF(0.8, 0.7) + Linear([1.5, 0.9]) + White(0.1) * Matern32(1.0, 2.0),
}


@pytest.fixture(params=KERNELS.values(), ids=KERNELS.keys())
def case(request, make):
    """Four chunks of nine rows, so that a query's own chunk is nine neighbours."""
    return make((9, 9, 9, 9), kernel=request.param)


def believe(problem, chunks=None):
    total = problem.basis.prior(2)
    for chunk in problem.chunks if chunks is None else chunks:
        total = total + Block(problem.noise).send(problem.basis, chunk)
    return normalise(total)


def rows_of(problem):
    return Rows(*problem.rows[:3])


def neighbours_of(problem, k):
    """k rows for each query, nearest first."""
    return nearest(cKDTree(problem.rows[0]), problem.Xs, k)


def slow_correction(problem, belief, neighbours):
    """Spec by the book: w, t, mean and the covariance of every pair of queries, in loops."""
    kernel, noise, Xs = problem.kernel, problem.noise, problem.Xs
    X, y, weight, _ = problem.rows
    L = problem.basis.factor
    V = np.linalg.solve(L, reference.covariance(kernel, problem.Z, X))
    Vs = np.linalg.solve(L, reference.covariance(kernel, problem.Z, Xs))
    K, Ks, Kss = (
        reference.covariance(kernel, X),
        reference.covariance(kernel, X, Xs),
        reference.covariance(kernel, Xs),
    )
    q = Xs.shape[0]
    w, t, mean = [], [], []
    for a in range(q):
        N = neighbours[a]
        C = K[np.ix_(N, N)] - V[:, N].T @ V[:, N] + np.diag(noise / weight[N])
        w.append(np.linalg.solve(C, Ks[N, a] - V[:, N].T @ Vs[:, a]))
        t.append(Vs[:, a] - V[:, N] @ w[a])
        mean.append(t[a] @ belief.mean + w[a] @ y[N])
    cov = np.empty((q, q))
    S = belief.covariance
    for a in range(q):
        for b in range(q):
            total = Kss[a, b] - Vs[:, a] @ Vs[:, b] + t[a] @ S @ t[b]
            for i, row in zip(range(len(w[a])), neighbours[a]):
                total -= w[a][i] * (Ks[row, b] - V[:, row] @ Vs[:, b])
            for j, row in zip(range(len(w[b])), neighbours[b]):
                total -= w[b][j] * (Ks[row, a] - V[:, row] @ Vs[:, a])
            for i, row in zip(range(len(w[a])), neighbours[a]):
                for j, other in zip(range(len(w[b])), neighbours[b]):
                    shared = noise / weight[row] if row == other else 0.0
                    c = K[row, other] - V[:, row] @ V[:, other] + shared
                    total += w[a][i] * c * w[b][j]
            cov[a, b] = total
    return np.array(mean), cov


# --- limits ---------------------------------------------------------------------------------------


def test_no_neighbours_is_pitc(case):
    belief = believe(case)
    mean, cov, _ = reference.sparse_gp(
        "pitc", case.kernel, case.noise, case.chunks, case.Z, case.Xs
    )
    found = predict_global(case.basis, belief, case.Xs)
    assert_allclose(found.mean, mean, rtol=1e-7, atol=1e-8)
    assert_allclose(found.variance, cov.diagonal(), rtol=1e-7, atol=1e-8)
    assert_allclose(covariance_global(case.basis, belief, case.Xs), cov, rtol=1e-7, atol=1e-8)


def test_no_rows_in_common_is_pitc_too(case):
    nothing = Rows(np.empty((0, 2)), np.empty((0, 2)), np.empty(0))
    belief = believe(case)
    shared = Shared.of(case.basis, case.noise, nothing)
    expected = predict_global(case.basis, belief, case.Xs)
    found = shared.predict(case.basis, belief, case.Xs)
    assert_allclose(found.mean, expected.mean, rtol=1e-13)
    assert_allclose(found.variance, expected.variance, rtol=1e-13)
    assert_allclose(
        shared.covariance(case.basis, belief, case.Xs),
        covariance_global(case.basis, belief, case.Xs),
        rtol=1e-12,
        atol=1e-14,
    )


def test_a_correction_by_no_rows_is_pitc(problem):
    belief = believe(problem)
    none = np.empty((problem.Xs.shape[0], 0), dtype=int)
    found = correct(problem.basis, problem.noise, rows_of(problem), problem.Xs, none)
    expected = predict_global(problem.basis, belief, problem.Xs)
    found = found.predict(problem.basis, belief, problem.Xs)
    assert_allclose(found.mean, expected.mean, rtol=1e-13)


def pic(case):
    """Each query with a chunk of its own: neighbours, and the dense answer."""
    own = np.arange(case.Xs.shape[0]) % len(case.chunks)
    groups = case.rows[3]
    mean, cov, _ = reference.sparse_gp(
        "pic", case.kernel, case.noise, case.chunks, case.Z, case.Xs, own
    )
    return own, np.stack([groups[i] for i in own]), mean, cov


def test_the_own_chunk_is_pic(case):
    _, neighbours, mean, cov = pic(case)
    belief = believe(case)
    found = correct(case.basis, case.noise, rows_of(case), case.Xs, neighbours)
    found = found.predict(case.basis, belief, case.Xs)
    assert_allclose(found.mean, mean, rtol=1e-7, atol=1e-8)
    assert_allclose(found.variance, cov.diagonal(), rtol=1e-7, atol=1e-8)


def test_pic_for_all_queries_of_one_chunk_has_the_dense_covariance(case):
    belief = believe(case)
    own = np.full(case.Xs.shape[0], 2)
    mean, cov, _ = reference.sparse_gp(
        "pic", case.kernel, case.noise, case.chunks, case.Z, case.Xs, own
    )
    shared = Shared.of(case.basis, case.noise, Rows(*case.chunks[2].load()))
    assert_allclose(shared.predict(case.basis, belief, case.Xs).mean, mean, rtol=1e-7, atol=1e-8)
    assert_allclose(shared.covariance(case.basis, belief, case.Xs), cov, rtol=1e-7, atol=1e-8)


def test_pic_is_the_exact_gp_on_the_chunk_whose_prior_is_the_belief_of_the_others(case):
    expert, basis = Block(case.noise), case.basis
    total = basis.prior(2)
    for chunk in case.chunks:
        total = total + expert.send(basis, chunk)
    belief = normalise(total)
    for chunk in case.chunks:
        cavity = normalise(total - expert.send(basis, chunk))
        both = np.concatenate([chunk.X, case.Xs])
        prior_mean = predict_global(basis, cavity, both).mean
        prior_cov = covariance_global(basis, cavity, both)
        n = chunk.n
        mean, cov = reference.condition(
            prior_cov[:n, :n] + np.diag(case.noise / chunk.w),
            prior_cov[n:, :n],
            prior_cov[n:, n:],
            chunk.y - prior_mean[:n],
        )
        shared = Shared.of(basis, case.noise, Rows(*chunk.load()))
        found = shared.predict(basis, belief, case.Xs)
        assert_allclose(found.mean, prior_mean[n:] + mean, rtol=1e-7, atol=1e-9)
        assert_allclose(found.variance, cov.diagonal(), rtol=1e-7, atol=1e-9)
        assert_allclose(shared.covariance(basis, belief, case.Xs), cov, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("m", [0, 1, 6])
def test_all_rows_of_one_chunk_are_the_exact_gp(m, case):
    one = replace(case, chunks=[case.merged], Z=case.Z[:m])
    belief = believe(one)
    mean, cov, _ = reference.gp(one.kernel, one.noise, *one.merged.load(), one.Xs)
    rows = rows_of(one)
    shared = Shared.of(one.basis, one.noise, rows)
    everyone = np.tile(np.arange(36), (one.Xs.shape[0], 1))
    corrected = correct(one.basis, one.noise, rows, one.Xs, everyone)
    for found in (shared, corrected):
        answer = found.predict(one.basis, belief, one.Xs)
        assert_allclose(answer.mean, mean, rtol=1e-7, atol=1e-8)
        assert_allclose(answer.variance, cov.diagonal(), rtol=1e-7, atol=1e-8)
        assert_allclose(found.covariance(one.basis, belief, one.Xs), cov, rtol=1e-7, atol=1e-8)


# --- between the limits ---------------------------------------------------------------------------


@pytest.mark.diagonal
@pytest.mark.parametrize("k", [1, 4, 13, 25])  # the last shares one residual
def test_moments_are_the_pairwise_formulas(k, case):
    belief, neighbours = believe(case), neighbours_of(case, k)
    found = correct(case.basis, case.noise, rows_of(case), case.Xs, neighbours)
    mean, cov = slow_correction(case, belief, neighbours)
    answer = found.predict(case.basis, belief, case.Xs)
    assert_allclose(answer.mean, mean, rtol=1e-7, atol=1e-9)
    assert_allclose(answer.variance, cov.diagonal(), rtol=1e-7, atol=1e-9)
    joint = found.covariance(case.basis, belief, case.Xs)
    assert_allclose(joint, cov, rtol=1e-7, atol=1e-9)
    assert_array_equal(joint, joint.T)
    assert np.linalg.eigvalsh(joint).min() > -1e-12


@pytest.mark.parametrize("queries", ["apart", "together"])
def test_a_correction_is_the_formula_apart_and_together(queries, make):
    # "apart": 18 rows for 3 neighbours of each of 6; "together": the same 20 for all.
    problem = make((40, 40), q=6, kernel=KERNELS["white"])
    neighbours = np.random.default_rng(1).permutation(80)[:18].reshape(6, 3)
    if queries == "together":
        neighbours = np.tile(np.arange(20), (6, 1))
    belief = believe(problem)
    found = correct(problem.basis, problem.noise, rows_of(problem), problem.Xs, neighbours)
    answer = found.predict(problem.basis, belief, problem.Xs)
    mean, cov = slow_correction(problem, belief, neighbours)
    assert_allclose(answer.mean, mean, rtol=1e-8, atol=1e-9)
    assert_allclose(found.covariance(problem.basis, belief, problem.Xs), cov, rtol=1e-7, atol=1e-9)
    for i in range(6):
        X = problem.Xs[i : i + 1]
        alone = correct(problem.basis, problem.noise, rows_of(problem), X, neighbours[i : i + 1])
        alone = alone.predict(problem.basis, belief, X)
        assert_allclose(alone.mean[0], answer.mean[i], rtol=1e-10, atol=1e-12)
        assert_allclose(alone.variance[0], answer.variance[i], rtol=1e-10, atol=1e-12)


def test_moments_do_not_depend_on_other_queries(case):
    belief, neighbours = believe(case), neighbours_of(case, 5)
    rows = rows_of(case)

    def moments(chosen):
        X = case.Xs[chosen]
        found = correct(case.basis, case.noise, rows, X, neighbours[chosen])
        answer = found.predict(case.basis, belief, X)
        return answer.mean, answer.variance, found.covariance(case.basis, belief, X)

    mean, variance, cov = moments(np.arange(7))
    for chosen in ([3], [5, 0], [6, 2, 3, 1]):
        some = moments(np.array(chosen))
        assert_allclose(some[0], mean[chosen], rtol=1e-9, atol=1e-11)
        assert_allclose(some[1], variance[chosen], rtol=1e-9, atol=1e-11)
        assert_allclose(some[2], cov[np.ix_(chosen, chosen)], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("k", [6, 25])
def test_the_order_of_neighbours_does_not_matter(k, case):
    belief, neighbours = believe(case), neighbours_of(case, k)
    rng = np.random.default_rng(2)
    shuffled = rng.permuted(neighbours, axis=1)
    answers = []
    for N in (neighbours, shuffled):
        found = correct(case.basis, case.noise, rows_of(case), case.Xs, N)
        answers.append((found.predict(case.basis, belief, case.Xs).mean,
                        found.covariance(case.basis, belief, case.Xs)))  # fmt: skip
    assert_allclose(answers[0][0], answers[1][0], rtol=1e-9, atol=1e-11)
    assert_allclose(answers[0][1], answers[1][1], rtol=1e-9, atol=1e-11)


def test_covariance_of_many_neighbours_is_that_of_the_formula_in_matrices(make):
    # 1,500 rows in the union: too many for one block of K.
    problem = make((750, 750), q=15, noise=0.05, kernel=KERNELS["white"], weighted=True)
    neighbours = np.random.default_rng(3).permutation(1500).reshape(15, 100)
    belief, basis = believe(problem), problem.basis
    found = correct(basis, problem.noise, rows_of(problem), problem.Xs, neighbours)
    X, _, w, _ = problem.rows
    V, Vs = basis.design(X), basis.design(problem.Xs)
    C = problem.kernel.value(X) - V.T @ V + np.diag(problem.noise / w)
    c = problem.kernel.value(X, problem.Xs) - V.T @ Vs
    W = np.zeros((1500, 15))
    for a, N in enumerate(neighbours):
        W[N, a] = np.linalg.solve(C[np.ix_(N, N)], c[N, a])
    t = Vs - V @ W
    expected = problem.kernel.value(problem.Xs) - Vs.T @ Vs - W.T @ c - c.T @ W + W.T @ C @ W
    expected += t.T @ belief.covariance @ t
    joint = found.covariance(basis, belief, problem.Xs)
    assert_allclose(joint, expected, rtol=1e-7, atol=1e-9)
    answer = found.predict(basis, belief, problem.Xs)
    assert_allclose(joint.diagonal(), answer.variance, rtol=1e-8)


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-6])
def test_variances_stay_positive_where_a_query_is_a_row_and_rows_are_equal(noise, make):
    problem = make((8, 8), noise=max(noise, 1e-300), kernel=RBF(1.3, 1.5), weighted=False)
    X, y, w, _ = problem.rows
    X = np.concatenate([X, X[:4]])
    rows = Rows(X, np.concatenate([y, y[:4]]), np.ones(20))
    Xs = np.concatenate([X[:3], X[:3] + 1e-9, problem.Xs])
    belief = believe(problem)
    found = correct(problem.basis, noise, rows, Xs, nearest(cKDTree(X), Xs, 6))
    answer = found.predict(problem.basis, belief, Xs)
    shared = Shared.of(problem.basis, noise, rows).predict(problem.basis, belief, Xs)
    for prediction in (answer, shared):
        assert np.isfinite(prediction.mean).all()
        assert (prediction.variance >= 0).all()
    joint = found.covariance(problem.basis, belief, Xs)
    assert np.linalg.eigvalsh(joint).min() > -1e-8 * 1.3


def test_nearest_rows_come_nearest_first():
    rng = np.random.default_rng(4)
    X, Xs = rng.normal(size=(50, 3)), rng.normal(size=(9, 3))
    distance = ((Xs[:, None] - X[None]) ** 2).sum(axis=2)
    for k in (1, 2, 50):
        assert_array_equal(nearest(cKDTree(X), Xs, k), np.argsort(distance, axis=1)[:, :k])


@pytest.mark.parametrize("k", [1, 5, 36, 50])
def test_the_local_predictor_asks_so_many_nearest_rows_or_all(k, case):
    committee = Committee.start(case.kernel, case.noise, case.Z, 2)
    committee = committee.add(case.chunks, Serial(), keep=True)
    local, X = LocalPredictor.of(committee, k), case.rows[0]
    weights = local.near.metric.weights
    away = (((case.Xs[:, None] - X) * weights) ** 2).sum(axis=2)
    mean, cov = slow_correction(case, believe(case), np.argsort(away, axis=1)[:, :k])
    found, joint = local.predict(case.Xs, Serial()), local.joint(case.Xs, Serial())
    for one in (found, joint[0]):
        assert_allclose(one.mean, mean, rtol=1e-7, atol=1e-9)
        assert_allclose(one.variance, cov.diagonal(), rtol=1e-7, atol=1e-9)
    assert_allclose(joint[1], cov, rtol=1e-7, atol=1e-9)


def test_rows_add_end_to_end():
    rng = np.random.default_rng(5)
    a, b = (Rows(rng.normal(size=(n, 3)), rng.normal(size=(n, 2)), rng.random(n)) for n in (4, 0))
    c = Rows(rng.normal(size=(2, 3)), rng.normal(size=(2, 2)), rng.random(2))
    total = (a + b) + c
    assert_array_equal(total.X, np.concatenate([a.X, c.X]))
    assert_array_equal(total.take(np.array([5, 0])).y, np.stack([c.y[1], a.y[0]]))
    assert_array_equal(total.take(slice(4, None)).w, c.w)


def test_global_variance_is_the_prior_without_chunks(case):
    belief = normalise(case.basis.prior(2))
    found = predict_global(case.basis, belief, case.Xs)
    assert_array_equal(found.mean, 0.0)
    assert_allclose(found.variance, case.kernel.diag(case.Xs), rtol=1e-12)
    prior = reference.covariance(case.kernel, case.Xs)
    assert_allclose(covariance_global(case.basis, belief, case.Xs), prior, rtol=1e-10, atol=1e-12)


def test_predictions_from_anchors_of_zero_size(make):
    problem = make((9,), m=0)
    basis = Anchors.at(problem.kernel, problem.Z)
    belief = normalise(basis.prior(2))
    found = predict_global(basis, belief, problem.Xs)
    assert_array_equal(found.mean, np.zeros((7, 2)))
    assert_allclose(found.variance, problem.kernel.diag(problem.Xs))
