"""Regression filters against dense algebra on fine grids (Zhu & Rohwer 1995)."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import dblquad, quad

from collegium.filter.bases import (
    BASES,
    Cosines,
    Functions,
    GaussianBumps,
    LinearSplines,
    Place,
    RandomFourier,
)
from collegium.filter.densities import Empirical, NormalInputs, UniformBox, typical
from collegium.filter.evidence import FilterEvidence, relearnt
from collegium.filter.kalman import Drifting
from collegium.filter.model import FilterModel, LinearPart, Posterior
from collegium.filter.projection import Projection, projection_error
from collegium.filter.rules import Closed, Kronecker, Nodes, Panels, rule_for
from collegium.filter.sums import Sums
from collegium.kernels import (
    RBF,
    Constant,
    Filtered,
    Hat,
    LaplaceFilter,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
)
from collegium.kernels import Linear as LinearKernel
from collegium.learning.optimise import Scales
from collegium.numerics.threads import single_threaded

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


# -- bases ------------------------------------------------------------------------------------


def test_hats_are_one_at_their_knot_and_add_up_to_one():
    knots = np.array([-1.0, 0.5, 0.7, 4.0])
    basis = LinearSplines((knots,))
    assert_allclose(basis(knots[:, None]), np.eye(4), atol=1e-15)
    x = np.linspace(-3, 6, 50)[:, None]
    assert_allclose(basis(x).sum(axis=1), 1.0)
    assert_allclose(basis(x) @ (2.0 - 3.0 * knots), 2.0 - 3.0 * x[:, 0])  # lines, outside too


def test_tensor_splines_are_products_over_columns():
    one, two = np.linspace(0, 1, 3), np.linspace(-1, 1, 4)
    X = np.random.default_rng(0).uniform(-1, 1, size=(9, 2))
    slow = [
        [a * b for a in LinearSplines((one,))(x[:1, None])[0]
         for b in LinearSplines((two,))(x[1:, None])[0]]
        for x in X
    ]  # fmt: skip
    assert_allclose(LinearSplines((one, two))(X), slow, atol=1e-14)


def test_cosines_are_orthogonal_on_their_box():
    basis = Cosines(np.array([-2.0, 0.0]), np.array([3.0, 1.0]), np.array([[0, 0], [1, 2], [3, 1]]))
    rule = Nodes.of(basis, UniformBox(basis.low, basis.high), 2_000)
    H = rule.values.T @ (rule.weights[:, None] * rule.values)
    assert_allclose(H, np.diag([1.0, 0.25, 0.25]), atol=1e-12)


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("d", [1, 2])
def test_every_basis_is_made_finite_and_of_about_the_size_asked(name, d):
    X, _ = data(80, d)
    place = Place(Matern52(1.0, np.full(d, 0.8)), X, X.min(0), X.max(0), np.random.default_rng(0))
    basis = BASES[name](place, 36)
    assert basis.m == 36
    far = np.vstack([X, 1e6 * X, np.full((1, d), 1e150)])
    assert basis(far).shape == (161, 36) and np.isfinite(basis(far)).all()


def test_what_bases_are_made_from():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 2)) * [1.0, 10.0]
    for kernel, tail in ((RBF(1.0, [0.5, 4.0]), 0.0455), (Matern32(1.0, [0.5, 4.0]), 0.1394)):
        place = Place(kernel, X, X.min(0), X.max(0), np.random.default_rng(1))
        z = BASES["fourier"](place, 6_000).frequencies * [0.5, 4.0]
        assert_allclose(np.mean(np.abs(z) > 2.0), tail, atol=0.01)  # normal, or t with 3
    place = Place(RBF(1.0, [0.5, 20.0]), X, X.min(0), X.max(0), np.random.default_rng(1))
    orders = BASES["harmonics"](place, 60).orders
    assert orders[:, 0].max() > 2 * orders[:, 1].max()  # finer where the kernel is shorter
    narrow, wide = (BASES["bumps"](place, m).widths for m in (3_000, 20))
    assert (narrow <= [0.5, 20.0]).all() and wide[0] == 0.5
    assert narrow[0] < wide[0]
    flat = Place(RBF(1.0, [0.5, 1e4]), X, X.min(0), X.max(0), np.random.default_rng(1))
    assert BASES["bumps"](flat, 50).widths[1] > 5e3  # a column without influence


def test_bases_and_densities_take_lists_and_refuse_nonsense():
    assert LinearSplines([0, 1, 2]).m == 3 and LinearSplines([[0, 1], [0, 1, 2]]).m == 6
    assert GaussianBumps([[0.0], [1.0]], 0.5)(column(0.0)).shape == (1, 2)
    assert UniformBox(0.0, 5.0).covers(column(1.0, 6.0)).tolist() == [True, False]
    assert Cosines(0.0, 1.0, [0, 1, 2]).m == 3
    for wrong in (
        lambda: UniformBox([4.0], [-4.0]), lambda: UniformBox([0.0], [1.0, 2.0]),
        lambda: NormalInputs([0.0], [0.0]), lambda: Empirical([1.0]), lambda: Empirical([[np.nan]]),
        lambda: LinearSplines([1.0, 0.0]), lambda: LinearSplines([[1.0]]),
        lambda: GaussianBumps([[0.0]], [-1.0]), lambda: GaussianBumps([0.0], [1.0]),
        lambda: Cosines([1.0], [0.0], [[1]]), lambda: RandomFourier([1.0]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="of (Unif|Norm|Emp|Lin|Gauss|Cos|Ran)"):
            wrong()


def test_glitches_are_told_from_rows():
    X = np.random.default_rng(0).normal(size=(300, 2))
    assert typical(X).all()
    X[7, 1] = 1e4
    assert typical(X).sum() == 299 and not typical(X)[7]
    assert typical(np.ones((5, 1))).all() and typical(column(0.0, 0.0, 0.0, 5.0)).all()


def test_a_basis_of_the_users_own_is_counted_and_checked():
    X, _ = data(5)
    assert Functions.tried(lambda X: np.hstack([X, X**2]), X).m == 2
    for wrong in (lambda X: X[:, 0], lambda X: np.ones((2, 3)), lambda X: np.ones((len(X), 0))):
        with pytest.raises(ValueError, match="basis gives"):
            Functions.tried(wrong, X)
    with pytest.raises(ValueError, match="finite"):
        Functions(lambda X: np.full((len(X), 2), np.nan), 2)(X)


# -- integrals --------------------------------------------------------------------------------


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


# -- the projected prior ----------------------------------------------------------------------


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
    for of_model, answer in ((True, at_model), (False, at_function)):
        joint = found.joint(model, Xs, of_model=of_model)
        assert_allclose(joint.diagonal(), answer.variance, rtol=1e-9)
        assert np.linalg.eigvalsh(joint).min() > -1e-9
    missed = kernel.diag(Xs) - 2 * (cov_fw * Phis).sum(axis=1)
    missed += np.einsum("ij,jk,ik->i", Phis, S0, Phis)
    assert_allclose(missed_by(model, Xs), missed, atol=1e-9)


def test_two_forms_of_the_bar_of_f_are_close_where_there_are_enough_functions():
    """The paper's sum ΦSΦᵀ + var[f − P_M f] leaves out a covariance: some per cent."""
    X, Y = data(160)
    kernel, Xs = Matern12(1.0, 0.5), np.linspace(-1.9, 2.9, 40)[:, None]
    model = model_of(kernel, 0.25, LinearSplines((np.linspace(-2, 3, 60),)), BOX)
    found = posterior_after(model, X, Y)
    paper = found.of_model(model, Xs).variance + missed_by(model, Xs)
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


