"""A preconditioner of groups that are given anchors and the nearest rows before them."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from collegium.answers.preconditioner import (
    Preconditioner,
    RowGroup,
    group_size,
    grouped,
    nearest_before,
)
from collegium.answers.tuning import RefiningTuning
from collegium.engines import Serial, Threads
from collegium.kernels import RBF, Linear, Matern52, Periodic
from collegium.messages.basis import Anchors
from collegium.rows.metric import Metric

SIZES = (9, 1, 14, 6)


def covariance(problem):
    X, _, w, _ = problem.rows
    return reference.covariance(problem.kernel, X) + np.diag(problem.noise / w)


def committees(problem, groups):
    """VᵀV between groups, K within: PITC."""
    X, _, w, _ = problem.rows
    Kxz = reference.covariance(problem.kernel, X, problem.Z)
    M = Kxz @ np.linalg.solve(reference.covariance(problem.kernel, problem.Z), Kxz.T)
    for at in groups:
        M[np.ix_(at, at)] = reference.covariance(problem.kernel, X[at])
    return M + np.diag(problem.noise / w)


def conditioner(problem, groups, *, basis=None, engine=None):
    X, _, w, _ = problem.rows
    given = basis or problem.basis, X, problem.noise / w, groups
    return Preconditioner.of(*given, engine or Serial())


def groups_of(problem, number, size=8):
    return grouped(problem.kernel, problem.rows[0], size, number, Serial())


def alone(problem):
    return [RowGroup(i, at, at[:0]) for i, at in enumerate(problem.rows[3])]


def written_out(problem, groups):
    """Line by line: the density of each row given all before it in its group, and those near."""
    X, _, w, _ = problem.rows
    n = len(X)
    Kxz = reference.covariance(problem.kernel, X, problem.Z)
    low = Kxz @ np.linalg.solve(reference.covariance(problem.kernel, problem.Z), Kxz.T)
    C, G = covariance(problem) - low, np.zeros((n, n))
    for group in groups:
        for k, i in enumerate(group.own):
            N = np.concatenate([group.near, group.own[:k]])
            weights = np.linalg.solve(C[np.ix_(N, N)], C[N, i])
            sd = np.sqrt(C[i, i] - weights @ C[N, i])
            G[i, i], G[i, N] = 1.0 / sd, -weights / sd
    return np.linalg.inv(low + np.linalg.inv(G.T @ G))


def test_groups_given_no_rows_are_a_committee(problem):
    """To single precision, which the factors are kept in."""
    _, y, _, at = problem.rows
    found = conditioner(problem, alone(problem)).solve(y, Serial())
    assert_allclose(found, np.linalg.solve(committees(problem, at), y), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("anchors", [0, 6])
@pytest.mark.parametrize("noise", [0.23, 1e-2])
def test_groups_given_all_rows_before_them_are_the_exact_covariance(make, anchors, noise):
    problem = make((30, 15), noise=noise, m=anchors)
    _, y, _, _ = problem.rows
    found = conditioner(problem, groups_of(problem, 45)).solve(y, Serial())
    wanted = np.linalg.solve(covariance(problem), y)
    assert_allclose(found, wanted, rtol=1e-4, atol=2e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("number", [1, 5, 20])
def test_each_group_is_given_the_anchors_and_the_rows_near_it(make, number):
    problem = make((30, 15), noise=0.05)
    groups = groups_of(problem, number, size=7)
    _, y, _, _ = problem.rows
    found = conditioner(problem, groups).solve(y, Serial())
    assert_allclose(found, written_out(problem, groups) @ y, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("number", [0, 4, 29])
@pytest.mark.parametrize("noise", [0.23, 1e-9])
def test_it_is_symmetric_and_positive_definite(make, noise, number):
    """Rounded as it is: that of T and A does not touch it."""
    problem = make(SIZES, noise=noise)
    groups = groups_of(problem, number) if number else alone(problem)
    found = conditioner(problem, groups).solve(np.eye(sum(SIZES)), Serial())
    assert_allclose(found, found.T, rtol=1e-7, atol=1e-9 * np.abs(found).max())
    assert np.linalg.eigvalsh(0.5 * (found + found.T)).min() > 0.0


def test_more_rows_given_are_nearer_to_the_covariance(make):
    """KL(N(0, K + Ψ) | N(0, M)), which falls with every row that a group is given."""
    problem = make((60, 60), noise=0.02, m=0)
    C = covariance(problem)

    def divergence(number):
        P = conditioner(problem, groups_of(problem, number, 10)).solve(np.eye(120), Serial())
        return 0.5 * (np.trace(P @ C) - 120.0 - np.linalg.slogdet(P @ C)[1])

    found = [divergence(number) for number in (0, 5, 20, 60, 120)]
    assert (np.diff(found) < 0.0).all() and abs(found[-1]) < 1e-3


@pytest.mark.parametrize(
    "kernel",
    [RBF(2.0, np.array([0.5, 3.0])), Linear(1.3), Periodic(0.6, 1.1, 2.5) + Matern52(1.2, 0.7)],
    ids=repr,
)
def test_groups_hold_each_row_once_and_are_given_the_nearest_before(make, kernel):
    problem = make((50, 31), kernel=kernel.for_width(2))
    X = problem.rows[0]
    groups = groups_of(problem, 13, size=9)
    before = np.empty(0, dtype=int)
    S = Metric.of(problem.kernel, X).forward(X)
    for group in groups:
        gaps = ((S[before][:, None] - S[group.own]) ** 2).sum(axis=2).min(axis=1, initial=np.inf)
        nearest = before[np.argsort(gaps)[:13]]
        assert_array_equal(np.sort(group.near), np.sort(nearest))
        assert group.own.size <= 9
        before = np.concatenate([before, group.own])
    assert_array_equal(np.sort(before), np.arange(81))


def test_rows_beyond_single_precision_have_neighbours_too():
    S = np.clip(np.array([[0.0], [1e200], [2.0], [-1e200], [1.0]]), -1e15, 1e15)
    assert_array_equal(nearest_before(S.astype(np.float32), 4, 5, 2), [0, 2])


def test_groups_grow_with_the_root_of_the_rows_and_fit_the_memory():
    tuning = RefiningTuning()
    assert group_size(1) >= 1
    assert group_size(10_000) == 250 and group_size(40_000) == 500
    for n in (10**6, 10**7, 10**8):
        size = group_size(n)
        assert size == 1 or size * (4 * tuning.given + 8) * n <= tuning.largest


def test_outputs_are_systems_of_their_own(problem):
    _, y, _, _ = problem.rows
    found = conditioner(problem, groups_of(problem, 10))
    for j in range(2):
        assert_allclose(found.solve(y[:, [j]], Serial())[:, 0], found.solve(y, Serial())[:, j])


def test_threads_change_no_bit(problem):
    _, y, _, _ = problem.rows
    one = conditioner(problem, groups_of(problem, 10)).solve(y, Serial())
    groups = grouped(problem.kernel, problem.rows[0], 8, 10, Threads(3))
    two = conditioner(problem, groups, engine=Threads(3)).solve(y, Threads(3))
    assert_array_equal(one, two)


def test_no_anchors_are_rows_alone(problem):
    basis = Anchors.at(problem.kernel, problem.Z[:0])
    groups = groups_of(problem, 30)
    found = conditioner(replace(problem, Z=problem.Z[:0]), groups, basis=basis)
    _, y, _, _ = problem.rows
    assert_allclose(found.solve(y, Serial()), np.linalg.solve(covariance(problem), y), rtol=1e-4)


def test_groups_come_in_a_random_order():
    """Neighbours one after the other would be given no rows on their far side."""
    X = np.linspace(0.0, 1.0, 400)[:, None]
    groups = grouped(RBF(), X, 20, 5, Serial())
    firsts = np.array([group.own.min() for group in groups])
    assert not (np.diff(firsts) > 0).all() and not (np.diff(firsts) < 0).all()


def test_no_more_rows_are_given_than_the_number():
    S = np.arange(6.0, dtype=np.float32)[:, None]
    assert nearest_before(S, 3, 4, 2).tolist() == [1, 2]
    assert nearest_before(S, 2, 4, 2).tolist() == [0, 1]


@pytest.mark.parametrize("number", [0, 5, 20])
def test_a_block_is_that_of_the_inverse(make, number):
    problem = make((30, 15), noise=0.05)
    groups = groups_of(problem, number, size=7)
    rows = np.array([40, 3, 17, 4, 29, 0])
    found = conditioner(problem, groups).block(rows, Serial())
    wanted = written_out(problem, groups)[np.ix_(rows, rows)]
    assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("anchors", [0, 6])
def test_a_block_given_all_rows_before_is_that_of_the_exact_inverse(make, anchors):
    """Its diagonal: the precision of each row given all others."""
    problem = make((30, 15), noise=0.05, m=anchors)
    rows = np.arange(45)[::-3]
    found = conditioner(problem, groups_of(problem, 45)).block(rows, Serial())
    wanted = np.linalg.inv(covariance(problem))[np.ix_(rows, rows)]
    assert_allclose(found, wanted, rtol=1e-4, atol=2e-5 * wanted.max())
    threads = conditioner(problem, groups_of(problem, 45)).block(rows, Threads(3))
    assert_array_equal(found, threads)
