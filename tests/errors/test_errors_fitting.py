"""The basis of g, the mode of its weights, the evidence and its gradient, learning."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.stats import t as student

import reference
from collegium.errors.basis import ScaleBasis, clusters, median_distance
from collegium.errors.features import ScaleInputs
from collegium.errors.fitting import find_mode, learn_scale, scale_evidence, scale_prior
from collegium.errors.tuning import TUNING


def held_out(n=60, d=2, seed=3, near=True, trees=False):
    """Inputs of g, z with the squared scale exp(1.5 sin 3x₁ + log sd), and weights."""
    rng = np.random.default_rng(seed)
    place = rng.uniform(-1.0, 1.0, (n, d))
    log_sd, mean = rng.normal(-1.0, 0.4, (n, 1)), rng.normal(size=(n, 1))
    q = log_sd + 0.5 * rng.normal(size=(n, 1)) if near else None
    g = 1.5 * np.sin(3.0 * place[:, 0]) + log_sd[:, 0]
    z = np.exp(0.5 * g) * rng.standard_t(4.0, n)
    weight = rng.uniform(0.5, 1.5, n)
    t = rng.normal(size=(n, 1)) if trees else None
    return ScaleInputs(log_sd, mean, place, q, t), z, weight


def make(**arguments):
    inputs, z, weight = held_out(**arguments)
    return ScaleBasis.of(inputs, 0, weight), inputs, z, weight


def other(basis, nu=4.7, seed=5):
    """Parameters away from the prior's mean."""
    centre, sd = scale_prior(basis)
    found = centre + 0.5 * sd * np.random.default_rng(seed).normal(size=centre.size)
    found[-1] = np.log(nu - TUNING.priors.least_nu)
    return found


# --- the basis ------------------------------------------------------------------------------------


def slow_covariance(basis, inputs, weight, theta):
    """cov[g]: 4 + Σ v (k(t, Z)k(Z, Z)⁻¹k(Z, t) + tt) + v₃ k₃(x, Z)k₃(Z, Z)⁻¹k₃(Z, x)."""
    raw = inputs.lines(0, inputs.kinds)
    C = np.full((raw.shape[0],) * 2, 4.0)
    for j, straight in zip(
        range(raw.shape[1]), [(True, False, True, True)[k] for k in inputs.kinds]
    ):
        centre = np.average(raw[:, j], weights=weight)
        t = (raw[:, j] - centre) / math.sqrt(np.average((raw[:, j] - centre) ** 2, weights=weight))
        Z = np.linspace(t.min(), t.max(), TUNING.basis.grid)
        Ktz = np.array([[math.exp(-0.5 * (a - b) ** 2) for b in Z] for a in t])
        Kzz = np.array([[math.exp(-0.5 * (a - b) ** 2) for b in Z] for a in Z])
        part = Ktz @ np.linalg.solve(Kzz, Ktz.T) + straight * np.outer(t, t)
        C += math.exp(theta[j]) * part

    def matern(x, z):
        r = math.sqrt(3.0) * math.dist(x, z) / (math.exp(theta[-1]) * basis.unit)
        return (1.0 + r) * math.exp(-r)

    Kxz = np.array([[matern(x, z) for z in basis.Z] for x in inputs.place])
    Kzz = np.array([[matern(x, z) for z in basis.Z] for x in basis.Z])
    return C + math.exp(theta[-2]) * Kxz @ np.linalg.solve(Kzz, Kxz.T)


@pytest.mark.parametrize("trees", [True, False])
@pytest.mark.parametrize("near", [True, False])
def test_covariance_of_g_is_the_sum_of_its_kernels(near, trees):
    basis, inputs, _, weight = make(n=25, near=near, trees=trees)
    theta = other(basis)[:-1]
    B = basis.design(theta)
    assert_allclose(B @ B.T, slow_covariance(basis, inputs, weight, theta), rtol=1e-6)


@pytest.mark.parametrize("near", [True, False])
def test_adjoint_of_the_basis_against_differences(near):
    basis, *_ = make(near=near, trees=not near)
    theta = other(basis)[:-1]
    B = basis.design(theta)
    B_bar = np.random.default_rng(0).normal(size=B.shape)
    expected = reference.gradient(lambda at: np.vdot(B_bar, basis.design(at)), theta)
    assert_allclose(basis.design_vjp(theta, B, B_bar), expected, rtol=1e-6)


