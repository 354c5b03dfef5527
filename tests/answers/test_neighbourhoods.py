"""Systems of the rows near each query, in double and in single precision."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import reference
from collegium.answers.local import (
    Neighbourhoods,
    correct,
    single_will_do,
    solve_neighbourhood,
)
from collegium.answers.predictors import LocalPredictor
from collegium.answers.tuning import NeighbourTuning
from collegium.engines import Serial
from collegium.kernels import RBF, Linear, Matern12, Matern52
from collegium.messages.committee import Committee
from collegium.rows.chunk import chunk_of
from collegium.rows.rows import Rows, SiteRows

TUNING = NeighbourTuning()
KERNELS = {
    "sum": Matern52(1.7, [0.8, 1.9]) + Matern12(0.4, 2.5),
    "product": RBF(0.8, 1.7) * Linear([1.5, 0.9]) + Matern12(0.6, 0.7),
}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_one_factorisation_solves_for_rows_and_query(make, kernel):
    problem = make((9, 14), kernel=kernel)
    X, _, w, _ = problem.rows
    basis, Xs, psi = problem.basis, problem.Xs, problem.noise / w
    members = np.array([np.random.default_rng(i).permutation(23)[:11] for i in range(len(Xs))])
    V, Vs = basis.design(X), basis.design(Xs)
    K, c = reference.covariance(kernel, X) - V.T @ V, reference.covariance(kernel, X, Xs) - V.T @ Vs
    work, seen = Neighbourhoods.of(basis, 11, 3, single=False), []
    for i, C in work.residuals(X, np.ascontiguousarray(V.T), members, Xs, Vs):
        at = members[i]
        weights, noisy, known = solve_neighbourhood(C, psi[at], 40.0)
        expected = np.linalg.solve(K[np.ix_(at, at)] + np.diag(psi[at]), c[at, i])
        assert_allclose(weights, expected, rtol=1e-9, atol=1e-12)
        assert_allclose(noisy, psi[at] * expected, rtol=1e-9, atol=1e-12)
        assert_allclose(known, c[at, i] @ expected, rtol=1e-9)
        seen.append(i)
    assert seen == list(range(len(Xs)))


def test_what_is_not_positive_definite_is_left_to_jitter():
    C = np.array([[1.0, 0, 0], [1.0, 1.0, 0], [0.3, 0.3, 1.0]])
    assert solve_neighbourhood(C.copy(), np.zeros(2), 4.0) is None
    assert solve_neighbourhood(C.copy(), np.full(2, 1e-3), 4.0) is not None
    assert solve_neighbourhood(np.full((3, 3), np.nan), np.ones(2), 4.0) is None


def many_rows(noise, n=400):
    """Rows of a committee with anchors, where single precision will do."""
    rng = np.random.default_rng(5)
    kernel = Matern52(2.3, [0.6, 1.1]) + Matern12(0.7, [0.9, 0.4])
    X = rng.uniform(-2, 2, (n, 2))
    y = kernel.sample(X, 1, rng) + np.sqrt(noise) * rng.normal(size=(n, 1))
    rows = Rows(X, y, rng.uniform(0.5, 2.0, n))
    start = Committee.start(kernel, noise, X[:12], 1)
    parts = [rows.take(slice(0, 150)), rows.take(slice(150, n))]
    committee = start.add([chunk_of(i, part) for i, part in enumerate(parts)], Serial(), keep=True)
    return committee, rng.uniform(-2, 2, (60, 2))


def test_single_precision_moves_answers_by_little_of_their_error():
    """At the least noise that is let through a mean moves by some hundredths of its deviation."""
    committee, Xs = many_rows(noise=2.0 * 3.0 * TUNING.enough_noise)
    local = LocalPredictor.of(committee, TUNING.many_rows + 20)
    assert local.single
    quick = local.predict(Xs, Serial())
    vars(local)["single"] = False
    right = local.predict(Xs, Serial())
    sd = np.sqrt(right.variance + committee.noise)
    assert 0.0 < np.abs((quick.mean - right.mean)[:, 0] / sd).max() < 0.05
    assert_allclose(quick.variance + committee.noise, sd**2, rtol=0.02)


def test_single_precision_will_do_where_anchors_explain_nearly_all():
    """K − VᵀV cancels, and a kernel that is far too smooth weighs its rounding heavily."""
    rng, noise = np.random.default_rng(2), 1.1 * TUNING.enough_noise
    X = rng.normal(size=(1_200, 5))
    y = np.sin(X[:, :1]) + np.cos(0.5 * X[:, 1:2]) + np.sqrt(noise) * rng.normal(size=(1_200, 1))
    rows, start = Rows(X, y, np.ones(1_200)), Committee.start(RBF(1.0, 10.0), noise, X[:150], 1)
    parts = [chunk_of(i, rows.take(slice(400 * i, 400 * i + 400))) for i in range(3)]
    local = LocalPredictor.of(start.add(parts, Serial(), keep=True), TUNING.many_rows + 44)
    assert local.single
    Xs = rng.normal(size=(60, 5))
    quick = local.predict(Xs, Serial())
    vars(local)["single"] = False
    right = local.predict(Xs, Serial())
    assert (
        np.abs((quick.mean - right.mean)[:, 0]).max() < 0.3 * np.sqrt(right.variance + noise).min()
    )


def test_single_precision_is_for_many_rows_with_noise():
    committee, _ = many_rows(noise=0.01)
    rows, kernel = committee.rows(), committee.basis.kernel
    assert single_will_do(kernel, 0.01, rows, TUNING.many_rows)
    assert not single_will_do(kernel, 0.01, rows, TUNING.many_rows - 1)
    assert not single_will_do(kernel, 1e-6, rows, TUNING.many_rows)
    heavy = Rows(rows.X, rows.y, np.where(np.arange(rows.w.size) == 7, 1e5, rows.w))
    assert not single_will_do(kernel, 0.01, heavy, TUNING.many_rows)
    assert not single_will_do(kernel.scaled(1e20), 1e20, rows, TUNING.many_rows)
    sites = SiteRows(rows.X, rows.y, rows.y, rows.w)
    assert not single_will_do(kernel, 0.01, sites, TUNING.many_rows)


def test_systems_that_single_precision_does_not_solve_are_solved_in_double():
    """Twins that are one row to single precision: its matrix is singular, theirs is not."""
    committee, Xs = many_rows(noise=1e-9)
    rows, k = committee.rows(), 150
    X = rows.X.copy()
    X[1::2] = X[::2] + 1e-7
    rows, Xs = Rows(X, rows.y, rows.w), Xs[:5]
    near = np.array([np.random.default_rng(i).permutation(200)[: k // 2] for i in range(5)])
    near = np.hstack([2 * near, 2 * near + 1])
    single = correct(committee.basis, 1e-9, rows, Xs, near, single=True)
    double = correct(committee.basis, 1e-9, rows, Xs, near)
    assert np.isfinite(single.weights).all()
    assert_allclose(single.weights, double.weights, rtol=1e-5, atol=1e-5)


def test_single_precision_sees_small_differences_far_from_zero():
    """Neighbourhoods of several clusters that are far from each other."""
    rng = np.random.default_rng(0)
    X = np.concatenate([c * 1e7 + rng.uniform(-2, 2, (150, 1)) for c in range(4)])
    kernel, y = Matern52(1.0, [1.0]), np.sin(2 * (X - 1e7 * np.round(X / 1e7)))
    start = Committee.start(kernel, 1e-3, X[:2], 1)
    parts = [Rows(X[a : a + 150], y[a : a + 150], np.ones(150)) for a in range(0, 600, 150)]
    chunks = [chunk_of(i, part) for i, part in enumerate(parts)]
    local = LocalPredictor.of(start.add(chunks, Serial(), keep=True), 300)
    assert local.single
    Xs = 3e7 + np.linspace(-1.5, 1.5, 30)[:, None]
    quick = local.predict(Xs, Serial())
    vars(local)["single"] = False
    right = local.predict(Xs, Serial())
    assert_allclose(quick.mean, right.mean, atol=2e-3)
    assert_allclose(quick.variance, right.variance, rtol=0.02, atol=1e-5)


def test_single_precision_of_far_rows_is_finite():
    X = np.array([[[0.0], [1e30], [-1e200], [2.0]]])
    out, room = np.empty((2, 1, 4, 4), np.float32)
    with np.errstate(over="raise", invalid="raise"):
        Matern52(1.3, 0.5).fill(X, out, room)
    assert np.isfinite(np.tril(out[0])).all() and out[0, 3, 3] == np.float32(1.3)
