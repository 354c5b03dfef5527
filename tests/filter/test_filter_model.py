"""Regression filters against dense algebra on fine grids (Zhu & Rohwer 1995)."""

import numpy as np
import pytest
from filter_cases import (
    BOX,
    IDS,
    KERNELS,
    column,
    data,
    exact,
    missed_by,
    model_of,
    posterior_after,
)
from numpy.testing import assert_allclose

from collegium.filter.bases import (
    BASES,
    Functions,
    LinearSplines,
    Place,
)
from collegium.filter.densities import Empirical, UniformBox
from collegium.filter.kalman import Drifting
from collegium.filter.model import FilterModel, LinearPart, Projection
from collegium.filter.rules import Nodes
from collegium.filter.sums import Sums
from collegium.kernels import (
    RBF,
    Constant,
    Hat,
    Matern12,
    Matern32,
)
from collegium.kernels import Linear as LinearKernel
from collegium.numerics.threads import single_threaded


@pytest.mark.parametrize("kernel", KERNELS, ids=IDS)
def test_the_filter_is_that_of_the_paper(kernel):
    """Eqs 2.6–2.11 by inverses, and the consistent form of the error bar of f."""
    X, Y = data()
    points, weights = UniformBox(BOX.low, BOX.high).nodes(800)
    basis = LinearSplines((np.linspace(-2, 3, 9),))
    rule = Nodes(points, weights, basis(points))
    noise, Xs = 0.07, np.linspace(-2, 3, 23)[:, None]
    Phi, PhiX, Phis = rule.values, basis(X), basis(Xs)
    H = Phi.T @ (weights[:, None] * Phi)
    C = (weights[:, None] * Phi).T @ kernel.value(points, points) @ (weights[:, None] * Phi)
    S0 = np.linalg.inv(H) @ C @ np.linalg.inv(H)
    S = np.linalg.inv(np.linalg.inv(S0) + PhiX.T @ PhiX / noise)
    w = S @ PhiX.T @ Y / noise
    cov_fw = kernel.value(Xs, points) @ (weights[:, None] * Phi) @ np.linalg.inv(H)
    B = cov_fw @ np.linalg.inv(S0)
    model = FilterModel(basis, BOX, None, Projection.of(rule, kernel, 1e-12), noise, None, 1e-12)
    found = posterior_after(model, X, Y)
    at_model, at_function = found.of_model(model, Xs), found.of_function(model, Xs)
    assert_allclose(at_model.mean, Phis @ w, atol=1e-9)
    assert_allclose(at_model.variance, np.einsum("ij,jk,ik->i", Phis, S, Phis), rtol=1e-7)
    assert_allclose(at_function.mean, B @ w, atol=1e-8)
    variance = kernel.diag(Xs) - (B * cov_fw).sum(axis=1) + np.einsum("ij,jk,ik->i", B, S, B)
    assert_allclose(at_function.variance, variance, rtol=1e-6)
    K = PhiX @ S0 @ PhiX.T + noise * np.eye(len(X))
    evidence = -0.5 * (Y[:, 0] @ np.linalg.inv(K) @ Y[:, 0] + np.linalg.slogdet(2 * np.pi * K)[1])
    assert_allclose(found.log_evidence[0], evidence, rtol=1e-9)
    missed = kernel.diag(Xs) - 2 * (cov_fw * Phis).sum(axis=1)
    missed += np.einsum("ij,jk,ik->i", Phis, S0, Phis)
    assert_allclose(missed_by(model, Xs), missed, atol=1e-9)
    published = found.as_published(model, Xs)
    assert_allclose(published.mean, Phis @ w, atol=1e-9)
    assert_allclose(published.variance, at_model.variance + missed, rtol=1e-6)
    for level, answer in (("model", at_model), ("function", at_function), ("paper", published)):
        joint = found.joint(model, Xs, level)
        assert_allclose(joint.diagonal(), answer.variance, rtol=1e-9)
        assert np.linalg.eigvalsh(joint).min() > -1e-9


def test_two_forms_of_the_bar_of_f_are_close_where_there_are_enough_functions():
    """The paper's sum ΦSΦᵀ + var[f − P_M f] leaves out a covariance: some per cent."""
    X, Y = data(160)
    kernel, Xs = Matern12(1.0, 0.5), np.linspace(-1.9, 2.9, 40)[:, None]
    model = model_of(kernel, 0.25, LinearSplines((np.linspace(-2, 3, 60),)), BOX)
    found = posterior_after(model, X, Y)
    paper = found.as_published(model, Xs).variance
    ours = found.of_function(model, Xs).variance
    assert 1e-4 < np.abs(np.sqrt(paper / ours) - 1.0).mean() < 0.05


