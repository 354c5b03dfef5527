"""What fitted estimators say jointly: the function's posterior, its prior, and the noise."""

import numpy as np
import pytest
from members_cases import (
    MATERN,
    NOISE,
    OURS,
    Plane,
    PlaneOfFunctions,
    TanhNetwork,
    gp,
    queries,
    rows,
)
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel
from sklearn.linear_model import ARDRegression, BayesianRidge, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import reference
from collegium import CommitteeRegressor
from collegium.combining.members import member

Q = queries()


def same(told, expected, rtol=1e-9):
    for a, b in [(told.posterior, expected.posterior), (told.prior, expected.prior)]:
        assert_allclose(a.mean, b.mean, rtol=rtol, atol=1e-10)
        assert_allclose(a.covariance, b.covariance, rtol=rtol, atol=1e-10)
    assert_allclose(told.noise, expected.noise, rtol=rtol)


def test_a_gp_tells_its_posterior_and_prior():
    X, y = rows()
    (told,) = member(gp().fit(X, y), Q)
    mean, covariance, _ = reference.gp(OURS, NOISE, X, y[:, None], np.ones(45), Q)
    assert_allclose(told.posterior.mean, mean[:, 0], rtol=1e-9)
    assert_allclose(told.posterior.covariance, covariance, rtol=1e-8, atol=1e-10)
    assert_allclose(told.prior.covariance, reference.covariance(OURS, Q), rtol=1e-12)
    assert_allclose(told.prior.mean, 0.0)
    assert_allclose(told.noise, NOISE)


@pytest.mark.parametrize("normalize_y", [False, True])
def test_white_noise_of_a_gp_is_noise_not_function(normalize_y):
    """The same model with the noise in alpha, in the kernel, and in both."""
    X, y = rows()
    white = ConstantKernel(2.0) * WhiteKernel(0.5 * 0.05)
    settings = {"normalize_y": normalize_y}
    (expected,) = member(gp(MATERN, alpha=0.09, **settings).fit(X, y), Q)
    for kernel, alpha in [(MATERN + white, 0.04), (MATERN + WhiteKernel(0.09), 0.0)]:
        (told,) = member(gp(kernel, alpha=alpha, **settings).fit(X, y), Q)
        same(told, expected)
    observed = gp(MATERN + WhiteKernel(0.09), alpha=0.0, **settings).fit(X, y)
    std = observed.predict(Q, return_std=True)[1]
    total = expected.posterior.covariance.diagonal() + expected.noise
    assert_allclose(total, std**2, rtol=1e-9)


def test_noise_of_rows_is_averaged():
    X, y = rows()
    alpha = np.linspace(0.01, 0.2, 45)
    (told,) = member(gp(alpha=alpha).fit(X, y), Q)
    assert_allclose(told.noise, alpha.mean())


def test_outputs_of_a_gp_have_scales_of_their_own():
    X, y = rows(p=3)
    together = member(gp(normalize_y=True).fit(X, y), Q)
    assert len(together) == 3
    for j, told in enumerate(together):
        (alone,) = member(gp(normalize_y=True).fit(X, y[:, j]), Q)
        same(told, alone)
        assert_allclose(told.prior.mean, y[:, j].mean(), rtol=1e-12)
        prior = y[:, j].var() * reference.covariance(OURS, Q)
        assert_allclose(told.prior.covariance, prior, rtol=1e-10)
        assert_allclose(told.noise, y[:, j].var() * NOISE, rtol=1e-12)


@pytest.mark.parametrize("p", [None, 2])
def test_our_own_regressors_tell_the_same(p):
    X, y = rows(p=p)
    model = CommitteeRegressor(OURS, noise=NOISE, learn=False).fit(X, y)
    told = member(model, Q)
    targets = y.reshape(45, -1)
    assert len(told) == targets.shape[1]
    for j, each in enumerate(told):
        centre = targets[:, j].mean()
        mean, covariance, _ = reference.gp(OURS, NOISE, X, targets[:, [j]] - centre, np.ones(45), Q)
        assert_allclose(each.posterior.mean, centre + mean[:, 0], rtol=1e-8)
        assert_allclose(each.posterior.covariance, covariance, rtol=1e-7, atol=1e-9)
        assert_allclose(each.prior.mean, centre, rtol=1e-12)
        assert_allclose(each.prior.covariance, reference.covariance(OURS, Q), rtol=1e-10)
        assert_allclose(each.noise, NOISE, rtol=1e-12)


def test_our_outputs_may_share_a_kernel_in_proportion():
    X, y = rows(p=2)
    model = CommitteeRegressor(OURS, noise=[NOISE, 4 * NOISE], learn=False).fit(X, y)
    first, second = member(model, Q)
    assert_allclose(second.prior.covariance, 4 * first.prior.covariance, rtol=1e-10)
    assert_allclose((first.noise, second.noise), (NOISE, 4 * NOISE), rtol=1e-10)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", [BayesianRidge, ARDRegression])
