"""Models and slow obvious code for the tests of optimisation."""

import numpy as np

from collegium import CommitteeRegressor, kernels

VARIANCE, LENGTH = 1.7, 0.4


def wave(X):
    return np.sin(3.0 * X[:, 0]) + 0.4 * X.sum(axis=1)


def known(d=1, n=8, noise=1e-9, seed=0, sign=1.0):
    """A model whose kernel and noise are given, of rows in (−1, 1)^d."""
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, size=(n, d))
    kernel = kernels.Matern52(VARIANCE, np.full(d, LENGTH))
    model = CommitteeRegressor(kernel, noise=noise, learn=False, random_state=0)
    return model.fit(X, sign * wave(X)), X, sign * wave(X)


def matern52(X, Z):
    r = np.sqrt(5.0) * np.linalg.norm(X[:, None] - Z, axis=2) / LENGTH
    return VARIANCE * (1.0 + r + r**2 / 3.0) * np.exp(-r)


def exact(noise, X, y, Xs):
    """Mean and covariance of f at Xs, with the mean of y as the prior mean."""
    K = matern52(X, X) + noise * np.eye(len(X))
    k = matern52(Xs, X)
    mean = y.mean() + k @ np.linalg.solve(K, y - y.mean())
    return mean, matern52(Xs, Xs) - k @ np.linalg.solve(K, k.T)


def grid(d, k):
    """All points of a grid in (−1, 1)^d."""
    axes = np.meshgrid(*[np.linspace(-1.0, 1.0, k)] * d, indexing="ij")
    return np.stack([axis.ravel() for axis in axes], axis=1)
