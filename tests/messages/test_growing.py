"""Bases that change under a sum of messages: what stays exact, and what is an approximation."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium.answers.predictors import GlobalPredictor
from collegium.engines import engine_for
from collegium.kernels import RBF, Matern32
from collegium.messages.basis import Anchors
from collegium.messages.committee import Committee
from collegium.messages.growing import _most_informative, appended, badly_seen
from collegium.rows.chunk import Chunk

ENGINE = engine_for(None)


def answers(committee, Xs):
    return GlobalPredictor(committee).predict(Xs, ENGINE)


def started(problem, Z):
    return Committee.start(problem.kernel, problem.noise, Z, 2)


def test_appended_anchors_keep_the_factor_and_extend_it(problem):
    basis, Z = problem.basis, np.random.default_rng(3).uniform(-2, 2, (4, 2))
    grown = appended(basis, Z)
    assert_array_equal(grown.factor[:6, :6], basis.factor)
    K = problem.kernel.value(np.vstack([problem.Z, Z]))
    assert_allclose(grown.factor @ grown.factor.T, K, atol=1e-12)
    assert (np.triu(grown.factor, 1) == 0.0).all()


def test_an_anchor_appended_before_new_rows_changes_no_answer(problem):
    first = started(problem, problem.Z).add(problem.chunks, ENGINE, keep=False)
    grown = first.with_anchors(np.array([[0.3, -1.2], [1.9, 1.8]]))
    old, new = (c.messages.message() for c in (first, grown))
    assert_array_equal(new.precision[:6, :6], old.precision)
    assert_array_equal(new.shift[:6], old.shift)
    assert_array_equal(new.log_scale, old.log_scale)
    assert (
        not new.precision[6:].any() and not new.precision[:, 6:].any() and not new.shift[6:].any()
    )
    a, b = answers(first, problem.Xs), answers(grown, problem.Xs)
    sd = np.sqrt(a.variance)
    assert (np.abs(a.mean - b.mean) <= 1e-10 * sd[:, None]).all()
    assert (np.abs(np.sqrt(b.variance) - sd) <= 1e-10 * sd).all()
    assert_allclose(grown.log_evidence(), first.log_evidence(), rtol=1e-12)


def test_grown_then_fed_is_the_committee_in_which_old_chunks_know_the_old_anchors(problem):
    more = np.array([[0.3, -1.2], [1.9, 1.8], [-1.0, 0.4]])
    early, late = problem.chunks[:2], problem.chunks[2:]
    stream = started(problem, problem.Z).add(early, ENGINE, keep=False)
    stream = stream.with_anchors(more).add(late, ENGINE, keep=False)

    # slow and obvious: u = (f(Z), f(Z₊)); chunks are normal given the part of u that they know
    Z = np.vstack([problem.Z, more])
    K = problem.kernel.value(Z)
    precision, shift = np.linalg.inv(K), np.zeros((9, 2))
    for chunk, m in [(chunk, 6) for chunk in early] + [(chunk, 9) for chunk in late]:
        A = np.linalg.solve(K[:m, :m], problem.kernel.value(Z[:m], chunk.X)).T  # E[f | u] = Au
        R = problem.kernel.value(chunk.X) - A @ K[:m, :m] @ A.T + np.diag(problem.noise / chunk.w)
        precision[:m, :m] += A.T @ np.linalg.solve(R, A)
        shift[:m] += A.T @ np.linalg.solve(R, chunk.y)
    S = np.linalg.inv(precision)
    T = np.linalg.solve(K, problem.kernel.value(Z, problem.Xs)).T
    k = problem.kernel.diag(problem.Xs)
    variance = k + np.einsum("qm,mn,qn->q", T, S - K, T)
    found = answers(stream, problem.Xs)
    assert_allclose(found.mean, T @ S @ shift, rtol=1e-8, atol=1e-10)
    assert_allclose(found.variance, variance, rtol=1e-8)


def test_dropping_an_anchor_marginalises_its_value(problem):
    whole = started(problem, problem.Z).add(problem.chunks, ENGINE, keep=False)
    small = whole.of_at_most(4)
    stay = [int(np.flatnonzero((whole.basis.Z == z).all(axis=1))[0]) for z in small.basis.Z]
    L = whole.basis.factor
    mean, S = L @ whole.belief.mean, L @ whole.belief.covariance @ L.T
    l = small.basis.factor
    assert len(stay) == 4 and stay == sorted(stay)
    assert_allclose(l @ small.belief.mean, mean[stay], rtol=1e-8, atol=1e-10)
    assert_allclose(l @ small.belief.covariance @ l.T, S[np.ix_(stay, stay)], rtol=1e-7, atol=1e-10)
    assert_allclose(small.log_evidence(), whole.log_evidence(), rtol=1e-10)


def test_the_anchor_that_is_dropped_changes_the_mean_least(problem):
    whole = started(problem, problem.Z).add(problem.chunks, ENGINE, keep=False)
    (gone,) = set(map(tuple, whole.basis.Z)) - set(map(tuple, whole.of_at_most(5).basis.Z))
    L = whole.basis.factor
    mean, S = L @ whole.belief.mean, L @ whole.belief.covariance @ L.T
    K = problem.kernel.value(problem.Z)

    def score(i):
        """(mean − its prediction from the others)² over the variance of that difference."""
        rest = np.arange(6) != i
        a = np.zeros(6)
        a[i], a[rest] = 1.0, -np.linalg.solve(K[np.ix_(rest, rest)], K[rest, i])
        return ((a @ mean) ** 2).sum() / (a @ S @ a)

    best = min(range(6), key=score)
    assert_allclose(gone, problem.Z[best])


@pytest.mark.parametrize("seed", range(5))
def test_anchors_are_dropped_one_by_one_as_if_each_were_the_first(problem, seed):
    """Least Σ α²/P with Q = K⁻¹, α = Qu and P = QSQ of those that are left, computed anew."""
    rng, basis = np.random.default_rng(seed), problem.basis
    means = [rng.normal(size=(basis.m, 2)) for _ in range(2)]  # whitened: u = Lv
    roots = [rng.normal(size=(basis.m, basis.m)) for _ in range(2)]  # S = root rootᵀ, of u
    K, stay = basis.factor @ basis.factor.T, np.arange(basis.m)
    while stay.size > 2:
        Q, score = np.linalg.inv(K[np.ix_(stay, stay)]), 0.0
        for mean, root in zip(means, roots):
            alpha, P = Q @ (basis.factor @ mean)[stay], (Q @ root[stay]) @ (Q @ root[stay]).T
            score = score + (alpha**2).sum(axis=1) / P.diagonal()
        stay = np.delete(stay, np.argmin(score))
        assert_array_equal(_most_informative(basis, means, roots, stay.size), stay)


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
def test_the_units_of_f_do_not_decide_who_is_dropped(problem, unit):
    rng, m = np.random.default_rng(3), problem.basis.m
    kernel = replace(problem.kernel, variance=unit**2 * problem.kernel.variance)
    means, roots = [rng.normal(size=(m, 2))], [rng.normal(size=(m, m))]
    other = Anchors.at(kernel, problem.Z)
    for keep in range(1, m):
        stay = _most_informative(problem.basis, means, roots, keep)
        assert_array_equal(_most_informative(other, means, [unit * roots[0]], keep), stay)


def test_an_anchor_that_nothing_is_known_of_is_dropped_without_a_trace(problem):
    whole = started(problem, problem.Z).add(problem.chunks, ENGINE, keep=False)
    back = whole.with_anchors(np.array([[1.7, -1.9]])).of_at_most(6)
    assert_allclose(back.basis.Z, whole.basis.Z)
    a, b = answers(whole, problem.Xs), answers(back, problem.Xs)
    assert_allclose(b.mean, a.mean, atol=1e-8)
    assert_allclose(b.variance, a.variance, rtol=1e-8)


def test_the_same_prior_carries_everything_over(problem):
    whole = started(problem, problem.Z).add(problem.chunks, ENGINE, keep=False)
    same = whole.with_prior(problem.kernel, problem.noise)
    a, b = answers(whole, problem.Xs), answers(same, problem.Xs)
    assert_allclose(b.mean, a.mean, rtol=1e-9, atol=1e-11)
    assert_allclose(b.variance, a.variance, rtol=1e-9)


def test_another_prior_keeps_the_message_about_function_values(problem):
    """Posterior precision of u minus the prior's is the message: it scales with the noise."""
    kernel, noise = RBF(variance=0.9, length_scale=[1.3, 0.7]), 0.5
    old = started(problem, problem.Z).add(problem.chunks, ENGINE, keep=False)
    new = old.with_prior(kernel, noise)

    def message(c):
        L = c.basis.factor
        S = L @ c.belief.covariance @ L.T
        P = np.linalg.inv(S)
        return P - np.linalg.inv(L @ L.T), P @ (L @ c.belief.mean)

    for a, b in zip(message(old), message(new)):
        assert_allclose(b, a * problem.noise / noise, rtol=1e-6, atol=1e-7)


