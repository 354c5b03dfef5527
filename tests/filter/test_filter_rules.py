"""Integrals of a projection against quadrature."""

import numpy as np
import pytest
from filter_cases import (
    BOX,
    IDS,
    KERNELS,
    column,
)
from numpy.testing import assert_allclose
from scipy.integrate import dblquad, quad

from collegium.filter.bases import (
    GaussianBumps,
    LinearSplines,
    RandomFourier,
)
from collegium.filter.densities import Empirical, NormalInputs, UniformBox
from collegium.filter.model import Projection, projection_error
from collegium.filter.rules import Closed, Kronecker, Nodes, Panels, rule_for
from collegium.kernels import (
    RBF,
    Constant,
    Filtered,
    Hat,
    LaplaceFilter,
    Matern12,
    Matern32,
    Periodic,
)
from collegium.kernels import Linear as LinearKernel


def test_panels_integrate_a_kernel_with_two_kinks():
    knots, kernel = np.array([-2.0, -1.1, 0.3, 0.9, 3.0]), KERNELS[-1]
    x = -2.0 + 5.0 * (np.arange(4_000)[:, None] + 0.5) / 4_000
    Phi = LinearSplines((knots,))(x) / 4_000
    C = Panels(knots, 16).covariance(kernel, np.eye(5))
    assert_allclose(C, Phi.T @ kernel.value(x, x) @ Phi, rtol=2e-4, atol=1e-7)
    c = Panels(knots, 16).cross(kernel, column(0.41, 2.2))
    assert_allclose(c, kernel.value(column(0.41, 2.2), x) @ Phi, rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS[:-1], ids=IDS[:-1])