def test_outside_the_box_bars_widen_to_the_prior_and_rows_are_not_heard():
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


# -- sums -------------------------------------------------------------------------------------


def test_any_order_and_any_batches_give_the_same_sums():
    rng = np.random.default_rng(0)
    Phi, Y, w = rng.normal(size=(700, 6)), rng.normal(size=(700, 2)), rng.uniform(0, 3, 700)
    slow = np.hstack([Phi, Y]).T @ (w[:, None] * np.hstack([Phi, Y]))
    order = rng.permutation(700)
    whole = Sums.start(6, 2).add(Phi, Y, w)
    by_row = Sums.start(6, 2).add_rows(Phi[order], Y[order], w[order])
    parts = Sums.start(6, 2)
    for part in np.array_split(np.arange(700), [1, 2, 5, 250, 300]):
        parts = parts.add(Phi[part], Y[part], w[part])
    merged = Sums.start(6, 2).add(Phi[:300], Y[:300], w[:300])
    merged = merged + Sums.start(6, 2).add(Phi[300:], Y[300:], w[300:])
    for sums in (whole, by_row, parts, merged):
        assert_allclose(sums.triangle.T @ sums.triangle, slow, rtol=1e-12, atol=1e-10)
        assert_allclose(sums.triangle, np.triu(sums.triangle))
        assert_allclose(sums.weight, w.sum())