def test_bayesian_linear_models_tell_their_weights(kind, intercept):
    X, y = rows(60, d=6)
    y = y + 2.0 * X[:, 3]
    model = kind(fit_intercept=intercept).fit(X, y)
    Xq = queries(9, d=6)
    (told,) = member(model, Xq)
    assert_allclose(told.posterior.mean, model.predict(Xq), rtol=1e-10)
    # (x − x̄)ᵀΣ(x − x̄) of the columns kept; scikit-learn's own std left out x̄ before 1.9
    kept = np.broadcast_to(model.lambda_ < getattr(model, "threshold_lambda", np.inf), 6)
    J = (Xq - model.X_offset_)[:, kept]
    expected = (J @ model.sigma_ * J).sum(axis=1)
    assert_allclose(told.posterior.covariance.diagonal(), expected, rtol=1e-8)
    assert_allclose(told.noise, 1.0 / model.alpha_)
    # Bayes' rule from the prior it tells leads to the posterior it tells.
    (there,) = member(model, X)
    centred = y - there.prior.mean
    Cyy = there.prior.covariance + told.noise * np.eye(60)
    everywhere = np.concatenate([X, Xq])
    (joint,) = member(model, everywhere)
    P = joint.prior.covariance
    mean, cov = reference.condition(Cyy, P[60:, :60], P[60:, 60:], centred[:, None])
    assert_allclose(told.posterior.mean, told.prior.mean + mean[:, 0], rtol=1e-5, atol=1e-5)
    assert_allclose(told.posterior.covariance, cov, rtol=1e-5, atol=1e-8)


def test_columns_that_ard_dropped_have_no_variance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    model = ARDRegression(threshold_lambda=50.0).fit(X, X[:, 1] + 0.1 * rng.normal(size=80))
    dropped = model.lambda_ >= 50.0
    assert dropped.sum() == 4
    Xq = np.zeros((2, 5)) + model.X_offset_
    Xq[1, dropped] += 10.0
    (told,) = member(model, Xq)
    assert_allclose(told.posterior.covariance, 0.0, atol=1e-20)
    assert_allclose(told.prior.covariance, 0.0, atol=1e-20)


def test_a_pipeline_tells_what_its_last_step_says_of_transformed_queries():
    X, y = rows()
    scaler = StandardScaler().fit(X)
    told = member(make_pipeline(StandardScaler(), "passthrough", gp()).fit(X, y), Q)
    expected = member(gp().fit(scaler.transform(X), y), scaler.transform(Q))
    same(told[0], expected[0])


def test_a_linear_model_may_give_its_jacobian_or_its_prior():
    X, y = rows()
    (weights,), (functions,) = (
        member(model.fit(X, y), Q) for model in (Plane(), PlaneOfFunctions())
    )
    same(weights, functions)
    S0 = np.diag([0.5, 3.0])
    mean, S, _ = reference.linear_regression(
        X, 0.25, y[:, None], np.ones(45), np.array([[-1.0], [1.0]]), S0
    )
    assert_allclose(weights.posterior.mean, (Q @ mean)[:, 0], rtol=1e-8)
    assert_allclose(weights.posterior.covariance, Q @ S @ Q.T, rtol=1e-8, atol=1e-11)
    assert_allclose(weights.prior.mean, Q @ [-1.0, 1.0], rtol=1e-10)
    assert_allclose(weights.prior.covariance, Q @ S0 @ Q.T, rtol=1e-10)
    assert weights.noise == 0.25


def test_the_network_tells_its_true_jacobian():
    X, y = rows()
    network = TanhNetwork().fit(X, y - y.mean())
    numeric = reference.gradient(lambda w: network.value(Q, w), network.weights_)
    assert_allclose(network.jacobian(Q), numeric, rtol=1e-7, atol=1e-9)
    (told,) = member(network, Q)
    J, w = numeric, network.weights_
    assert_allclose(told.posterior.covariance, J @ network.weight_covariance_ @ J.T, rtol=1e-6)
    assert_allclose(told.prior.mean, network.predict(Q) - J @ w, rtol=1e-6, atol=1e-7)
    assert_allclose(told.prior.covariance, network.scale * J @ J.T, rtol=1e-6, atol=1e-7)
    # The mode is that of the linearised model: Bayes' rule there stays there.
    J, r = network.jacobian(X), (y - y.mean()) - network.predict(X) + network.jacobian(X) @ w
    start, S0 = np.zeros((w.size, 1)), network.scale * np.eye(w.size)
    mean, _, _ = reference.linear_regression(J, network.noise, r[:, None], np.ones(45), start, S0)
    assert_allclose(mean[:, 0], w, rtol=1e-4, atol=1e-4)


def test_several_outputs_with_a_jacobian_each():
    class Two(Plane):
        def predict(self, X):
            return np.column_stack([X @ self.coef_, 3.0 * X @ self.coef_])

        def jacobian(self, X):
            return np.stack([X, 3.0 * X], axis=1)

    X, y = rows()
    first, second = member(Two().fit(X, y), Q)
    (plane,) = member(Plane().fit(X, y), Q)
    same(first, plane)
    assert_allclose(second.posterior.mean, 3.0 * plane.posterior.mean)
    assert_allclose(second.posterior.covariance, 9.0 * plane.posterior.covariance)
    assert_allclose(second.prior.mean, 3.0 * plane.prior.mean)


def test_kernels_without_a_limit_of_variance():
    X, y = rows()
    (told,) = member(gp(DotProduct(0.5) + 0.3 * RBF(0.4)).fit(X, y), 1e3 * Q)
    assert np.isfinite(told.posterior.covariance).all()
    assert_allclose(told.prior.covariance, told.prior.covariance.T, rtol=1e-12)


def test_what_cannot_be_combined_is_refused():
    X, y = rows()
    with pytest.raises(ValueError, match="Ridge gives no joint Gaussian.*GaussianProcessRegressor"):
        member(Ridge().fit(X, y), Q)
    with pytest.raises(ValueError, match="Ridge gives no joint Gaussian"):
        member(make_pipeline(StandardScaler(), Ridge()).fit(X, y), Q)
    plane = Plane().fit(X, y)
    del plane.weight_prior_covariance_
    with pytest.raises(ValueError, match="weight_prior_covariance_"):
        member(plane, Q)
