"""Data and models shared by the tests of filters."""

import numpy as np

from collegium.filter.densities import UniformBox
from collegium.filter.model import FilterModel, Posterior
from collegium.filter.sums import Sums
from collegium.kernels import (
    RBF,
    Hat,
    Matern12,
    Matern32,
)

BOX = UniformBox(np.array([-2.0]), np.array([3.0]))
KERNELS = [Matern12(1.7, 0.6), Matern32(0.8, 1.1), RBF(1.3, 0.9), Hat(0.9, 1.4)]
IDS = [type(kernel).__name__ for kernel in KERNELS]


def column(*x):
    return np.array(x, dtype=float)[:, None]


def data(n=60, d=1, p=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 3.0, size=(n, d))
    Y = np.column_stack([np.sin((2 + j) * X[:, 0]) + 0.4 * X[:, -1] for j in range(p)])
    return X, Y + 0.2 * rng.normal(size=(n, p))


def model_of(kernel, noise, basis, density, linear=None, cut=1e-11):
    return FilterModel.of(kernel, noise, basis, density, linear, cut)


def posterior_after(model, X, Y, w=None):
    w = np.ones(len(X)) if w is None else w
    return Posterior.of(model, model.add(Sums.start(model.k, Y.shape[1]), X, Y, w))


def missed_by(model, X):
    """var[f − P_M f] = V₀ − 2aᵀV + VᵀV."""
    a, left = model.conditional(X)
    return left + ((a - model.columns(X) @ model.weights) ** 2).sum(axis=1)


def exact(kernel, noise, X, Y, Xs):
    """Mean, variance and log evidence of the Gaussian process, by inverses."""
    K = kernel.value(X, X) + noise * np.eye(len(X))
    k = kernel.value(Xs, X)
    inverse = np.linalg.inv(K)
    evidence = -0.5 * (
        np.einsum("np,nm,mp->p", Y, inverse, Y) + np.linalg.slogdet(2 * np.pi * K)[1]
    )
    return k @ inverse @ Y, kernel.diag(Xs) - np.einsum("ij,jk,ik->i", k, inverse, k), evidence
