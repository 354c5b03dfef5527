"""Modes and sites of one chunk; messages without inverses of W."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

import reference
from collegium.engines import Serial
from collegium.kernels import Matern32
from collegium.laplace import mode as laplace
from collegium.laplace.covariances import DenseCovariance, LowRankCovariance, residual_covariance
from collegium.laplace.mode import find_sites
from collegium.laplace.tuning import TUNING
from collegium.likelihoods import Gaussian, Logit, Poisson, Softmax, StudentT
from collegium.messages.basis import Anchors
from collegium.messages.experts import Block, Diagonal, Projected
from collegium.rows.chunk import Chunk
from site_cases import KERNEL, LIKELIHOODS, draw, predictors, start, swept

every = pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS.keys())


@every
@pytest.mark.parametrize("rank", ["dense", "low"])
def test_sites_are_at_the_mode(likelihood, rank):
    chunks, Z, _ = draw(likelihood, (24,))
    X, y, w = chunks[0].load()
    V = Anchors.at(KERNEL, Z).design(X)
    rng = np.random.default_rng(3)
    m = 0.4 * rng.normal(size=(24, 1))
    d = rng.uniform(0.3, 0.9, 24)
    P = LowRankCovariance(d, V) if rank == "low" else DenseCovariance(KERNEL.value(X))
    C = np.diag(d) + V.T @ V if rank == "low" else KERNEL.value(X)

    class Shifted:
        """p(y | m + e) as a likelihood of e."""

        def log_density(self, y, e):
            return likelihood.log_density(y, m[:, 0] + e)

        def derivatives(self, y, e):
            return likelihood.derivatives(y, m[:, 0] + e)

    f, g, W, _ = reference.laplace(C, Shifted(), y, w)
    sites = find_sites(likelihood, y, w, m, [P])
    assert sites.converged
    assert_allclose(sites.f[:, 0], m[:, 0] + f, rtol=1e-9, atol=1e-9)
    assert_allclose(sites.g[:, 0], g, rtol=1e-8, atol=1e-8)
    assert_allclose(sites.W[:, 0], W, rtol=1e-8, atol=1e-8)
    assert_allclose(sites.log_density, w @ likelihood.log_density(y, m[:, 0] + f), rtol=1e-9)
    again = find_sites(likelihood, y, w, m, [P], start=sites.g)
    assert_allclose(again.f, sites.f, rtol=1e-10, atol=1e-10)


def test_sites_of_softmax_are_at_the_joint_mode():
    likelihood = Softmax(4)
    chunks, _, _ = draw(likelihood, (21,))
    X, y, w = chunks[0].load()
    C = KERNEL.value(X)
    f, p = reference.softmax_mode(C, 4, y, w)
    sites = find_sites(likelihood, y, w, np.zeros((21, 4)), [DenseCovariance(C)] * 4)
    assert_allclose(sites.f, f, rtol=1e-9, atol=1e-10)
    assert_allclose(sites.W, w[:, None] * p * (1 - p), rtol=1e-8)


@every
@pytest.mark.parametrize("expert", [Block, Diagonal, Projected], ids=lambda e: e.__name__)
def test_messages_are_those_of_gaussian_pseudo_targets(likelihood, expert):
    """f̂ + W⁻¹g with noise W⁻¹, and log p − log N(f̂ + W⁻¹g; f̂, W⁻¹) in the log scale."""
    if isinstance(likelihood, StudentT):
        likelihood = StudentT(3.7, 8.0)  # no W is zero
    chunks, Z, _ = draw(likelihood, (15,))
    X, y, w = chunks[0].load()
    basis = Anchors.at(KERNEL, Z)
    V = basis.design(X)
    Q = residual_covariance(expert(0.0).residual(basis, X, V))
    sites = find_sites(likelihood, y, w, np.zeros((15, 1)), [Q.plus(V)])
    (found,) = sites.message(V, Q)
    f, g, W = sites.f, sites.g, sites.W
    pseudo = Chunk(0, X, f + g / W, np.ones(15))
    left = Q.C if isinstance(Q, DenseCovariance) else np.diag(Q.d)
    R = left + np.diag(1.0 / W[:, 0])
    assert_allclose(found.precision, V @ np.linalg.solve(R, V.T), rtol=1e-8, atol=1e-9)
    assert_allclose(found.shift, V @ np.linalg.solve(R, pseudo.y), rtol=1e-7, atol=1e-8)
    own = reference.log_density(g / W, np.diag(1.0 / W[:, 0]))
    expected = reference.log_density(pseudo.y, R) - own + sites.log_density
    assert_allclose(found.log_scale, expected, rtol=1e-9)


@pytest.mark.parametrize("expert", [Block, Diagonal, Projected], ids=lambda e: e.__name__)
def test_a_gaussian_chunk_sends_the_message_of_its_expert(expert):
    likelihood = Gaussian(0.17)
    chunks, Z, _ = draw(likelihood, (15,))
    X, y, w = chunks[0].load()
    basis = Anchors.at(KERNEL, Z)
    V = basis.design(X)
    Q = residual_covariance(expert(0.0).residual(basis, X, V))
    (found,) = find_sites(likelihood, y, w, np.zeros((15, 1)), [Q.plus(V)]).message(V, Q)
    expected = expert(0.17).send(basis, chunks[0])
    assert_allclose(found.precision, expected.precision, rtol=1e-10, atol=1e-11)
    assert_allclose(found.shift, expected.shift, rtol=1e-9, atol=1e-10)
    assert_allclose(found.log_scale, expected.log_scale, rtol=1e-11)


def test_a_site_of_precision_zero_still_counts():
    """W = 0 is the limit of W → 0."""
    chunks, Z, _ = draw(StudentT(3.7, 0.08), (20,))
    X, y, w = chunks[0].load()
    basis = Anchors.at(KERNEL, Z)
    V = basis.design(X)
    Q = residual_covariance(Block(0.0).residual(basis, X, V))
    sites = find_sites(StudentT(3.7, 0.08), y, w, np.zeros((20, 1)), [Q.plus(V)])
    assert (sites.W == 0.0).any() and (sites.g[sites.W == 0.0] != 0.0).all()
    (found,) = sites.message(V, Q)
    W = np.maximum(sites.W[:, 0], 1e-7)
    R = Q.C + np.diag(1.0 / W)
    y = sites.f[:, 0] + sites.g[:, 0] / W
    assert_allclose(found.precision, V @ np.linalg.solve(R, V.T), rtol=1e-4, atol=1e-5)
    assert_allclose(found.shift[:, 0], V @ np.linalg.solve(R, y), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("m", [0, 1, 9, 40])
def test_one_chunk_is_the_classifier_of_scikit_learn(m):
    rng = np.random.default_rng(8)
    X, Xs = rng.uniform(-2, 2, (40, 2)), rng.uniform(-2, 2, (12, 2))
    y = np.sign(np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=40))
    kernel = ConstantKernel(2.6) * Matern([1.3, 0.8], nu=1.5)
    theirs = GaussianProcessClassifier(kernel, optimizer=None, max_iter_predict=100).fit(X, y)
    own = theirs.base_estimator_
    Ks = kernel(own.X_train_, Xs)
    mean = Ks.T @ (own.y_train_ - own.pi_)
    S = np.linalg.solve(own.L_, own.W_sr_[:, None] * Ks)
    variance = kernel.diag(Xs) - (S**2).sum(axis=0)

    chunk = Chunk(0, X, y[:, None], np.ones(40))
    ours = start(Logit(), rng.uniform(-2, 2, (m, 2)), kernel=Matern32(2.6, [1.3, 0.8]))
    ours = swept(ours.join([chunk]))
    assert_allclose(ours.log_evidence, own.log_marginal_likelihood_value_, rtol=1e-8)
    for answer in (predictors(ours, 5)[0], predictors(ours, 0)[0]):
        found = answer.predict(Xs, Serial())
        assert_allclose(found.mean[:, 0], mean, rtol=1e-5, atol=1e-6)
        assert_allclose(found.variance, variance, rtol=1e-5)
    p = _five_erfs(found.mean[:, 0], found.variance)
    assert_allclose(p, theirs.predict_proba(Xs)[:, 1], rtol=1e-5)
    assert_allclose(Logit().probability(found.mean[:, 0], found.variance), p, atol=2e-3)


def _five_erfs(m, v):
    """Williams & Barber (1998): the logistic function as a sum of error functions."""
    from scipy.special import erf
    from sklearn.gaussian_process._gpc import COEFS, LAMBDAS

    alpha = 1.0 / (2.0 * v)
    gamma = LAMBDAS * m
    root = np.sqrt(np.pi / alpha) * erf(gamma * np.sqrt(alpha / (alpha + LAMBDAS**2)))
    return (COEFS * root / (2.0 * np.sqrt(v * 2.0 * np.pi))).sum(axis=0) + 0.5 * COEFS.sum()


def test_large_counts_are_fitted_to_the_last_digit():
    X = np.linspace(-1, 1, 12)[:, None]
    y = np.full((12, 1), 1e9)
    P = DenseCovariance(Matern32(2.0, 0.7).value(X))
    sites = find_sites(Poisson(), y, np.ones(12), np.zeros((12, 1)), [P])
    assert sites.converged
    assert_allclose(sites.f, np.log(1e9), rtol=1e-7)
    assert_allclose(P.times(sites.g[:, 0]), sites.f[:, 0], rtol=1e-4)


def rough(seed=0, n=24):
    """Inputs, and counts that no smooth rate explains."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, rng.poisson(np.exp(1.0 + np.sin(X[:, 0]))).astype(float)


