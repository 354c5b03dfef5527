"""Messages are an algebra of Gaussian factors; a belief is their normalised product."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from collegium.messages.message import Message, normalise

EPS = np.finfo(float).eps
steady = settings(max_examples=60, deadline=None, derandomize=True)


def draw(m, p, rank, rng, spread=2.0):
    """A message of the given rank, in units anywhere within ± spread decades."""
    A = rng.normal(size=(m, rank)) * 10.0 ** rng.uniform(-spread, spread)
    return Message(A @ A.T, A @ rng.normal(size=(rank, p)), rng.normal(size=p) * 5.0)


@st.composite
def messages(draw_from, count):
    """`count` messages about the same u, of ranks 0, 1, m − 1 or m, and a generator."""
    m, p = draw_from(st.integers(1, 6)), draw_from(st.integers(1, 3))
    rng = np.random.default_rng(draw_from(st.integers(0, 2**32 - 1)))
    ranks = [draw_from(st.sampled_from([0, 1, m - 1, m])) for _ in range(count)]
    return [draw(m, p, rank, rng) for rank in ranks], rng


def parts(message):
    return message.precision, message.shift, message.log_scale


def assert_same(a, b):
    for left, right in zip(parts(a), parts(b)):
        assert_array_equal(left, right)


def assert_equal_to_rounding(a, b, *terms):
    """Within a few units in the last place of the largest term that went in."""
    for left, right, *sizes in zip(parts(a), parts(b), *map(parts, terms)):
        size = max(np.abs(part).max(initial=0.0) for part in (left, right, *sizes))
        assert_allclose(left, right, rtol=0, atol=8 * EPS * size)


def size_of_density(message, u):
    quadratic = np.einsum("mp,mn,np->p", abs(u), abs(message.precision), abs(u))
    return quadratic + (abs(message.shift) * abs(u)).sum(axis=0) + abs(message.log_scale)


# --- the algebra ----------------------------------------------------------------------------------


@steady
@given(messages(2), st.floats(-3.0, 3.0))
def test_sum_difference_and_power_multiply_divide_and_raise_the_densities(given_, power):
    (a, b), rng = given_
    u = rng.normal(size=a.shift.shape)
    size = 50 * EPS * (size_of_density(a, u) + size_of_density(b, u))
    assert (abs((a + b).log_density(u) - (a.log_density(u) + b.log_density(u))) <= size).all()
    assert (abs((a - b).log_density(u) - (a.log_density(u) - b.log_density(u))) <= size).all()
    assert (abs((power * a).log_density(u) - power * a.log_density(u)) <= 3 * size).all()
    assert_same(power * a, a * power)


@steady
@given(messages(1))
def test_log_density_is_the_quadratic_form(given_):
    (a,), rng = given_
    u = rng.normal(size=a.shift.shape)
    for j in range(u.shape[1]):
        v = u[:, j]
        expected = -0.5 * v @ a.precision @ v + a.shift[:, j] @ v + a.log_scale[j]
        assert abs(a.log_density(u)[j] - expected) <= 50 * EPS * size_of_density(a, u)[j]


@steady
@given(messages(3))
def test_addition_commutes_to_the_bit_and_associates_to_rounding(given_):
    (a, b, c), _ = given_
    assert_same(a + b, b + a)
    assert_equal_to_rounding((a + b) + c, a + (b + c), a, b, c)


@steady
@given(messages(2))
def test_adding_then_subtracting_is_the_identity(given_):
    (a, b), _ = given_
    assert_equal_to_rounding((a + b) - b, a, a, b)
    assert_equal_to_rounding((a - b) + b, a, a, b)
    assert_same(a - a, Message.zero(*a.shift.shape))


@steady
@given(messages(1), st.integers(0, 7))
def test_a_power_is_so_many_copies(given_, k):
    (a,), _ = given_
    copies = Message.zero(*a.shift.shape)
    for _ in range(k):
        copies = copies + a
    assert_equal_to_rounding(k * a, copies, k * a)


@steady
@given(messages(1))
def test_zero_is_neutral_and_has_density_one(given_):
    (a,), rng = given_
    zero = Message.zero(*a.shift.shape)
    assert_same(a + zero, a)
    assert_same(zero + a, a)
    assert_array_equal(zero.log_density(rng.normal(size=a.shift.shape)), 0.0)


def test_operands_are_left_alone():
    rng = np.random.default_rng(0)
    a, b = draw(4, 2, 3, rng), draw(4, 2, 4, rng)
    before = [part.copy() for message in (a, b) for part in parts(message)]
    normalise(a + b), a - b, 0.3 * a, a.log_density(np.ones((4, 2)))
    for old, new in zip(before, [*parts(a), *parts(b)]):
        assert_array_equal(old, new)
    with pytest.raises(AttributeError):
        a.shift = b.shift


@pytest.mark.parametrize(("m", "p"), [(1, 1), (3, 2), (7, 1)])
def test_the_prior_is_the_standard_normal(m, p):
    u = np.random.default_rng(1).normal(size=(m, p))
    expected = [multivariate_normal(np.zeros(m), np.eye(m)).logpdf(column) for column in u.T]
    assert_allclose(Message.standard_normal(m, p).log_density(u), expected, rtol=1e-14)


# --- normalise ------------------------------------------------------------------------------------


@steady
@given(messages(3))
def test_belief_has_the_moments_of_prior_times_messages(given_):
    found, _ = given_
    m, p = found[0].shift.shape
    total = sum(found, start=Message.standard_normal(m, p))
    belief = normalise(total)
    condition = np.linalg.cond(total.precision)
    tolerance = 100 * EPS * condition
    mean = np.linalg.solve(total.precision, total.shift)
    assert_allclose(belief.mean, mean, rtol=0, atol=tolerance * np.abs(mean).max(initial=1e-300))
    covariance = np.linalg.inv(total.precision)
    assert_allclose(belief.covariance, covariance, rtol=0, atol=tolerance * abs(covariance).max())
    assert_array_equal(belief.covariance, belief.covariance.T)
    assert_allclose(belief.factor @ belief.factor.T, total.precision, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("power", [1.0, 0.35])
def test_log_evidence_is_the_log_of_the_integral(m, power):
    # The trapezoidal rule on a Gaussian converges faster than any power of the step.
    rng = np.random.default_rng(m)
    axis = np.arange(-12.0, 12.0, 0.05)
    grid = np.stack(np.meshgrid(*[axis] * m, indexing="ij")).reshape(m, -1)
    for rank in range(m + 1):
        total = Message.standard_normal(m, 1) + power * draw(m, 1, rank, rng, spread=0.3)
        quadratic = np.einsum("mn,mk,kn->n", grid, total.precision, grid)
        log_values = -0.5 * quadratic + total.shift[:, 0] @ grid + total.log_scale[0]
        integral = np.exp(log_values).sum() * 0.05**m
        assert_allclose(normalise(total).log_evidence, [np.log(integral)], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("n", [1, 4, 5, 9])
def test_log_evidence_of_measurements_is_the_marginal_density(n):
    # y = Vᵀv + e, v ~ N(0, I), e ~ N(0, R): log p(y) = log N(y; 0, VᵀV + R).
    rng = np.random.default_rng(n)
    m, p = 5, 2
    V, y = rng.normal(size=(m, n)), rng.normal(size=(n, p))
    B = rng.normal(size=(n, n))
    R = B @ B.T + 0.3 * np.eye(n)
    own = [multivariate_normal(np.zeros(n), R).logpdf(column) for column in y.T]
    sent = Message(V @ np.linalg.solve(R, V.T), V @ np.linalg.solve(R, y), np.array(own))
    belief = normalise(Message.standard_normal(m, p) + sent)
    C = V.T @ V + R
    marginal = [multivariate_normal(np.zeros(n), C).logpdf(column) for column in y.T]
    assert_allclose(belief.log_evidence, marginal, rtol=1e-12)
    assert_allclose(belief.mean, V @ np.linalg.solve(C, y), rtol=1e-9, atol=1e-12)
    assert_allclose(belief.covariance, np.eye(m) - V @ np.linalg.solve(C, V.T), atol=1e-12)


@pytest.mark.parametrize("rank", [0, 1, 4])
def test_unlearning_gives_back_the_belief(rank):
    rng = np.random.default_rng(rank)
    prior, kept, gone = Message.standard_normal(5, 2), draw(5, 2, 3, rng), draw(5, 2, rank, rng)
    before, after = normalise(prior + kept), normalise(prior + kept + gone - gone)
    assert_allclose(after.mean, before.mean, rtol=1e-9, atol=1e-12)
    assert_allclose(after.covariance, before.covariance, rtol=1e-9, atol=1e-12)
    assert_allclose(after.log_evidence, before.log_evidence, rtol=1e-9)


def test_belief_of_the_prior_is_the_prior():
    belief = normalise(Message.standard_normal(4, 3))
    assert_array_equal(belief.mean, np.zeros((4, 3)))
    assert_array_equal(belief.covariance, np.eye(4))
    assert_allclose(belief.log_evidence, np.zeros(3), atol=1e-15)


def test_belief_about_nothing_has_the_log_scale_for_evidence():
    c = np.array([-3.5, 0.25])
    belief = normalise(Message(np.empty((0, 0)), np.empty((0, 2)), c))
    assert_array_equal(belief.log_evidence, c)
    assert belief.mean.shape == (0, 2)
    assert belief.covariance.shape == (0, 0)
    assert belief.spread(np.empty((0, 5))).shape == (0, 5)


def test_gram_of_the_spread_is_the_covariance_of_linear_functions():
    rng = np.random.default_rng(4)
    total = Message.standard_normal(5) + draw(5, 1, 4, rng)
    T = rng.normal(size=(5, 8))
    for given_order in (T, np.asfortranarray(T)):
        S = normalise(total).spread(given_order)
        assert_allclose(S.T @ S, T.T @ np.linalg.solve(total.precision, T), rtol=1e-10, atol=1e-12)


def test_normalise_adds_no_jitter_to_a_good_precision():
    rng = np.random.default_rng(5)
    total = Message.standard_normal(6) + draw(6, 1, 2, rng, spread=0.0)
    factor = normalise(total).factor
    assert_allclose(factor @ factor.T, total.precision, rtol=1e-15, atol=1e-14)


@pytest.mark.parametrize("unit", [1e-120, 1.0, 1e120])
def test_a_precision_that_rounding_left_indefinite_is_repaired(unit):
    Q, _ = np.linalg.qr(np.random.default_rng(6).normal(size=(5, 5)))
    precision = Q @ np.diag([3.0, 2.0, 1.0, 1.0, -1e-11]) @ Q.T * unit
    h = Q[:, :1] * unit  # along the eigenvector of 3 alone
    belief = normalise(Message(0.5 * (precision + precision.T), h, np.zeros(1)))
    assert np.isfinite(belief.log_evidence).all()
    assert_allclose(belief.mean, Q[:, :1] / 3.0, rtol=1e-4, atol=1e-4)


def test_a_negative_precision_is_refused():
    prior, sent = Message.standard_normal(3), draw(3, 1, 3, np.random.default_rng(7))
    with pytest.raises(ValueError, match="positive semidefinite"):
        normalise(prior - 10.0 * sent - prior)
