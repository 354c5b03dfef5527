"""The gradient of the Laplace evidence follows the mode as it moves."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import trapezoid
from scipy.stats import norm
from scipy.stats import t as student

import reference
from collegium.engines import Serial, Threads
from collegium.kernels import RBF, Constant, Linear, Matern12, Matern32, White
from collegium.laplace.evidence import evidence_together
from collegium.learning.optimise import Scales, maximise
from collegium.likelihoods import Logit, Poisson, Softmax, StudentT
from collegium.rows.chunk import Chunk
from site_cases import KERNEL, LIKELIHOODS, draw, start, swept

CASES = {**LIKELIHOODS, "softmax": Softmax(3)}
every = pytest.mark.parametrize("likelihood", CASES.values(), ids=CASES.keys())
KERNELS = {
    "rbf": RBF(1.6, [0.8, 1.7]) + White(0.1),
    "matern32": Matern32(1.6, 1.2),
    "sum": Matern12(0.7, [1.3, 0.6]) + Linear([1.9, 0.8]) + Constant(0.4),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())


def laplace_evidence(kernel, likelihood, chunks, engine):
    """Σ log Z, and its gradient in (θ of the kernel, θ of the likelihood)."""
    total = evidence_together(kernel, [likelihood], chunks, engine)
    return total.value, total.gradient


@pytest.mark.parametrize("likelihood", LIKELIHOODS.values(), ids=LIKELIHOODS.keys())
def test_the_evidence_is_a_sum_of_chunks(likelihood):
    chunks, _, _ = draw(likelihood)
    expected = sum(
        reference.laplace(reference.covariance(KERNEL, c.X), likelihood, c.y, c.w)[3]
        for c in chunks
    )
    value, _ = laplace_evidence(KERNEL, likelihood, chunks, Serial())
    assert_allclose(value, expected, rtol=1e-9)


@every
def test_the_evidence_is_that_of_a_committee_without_anchors(likelihood):
    chunks, _, _ = draw(likelihood)
    none = swept(start(likelihood, np.empty((0, 2))).join(chunks))
    value, _ = laplace_evidence(KERNEL, likelihood, chunks, Serial())
    assert_allclose(value, none.log_evidence, rtol=1e-10)


@every
def test_likelihoods_of_the_same_rows_add_up_from_wherever_they_start(likelihood):
    chunks, _, _ = draw(likelihood)
    others = [replace(c, y=c.y[::-1]) for c in chunks]
    both = [replace(c, y=np.hstack([c.y, d.y])) for c, d in zip(chunks, others)]
    one, two = (laplace_evidence(KERNEL, likelihood, part, Serial()) for part in (chunks, others))
    near = KERNEL.with_theta(KERNEL.theta + 0.1)
    first = evidence_together(near, [likelihood] * 2, both, Serial())
    for modes in (None, first.modes):
        found = evidence_together(KERNEL, [likelihood] * 2, both, Serial(), modes)
        assert_allclose(found.value, one[0] + two[0], rtol=1e-10)
        assert_allclose(found.gradient, one[1] + two[1], rtol=1e-7, atol=1e-9)


@pytest.mark.diagonal
@every
@every_kernel
def test_the_gradient_is_the_derivative(likelihood, kernel):
    chunks, _, _ = draw(likelihood, (17, 1, 12))
    q = kernel.theta.size

    def f(theta):
        own = likelihood.with_theta(theta[q:])
        return laplace_evidence(kernel.with_theta(theta[:q]), own, chunks, Serial())

    theta = np.append(kernel.theta, likelihood.theta)
    found = f(theta)[1]
    numeric = reference.gradient(lambda t: f(t)[0], theta, step=1e-4)
    assert found.shape == theta.shape
    assert_allclose(found, numeric, rtol=1e-6, atol=1e-7 * np.abs(numeric).max())


def test_the_student_gradient_holds_where_rows_have_negative_curvature():
    likelihood, kernel = StudentT(2.6, 0.02), RBF(1.5, [1.5, 1.9])
    chunks, _, _ = draw(likelihood, (30,), kernel=kernel)
    committee = start(likelihood, np.empty((0, 2)), kernel=kernel).join(chunks)
    assert (swept(committee).latent().rows().W == 0.0).sum() >= 5

    def f(theta):
        own = likelihood.with_theta(theta[3:])
        return laplace_evidence(kernel.with_theta(theta[:3]), own, chunks, Serial())

    theta = np.append(kernel.theta, likelihood.theta)
    numeric = reference.gradient(lambda t: f(t)[0], theta, step=1e-5)
    assert_allclose(f(theta)[1], numeric, rtol=1e-6, atol=1e-6 * np.abs(numeric).max())


# --- engines and learning -------------------------------------------------------------------------


def test_the_gradient_is_the_same_to_the_bit_on_every_engine():
    chunks, _, _ = draw(Poisson())
    value, gradient = laplace_evidence(KERNEL, Poisson(), chunks, Serial())
    for engine in (Threads(2), Threads(3)):
        other = laplace_evidence(KERNEL, Poisson(), chunks[::-1], engine)
        assert other[0] == value
        assert_array_equal(other[1], gradient)


def test_learning_maximises_the_evidence():
    for likelihood, fixed in ((Logit(), True), (StudentT(3.7, 0.5), False)):
        chunks, _, _ = draw(likelihood, (60, 60), seed=3, weighted=False)

        def goal(kernel, noise, own=likelihood, chunks=chunks):
            own = own.with_theta(np.log([noise] * own.theta.size))
            value, gradient = laplace_evidence(kernel, own, chunks, Serial())
            return value, np.pad(gradient, (0, 1 - own.theta.size))

        first = Matern12(0.5, [5.0, 0.2])
        prior = Scales.of(np.concatenate([c.X for c in chunks])).prior(first)
        learnt = maximise(goal, first, 0.5, prior, 120, noise_fixed=fixed)
        final = np.append(prior.theta(learnt.kernel), np.log(learnt.noise))
        value, gradient = goal(learnt.kernel, learnt.noise)
        assert value > goal(first, 0.5)[0] + 1.0
        slope = gradient + prior.log_density(final)[1]
        inside = (final > prior.low + 1e-6) & (final < prior.high - 1e-6)
        inside[-1] &= not fixed
        assert np.abs(slope[inside]).max() < 0.3


def test_a_fixed_noise_has_no_gradient():
    likelihood = replace(StudentT(3.7, 0.08), fixed=("noise",))
    chunks, _, _ = draw(likelihood)
    free = laplace_evidence(KERNEL, replace(likelihood, fixed=()), chunks, Serial())
    held = laplace_evidence(KERNEL, likelihood, chunks, Serial())
    assert_array_equal(held[1], free[1][:-1])


# --- the correction of heavy tails ----------------------------------------------------------------


def corrected(kernel, likelihood, chunks):
    return evidence_together(kernel, [likelihood], chunks, Serial(), corrected=True)


@pytest.mark.parametrize(("dof", "noise"), [(3.1, 0.2), (2.6, 0.02)])
def test_the_gradient_of_the_corrected_evidence_is_the_derivative(dof, noise):
    """With rows of negative curvature, and with copies and shares of rows."""
    likelihood, kernel = StudentT(dof, noise), Matern32(1.6, [0.8, 1.7])
    chunks, _, _ = draw(likelihood, (20, 9), kernel=kernel)
    chunks[0] = replace(chunks[0], w=np.array([0.3, 1.0, 2.0])[np.arange(20) % 3])

    def f(theta):
        return corrected(kernel.with_theta(theta[:3]), likelihood.with_theta(theta[3:]), chunks)

    theta = np.append(kernel.theta, likelihood.theta)
    found = f(theta)
    assert found.value != evidence_together(kernel, [likelihood], chunks, Serial()).value
    numeric = reference.gradient(lambda t: f(t).value, theta, step=1e-4)
    assert_allclose(found.gradient, numeric, rtol=1e-5, atol=1e-6 * np.abs(numeric).max())


def one_row(y, w, likelihood, kernel):
    """Evidence, the corrected one, and the integral of pʷ, of a row of weight w."""
    chunk = Chunk(0, np.zeros((1, 2)), np.full((1, 1), y), np.array([w]))
    z, scale = np.linspace(-12, 12, 400_001), likelihood.noise**0.5
    density = (student.pdf((y - z) / scale, likelihood.dof) / scale) ** w
    exact = np.log(trapezoid(density * norm.pdf(z, 0.0, kernel.variance**0.5), z))
    plain = evidence_together(kernel, [likelihood], [chunk], Serial()).value
    return plain, corrected(kernel, likelihood, [chunk]).value, exact


@pytest.mark.parametrize("w", [0.1, 0.4, 1.0])
@pytest.mark.parametrize("noise", [1e-4, 0.05, 3.0])
def test_the_corrected_evidence_of_one_row_is_exact(noise, w):
    """Also of the share w of a row, whose density is pʷ."""
    for y in (0.0, 0.4, 2.5):
        plain, found, exact = one_row(y, w, StudentT(4.0, noise), Matern32(1.3, 1.0))
        assert_allclose(found, exact, atol=1e-5)
        assert noise > 1.0 or y > 1.0 or abs(plain - exact) > 0.05


def test_copies_are_corrected_like_rows_of_their_own():
    likelihood, kernel = StudentT(4.0, 0.05), Matern32(1.3, 1.0)
    twice = Chunk(0, np.zeros((2, 2)), np.full((2, 1), 0.4), np.ones(2))
    plain, found, exact = one_row(0.4, 2.0, likelihood, kernel)
    assert_allclose(found, corrected(kernel, likelihood, [twice]).value, atol=1e-6)
    assert abs(found - exact) < 0.5 * abs(plain - exact)


def test_gaussian_tails_and_other_likelihoods_are_not_corrected():
    kernel = Matern32(1.6, 1.2)
    for likelihood in (Poisson(), Logit()):
        chunks, _, _ = draw(likelihood, (12,))
        plain = evidence_together(kernel, [likelihood], chunks, Serial())
        assert corrected(kernel, likelihood, chunks).value == plain.value
    nearly = StudentT(1e7, 0.3)
    chunks, _, _ = draw(nearly, (12,))
    plain = evidence_together(kernel, [nearly], chunks, Serial()).value
    assert_allclose(corrected(kernel, nearly, chunks).value, plain, atol=1e-4)