@pytest.mark.parametrize("near", [True, False])
def test_function_of_new_rows_is_the_weighted_sum(near):
    basis, inputs, *_ = make(near=near)
    theta, rng = other(basis)[:-1], np.random.default_rng(0)
    B = basis.design(theta)
    w = rng.normal(size=B.shape[1])
    g = basis.function(theta, w)
    assert_allclose(g(inputs, 0), B @ w, rtol=1e-5, atol=1e-6)
    some = np.array([5, 17])
    assert_array_equal(g(inputs.take(some), 0), g(inputs, 0)[some])


def test_function_is_that_of_the_nearest_held_out_value_outside_their_range():
    basis, inputs, *_ = make()
    theta = other(basis)[:-1]
    g = basis.function(theta, np.random.default_rng(0).normal(size=basis.design(theta).shape[1]))
    parts = [inputs.log_sd, inputs.mean, inputs.near]
    ends = [part.max() for part in parts]
    one = [np.array([[end]]) for end in ends]
    far = [np.array([[end + 50.0]]) for end in ends]
    at = inputs.place[:1]
    found = [g(ScaleInputs(a, b, at, c), 0) for a, b, c in (one, far)]
    assert_array_equal(*found)


def test_clusters_are_the_same_in_any_order_and_all_points_where_few():
    S = np.random.default_rng(0).normal(size=(300, 3)).round(1)
    order = np.random.default_rng(1).permutation(300)
    assert_array_equal(clusters(S, 20), clusters(S[order], 20))
    assert_array_equal(clusters(S, 1000), np.unique(S, axis=0))


def test_clusters_are_means_of_the_rows_nearest_to_them():
    S = np.random.default_rng(0).normal(size=(200, 2))
    S[:40] = S[0]
    Z = clusters(S, 7)
    own = ((S[:, None] - Z) ** 2).sum(axis=2).argmin(axis=1)
    assert_allclose(Z, [S[own == k].mean(axis=0) for k in range(7)], atol=1e-12)


def test_median_distance_of_pairs():
    S = np.random.default_rng(0).normal(size=(40, 3))
    pairs = [math.dist(S[i], S[j]) for i in range(40) for j in range(i)]
    assert_allclose(median_distance(S), np.median(pairs))
    assert median_distance(np.zeros((10, 2))) == 1.0
    assert median_distance(np.zeros((1, 2))) == 1.0


def test_inputs_that_do_not_vary_are_harmless():
    inputs, z, weight = held_out(n=30)
    flat = ScaleInputs(inputs.log_sd * 0 - 3.0, inputs.mean * 0, inputs.place * 0, inputs.near * 0)
    found = learn_scale(ScaleBasis.of(flat, 0, weight), z, weight)
    assert np.isfinite(found.mode.g).all()
    assert_allclose(found.mode.g, found.mode.g[0], rtol=1e-6)


# --- the mode and the evidence --------------------------------------------------------------------


def slow_joint(w, B, z, weight, nu):
    g = B @ w
    each = student.logpdf(z, nu, scale=np.exp(0.5 * g))
    return float(weight @ each - 0.5 * w @ w)


@pytest.mark.parametrize("nu", [2.4, 8.0, np.inf])
def test_mode_is_the_largest_posterior_density(nu):
    basis, _, z, weight = make(n=20)
    B = basis.design(other(basis)[:-1])
    found = find_mode(B, z, weight, nu)
    best = minimize(lambda w: -slow_joint(w, B, z, weight, nu), 0 * found.w, method="L-BFGS-B",
                    options={"maxfun": 10**6, "maxiter": 10**4, "ftol": 1e-14})  # fmt: skip
    assert_allclose(found.log_joint, -best.fun, rtol=1e-7)
    assert_allclose(found.log_joint, slow_joint(found.w, B, z, weight, nu), rtol=1e-12)
    gradient = reference.gradient(lambda w: slow_joint(w, B, z, weight, nu), found.w)
    assert_allclose(gradient, 0.0, atol=1e-6)