@pytest.mark.parametrize("gap", [1e-6, 1e-5, 1e-4])
@pytest.mark.parametrize("block", [1, 100, 5_000])
def test_small_directions_survive_many_rows(block, gap):
    """Columns that differ little: sums of squares in double precision lose many digits of the
    difference, their square root does not. Against long doubles.
    """
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("no extended precision here")
    rng = np.random.default_rng(0)
    x = rng.normal(size=20_000) + 10.0
    Phi = np.column_stack([x, x + gap * rng.normal(size=x.size), np.ones(x.size)])
    Y = np.zeros((x.size, 0))
    sums = Sums.start(3, 0)
    for i in range(0, x.size, block):
        sums = sums.add(Phi[i : i + block], Y[i : i + block])
    Q, R = Phi.astype(np.longdouble), np.zeros((3, 3), dtype=np.longdouble)
    for j in range(3):  # Gram–Schmidt in extended precision, each column twice
        for _ in range(2):
            for i in range(j):
                share = Q[:, i] @ Q[:, j]
                R[i, j] += share
                Q[:, j] -= share * Q[:, i]
        R[j, j] = np.sqrt(Q[:, j] @ Q[:, j])
        Q[:, j] /= R[j, j]
    expected = np.abs(R.astype(float))
    found = np.abs(sums.triangle)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert abs(found[1, 1] / expected[1, 1] - 1.0) < 1e-14 / gap
    plain = np.linalg.cholesky(Phi.T @ Phi).T
    assert abs(plain[1, 1] / expected[1, 1] - 1.0) > 1e-16 / gap**2


def test_a_faded_past_counts_less():
    rng = np.random.default_rng(0)
    Phi, Y = rng.normal(size=(9, 3)), rng.normal(size=(9, 1))
    sums = Sums.start(3).add(Phi, Y)
    assert_allclose(sums.faded(0.3).triangle, np.sqrt(0.3) * sums.triangle)
    assert_allclose(sums.faded(0.3).weight, 2.7)


# -- hyperparameters --------------------------------------------------------------------------

BUMPS = GaussianBumps(np.linspace(-2, 3, 9)[:, None], np.array([0.9]))


