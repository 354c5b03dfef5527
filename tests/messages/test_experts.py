"""Experts: messages of chunks, row weights, degenerate chunks, fixed features."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from collegium.kernels import RBF, Linear, Matern12, White
from collegium.messages.basis import NUGGET, Anchors, Features
from collegium.messages.experts import Block, Diagonal, Expert, Projected, Variational
from collegium.messages.message import normalise
from collegium.rows.chunk import Chunk, cut

EXPERTS = Expert.registry
#: What each takes the covariance of f given v to be, from the right one. An expert that is not
#: here has its plain formula in a test of its own.
KNOWN = {
    Block: lambda left: left,
    Diagonal: lambda left: np.diag(left.diagonal()),
    Projected: np.zeros_like,
    Variational: np.zeros_like,
}
every_known = pytest.mark.parametrize("expert", KNOWN, ids=lambda e: e.__name__)
every_expert = pytest.mark.parametrize("expert", EXPERTS, ids=lambda e: e.__name__)


def assert_same_message(a, b, rtol=1e-9):
    for name in ("precision", "shift", "log_scale"):
        left, right = getattr(a, name), getattr(b, name)
        size = np.abs(right).max(initial=0.0)
        assert_allclose(left, right, rtol=rtol, atol=rtol * size, err_msg=name)


def given_v(expert, kernel, noise, Z, chunk):
    """V and R of y | v, by the book; the prior's factor has the nugget of the basis."""
    Kuu = reference.covariance(kernel, Z)
    L = np.linalg.cholesky(Kuu + NUGGET * Kuu.diagonal().max() * np.eye(Z.shape[0]))
    V = np.linalg.solve(L, reference.covariance(kernel, Z, chunk.X))
    left = reference.covariance(kernel, chunk.X) - V.T @ V
    return V, KNOWN[expert](left) + np.diag(noise / chunk.w)


def penalty(expert, kernel, noise, V, chunk):
    """½ Σ (k(x, x) − vᵀv)w/σ² where the anchors' leavings are penalised."""
    left = np.diag(reference.covariance(kernel, chunk.X)) - (V**2).sum(axis=0)
    return 0.5 * (left * chunk.w).sum() / noise if expert is Variational else 0.0


def repeats(w, noise):
    """Σ −½(w−1) log 2πσ² − ½ log w, row by row."""
    return sum(-0.5 * (v - 1) * np.log(2 * np.pi * noise) - 0.5 * np.log(v) for v in w)


@every_known
def test_message_is_the_likelihood_of_the_chunk(expert, problem):
    kernel = problem.kernel + Linear([1.4, 0.9]) + White(0.15)
    basis = Anchors.at(kernel, problem.Z)
    rng = np.random.default_rng(1)
    for chunk in problem.chunks:
        V, R = given_v(expert, kernel, problem.noise, problem.Z, chunk)
        sent = expert(problem.noise).send(basis, chunk)
        assert_allclose(sent.precision, V @ np.linalg.solve(R, V.T), rtol=1e-8, atol=1e-10)
        assert_allclose(sent.shift, V @ np.linalg.solve(R, chunk.y), rtol=1e-8, atol=1e-10)
        v = rng.normal(size=sent.shift.shape)
        expected = reference.log_density(chunk.y - V.T @ v, R) + repeats(chunk.w, problem.noise)
        expected = expected - penalty(expert, kernel, problem.noise, V, chunk)
        assert_allclose(sent.log_density(v), expected, rtol=1e-9)


@pytest.mark.parametrize("expert", [Block, Projected], ids=lambda e: e.__name__)
@pytest.mark.parametrize("m", [0, 5])
def test_a_weight_is_so_many_equal_rows(expert, m, make):
    problem = make((7,), m=m)
    chunk = replace(problem.chunks[0], w=np.array([1.0, 3.0, 1.0, 2.0, 5.0, 1.0, 2.0]))
    again = np.repeat(np.arange(7), chunk.w.astype(int))
    longer = Chunk(0, chunk.X[again], chunk.y[again], np.ones(again.size))
    e = expert(problem.noise)
    assert_same_message(e.send(problem.basis, chunk), e.send(problem.basis, longer))