def test_mode_is_found_from_anywhere():
    basis, _, z, weight = make(n=40)
    B = basis.design(other(basis)[:-1])
    far = 3.0 * np.random.default_rng(0).normal(size=B.shape[1])
    assert_allclose(find_mode(B, z, weight, 3.0, far).w, find_mode(B, z, weight, 3.0).w, atol=1e-7)


def test_a_row_of_weight_two_is_that_row_twice():
    basis, inputs, z, _ = make(n=30)
    B, count = basis.design(other(basis)[:-1]), np.where(np.arange(30) % 3, 1, 2)
    twice = np.repeat(np.arange(30), count)
    once = find_mode(B, z, count.astype(float), 4.0)
    both = find_mode(B[twice], z[twice], np.ones(twice.size), 4.0)
    assert_allclose(once.w, both.w, atol=1e-8)
    assert_allclose(once.factor, both.factor, atol=1e-9)


@pytest.mark.parametrize("near", [True, False])
def test_evidence_is_that_of_laplace(near):
    """log p(z | w) − ½wᵀw − ½ log|I + ½ν/(ν + 3) BᵀΩB| + log p(θ), on dense matrices."""
    basis, _, z, weight = make(n=20, near=near)
    at = other(basis)
    nu, B = TUNING.priors.least_nu + math.exp(at[-1]), basis.design(at[:-1])
    best = minimize(lambda w: -slow_joint(w, B, z, weight, nu), np.zeros(B.shape[1]),
                    options={"gtol": 1e-7})  # fmt: skip
    A = np.eye(B.shape[1]) + 0.5 * nu / (nu + 3.0) * B.T @ np.diag(weight) @ B
    means = [math.log(0.3), math.log(0.3), -1.2][: 3 if near else 2]
    means += [math.log(0.5), math.log(0.5), math.log(6.0)]
    sds = [1.5, 1.5, 1.0][: 3 if near else 2] + [1.5, 1.0, 1.5]
    log_prior = -0.5 * sum(((a - m) / s) ** 2 for a, m, s in zip(at, means, sds))
    expected = -best.fun - 0.5 * np.linalg.slogdet(A)[1] + log_prior
    assert_allclose(scale_evidence(basis, z, weight, at).value, expected, rtol=1e-7)


@pytest.mark.parametrize("near", [True, False])
@pytest.mark.parametrize("nu", [1.7, 5.0, 60.0])
def test_gradient_of_the_evidence_against_differences(near, nu):
    basis, _, z, weight = make(n=50, near=near)
    at = other(basis, nu)
    found = scale_evidence(basis, z, weight, at)
    expected = reference.gradient(
        lambda a: scale_evidence(basis, z, weight, a).value, at, step=1e-3
    )
    assert_allclose(found.gradient, expected, rtol=1e-5, atol=1e-6)


# --- learning -------------------------------------------------------------------------------------


def test_learning_raises_the_evidence_to_where_it_is_flat():
    basis, _, z, weight = make(n=200)
    centre, _ = scale_prior(basis)
    found = learn_scale(basis, z, weight)
    at = np.append(found.theta, np.log(found.nu - TUNING.priors.least_nu))
    end, start = scale_evidence(basis, z, weight, at), scale_evidence(basis, z, weight, centre)
    assert end.value > start.value + 0.5
    assert np.abs(end.gradient).max() < 0.05 * np.abs(start.gradient).max() + 0.5
    assert_allclose(found.mode.g, end.mode.g, atol=1e-6)


def test_learning_finds_where_errors_are_large():
    basis, inputs, z, weight = make(n=1000, d=1, seed=1)
    found = learn_scale(basis, z, weight)
    truth = 1.5 * np.sin(3.0 * inputs.place[:, 0]) + inputs.log_sd[:, 0]
    assert np.corrcoef(found.mode.g, truth)[0, 1] > 0.95
    assert 2.5 < found.nu < 7.0


def test_one_huge_error_does_not_move_the_others():
    basis, _, z, weight = make(n=300)
    B, worse = basis.design(scale_prior(basis)[0][:-1]), z.copy()
    worse[7] = 1500.0
    change = find_mode(B, worse, weight, 3.0).g - find_mode(B, z, weight, 3.0).g
    assert np.median(np.abs(change)) < 0.1