def test_rows_that_are_badly_seen_are_found_by_pivots():
    rng = np.random.default_rng(0)
    kernel = Matern32(variance=1.3, length_scale=0.6)
    basis = Anchors.at(kernel, np.linspace(-3, -1, 5)[:, None])
    X = rng.uniform(-3, 3, (80, 1))
    chosen = badly_seen(basis, X, 0.05, 40)
    grown = appended(basis, X[chosen])
    assert grown.residual_diag(X, grown.design(X)).max() <= 0.05
    assert len(set(chosen.tolist())) == chosen.size < 30
    left = basis.residual_diag(X, basis.design(X))
    assert chosen[0] == left.argmax()
    assert badly_seen(basis, X, 0.05, 3).size == 3
    few = appended(basis, X[badly_seen(basis, X, 0.05, 40, spare=8)])
    assert 0 < np.count_nonzero(few.residual_diag(X, few.design(X)) > 0.05) <= 8


@pytest.mark.parametrize("m", [1, 5])
def test_a_stream_of_one_row_chunks_grows_like_any_other(m):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(12, 1)), rng.normal(size=(12, 1))
    c = Committee.start(RBF(1.0, 0.8), 0.1, X[:m], 1)
    for i in range(12):
        if i == 6:
            c = c.with_anchors(np.array([[4.0]]))
        c = c.add([Chunk(i, X[i : i + 1], y[i : i + 1], np.ones(1))], ENGINE, keep=False)
    assert np.isfinite(answers(c, X).mean).all() and (answers(c, X).variance > 0).all()