def test_a_weight_of_the_diagonal_expert_is_so_many_targets_of_one_value(make):
    # FITC gives every row a residual of its own, so equal rows are merged, not independent.
    problem = make((5,))
    chunk = replace(problem.chunks[0], w=np.array([1.0, 3.0, 2.0, 4.0, 1.0]))
    e = Diagonal(problem.noise)
    one_by_one = []
    for i, times in enumerate(chunk.w.astype(int)):
        again = np.full(times, i)
        looks = Chunk(i, chunk.X[again], chunk.y[again], np.ones(times))
        one_by_one.append(Block(problem.noise).send(problem.basis, looks))
    expected = one_by_one[0]
    for sent in one_by_one[1:]:
        expected = expected + sent
    assert_same_message(e.send(problem.basis, chunk), expected)


@every_expert
def test_an_empty_chunk_sends_a_zero_message(expert, problem):
    nothing = Chunk(0, np.empty((0, 2)), np.empty((0, 3)), np.empty(0))
    sent = expert(0.3).send(problem.basis, nothing)
    assert_array_equal(sent.precision, np.zeros((6, 6)))
    assert_array_equal(sent.shift, np.zeros((6, 3)))
    assert_array_equal(sent.log_scale, np.zeros(3))
    belief = normalise(problem.basis.prior(3) + sent)
    reply = expert(0.3).reply(problem.basis, nothing, belief)
    assert_array_equal(reply.theta, np.zeros(problem.kernel.theta.size))
    assert reply.noise == 0.0
    assert_array_equal(reply.factor, np.zeros((6, 6)))


def test_one_row_has_no_one_to_correlate_with(problem):
    row = problem.chunks[1]
    assert row.n == 1
    block, diagonal = (e(problem.noise).send(problem.basis, row) for e in (Block, Diagonal))
    assert_same_message(block, diagonal, rtol=1e-13)


@every_expert
def test_outputs_are_separate(expert, problem):
    e = expert(problem.noise)
    for chunk in problem.chunks:
        both = e.send(problem.basis, chunk)
        for j in range(2):
            alone = e.send(problem.basis, replace(chunk, y=chunk.y[:, j : j + 1]))
            assert_allclose(both.precision, alone.precision, rtol=1e-13)
            assert_allclose(both.shift[:, j : j + 1], alone.shift, rtol=1e-12, atol=1e-14)
            assert_allclose(both.log_scale[j : j + 1], alone.log_scale, rtol=1e-13)


@every_known
def test_messages_of_no_anchors_are_log_densities_alone(expert, make):
    problem = make((8,), m=0)
    (chunk,) = problem.chunks
    sent = expert(problem.noise).send(problem.basis, chunk)
    assert sent.precision.shape == (0, 0)
    V, R = np.zeros((0, 8)), np.diag(problem.noise / chunk.w)
    K = reference.covariance(problem.kernel, chunk.X)
    R = R + KNOWN[expert](K)
    expected = reference.log_density(chunk.y - V.T @ np.empty((0, 2)), R)
    expected = expected - penalty(expert, problem.kernel, problem.noise, V, chunk)
    assert_allclose(sent.log_scale, expected + repeats(chunk.w, problem.noise), rtol=1e-12)


@every_expert
@pytest.mark.parametrize("noise", [0.0, 1e-14])
def test_no_noise_and_equal_rows_give_finite_messages(expert, noise, problem):
    X = np.repeat(problem.Z[:3], 3, axis=0)
    chunk = Chunk(0, X, X[:, :1], np.ones(9))
    for Z in (problem.Z, np.repeat(problem.Z, 2, axis=0), X):
        basis = Anchors.at(RBF(1.3, 0.9), Z)
        sent = expert(noise).send(basis, chunk)
        belief = normalise(basis.prior() + sent)
        for array in (sent.precision, sent.shift, sent.log_scale, belief.mean, belief.covariance):
            assert np.isfinite(array).all()


@every_expert
@pytest.mark.parametrize("unit", [1e-150, 1e-75, 1e75, 1e150])
def test_units_of_the_targets_do_not_matter(expert, unit, problem):
    e, kernel = expert(problem.noise), problem.kernel
    chunk = problem.chunks[0]
    belief = normalise(problem.basis.prior(2) + e.send(problem.basis, chunk))
    basis = Anchors.at(kernel.scaled(unit**2), problem.Z)
    other = replace(chunk, y=chunk.y * unit)
    scaled = normalise(basis.prior(2) + expert(problem.noise * unit**2).send(basis, other))
    assert_allclose(scaled.mean, belief.mean, rtol=1e-9, atol=1e-12)
    assert_allclose(scaled.covariance, belief.covariance, rtol=1e-9, atol=1e-12)
    shift = chunk.w.sum() * np.log(unit)
    assert_allclose(scaled.log_evidence, belief.log_evidence - shift, rtol=1e-10)


