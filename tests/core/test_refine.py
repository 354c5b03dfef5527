"""Conjugate gradients to the exact GP, preconditioned by the committee."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from collegium.core.committee import Committee
from collegium.core.refine import Preconditioner, product, refined, solve
from collegium.engines import Serial, Threads


def dense(problem):
    X, y, w, _ = problem.rows
    return reference.covariance(problem.kernel, X) + np.diag(problem.noise / w), y


def committee(problem):
    p = problem.chunks[0].y.shape[1]
    empty = Committee.start(problem.kernel, problem.noise, problem.Z, p)
    return empty.add(problem.chunks, Serial(), keep=True)


def conditioner(problem):
    c = committee(problem)
    return Preconditioner.of(c.basis, c.noise, c.chunks(), c.belief, Serial())


class Nothing:
    """M = I."""

    def solve(self, parts, engine):
        return list(parts)


def test_the_product_is_the_covariance_of_all_rows_times_the_weights(problem):
    C, y = dense(problem)
    parts = [chunk.y for chunk in problem.chunks]
    found = product(problem.kernel, problem.noise, problem.chunks, parts, Serial())
    assert_allclose(np.concatenate(found), C @ y, rtol=1e-10)


def test_the_preconditioner_is_the_inverse_of_the_committees_covariance(problem):
    """VᵀV between chunks, K within: PITC."""
    X, y, w, groups = problem.rows
    Kxz = reference.covariance(problem.kernel, X, problem.Z)
    M = Kxz @ np.linalg.solve(reference.covariance(problem.kernel, problem.Z), Kxz.T)
    for at in groups:
        M[np.ix_(at, at)] = reference.covariance(problem.kernel, X[at])
    M = M + np.diag(problem.noise / w)
    found = conditioner(problem).solve([chunk.y for chunk in problem.chunks], Serial())
    assert_allclose(np.concatenate(found), np.linalg.solve(M, y), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("noise", [0.23, 1e-4])
def test_the_weights_are_those_of_the_exact_gp(make, noise):
    problem = make((9, 1, 14, 6), noise=noise)
    C, y = dense(problem)
    found = refined(committee(problem), Serial(), tolerance=1e-11, max_iter=60)
    assert_allclose(np.concatenate(found.weights), np.linalg.solve(C, y), rtol=1e-5, atol=1e-7)
    assert found.residuals[-1] <= 1e-11


def test_the_residuals_are_those_of_the_system(problem):
    C, y = dense(problem)
    found = refined(committee(problem), Serial(), tolerance=0.0, max_iter=3)
    assert found.residuals.shape == (4,)
    left = np.linalg.norm(y - C @ np.concatenate(found.weights), axis=0)
    assert_allclose(found.residuals[-1], (left / np.linalg.norm(y, axis=0)).max(), rtol=1e-6)


def test_the_committee_saves_iterations(make):
    problem = make((40, 40, 40), m=60, noise=1e-3, p=1)
    given = {"tolerance": 1e-6, "max_iter": 400}
    arguments = (problem.kernel, problem.noise, problem.chunks)
    plain = solve(*arguments, Nothing(), Serial(), **given)
    helped = solve(*arguments, conditioner(problem), Serial(), **given)
    assert helped.residuals.size < 0.4 * plain.residuals.size


def test_one_chunk_is_solved_at_once(make):
    found = refined(committee(make((25,))), Serial(), tolerance=1e-10, max_iter=50)
    assert found.residuals.size == 1


def test_threads_change_no_bit(problem):
    one = refined(committee(problem), Serial(), tolerance=1e-8, max_iter=50)
    two = refined(committee(problem), Threads(3), tolerance=1e-8, max_iter=50)
    assert_array_equal(np.concatenate(one.weights), np.concatenate(two.weights))
