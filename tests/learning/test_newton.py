"""Newton-like steps within bounds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from collegium.learning.newton import descend
from collegium.learning.tuning import TUNING

WIDE = np.full(3, 50.0)


def quadratic(A, b):
    return lambda x: (0.5 * float(x @ A @ x) - float(b @ x), A @ x - b)


def positive_definite(rng, q=3):
    B = rng.normal(size=(q, q))
    return B @ B.T + 0.3 * np.eye(q)


def test_a_quadratic_is_solved_in_one_step_of_its_own_curvature():
    rng = np.random.default_rng(0)
    A = positive_definite(rng)
    truth = np.array([0.3, -0.5, 0.7])  # no farther than the longest step
    seen = []

    def f(x):
        seen.append(x)
        return quadratic(A, A @ truth)(x)

    found, converged = descend(f, lambda x: A, np.zeros(3), -WIDE, WIDE, max_iter=5, gain=1e-12)
    assert converged and len(seen) <= 3
    assert_allclose(found.x, truth, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_minimum_within_bounds_is_found_with_a_wrong_curvature(seed):
    """The curvature of another matrix, and bounds that hold some coordinates."""
    rng = np.random.default_rng(seed)
    A, wrong = positive_definite(rng), positive_definite(rng)
    b = 3.0 * rng.normal(size=3)
    low, high = np.full(3, -0.4), np.full(3, 0.6)
    f = quadratic(A, b)
    found, _ = descend(f, lambda x: wrong, np.zeros(3), low, high, max_iter=200, gain=1e-14)
    slow = minimize(f, np.zeros(3), jac=True, bounds=list(zip(low, high)), options={"ftol": 1e-15})
    assert (found.x >= low).all() and (found.x <= high).all()
    assert_allclose(found.value, slow.fun, atol=1e-7)


def test_a_curved_valley_is_followed_to_its_end():
    """Rosenbrock's function, from the usual start, with the curvature at each point made positive
    definite."""

    def f(x):
        a, b = 1.0 - x[0], x[1] - x[0] ** 2
        return a**2 + 100.0 * b**2, np.array([-2.0 * a - 400.0 * x[0] * b, 200.0 * b])

    def curvature(x):
        J = np.array([[-1.0, 0.0], [-20.0 * x[0], 10.0]])  # Gauss and Newton's
        return 2.0 * J.T @ J

    wide = np.full(2, 9.0)
    found, converged = descend(
        f, curvature, np.array([-1.2, 1.0]), -wide, wide, max_iter=200, gain=1e-12
    )
    assert converged
    assert_allclose(found.x, [1.0, 1.0], atol=1e-4)


def test_values_that_are_not_finite_are_stepped_back_from():
    steps = []

    def f(x):
        steps.append(x[0])
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(4.0 * x[0] - np.log(x[0])), 4.0 - 1.0 / x

    found, _ = descend(
        f, lambda x: np.array([[0.05]]), np.array([0.9]), -WIDE[:1], WIDE[:1], max_iter=100,
        gain=1e-13,
    )  # fmt: skip
    assert min(steps) < 0.0
    assert_allclose(found.x, 0.25, atol=1e-4)


def test_values_of_minus_infinity_are_no_minimum():
    """A likelihood that overflows: no step is taken to it."""
    steps = []

    def f(x):
        steps.append(x[0])
        fell = x[0] < 0.5
        return (-np.inf if fell else float((x[0] - 1.0) ** 2)), 2.0 * (x - 1.0)

    found, converged = descend(
        f, lambda x: np.array([[0.3]]), np.array([1.3]), -WIDE[:1], WIDE[:1], max_iter=100,
        gain=1e-13,
    )  # fmt: skip
    assert min(steps) < 0.5 and np.isfinite(found.value) and converged
    assert_allclose(found.x, 1.0, atol=1e-4)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_start_without_a_finite_value_is_given_back(value):
    def curvature(x):
        raise AssertionError("nothing is known there")

    found, converged = descend(
        lambda x: (value, np.ones(3)), curvature, np.zeros(3), -WIDE, WIDE, max_iter=9
    )
    assert not converged and (found.x == 0.0).all()


def test_stop_returns_the_best_so_far():
    A = np.eye(3)
    found, converged = descend(
        quadratic(A, np.ones(3)), lambda x: A, np.zeros(3), -WIDE, WIDE, max_iter=9,
        stop=lambda: True,
    )  # fmt: skip
    assert not converged and (found.x == 0.0).all()


def test_a_step_that_a_bound_turns_uphill_is_shortened():
    """Clipped, the whole Newton step would go up; a shorter one goes down."""
    H, c = np.array([[1.0, 0.9], [0.9, 1.0]]), np.array([-0.7, 0.5])
    low, high = np.array([0.0, -5.0]), np.array([5.0, 5.0])

    def f(x):
        return 0.5 * float((x - c) @ H @ (x - c)), H @ (x - c)

    found, _ = descend(f, lambda x: H, np.array([0.3, 0.0]), low, high, max_iter=50, gain=1e-12)
    slow = minimize(f, [0.3, 0.0], jac=True, bounds=list(zip(low, high)), options={"ftol": 1e-15})
    assert_allclose(found.value, slow.fun, atol=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_boxes_in_six_dimensions(seed):
    rng = np.random.default_rng(seed)
    A, b = positive_definite(rng, 6), 3.0 * rng.normal(size=6)
    low = -rng.uniform(0.0, 1.5, 6)
    high = low + rng.uniform(0.5, 2.5, 6)
    f, start = quadratic(A, b), rng.uniform(low, high)
    found, _ = descend(f, lambda x: A, start, low, high, max_iter=300, gain=1e-14)
    slow = minimize(f, start, jac=True, bounds=list(zip(low, high)), options={"ftol": 1e-15})
    assert_allclose(found.value, slow.fun, atol=1e-5)


def test_an_old_curvature_is_corrected_by_gradients():
    """A curvature that is wrong by a factor of twenty needs few evaluations all the same."""
    A = np.diag([1.0, 20.0, 4.0])
    calls = []

    def f(x):
        calls.append(x)
        return quadratic(A, A @ np.array([0.4, 0.2, -0.3]))(x)

    found, _ = descend(f, lambda x: np.eye(3), np.zeros(3), -WIDE, WIDE, max_iter=60, gain=1e-10)
    assert found.value < -0.5 * 0.4**2 - 0.5 * 20.0 * 0.2**2 - 0.5 * 4.0 * 0.3**2 + 1e-6
    assert len(calls) < 40


def test_no_coordinate_moves_farther_than_the_longest_step():
    seen = []

    def f(x):
        seen.append(x)
        return quadratic(np.eye(3), np.full(3, 9.0))(x)

    descend(f, lambda x: np.eye(3), np.zeros(3), -WIDE, WIDE, max_iter=3)
    assert np.abs(np.diff(seen, axis=0)).max() <= TUNING.newton.longest + 1e-12