@dataclass(frozen=True)
class Elsewhere:
    """A chunk whose rows are loaded when asked for."""

    id: int
    n: int
    found: Chunk

    def load(self):
        return self.found.load()


@every_expert
def test_a_chunk_is_anything_that_loads(expert, problem):
    e, chunk = expert(problem.noise), problem.chunks[0]
    assert_same_message(
        e.send(problem.basis, Elsewhere(4, 9, chunk)), e.send(problem.basis, chunk), rtol=0
    )


@every_expert
def test_rows_in_any_memory_order_send_the_same_message_and_stay(expert, problem):
    chunk = problem.chunks[2]
    e = expert(problem.noise)
    other = Chunk(2, np.asfortranarray(chunk.X), np.repeat(chunk.y, 2, axis=1)[:, ::2], chunk.w)
    for array in (other.X, other.y, other.w):
        array.flags.writeable = False
    assert_same_message(e.send(problem.basis, other), e.send(problem.basis, chunk), rtol=1e-13)
    assert_array_equal(other.X, chunk.X)


def test_cutting_keeps_rows_together_and_numbers_the_chunks(problem):
    X, y, w, _ = problem.rows
    groups = [np.array([3, 0]), np.array([], dtype=int), np.array([29, 7, 8])]
    chunks = cut(X, y, w, groups, ids=range(5, 5 + len(groups)))
    assert [c.id for c in chunks] == [5, 6, 7]
    assert [c.n for c in chunks] == [2, 0, 3]
    for chunk, group in zip(chunks, groups):
        for own, all_rows in zip(chunk.load(), (X, y, w)):
            assert_array_equal(own, all_rows[group])


# --- fixed features -------------------------------------------------------------------------------


def polynomial(X):
    return np.stack([np.ones(X.shape[0]), X[:, 0], X[:, 1], X[:, 0] * X[:, 1]], axis=1)


@pytest.fixture
def weights_prior():
    rng = np.random.default_rng(6)
    B = rng.normal(size=(4, 4))
    return rng.normal(size=4), B @ B.T + 0.2 * np.eye(4)


@every_expert
@pytest.mark.parametrize("per_output", [False, True])
def test_weights_of_features_are_bayesian_linear_regression(
    expert, per_output, weights_prior, problem
):
    w0, S0 = weights_prior
    if per_output:
        w0 = np.stack([w0, -0.5 * w0 + 1.0], axis=1)
    basis = Features.with_prior(polynomial, w0, S0)
    total = basis.prior(2)
    for chunk in problem.chunks:
        total = total + expert(problem.noise).send(basis, chunk)
    belief = normalise(total)
    X, y, w, _ = problem.rows
    w0_each = w0 if per_output else np.repeat(w0[:, None], 2, axis=1)
    mean, cov, evidence = reference.linear_regression(
        polynomial(X), problem.noise, y, w, w0_each, S0
    )
    L = basis.factor
    assert_allclose(w0_each + L @ belief.mean, mean, rtol=1e-9, atol=1e-11)
    assert_allclose(L @ belief.covariance @ L.T, cov, rtol=1e-9, atol=1e-11)
    assert_allclose(belief.log_evidence, evidence + repeats(w, problem.noise), rtol=1e-10)


def test_features_are_the_dual_of_their_kernel(problem):
    # w ~ N(0, S0) and k(x, x′) = φ(x)ᵀS0φ(x′) are one model (Tresp 2000, sec. 4).
    X, y, w, _ = problem.rows
    slopes = np.array([0.7, 1.6])
    basis = Features.with_prior(lambda A: A, np.zeros(2), np.diag(slopes**-2.0))
    belief = normalise(basis.prior(2) + Block(problem.noise).send(basis, problem.merged))
    mean, cov, _ = reference.gp(Linear(slopes), problem.noise, X, y, w, problem.Xs)
    Vs = basis.design(problem.Xs)
    assert_allclose(Vs.T @ belief.mean, mean, rtol=1e-8, atol=1e-10)
    T = belief.spread(Vs)
    assert_allclose(T.T @ T, cov, rtol=1e-8, atol=1e-10)


def test_anchors_in_one_place_are_refused_by_no_one():
    Z = np.ones((40, 3))
    basis = Anchors.at(Matern12(2.0, 0.5), Z)
    assert basis.jitter <= 1e-9
    assert np.isfinite(basis.factor).all()
    assert basis.design(np.zeros((4, 3))).shape == (40, 4)
