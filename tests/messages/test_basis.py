"""Models with weights: fixed bases in weight and function space, and Jacobians in their place."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import reference
from collegium import kernels
from collegium.combining.jacobians import basis_gaussian, laplace, linearised
from collegium.combining.joint import JointGaussian, bayesian
from collegium.messages.basis import Anchors, Features
from collegium.messages.experts import Block, Projected
from collegium.messages.message import normalise
from collegium.rows.chunk import Chunk

NOISE = 0.17
N_BASIS = 5


def bumps(X):
    """Five functions of two columns, linearly independent."""
    return np.column_stack([np.ones(len(X)), X, np.tanh(X[:, 0] - X[:, 1]), np.cos(X[:, 1])])


@pytest.fixture
def problem():
    """A basis with a prior that is not centred, three weighted chunks, two outputs."""
    rng = np.random.default_rng(12)
    root = rng.normal(size=(N_BASIS, N_BASIS))
    basis = Features.with_prior(bumps, rng.normal(size=(N_BASIS, 2)), root @ root.T + np.eye(5))
    chunks = []
    for i, n in enumerate((7, 3, 12)):
        X, w = rng.uniform(-2, 2, (n, 2)), rng.uniform(0.5, 3.0, n)
        chunks.append(Chunk(i, X, rng.normal(size=(n, 2)), w))
    return basis, chunks


def posterior(basis, chunks):
    """Textbook regression on the rows of the chunks."""
    X, y, w, _ = reference.stack(chunks)
    S0 = basis.factor @ basis.factor.T
    return reference.linear_regression(bumps(X), NOISE, y, w, basis.mean, S0)[:2]


def believed(basis, chunks):
    total = basis.prior(2)
    for chunk in chunks:
        total = total + Projected(NOISE).send(basis, chunk)
    return normalise(total)


def asked(q):
    return np.random.default_rng(q).uniform(-3, 3, size=(q, 2))


def test_a_basis_predicts_by_its_weights(problem):
    basis, chunks = problem
    Xq = asked(9)
    mean, S = posterior(basis, chunks)
    found = basis_gaussian(basis, believed(basis, chunks), Xq)
    assert_allclose(found.mean, bumps(Xq) @ mean, rtol=1e-9, atol=1e-10)
    assert_allclose(found.covariance, bumps(Xq) @ S @ bumps(Xq).T, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("q", [N_BASIS, N_BASIS + 1, 4 * N_BASIS, 60])
def test_with_as_many_queries_as_basis_functions_the_committee_is_bayes(problem, q):
    """Tresp (2000), sec. 4.1; with more queries the prior covariance is singular."""
    basis, chunks = problem
    Xq = asked(q)
    members = [basis_gaussian(basis, believed(basis, [chunk]), Xq) for chunk in chunks]
    prior = basis_gaussian(basis, normalise(basis.prior(2)), Xq)
    assert np.linalg.matrix_rank(prior.covariance) == N_BASIS
    found = bayesian(members, prior)
    mean, S = posterior(basis, chunks)
    assert_allclose(found.mean, bumps(Xq) @ mean, rtol=1e-7, atol=1e-8)
    assert_allclose(found.covariance, bumps(Xq) @ S @ bumps(Xq).T, rtol=1e-7, atol=1e-8)


def test_with_fewer_queries_it_is_not(problem):
    basis, chunks = problem
    Xq = asked(N_BASIS - 2)
    members = [basis_gaussian(basis, believed(basis, [chunk]), Xq) for chunk in chunks]
    found = bayesian(members, basis_gaussian(basis, normalise(basis.prior(2)), Xq))
    assert np.abs(found.mean - bumps(Xq) @ posterior(basis, chunks)[0]).max() > 1e-2


@pytest.mark.parametrize("q", [N_BASIS, 30])
def test_members_with_priors_of_their_own_in_a_common_basis(problem, q):
    """Each regression starts from weights of its own; the committee counts one prior once."""
    basis, chunks = problem
    Xq, scales = asked(q), (0.1, 1.0, 30.0)
    members, priors = [], []
    for chunk, scale in zip(chunks, scales):
        own = Features(bumps, scale * basis.mean, np.sqrt(scale) * basis.factor)
        members.append(basis_gaussian(own, believed(own, [chunk]), Xq))
        priors.append(basis_gaussian(own, normalise(own.prior(2)), Xq))
    common = basis_gaussian(basis, normalise(basis.prior(2)), Xq)
    found = bayesian(members, common, priors=priors)
    mean, S = posterior(basis, chunks)
    assert_allclose(found.mean, bumps(Xq) @ mean, rtol=1e-6, atol=1e-7)
    assert_allclose(found.covariance, bumps(Xq) @ S @ bumps(Xq).T, rtol=1e-6, atol=1e-7)


def test_weights_and_functions_are_dual(problem):
    """A GP with kernel φ(x)Σφ(x′)ᵀ predicts the same (Tresp 2000, eqs 11-13)."""
    basis, chunks = problem
    X, y, w, _ = reference.stack(chunks)
    Xq, S0 = asked(8), basis.factor @ basis.factor.T
    Phi, Phiq = bumps(X), bumps(Xq)
    Cyy = Phi @ S0 @ Phi.T + np.diag(NOISE / w)
    dual = reference.condition(Cyy, Phiq @ S0 @ Phi.T, Phiq @ S0 @ Phiq.T, y - Phi @ basis.mean)
    found = basis_gaussian(basis, believed(basis, chunks), Xq)
    assert_allclose(found.mean, Phiq @ basis.mean + dual[0], rtol=1e-8, atol=1e-9)
    assert_allclose(found.covariance, dual[1], rtol=1e-7, atol=1e-9)


def test_slopes_are_the_linear_kernel(problem):
    _, chunks = problem
    lengths = np.array([0.7, 2.5])
    basis = Features.with_prior(lambda X: X, np.zeros((2, 2)), np.diag(lengths**-2.0))
    X, y, w, _ = reference.stack(chunks)
    Xq = asked(6)
    mean, covariance, _ = reference.gp(kernels.Linear(lengths), NOISE, X, y, w, Xq)
    found = basis_gaussian(basis, believed(basis, chunks), Xq)
    assert_allclose(found.mean, mean, rtol=1e-8, atol=1e-10)
    assert_allclose(found.covariance, covariance, rtol=1e-7, atol=1e-9)
    exact = kernels.Linear(lengths).value(Xq)
    prior = basis_gaussian(basis, normalise(basis.prior(2)), Xq)
    assert_allclose(prior.covariance, exact, rtol=1e-12, atol=1e-13)


def test_anchors_leave_a_residual(problem):
    _, chunks = problem
    kernel, Z, Xq = kernels.Matern32(1.7, [0.8, 1.9]), asked(4), asked(7)
    basis = Anchors.at(kernel, Z)
    total = basis.prior(2)
    for chunk in chunks:
        total = total + Block(NOISE).send(basis, chunk)
    found = basis_gaussian(basis, normalise(total), Xq)
    mean, covariance, _ = reference.sparse_gp("pitc", kernel, NOISE, chunks, Z, Xq)
    assert_allclose(found.mean, mean, rtol=1e-8, atol=1e-9)
    assert_allclose(found.covariance, covariance, rtol=1e-8, atol=1e-9)


# --- Jacobians ------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.3, np.linspace(0.1, 0.8, 22)], ids=["one", "a row"])
def test_laplace_inverts_the_posterior_precision(problem, noise):
    basis, chunks = problem
    X, _, w, _ = reference.stack(chunks)
    J, S0 = bumps(X), basis.factor @ basis.factor.T
    precision = np.linalg.inv(S0) + J.T @ np.diag(w / noise) @ J
    found = laplace(J, noise, S0, sample_weight=w)
    assert_allclose(found, np.linalg.inv(precision), rtol=1e-8, atol=1e-11)
    unweighted = np.linalg.inv(np.linalg.inv(S0) + (J.T / noise) @ J)
    assert_allclose(laplace(J, noise, S0), unweighted, rtol=1e-8, atol=1e-11)


def test_a_linear_model_is_its_own_linearisation(problem):
    basis, chunks = problem
    X, _, w, _ = reference.stack(chunks)
    Xq, S0 = asked(11), basis.factor @ basis.factor.T
    mean, _ = posterior(basis, chunks)
    found = linearised(bumps(Xq) @ mean, bumps(Xq), laplace(bumps(X), NOISE, S0, w))
    expected = basis_gaussian(basis, believed(basis, chunks), Xq)
    assert_allclose(found.mean, expected.mean, rtol=1e-8, atol=1e-9)
    assert_allclose(found.covariance, expected.covariance, rtol=1e-8, atol=1e-9)


def test_weights_of_no_prior_variance_stay():
    J = np.random.default_rng(0).normal(size=(9, 3))
    S = laplace(J, 0.2, np.diag([1.0, 0.0, 4.0]))
    assert np.isfinite(S).all()
    assert_allclose(S[1], 0.0, atol=1e-6)
    kept = np.ix_([0, 2], [0, 2])
    assert_allclose(S[kept], laplace(J[:, [0, 2]], 0.2, np.diag([1.0, 4.0])), rtol=1e-6)


@pytest.mark.parametrize(
    "words, call",
    [
        ("prior_covariance has shape", lambda: laplace(np.ones((4, 2)), 1.0, np.eye(3))),
        ("noise must be positive", lambda: laplace(np.ones((4, 2)), 0.0, np.eye(2))),
        ("noise must be positive", lambda: laplace(np.ones((4, 2)), np.ones(3), np.eye(2))),
        ("sample_weight must be 4", lambda: laplace(np.ones((4, 2)), 1.0, np.eye(2), np.ones(3))),
        ("jacobian has shape", lambda: linearised(np.ones(3), np.ones((4, 2)), np.eye(2))),
        ("weight_covariance has shape", lambda: linearised(np.ones(4), np.ones((4, 2)), np.eye(3))),
    ],
)
def test_bad_input_is_named(words, call):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_gaussian_of_the_prior_has_the_prior_moments(problem):
    basis, _ = problem
    Xq = asked(6)
    prior = basis_gaussian(basis, normalise(basis.prior(2)), Xq)
    assert isinstance(prior, JointGaussian)
    S0 = basis.factor @ basis.factor.T
    assert_allclose(prior.mean, bumps(Xq) @ basis.mean, rtol=1e-12)
    assert_allclose(prior.covariance, bumps(Xq) @ S0 @ bumps(Xq).T, rtol=1e-11, atol=1e-12)