@pytest.mark.parametrize("linear", [False, True])
def test_a_kernel_within_the_span_is_exact(linear):
    """V₀ = c + xᵀDx′ and the basis 1, x, x², x₁x₂: nothing is lost, at any density."""
    X, Y = data(40, 2, p=2)
    kernel = Constant(0.7) + LinearKernel(np.array([1.5, 0.4]))
    basis = Functions(lambda X: np.column_stack([np.ones(len(X)), X, X**2, X[:, 0] * X[:, 1]]), 6)
    lines = LinearPart(X.mean(axis=0), X.std(axis=0), sd=0.6) if linear else None
    model = model_of(kernel, 0.1, basis, Empirical(X), lines, cut=1e-12)
    Xs = np.vstack([data(9, 2, seed=4)[0], [[20.0, -30.0]]])
    found = posterior_after(model, X, Y)
    if linear:
        W = 0.6 / X.std(axis=0)
        m = X.mean(axis=0)

        class Both:
            @staticmethod
            def value(A, B):
                return kernel.value(A, B) + 0.36 + ((A - m) * W) @ ((B - m) * W).T

            @staticmethod
            def diag(A):
                return kernel.diag(A) + 0.36 + (((A - m) * W) ** 2).sum(axis=1)

        prior = Both
    else:
        prior = kernel
    mean, variance, evidence = exact(prior, 0.1, X, Y, Xs)
    for answer in (found.of_model(model, Xs), found.of_function(model, Xs)):
        assert_allclose(answer.mean, mean, rtol=1e-6, atol=1e-7)
        assert_allclose(answer.variance, variance, rtol=1e-5)
    assert_allclose(found.log_evidence, evidence, rtol=1e-8)


@pytest.mark.parametrize(("kernel", "name", "sizes", "last"), [
    (Matern12(1.0, 0.5), "splines", (10, 40, 160), 0.12),
    (Matern32(1.0, 0.8), "splines", (10, 40, 160), 4e-3),
    (RBF(1.0, 0.7), "splines", (10, 40, 160), 2e-3),
    (Hat(1.0, 1.1), "splines", (10, 40, 160), 0.12),
    (Matern12(1.0, 0.5), "bumps", (10, 40, 160), 0.12),
    (RBF(1.0, 0.7), "bumps", (5, 10, 40), 2e-3),
    (Matern32(1.0, 0.8), "harmonics", (10, 40, 160), 1e-2),
    (RBF(1.0, 0.7), "fourier", (6, 20, 120), 2e-2),
], ids=lambda v: v if isinstance(v, str) else None)  # fmt: skip
def test_with_more_functions_it_becomes_the_exact_gp(kernel, name, sizes, last):
    X, Y = data(100)
    Xs, noise = np.linspace(-1.9, 2.9, 60)[:, None], 0.2
    mean, variance, _ = exact(kernel, noise, X, Y, Xs)
    errors = []
    for m in sizes:
        place = Place(kernel, X, BOX.low, BOX.high, np.random.default_rng(0))
        model = model_of(kernel, noise, BASES[name](place, m), BOX)
        found = posterior_after(model, X, Y).of_function(model, Xs)
        errors.append(max(np.abs(found.mean - mean).max(), np.abs(found.variance - variance).max()))
    assert errors[0] > 1.5 * errors[1] > 2.0 * errors[2]
    assert errors[2] < last


def test_more_functions_do_not_over_fit():
    """Mean test error at four and eight times the functions, over functions from the prior."""
    kernel, noise = Matern12(1.0, 0.5), 0.25
    grid = np.linspace(-2, 3, 80)[:, None]
    rng = np.random.default_rng(5)
    mse = {m: [] for m in (10, 40, 160)}
    models = {m: model_of(kernel, noise, LinearSplines((np.linspace(-2, 3, m),)), BOX) for m in mse}
    for _ in range(25):
        X = rng.uniform(-2, 3, size=(60, 1))
        f = kernel.sample(np.vstack([X, grid]), 1, rng)
        Y = f[:60] + 0.5 * rng.normal(size=(60, 1))
        for m, model in models.items():
            with single_threaded():
                found = posterior_after(model, X, Y).of_model(model, grid)
            mse[m].append(np.mean((found.mean - f[60:]) ** 2))
    few, enough, many = (np.mean(mse[m]) for m in mse)
    assert enough < few and many < 1.02 * enough


def test_outside_the_box_bars_widen_to_the_prior_and_rows_are_ignored():
    X, Y = data(80)
    kernel = RBF(1.3, 0.7)
    for linear in (None, LinearPart(np.zeros(1), np.ones(1))):
        model = model_of(kernel, 0.04, LinearSplines((np.linspace(-2, 3, 40),)), BOX, linear)
        found = posterior_after(model, X, Y)
        inside, near, far = found.of_function(model, column(0.5, 3.5, 20.0)).variance
        assert inside < 0.1 < near < far
        assert far >= 1.3 * (1 - 1e-12)
        model_bars = found.of_model(model, column(0.5, 4.0, 6.0)).variance
        assert model_bars[0] < model_bars[1] < model_bars[2]
        wild = model.add(Sums.start(model.k), column(40.0), np.array([[1e3]]), np.ones(1))
        assert wild.weight == 0.0 and not wild.triangle.any()
        still = Drifting.start(model.weights.shape[1], 1)
        moved = still.add(model, column(40.0), np.array([[1e3]]), np.ones(1), 0.01)
        assert not moved.mean.any()
        assert_allclose(moved.covariance, 1.01 * still.covariance)
