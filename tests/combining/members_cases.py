"""Members for committees, and slow code to hold their answers against."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from collegium import kernels
from collegium.combining.jacobians import laplace
from collegium.combining.regressor import CommitteeOf

NOISE = 0.09
LENGTHS = [0.8, 1.9]
#: The same prior twice: scikit-learn's and ours.
MATERN = ConstantKernel(1.7) * Matern(LENGTHS, nu=1.5)
OURS = kernels.Matern32(1.7, LENGTHS)


def gp(kernel=MATERN, alpha=NOISE, **settings):
    return GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None, **settings)


def committee(*members, **settings):
    """Members called a, b, c …; three Gaussian processes where none are given."""
    members = members or (gp(), gp(), gp())
    return CommitteeOf(list(zip("abcdefgh", members)), **{"random_state": 3, **settings})


def rows(n=45, p=None, d=2, seed=5):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, d))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, -1] + 3.0
    if p is not None:
        y = np.column_stack([(j + 1) ** 3 * np.roll(y, j) for j in range(p)])
    return X, y + 0.3 * rng.normal(size=y.shape)


def queries(q=12, d=2, seed=8):
    return np.random.default_rng(seed).uniform(-2, 2, size=(q, d))


def slow_product(posteriors, priors):
    """p̄(f) Π pᵢ(f | Dᵢ)/pᵢ(f), p̄ the average prior; (mean, covariance) each, by inverses."""
    inverse = np.linalg.inv
    mean = np.mean([m for m, _ in priors], axis=0)
    precision = inverse(np.mean([P for _, P in priors], axis=0))
    shift = precision @ mean
    for (m, S), (p, P) in zip(posteriors, priors):
        precision = precision + inverse(S) - inverse(P)
        shift = shift + inverse(S) @ m - inverse(P) @ p
    return np.linalg.solve(precision, shift), inverse(precision)


class TanhNetwork(RegressorMixin, BaseEstimator):
    """Σ aₖ tanh(bₖᵀx + cₖ), weights ~ N(0, scale); Gauss–Newton, then Laplace's method."""

    def __init__(self, hidden=3, scale=2.0, noise=0.04, seed=0):
        self.hidden = hidden
        self.scale = scale
        self.noise = noise
        self.seed = seed

    def value(self, X, w):
        a, C = w[: self.hidden], w[self.hidden :].reshape(self.hidden, -1)
        return np.tanh(X @ C[:, :-1].T + C[:, -1]) @ a

    def jacobian_at(self, X, w):
        a, C = w[: self.hidden], w[self.hidden :].reshape(self.hidden, -1)
        H = np.tanh(X @ C[:, :-1].T + C[:, -1])
        inner = a * (1.0 - H**2)  # ∂f/∂(bₖᵀx + cₖ)
        X1 = np.column_stack([X, np.ones(len(X))])
        return np.hstack([H, (inner[:, :, None] * X1[:, None, :]).reshape(len(X), -1)])

    def fit(self, X, y):
        X, y = np.asarray(X), np.asarray(y)
        k = self.hidden * (X.shape[1] + 2)
        w = np.random.default_rng(self.seed).normal(size=k)
        prior = np.eye(k) / self.scale
        damping = 1.0
        for _ in range(300):
            J, r = self.jacobian_at(X, w), y - self.value(X, w)
            A = prior + J.T @ J / self.noise
            step = np.linalg.solve(A + damping * np.eye(k), J.T @ r / self.noise - prior @ w)
            better = self.loss(X, y, w + step) < self.loss(X, y, w)
            w, damping = (w + step, damping / 3) if better else (w, damping * 3)
        self.weights_, self.noise_ = w, self.noise
        self.weight_prior_covariance_ = self.scale * np.eye(k)
        J = self.jacobian_at(X, w)
        self.weight_covariance_ = laplace(J, self.noise, self.weight_prior_covariance_)
        return self

    def loss(self, X, y, w):
        return ((y - self.value(X, w)) ** 2).sum() / self.noise + (w**2).sum() / self.scale

    def predict(self, X):
        return self.value(np.asarray(X), self.weights_)

    def jacobian(self, X):
        return self.jacobian_at(np.asarray(X), self.weights_)


class Plane(RegressorMixin, BaseEstimator):
    """wᵀx with w ~ N(w₀, S₀): a linear model that tells its Jacobian, or its prior of f."""

    def __init__(self, noise=0.25):
        self.noise = noise

    def fit(self, X, y, sample_weight=None):
        k = X.shape[1]
        self.weight_prior_mean_ = np.linspace(-1.0, 1.0, k)
        self.weight_prior_covariance_ = np.diag(np.linspace(0.5, 3.0, k))
        self.noise_ = self.noise
        S = laplace(X, self.noise, self.weight_prior_covariance_, sample_weight)
        w = np.ones(len(X)) if sample_weight is None else sample_weight
        shift = np.linalg.solve(self.weight_prior_covariance_, self.weight_prior_mean_)
        self.coef_ = S @ (shift + X.T @ (w * y) / self.noise)
        self.weight_covariance_ = S
        return self

    def predict(self, X):
        return X @ self.coef_

    def jacobian(self, X):
        return np.asarray(X)


class PlaneOfFunctions(RegressorMixin, BaseEstimator):
    """The same, told in function space: predict(return_cov=True) and prior(X)."""

    def fit(self, X, y):
        self.plane_ = Plane().fit(X, y)
        self.noise_ = self.plane_.noise_
        return self

    def predict(self, X, return_cov=False):
        mean = self.plane_.predict(X)
        return (mean, X @ self.plane_.weight_covariance_ @ X.T) if return_cov else mean

    def prior(self, X):
        S0 = self.plane_.weight_prior_covariance_
        return X @ self.plane_.weight_prior_mean_, X @ S0 @ X.T
