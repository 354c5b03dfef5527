"""The evidence is the sum's normaliser; its gradient is a second sum."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from collegium.engines import Serial, Threads
from collegium.kernels import (
    RBF,
    Constant,
    Hat,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    RationalQuadratic,
    White,
)
from collegium.messages.basis import Anchors, Features
from collegium.messages.evidence import anchored, evidence, factorised, information
from collegium.messages.experts import Block, Diagonal, Expert, Projected, Variational
from collegium.rows.chunk import Chunk

KERNELS = {
    "RBF": RBF(1.6, [0.8, 1.7]),
    "Matern12": Matern12(0.7, [1.3, 0.6]),
    "Matern32": Matern32(1.6, 1.2),
    "Matern52": Matern52(2.1, [0.8, 1.7]),
    "rational quadratic": RationalQuadratic(1.1, [0.9, 0.5], 0.7),
    "periodic": Periodic(1.2, [1.1, 0.7], [2.3, 3.1]),
    "sum": RBF(1.2, [0.7, 1.1]) + Linear([1.9, 0.8]) + Constant(0.4),
    "white": Matern32(1.3, [0.7, 1.5]) + White(0.21),
    "product": RBF(1.2, [0.7, 1.1]) * Linear([1.9, 0.8]) + Matern12(0.5, 1.4),
    "fixed": RBF(1.2, [0.7, 1.1], fixed=("length_scale",)) + Hat(0.6, 2.7, fixed=("variance",)),
}
EXPERTS = Expert.registry
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
every_expert = pytest.mark.parametrize("expert", EXPERTS, ids=lambda e: e.__name__)


def repeats(w, noise, p):
    return p * sum(-0.5 * (v - 1) * np.log(2 * np.pi * noise) - 0.5 * np.log(v) for v in w)


def assert_gradient(f, kernel, noise):
    """f(kernel, noise) -> value, gradient in (θ, log σ²)."""
    theta = np.append(kernel.theta, np.log(noise))

    def value(t):
        return f(kernel.with_theta(t[:-1]), float(np.exp(t[-1])))[0]

    found = f(kernel, noise)[1]
    numeric = reference.gradient(value, theta, step=1e-3)
    assert found.shape == theta.shape
    assert_allclose(found, numeric, rtol=1e-6, atol=1e-7 * np.abs(numeric).max())


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expert", "kind"), [(Block, "pitc"), (Diagonal, "fitc"), (Projected, "dtc")]
)
def test_evidence_is_the_joint_density_of_all_outputs(expert, kind, problem):
    value, _ = evidence(problem.basis, expert(problem.noise), problem.chunks, Serial())
    _, _, expected = reference.sparse_gp(
        kind, problem.kernel, problem.noise, problem.chunks, problem.Z, problem.Xs
    )
    w = problem.rows[2]
    assert_allclose(value, expected.sum() + repeats(w, problem.noise, 2), rtol=1e-9)


@every_kernel
def test_the_variational_sum_is_a_bound_that_anchors_at_all_rows_reach(kernel, problem):
    X, y, w, _ = problem.rows
    exact = reference.gp(kernel, problem.noise, X, y, w, problem.Xs)[2].sum()
    exact = exact + repeats(w, problem.noise, 2)
    expert = Variational(problem.noise)
    bounds = [
        evidence(Anchors.at(kernel, X[:m]), expert, problem.chunks, Serial())[0]
        for m in (1, 5, 15, len(X))
    ]
    assert bounds == sorted(bounds) and bounds[-2] < exact
    if not any(isinstance(part, White) for part in getattr(kernel, "parts", ())):
        assert_allclose(bounds[-1], exact, rtol=1e-6)
    dtc = evidence(Anchors.at(kernel, X[:5]), Projected(problem.noise), problem.chunks, Serial())[0]
    Q = reference.covariance(kernel, X, X[:5]) @ np.linalg.solve(
        reference.covariance(kernel, X[:5]), reference.covariance(kernel, X[:5], X)
    )
    left = np.diag(reference.covariance(kernel, X)) - np.diag(Q)
    assert_allclose(bounds[1], dtc - 2 * 0.5 * (left * w / problem.noise).sum(), rtol=1e-6)


@every_kernel
def test_factorised_evidence_is_the_sum_of_exact_gps(kernel, problem):
    value, _ = factorised(kernel, problem.noise, problem.chunks, Serial())
    expected = sum(
        reference.gp(kernel, problem.noise, *c.load(), problem.Xs)[2].sum() for c in problem.chunks
    )
    w = problem.rows[2]
    assert_allclose(value, expected + repeats(w, problem.noise, 2), rtol=1e-10)


def test_factorised_evidence_is_the_evidence_of_no_anchors(problem):
    none = Anchors.at(problem.kernel, np.empty((0, 2)))
    expected = evidence(none, Block(problem.noise), problem.chunks, Serial())
    found = factorised(problem.kernel, problem.noise, problem.chunks, Serial())
    assert_allclose(found[0], expected[0], rtol=1e-13)
    assert_allclose(found[1], expected[1], rtol=1e-11, atol=1e-12)


def test_anchored_evidence_is_that_of_block_experts(problem):
    expected = evidence(problem.basis, Block(problem.noise), problem.chunks, Serial())
    found = anchored(problem.kernel, problem.noise, problem.Z, problem.chunks, Serial())
    assert found[0] == expected[0]
    assert_array_equal(found[1], expected[1])


# --- gradients ------------------------------------------------------------------------------------


@pytest.mark.diagonal
@every_expert
@every_kernel
def test_gradient_with_anchors_is_the_derivative(kernel, expert, problem):
    def f(k, noise):
        return evidence(Anchors.at(k, problem.Z), expert(noise), problem.chunks, Serial())

    assert_gradient(f, kernel, problem.noise)


@every_kernel
def test_factorised_gradient_is_the_derivative(kernel, problem):
    assert_gradient(lambda k, s: factorised(k, s, problem.chunks, Serial()), kernel, problem.noise)


def covariances(kernel, noise, chunk, theta):
    """R at (θ, log σ²)."""
    own = kernel.with_theta(theta[:-1])
    return reference.covariance(own, chunk.X) + np.diag(np.exp(theta[-1]) / chunk.w)


@every_kernel
def test_information_is_the_average_of_observed_and_expected(kernel, problem):
    """½ αᵀRᵢR⁻¹Rⱼα, with derivatives of R by central differences of plain formulas."""
    theta = np.append(kernel.theta, np.log(problem.noise))
    steps, slow = 1e-5 * np.eye(theta.size), 0.0
    for chunk in problem.chunks:
        at = partial(covariances, kernel, problem.noise, chunk)
        R = at(theta)
        D = [(at(theta + s) - at(theta - s)) / 2e-5 for s in steps]
        for y in chunk.y.T:
            V = np.stack([d @ np.linalg.solve(R, y) for d in D], axis=1)
            slow = slow + 0.5 * V.T @ np.linalg.solve(R, V)
    found = information(kernel, problem.noise, problem.chunks, Serial(), 99)
    assert_allclose(found, slow, rtol=2e-3, atol=2e-3 * np.abs(slow).max())


def test_information_of_some_chunks_stands_for_all(problem):
    some = information(problem.kernel, problem.noise, problem.chunks, Serial(), 1)
    first = problem.chunks[:1]
    alone = information(problem.kernel, problem.noise, first, Serial(), 1)
    total = sum(chunk.n for chunk in problem.chunks)
    assert_allclose(some, alone * total / first[0].n, rtol=1e-12)


@every_expert
def test_gradient_without_anchors_is_the_derivative(expert, problem):
    def f(k, noise):
        basis = Anchors.at(k, np.empty((0, 2)))
        return evidence(basis, expert(noise), problem.chunks, Serial())

    if expert is Projected:  # no anchors and no residual: the kernel plays no part
        assert_array_equal(f(problem.kernel, 0.3)[1][:-1], 0.0)
    assert_gradient(f, problem.kernel, problem.noise)


@every_expert
def test_gradient_with_fixed_features_is_that_of_the_noise(expert, problem):
    features = Features.with_prior(
        lambda X: np.stack([X[:, 0], X[:, 1] ** 2], axis=1),
        np.array([0.4, -1.2]),
        np.diag([2, 0.6]),
    )

    def value(t):
        noise = float(np.exp(t[0]))
        return evidence(features, expert(noise), problem.chunks, Serial())[0]

    found = evidence(features, expert(problem.noise), problem.chunks, Serial())[1]
    numeric = reference.gradient(value, np.log([problem.noise]), step=1e-3)
    assert_allclose(found, numeric, rtol=1e-7)


@pytest.mark.diagonal
@pytest.mark.parametrize("p", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@every_expert
def test_gradient_for_any_number_of_outputs_and_weights(p, weighted, expert, make):
    problem = make((8, 0, 1, 11), p=p, weighted=weighted, noise=0.07, seed=p)

    def f(k, noise):
        return evidence(Anchors.at(k, problem.Z), expert(noise), problem.chunks, Serial())

    assert_gradient(f, problem.kernel, problem.noise)


def test_gradient_where_anchors_are_rows_and_nearly_equal(make):
    problem = make((8, 9))
    X = problem.rows[0]
    Z = np.concatenate([X[:5], X[:2] + 1e-3])

    def f(k, noise):
        return anchored(k, noise, Z, problem.chunks, Serial())

    kernel = Matern12(1.4, [0.9, 1.6])
    theta = np.append(kernel.theta, np.log(problem.noise))
    numeric = reference.gradient(
        lambda t: f(kernel.with_theta(t[:-1]), np.exp(t[-1]))[0], theta, step=1e-3
    )
    assert_allclose(f(kernel, problem.noise)[1], numeric, rtol=1e-5)


def test_gradient_of_one_chunk_does_not_depend_on_the_anchors(make):
    problem = make((14,))
    none = factorised(problem.kernel, problem.noise, problem.chunks, Serial())
    some = anchored(problem.kernel, problem.noise, problem.Z, problem.chunks, Serial())
    assert_allclose(some[0], none[0], rtol=1e-10)
    assert_allclose(some[1], none[1], rtol=1e-6, atol=1e-7)


def test_weights_are_repeated_rows_in_the_gradient_too(make):
    problem = make((6, 5), weighted=False)
    w = np.array([1, 3, 2, 1, 1, 4])
    first, second = problem.chunks
    again = np.repeat(np.arange(6), w)
    weighted = [Chunk(0, first.X, first.y, w.astype(float)), second]
    repeated = [Chunk(0, first.X[again], first.y[again], np.ones(12)), second]
    for f in (
        lambda c: factorised(problem.kernel, problem.noise, c, Serial()),
        lambda c: anchored(problem.kernel, problem.noise, problem.Z, c, Serial()),
    ):
        assert_allclose(f(weighted)[0], f(repeated)[0], rtol=1e-10)
        assert_allclose(f(weighted)[1], f(repeated)[1], rtol=1e-8, atol=1e-9)


def test_evidence_and_gradient_are_the_same_to_the_bit_on_every_engine(problem):
    for f in (
        lambda e, c: factorised(problem.kernel, problem.noise, c, e),
        lambda e, c: anchored(problem.kernel, problem.noise, problem.Z, c, e),
    ):
        value, gradient = f(Serial(), problem.chunks)
        for engine in (Threads(2), Threads(3)):
            for chunks in (problem.chunks, problem.chunks[::-1]):
                other = f(engine, chunks)
                assert other[0] == value
                assert_array_equal(other[1], gradient)