@pytest.mark.parametrize("rank", ["dense", "low"])
@pytest.mark.parametrize("size", [1e9, 1e12, 1e15])
def test_rough_counts_of_any_size_have_their_mode(size, rank):
    X, y = rough()
    y = size * (y if size < 1e15 else y > np.median(y))[:, None]
    P, C = prior_of(X, rank)
    y = np.hstack([y, np.full_like(y, y.mean())])
    sites = find_sites(Poisson(), y, np.ones(24), np.zeros((24, 1)), [P])
    f = reference.laplace(C, Poisson(), y, np.ones(24), start=sites.f[:, 0] + 1e-3)[0]
    assert sites.converged
    assert_allclose(sites.f[:, 0], f, rtol=1e-6, atol=1e-6)
    far = find_sites(Poisson(), y, np.ones(24), np.zeros((24, 1)), [P], start=sites.g + 0.1)
    assert_allclose(far.f, sites.f, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("rank", ["dense", "low"])
@pytest.mark.parametrize("weight", [1e8, 1e12, 1e16])
@pytest.mark.parametrize("likelihood", [*LIKELIHOODS.values(), Softmax(3)], ids=repr)
def test_rows_of_any_weight_have_their_mode(likelihood, weight, rank):
    """The slope of ψ at f̂ is zero: f̂ = P∇ log p, in units of posterior deviations."""
    chunks, _, _ = draw(likelihood, (24,))
    X, y, _ = chunks[0].load()
    w = np.where(np.arange(24) % 5 < 2, weight, 1.0)
    P, C = prior_of(X, rank)
    K = likelihood.latents
    sites = find_sites(likelihood, y, w, np.zeros((24, K)), [P] * K)
    assert sites.converged
    for k in range(K):
        away = np.linalg.solve(C, sites.f[:, k]) - sites.g[:, k]
        spread = np.linalg.inv(np.linalg.inv(C) + np.diag(sites.W[:, k]))
        rounding = 1e-12 * (1.0 + abs(sites.log_density))
        assert away @ spread @ away < 1e-7 + rounding
    assert np.abs(sites.f).max() < 200.0


def prior_of(X, rank):
    if rank == "dense":
        C = reference.covariance(KERNEL, X)
        return DenseCovariance(C), C
    T = Anchors.at(KERNEL, X[:5] + 0.1).design(X)
    d = KERNEL.diag(X) - (T * T).sum(axis=0) + 0.01
    return LowRankCovariance(d, T), np.diag(d) + T.T @ T


def test_a_failed_search_is_not_called_a_mode(monkeypatch):
    X, y = rough()
    P, w = prior_of(X, "dense")[0], np.ones(24)

    def found():
        return find_sites(Poisson(), 1e6 * y[:, None], w, np.zeros((24, 1)), [P])

    assert found().converged
    with monkeypatch.context() as m:
        few = replace(TUNING, modes=replace(TUNING.modes, max_iter=3))
        m.setattr(laplace, "TUNING", few)
        assert not found().converged
    own = laplace.LogPosterior.step
    monkeypatch.setattr(laplace.LogPosterior, "step", lambda *a: tuple(-s for s in own(*a)))
    assert not found().converged


def test_newton_begins_at_the_better_of_a_guess_and_the_mean():
    chunks, _, _ = draw(Poisson(), (24,))
    X, y, w = chunks[0].load()
    P = prior_of(X, "dense")[0]
    posterior = laplace.log_posterior(Poisson(), y, w, np.zeros((24, 1)), [P])
    mode = find_sites(Poisson(), y, w, posterior.means, [P]).g
    for guess, taken in ((mode, mode), (50.0 * np.ones((24, 1)), 0.0 * mode), (None, 0.0 * mode)):
        a, Pa, value = laplace._first_point(posterior, guess)
        assert_allclose(a, taken)
        assert_allclose(Pa, posterior.latent(taken))
        own = posterior.log_density(Pa) - 0.5 * (a * Pa).sum()
        assert_allclose(value, own, rtol=1e-12)