def test_panels_integrate_a_kink_where_arguments_meet(kernel):
    knots = np.array([-2.0, -1.1, 0.3, 0.9, 3.0])
    basis, rule = LinearSplines((knots,)), Panels(knots, 3)
    density = UniformBox(knots[:1], knots[-1:])
    fine = Nodes.of(basis, density, 4_000)
    H = fine.values.T @ (fine.weights[:, None] * fine.values)
    assert_allclose(rule.gram(), H, atol=1e-6)
    E = rule.orthonormal(1e-12)
    assert_allclose(E.T @ rule.gram() @ E, np.eye(5), atol=1e-12)

    def k(a, b):
        return float(kernel.value(column(a), column(b))[0, 0])

    def phi(i, x):
        return float(basis(column(x))[0, i])

    C = rule.covariance(kernel, np.eye(5))
    for i, j in ((0, 0), (3, 4)):
        total = 0.0
        for a, b in zip(knots[:-1], knots[1:]):
            for c, d in zip(knots[:-1], knots[1:]):
                if max(phi(i, a), phi(i, b)) and max(phi(j, c), phi(j, d)):

                    def inner(x, y, i=i, j=j):
                        return phi(i, x) * phi(j, y) * k(x, y)

                    if (a, b) == (c, d):
                        total += dblquad(inner, a, b, a, lambda y: y, epsabs=1e-8)[0]
                        total += dblquad(inner, a, b, lambda y: y, b, epsabs=1e-8)[0]
                    else:
                        total += dblquad(inner, c, d, a, b, epsabs=1e-8)[0]
        assert_allclose(C[i, j], total / 25.0, rtol=1e-8)
    x = 0.41
    for i in range(5):
        points = sorted({*knots, x} - {knots[0], knots[-1]})
        value = quad(lambda t, i=i: phi(i, t) * k(x, t) / 5.0, -2, 3, points=points, limit=200)[0]
        assert_allclose(rule.cross(kernel, column(x))[0, i], value, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("basis", [
    GaussianBumps(np.random.default_rng(1).normal(size=(6, 2)), np.array([0.8, 1.7])),
    RandomFourier(np.random.default_rng(2).normal(size=(4, 2))),
], ids=["bumps", "waves"])  # fmt: skip
def test_closed_forms_are_the_integrals(basis):
    density = NormalInputs(np.array([0.3, -0.5]), np.array([1.2, 0.7]))
    kernel = RBF(1.4, np.array([0.9, 1.6]))
    rule, fine = rule_for(basis, density, kernel), Nodes.of(basis, density, 4_900)
    assert isinstance(rule, Closed)
    whole = np.eye(basis.m)
    H = fine.values.T @ (fine.weights[:, None] * fine.values)
    assert_allclose(rule.integrals.gram(), H, atol=1e-7)
    assert_allclose(rule.covariance(kernel, whole), fine.covariance(kernel, whole), atol=1e-7)
    X = np.random.default_rng(3).normal(size=(7, 2))
    assert_allclose(rule.cross(kernel, X), fine.cross(kernel, X), atol=1e-7)
    assert np.isfinite(rule.cross(kernel, np.full((1, 2), 1e120))).all()


@pytest.mark.parametrize("kernel", [RBF(1.4, np.array([0.9, 1.6])), Hat(0.7, np.array([2.0, 3.0]))])
def test_products_over_columns_are_kronecker(kernel):
    knots = np.linspace(-1, 2, 4), np.linspace(0, 1, 3)
    basis = LinearSplines(knots)
    density = UniformBox(np.array([-1.0, 0.0]), np.array([2.0, 1.0]))
    rule = rule_for(basis, density, kernel)
    assert isinstance(rule, Kronecker)
    whole, parts, grams, crosses = np.eye(12), [], [], []
    X = np.random.default_rng(3).uniform(-1, 1, size=(7, 2))
    for k, length in enumerate(kernel.length_scale):  # midpoints, a column at a time
        x = density.low[k] + (np.arange(3_000) + 0.5) / 3_000 * (density.high - density.low)[k]
        Phi, one = LinearSplines((knots[k],))(x[:, None]) / 3_000, type(kernel)(1.0, length)
        parts.append(Phi.T @ one.value(x[:, None], x[:, None]) @ Phi)
        grams.append(3_000 * Phi.T @ Phi)
        crosses.append(one.value(X[:, k : k + 1], x[:, None]) @ Phi)
    C = kernel.variance * np.kron(*parts)
    assert_allclose(rule.covariance(kernel, whole), C, rtol=2e-3, atol=2e-6)
    c = kernel.variance * np.einsum("ni,nj->nij", *crosses).reshape(7, 12)
    assert_allclose(rule.cross(kernel, X), c, rtol=2e-3, atol=1e-5)
    E = rule.orthonormal(1e-12)
    assert_allclose(E.T @ np.kron(*grams) @ E, np.eye(12), atol=1e-5)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_nodes_have_the_moments_of_their_density(d):
    low, high = np.arange(d) - 1.0, np.arange(d) + 2.0 * np.arange(1, d + 1)
    for density, mean, variance in (
        (UniformBox(low, high), 0.5 * (low + high), (high - low) ** 2 / 12.0),
        (NormalInputs(low, high - low), low, (high - low) ** 2),
    ):
        points, weights = density.nodes(2_000)
        assert_allclose(weights.sum(), 1.0)
        assert_allclose(weights @ points, mean, atol=0.01 * (high - low).max())
        assert_allclose(weights @ (points - mean) ** 2, variance, rtol=0.02)
        cube = np.prod((points - mean) / np.sqrt(variance), axis=1) if d > 1 else np.zeros(1)
        assert abs((weights[: cube.size] * cube).sum()) < 0.02  # columns are independent


@pytest.mark.parametrize("kernel", [
    Periodic(1.0, 0.3, 0.2), Matern12(1.0, 0.005), Filtered(LaplaceFilter(0.05), -5, 6),
    Hat(0.5, 0.9) + RBF(0.5, 0.3), Constant(0.3) + Matern32(1.0, 0.8), LinearKernel(1.3),
], ids=repr)  # fmt: skip
def test_no_kernel_leaves_less_than_nothing_open(kernel):
    """V₀(x, x) − a(x)ᵀa(x) ≥ 0, and joint covariances are positive semidefinite."""
    basis = LinearSplines((np.linspace(-2, 3, 40),))
    projection = Projection.of(rule_for(basis, BOX, kernel), kernel, 1e-9)
    x = np.linspace(-3, 4, 301)[:, None]
    a = projection.conditional(x)
    left = kernel.diag(x) - (a * a).sum(axis=1)
    assert left.min() > -2e-4 * kernel.diag(x).max()
    joint = kernel.value(x, x) - a @ a.T
    assert np.linalg.eigvalsh(joint).min() > -2e-3 * kernel.diag(x).max()


def test_the_error_of_integrals_is_seen():
    bumps = GaussianBumps(np.linspace(-2, 3, 8)[:, None], np.array([0.7]))
    assert projection_error(bumps, NormalInputs(np.zeros(1), np.ones(1)), RBF(1.0, 0.5)) == 0.0
    smooth = projection_error(LinearSplines((np.linspace(-2, 3, 8),)), BOX, RBF(1.0, 0.5))
    kinked = projection_error(LinearSplines((np.linspace(-2, 3, 8),)), BOX, Hat(1.0, 0.77))
    assert smooth < 1e-9 < kinked < 1e-2
    few, many = (
        projection_error(
            bumps, Empirical(np.random.default_rng(0).normal(size=(q, 1))), RBF(1.0, 0.5)
        )
        for q in (20, 900)
    )
    assert 0.0 < many < few
