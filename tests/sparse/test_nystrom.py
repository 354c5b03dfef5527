"""The Nyström method: faithful, and honest about it."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.utils.estimator_checks import parametrize_with_checks

import reference
from collegium import NystromRegressor, kernels
from collegium.sparse.nystrom import NystromWarning
from estimator_cases import GIVEN, KERNEL, NOISE, queries, rows, smooth_rows

Q = queries()


def dense(X, y, Z, noise=NOISE, kernel=KERNEL):
    """K̃, w and predictions by the book (Williams & Seeger 2001)."""
    Kxz, Kzz = reference.covariance(kernel, X, Z), reference.covariance(kernel, Z)
    low = Kxz @ np.linalg.solve(Kzz, Kxz.T)
    inverse = np.linalg.inv(low + noise * np.eye(len(X)))
    k = reference.covariance(kernel, Q, X)
    weights = inverse @ (y - y.mean())
    cov = reference.covariance(kernel, Q) - k @ inverse @ k.T
    return low, weights, y.mean() + k @ weights, cov


def test_weights_and_answers_are_the_formula():
    X, y = rows(40)
    order = np.lexsort(np.column_stack([y, X[:, ::-1]]).T)
    X, y = X[order], y[order]  # merged rows come sorted
    model = NystromRegressor(**GIVEN, anchors=X[:38]).fit(X, y)
    low, weights, mean, cov = dense(X, y, X[:38])
    kept = model.model_.committee.rows().X
    assert_allclose(kept[np.lexsort(kept.T)], X[np.lexsort(X.T)])
    back = [int(np.flatnonzero((X == x).all(axis=1))[0]) for x in kept]
    assert_allclose(model.weights_ * float(y.std()), (weights * y.var())[back], rtol=1e-6)
    found, std = model.predict(Q, return_std=True, level="function")
    assert_allclose(found, mean, rtol=1e-7)
    assert_allclose(std**2, np.diag(cov), rtol=1e-5)
    _, joint = model.predict(Q, return_cov=True, level="function")
    assert_allclose(joint, cov, rtol=0, atol=1e-6 * KERNEL.variance)


def test_the_weights_are_those_of_woodbury():
    """σ⁻²(y − K_NB(σ²K_B + K_BN K_NB)⁻¹K_BN y), as the paper writes them."""
    X, y = rows(40)
    Z = X[:20]
    Kxz, Kzz = reference.covariance(KERNEL, X, Z), reference.covariance(KERNEL, Z)
    inner = np.linalg.solve(NOISE * Kzz + Kxz.T @ Kxz, Kxz.T @ (y - y.mean()))
    assert_allclose(dense(X, y, Z)[1], (y - y.mean() - Kxz @ inner) / NOISE, rtol=1e-5, atol=1e-6)


def test_all_rows_as_anchors_are_the_exact_gp():
    X, y = rows(40)
    model = NystromRegressor(**GIVEN, anchors=X).fit(X, y)
    K = reference.covariance(KERNEL, X)
    expected = y.mean() + reference.covariance(KERNEL, Q, X) @ np.linalg.solve(
        K + NOISE * np.eye(40), y - y.mean()
    )
    assert_allclose(model.predict(Q), expected, rtol=1e-6)
    assert model.error_bound() < 1e-5


def test_the_bound_is_that_of_the_eigenvalues():
    X, y = rows(40)
    model = NystromRegressor(**GIVEN, anchors=X[:10]).fit(X, y)
    low = dense(X, y, X[:10])[0]
    full = np.sort(np.linalg.eigvalsh(reference.covariance(KERNEL, X)))[::-1]
    found = np.sort(np.linalg.eigvalsh(low))[::-1]
    expected = (np.abs(full - found) / (np.maximum(found, 0.0) + NOISE)).max()
    assert_allclose(model.error_bound(), expected, rtol=1e-6)


def test_little_noise_and_few_anchors_explode_and_are_told():
    X, y = smooth_rows(300)
    given = {"learn": False, "random_state": 0, "anchors": 10}
    model = NystromRegressor(kernels.RBF(1.0, 0.7), noise=1e-6, **given)
    with pytest.warns(NystromWarning, match="unstable here"):
        model.fit(X, y)
    assert np.abs(model.weights_).max() > 1e3 and model.error_bound() > 1e3
    with pytest.warns(NystromWarning, match="negative variances"):
        mean, std = model.predict(Q, return_std=True)
    assert np.isfinite(mean).all() and (std >= 0).all()
    with pytest.warns(NystromWarning):
        assert np.isfinite(model.predict(Q, return_cov=True)[1]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error", NystromWarning)
        NystromRegressor(kernels.RBF(1.0, 0.7), noise=0.5, **{**given, "anchors": 150}).fit(X, y)


def test_the_bound_of_too_many_rows_is_refused():
    X = np.linspace(0, 1, 16_500)[:, None]
    model = NystromRegressor(kernels.RBF(1.0, 0.3), noise=0.1, learn=False, anchors=5)
    model.fit(X, X[:, 0])
    with pytest.raises(ValueError, match="error_bound needs a dense"):
        model.error_bound()


@pytest.mark.filterwarnings("ignore::collegium.sparse.nystrom.NystromWarning")
@parametrize_with_checks([NystromRegressor(kernels.Matern32(), random_state=0, anchors=40)])
def test_scikit_learn_conventions_hold(estimator, check):
    check(estimator)


def test_weights_of_rows_are_repetitions():
    X, y = rows(40)
    w = np.random.default_rng(0).uniform(0.5, 3.0, 40)
    model = NystromRegressor(**GIVEN, anchors=X[:38]).fit(X, y, sample_weight=w)
    centre = (w * y).sum() / w.sum()
    Kxz, Kzz = reference.covariance(KERNEL, X, X[:38]), reference.covariance(KERNEL, X[:38])
    C = Kxz @ np.linalg.solve(Kzz, Kxz.T) + np.diag(NOISE / w)
    k = reference.covariance(KERNEL, Q, X)
    assert_allclose(model.predict(Q), centre + k @ np.linalg.solve(C, y - centre), rtol=1e-7)
    whole = NystromRegressor(**GIVEN, anchors=X[:10]).fit(X, y, sample_weight=2 + 0 * y)
    twice = np.repeat(X, 2, axis=0)
    K = reference.covariance(KERNEL, twice)
    Kxz = reference.covariance(KERNEL, twice, X[:10])
    low = Kxz @ np.linalg.solve(reference.covariance(KERNEL, X[:10]), Kxz.T)
    full, found = (np.sort(np.linalg.eigvalsh(A))[::-1] for A in (K, low))
    bound = (np.abs(full - found) / (np.maximum(found, 0.0) + NOISE)).max()
    assert_allclose(whole.error_bound(), bound, rtol=1e-5)


@pytest.mark.filterwarnings("ignore::collegium.sparse.nystrom.NystromWarning")
@pytest.mark.parametrize("noise", [0.0, 1e-14])
def test_without_noise_no_variance_exceeds_the_prior(noise):
    X, y = smooth_rows(120)
    model = NystromRegressor(
        kernels.RBF(1.0, 1.0), noise=noise, learn=False, anchors=20, random_state=0
    ).fit(X, y)
    mean, std = model.predict(Q, return_std=True)
    assert np.isfinite(mean).all() and (std <= 1.0001).all()
    assert np.isfinite(model.predict(Q, return_cov=True)[1]).all()
    assert np.isfinite(model.sample_y(Q, 2)).all()


def test_kernels_that_disagree_are_told_where_no_weight_is_large():
    X, y = smooth_rows(300)
    model = NystromRegressor(
        kernels.RBF(1.0, 0.4), noise=0.05, learn=False, anchors=10, random_state=0
    )
    with pytest.warns(NystromWarning, match="differ by"):
        model.fit(X, y)
    assert np.abs(model.weights_).max() < 1e3
    K = kernels.RBF(1.0, 0.4).value(X) / y.var()
    kept = model.model_.committee.rows()
    back = [int(np.flatnonzero((X == x).all(axis=1))[0]) for x in kept.X]
    Kxz = kernels.RBF(1.0, 0.4).value(X, model.anchors_) / y.var()
    low = Kxz @ np.linalg.solve(kernels.RBF(1.0, 0.4).value(model.anchors_) / y.var(), Kxz.T)
    gap = ((K - low)[np.ix_(back, back)] @ model.weights_) / np.sqrt(np.mean(kept.y**2))
    assert_allclose(model._predictor().mismatch(), np.sqrt(np.mean(gap**2)), rtol=1e-6)