def test_the_gradient_of_a_sum_on_panels():
    X, Y = data(50)
    kernel = RBF(1.3, np.array([0.8])) + Matern12(0.4, np.array([1.7]))
    model = model_of(kernel, 0.15, LinearSplines((np.linspace(-2, 3, 12),)), BOX)
    evidence = FilterEvidence(model, model.add(Sums.start(model.k), X, Y, np.ones(50)))
    assert isinstance(model.projection.rule, Panels)
    _, gradient = evidence(kernel, 0.15)
    for i in range(4):
        step = 1e-4 * np.eye(4)[i]
        up, down = (evidence(kernel.with_theta(kernel.theta + s), 0.15)[0] for s in (step, -step))
        assert_allclose(gradient[i], (up - down) / 2e-4, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize(("basis", "density"), [
    (LinearSplines((np.linspace(-2, 3, 12),)), BOX),
    (BUMPS, NormalInputs(np.zeros(1), np.ones(1))),
    (RandomFourier(np.array([[0.3], [0.9], [1.6], [2.4]])), NormalInputs([0.2], [1.0])),
    (BUMPS, Empirical(data(70)[0])),
], ids=["panels", "closed", "waves", "nodes"])  # fmt: skip
def test_evidence_and_its_gradient(basis, density, linear):
    """Against a five-point stencil of step h.

    The evidence reads S = EᵀCE, |E|² ≤ 1/(cut·|H|), through ∂/∂S of the size of its data term's,
    pn/2σ²: rounding of C moves it by δ = (pn/2σ²)·ε/cut, and the stencil by 3δ/2h. With
    cut = 1e-5 and h = 3e-3 that is 4e-6; what the stencil leaves out (h⁴/30 of a fifth
    derivative that was seen to be 6e4) is 2e-7.
    """
    X, Y = data(50, p=2)
    lines = LinearPart(X.mean(axis=0), X.std(axis=0), sd=0.8) if linear else None
    kernel, noise, cut, h = RBF(1.3, np.array([0.8])), 0.15, 1e-5, 3e-3
    model = FilterModel.of(kernel, noise, basis, density, lines, cut)
    sums = model.add(Sums.start(model.k, 2), X, Y, np.ones(50))
    evidence = FilterEvidence(model, sums)
    value, gradient = evidence(kernel, noise)
    assert_allclose(value, Posterior.of(model, sums).log_evidence.sum(), rtol=1e-7)
    point = np.append(kernel.theta, np.log(noise))
    rounding = 2 * 50 / (2 * noise) * np.finfo(float).eps / cut * 1.5 / h

    def along(i: int, t: float) -> float:
        moved = point + t * np.eye(3)[i]
        return evidence(kernel.with_theta(moved[:2]), float(np.exp(moved[2])))[0]

    for i in range(3):
        near, far = (along(i, t) - along(i, -t) for t in (h, 2 * h))
        assert_allclose(gradient[i], (8 * near - far) / (12 * h), rtol=0, atol=rounding)


@pytest.mark.parametrize("kernel", [*KERNELS, Constant(0.4) + LinearKernel(1.2)], ids=str)
def test_the_misfit_is_the_mean_of_what_the_basis_leaves_open(kernel):
    basis = LinearSplines((np.linspace(-2, 3, 7),))
    model = FilterModel.of(kernel, 0.1, basis, BOX, None, 1e-11, misfit=True)
    x = -2.0 + 5.0 * (np.arange(2_000)[:, None] + 0.5) / 2_000
    assert_allclose(model.misfit, model.conditional(x)[1].mean(), rtol=5e-3, atol=1e-8)
    assert_allclose(model.row_noise, 0.1 + model.misfit)
    same = model.with_row_noise(kernel, model.row_noise)
    assert_allclose([same.noise, same.row_noise], [model.noise, model.row_noise])
    least = model.with_row_noise(kernel, 0.0)  # less than the misfit alone
    assert 0.0 < least.noise < 1e-8


def test_learning_does_not_depend_on_the_units_of_y():
    X, Y = data(200)
    found = []
    for unit in (1.0, 1e4):
        kernel = RBF(unit**2, np.array([0.8]))
        model = FilterModel.of(kernel, 0.1 * unit**2, BUMPS, BOX, None, 1e-9, misfit=True)
        sums = model.add(Sums.start(model.k), X, unit * Y, np.ones(200))
        learnt = relearnt(model, sums, Scales.of(X))
        found.append([learnt.kernel.variance / unit**2, learnt.noise / unit**2])
        assert Posterior.of(learnt, sums).log_evidence > Posterior.of(model, sums).log_evidence
    assert_allclose(*found, rtol=1e-3)


# -- drift ------------------------------------------------------------------------------------


def test_drift_is_the_random_walk_of_the_weights():
    X, Y = data(30, p=2)
    w = np.random.default_rng(1).uniform(0.5, 2.0, 30)
    model = model_of(RBF(1.0, 0.8), 0.1, LinearSplines((np.linspace(-2, 3, 12),)), BOX)
    V = model.columns(X) @ model.weights
    r, q = V.shape[1], 0.02
    mean, S, evidence = np.zeros((r, 2)), np.eye(r), np.zeros(2)
    for v, y, one in zip(V, Y, w):
        S = S + q * np.eye(r)
        total = v @ S @ v + 0.1 / one
        e = y - v @ mean
        evidence -= 0.5 * (np.log(2 * np.pi * total) + e**2 / total)
        evidence -= 0.5 * ((one - 1) * np.log(2 * np.pi * 0.1) + np.log(one))  # w equal rows
        precision = np.linalg.inv(S) + np.outer(v, v) * one / 0.1
        mean = np.linalg.solve(precision, np.linalg.inv(S) @ mean + np.outer(v, y) * one / 0.1)
        S = np.linalg.inv(precision)
    found = Drifting.start(r, 2).add(model, X[:11], Y[:11], w[:11], q)
    found = found.add(model, X[11:], Y[11:], w[11:], q)
    assert_allclose(found.mean, mean, rtol=1e-7, atol=1e-9)
    assert_allclose(found.covariance, S, rtol=1e-6, atol=1e-9)
    assert_allclose(found.log_evidence, evidence, rtol=1e-9)
    assert_allclose(found.weight, w.sum())
    twice = Drifting.start(r, 2).add(model, X, Y, np.full(30, 2.0), 0.0)
    again = Drifting.start(r, 2).add(
        model, np.repeat(X, 2, 0), np.repeat(Y, 2, 0), np.ones(60), 0.0
    )
    assert_allclose(twice.log_evidence, again.log_evidence, rtol=1e-9)


def test_no_drift_is_the_filter_itself():
    X, Y = data(40)
    model = model_of(Matern32(1.0, 0.8), 0.1, LinearSplines((np.linspace(-2, 3, 15),)), BOX)
    still = Drifting.start(model.projection.r, 1).add(model, X, Y, np.ones(40), 0.0).posterior()
    same = posterior_after(model, X, Y)
    Xs = np.linspace(-3, 4, 20)[:, None]
    for one, other in zip(
        (still.of_function(model, Xs), still.of_model(model, Xs)),
        (same.of_function(model, Xs), same.of_model(model, Xs)),
    ):
        assert_allclose(one.mean, other.mean, atol=1e-9)
        assert_allclose(one.variance, other.variance, rtol=1e-7)
    assert_allclose(still.log_evidence, same.log_evidence, rtol=1e-9)
