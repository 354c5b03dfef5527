"""Factors, solves and adjoints against numpy; the jitter policy, step by step."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import reference
from collegium.numerics import linalg
from collegium.numerics.linalg import JITTERS, LARGEST, JitterWarning, cholesky

SIZES = [1, 2, 3, 31, 32, 33, 64, 97]  # around the block size of `mirror`
ORDERS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "strided": lambda A: np.repeat(A, 2, axis=0)[::2],
    "reversed": lambda A: A[::-1].copy()[::-1],
}


def posdef(n, rng=None, floor=0.5):
    B = (rng or np.random.default_rng(n)).normal(size=(n, n))
    return B @ B.T / n + floor * np.eye(n)


def with_eigenvalues(values, seed=0):
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))
    A = Q @ np.diag(values) @ Q.T
    return 0.5 * (A + A.T)


# --- Cholesky and its jitter ----------------------------------------------------------------------


@pytest.mark.parametrize("n", SIZES)
def test_factor_is_lower_and_its_square_is_the_matrix(n):
    A = posdef(n)
    L, jitter = cholesky(A, scale=5.0)
    assert jitter == 0.0
    assert_array_equal(L, np.tril(L))
    assert (L.diagonal() > 0).all()
    assert_allclose(L @ L.T, A, rtol=1e-13, atol=1e-13)
    assert_allclose(L, np.linalg.cholesky(A), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n", [2, 33, 70])
def test_only_the_lower_triangle_is_read(n):
    A = posdef(n)
    garbled = np.tril(A) + np.triu(np.full((n, n), 1e9), 1)
    assert_array_equal(cholesky(garbled, 1.0)[0], cholesky(A, 1.0)[0])


@pytest.mark.parametrize("order", ORDERS)
def test_factor_does_not_depend_on_the_memory_order_and_leaves_its_input_alone(order):
    A = ORDERS[order](posdef(9))
    A.flags.writeable = False
    before = A.copy()
    L, _ = cholesky(A, 1.0)
    assert_array_equal(A, before)
    assert_array_equal(L, cholesky(before.copy(order="C"), 1.0)[0])


def test_overwriting_needs_no_second_matrix():
    A = posdef(9)
    expected, _ = cholesky(A, 1.0)
    L, _ = cholesky(A, 1.0, overwrite=True)
    assert np.shares_memory(L, A)
    assert_array_equal(L, expected)


@pytest.mark.parametrize("order", ORDERS)
def test_overwriting_is_right_in_any_memory_order(order):
    A = posdef(9)
    expected, _ = cholesky(A, 1.0)
    L, _ = cholesky(ORDERS[order](A), 1.0, overwrite=True)
    assert_allclose(L, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_overwriting_is_right_for_any_type_of_number(dtype):
    n = 6
    room = np.zeros(2 * n * n, dtype=dtype)  # what lies behind the matrix is ours as well
    A = room[: n * n].reshape(n, n)
    A[:] = 8.0 * np.eye(n) + np.ones((n, n))
    L, _ = cholesky(A, 1.0, overwrite=True)
    assert_allclose(L @ L.T, 8.0 * np.eye(n) + np.ones((n, n)), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 0.7, 1e200])
def test_jitter_is_relative_to_the_scale_given_not_to_the_matrix(scale):
    L, jitter = cholesky(np.zeros((4, 4)), scale)
    assert jitter == JITTERS[0]
    assert_allclose(L, np.sqrt(JITTERS[0] * scale) * np.eye(4), rtol=1e-14)


@pytest.mark.parametrize("needed", JITTERS)
@pytest.mark.parametrize("scale", [1e-3, 40.0])
@pytest.mark.filterwarnings("ignore::collegium.numerics.linalg.JitterWarning")
def test_jitter_is_the_first_that_works_and_is_added_once(needed, scale):
    A = with_eigenvalues([scale, 0.6 * scale, 0.3 * scale, scale, -0.3 * needed * scale])
    L, jitter = cholesky(A, scale)
    assert jitter == needed
    assert_allclose(L @ L.T, A + needed * scale * np.eye(5), rtol=0, atol=1e-14 * scale)
    assert np.isfinite(L).all()


@pytest.mark.parametrize("n", [2, 33, 70])
def test_failed_attempts_leave_no_trace(n):
    A = with_eigenvalues([*np.linspace(0.5, 2.0, n - 1), -3e-8], seed=n)
    L, jitter = cholesky(A, 1.0)
    assert jitter == 1e-7
    plain, _ = cholesky(A + 1e-7 * np.eye(n), 1.0)
    assert_array_equal(L, plain)


@pytest.mark.parametrize("nugget", [1e-12, 1e-8, 3e-9])
def test_a_nugget_is_used_where_pivots_are_lost_in_rounding_and_only_there(nugget):
    A = posdef(5)
    L, jitter = cholesky(A, 2.0, nugget=nugget)
    assert jitter == 0.0
    assert_allclose(L @ L.T, A, rtol=1e-15, atol=1e-14)
    tiny = np.diag([1.0, 2.0, 0.05 * nugget])
    assert cholesky(tiny, 1.0)[1] == 0.0
    L, jitter = cholesky(tiny, 1.0, nugget=nugget)
    assert jitter == nugget
    assert_allclose(L @ L.T, tiny + nugget * np.eye(3), rtol=1e-15)
    bad = with_eigenvalues([1.0, 2.0, -1.5 * max(nugget, 1e-11)])
    assert cholesky(bad, 1.0, nugget=nugget)[1] == min(j for j in JITTERS if j > 1.5 * nugget)


@pytest.mark.parametrize("needed", JITTERS)
def test_a_repair_that_may_show_warns_and_a_smaller_one_does_not(needed):
    A = with_eigenvalues([1.0, 2.0, 3.0, -0.3 * needed])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cholesky(A, 1.0)
    assert [w.category for w in caught] == ([JitterWarning] if needed >= 1e-6 else [])
    if caught:
        assert f"{needed:.0e}" in str(caught[0].message)
        assert "noise" in str(caught[0].message)


@pytest.mark.parametrize(
    "A",
    [
        -np.eye(3),
        with_eigenvalues([1.0, 1.0, -3e-4]),
        np.array([[1.0, 2.0], [2.0, 1.0]]),
    ],
    ids=["minus_one", "slightly", "correlation_two"],
)
def test_what_is_not_positive_semidefinite_is_refused(A):
    with pytest.raises(ValueError, match="not positive semidefinite"):
        cholesky(A, 1.0)


@pytest.mark.parametrize(
    "A",
    [
        np.array([[1.0, 0.0, 0.0], [0.0, np.nan, 0.0], [0.0, 0.0, 1.0]]),
        np.array([[1.0, 0.0], [np.nan, 1.0]]),
        np.full((3, 3), np.nan),
        np.diag([1.0, np.inf, 1.0]) + np.diag([0.5, 0.5], -1),
    ],
    ids=["diagonal", "off_diagonal", "everywhere", "infinite"],
)
def test_what_is_not_finite_is_refused(A):
    with pytest.raises(ValueError, match="finite"):
        cholesky(A, 1.0)


def test_a_matrix_beyond_lapack_is_refused_before_anything_is_allocated():
    huge = np.broadcast_to(1.0, (LARGEST + 1, LARGEST + 1))
    with pytest.raises(ValueError, match="smaller chunks"):
        cholesky(huge, 1.0)


def test_nothing_has_a_factor():
    L, jitter = cholesky(np.empty((0, 0)), 1.0)
    assert L.shape == (0, 0)
    assert jitter == 0.0
    assert linalg.log_det(L) == 0.0
    assert linalg.inverse_posdef(L).shape == (0, 0)
    assert linalg.cholesky_vjp(L, np.empty((0, 0))).shape == (0, 0)
    assert linalg.mirror(np.empty((0, 0))).shape == (0, 0)


@pytest.mark.parametrize("unit", [1e-300, 1e-150, 1e150, 1e300])
def test_factor_is_accurate_in_any_unit(unit):
    A = posdef(6)
    L, jitter = cholesky(A * unit, unit)
    assert jitter == 0.0
    assert_allclose(L / np.sqrt(unit), cholesky(A, 1.0)[0], rtol=1e-13)


# --- solves ---------------------------------------------------------------------------------------


SOLVES = {
    "lower": (linalg.solve_lower, lambda L: L),
    "upper": (linalg.solve_upper, lambda L: L.T),
    "posdef": (linalg.solve_posdef, lambda L: L @ L.T),
}


@pytest.mark.parametrize("solve", SOLVES)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", [(7,), (7, 1), (7, 3), (7, 40)])
def test_solves_in_every_memory_order(solve, order, shape):
    L, _ = cholesky(posdef(7), 1.0)
    B = ORDERS[order](np.random.default_rng(1).normal(size=shape))
    B.flags.writeable = False
    before = B.copy()
    f, matrix = SOLVES[solve]
    X = f(L, B)
    assert X.shape == shape
    assert_allclose(matrix(L) @ X, before, rtol=1e-10, atol=1e-12)
    assert_array_equal(B, before)


@pytest.mark.parametrize("solve", ["lower", "upper"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", [(7,), (7, 3)])
def test_overwriting_solves_give_the_same_and_work_in_place_where_they_can(solve, order, shape):
    L, _ = cholesky(posdef(7), 1.0)
    f, _ = SOLVES[solve]
    B = ORDERS[order](np.random.default_rng(2).normal(size=shape))
    expected = f(L, B)
    X = f(L, B, overwrite=True)
    assert_allclose(X, expected, rtol=1e-14, atol=1e-15)
    assert np.shares_memory(X, B) == (B.flags.c_contiguous or B.flags.f_contiguous)


def test_solving_a_read_only_or_single_precision_right_side_makes_a_copy():
    L, _ = cholesky(posdef(4), 1.0)
    B = np.arange(8.0).reshape(4, 2)
    expected = linalg.solve_lower(L, B)
    single = B.astype(np.float32)
    assert_allclose(linalg.solve_lower(L, single, overwrite=True), expected, rtol=1e-14)
    B.flags.writeable = False
    assert_array_equal(linalg.solve_lower(L, B, overwrite=True), expected)
    assert_array_equal(B, np.arange(8.0).reshape(4, 2))


@pytest.mark.parametrize("solve", SOLVES)
def test_solves_of_nothing(solve):
    f, _ = SOLVES[solve]
    L, _ = cholesky(posdef(3), 1.0)
    assert f(L, np.empty((3, 0))).shape == (3, 0)
    assert f(np.empty((0, 0)), np.empty((0, 4))).shape == (0, 4)
    assert f(np.empty((0, 0)), np.empty(0)).shape == (0,)


@pytest.mark.parametrize("n", SIZES)
def test_inverse_and_log_determinant(n):
    A = posdef(n)
    L, _ = cholesky(A, 1.0)
    before = L.copy()
    lower = np.tril(linalg.inverse_posdef(L))
    assert_array_equal(L, before)
    assert_allclose(lower, np.tril(np.linalg.inv(A)), rtol=1e-9, atol=1e-11)
    assert_allclose(linalg.log_det(L), np.linalg.slogdet(A)[1], rtol=1e-12, atol=1e-13)


# --- products -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", SIZES)
def test_mirror_copies_the_lower_triangle_up(n):
    A = np.random.default_rng(n).normal(size=(n, n))
    expected = np.tril(A) + np.tril(A, -1).T
    assert linalg.mirror(A) is A
    assert_array_equal(A, expected)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (3, 5), (40, 33), (1, 6), (6, 1)])
def test_gram_is_the_product_and_symmetric_to_the_bit(order, shape):
    A = ORDERS[order](np.random.default_rng(3).normal(size=shape))
    before = A.copy()
    C = linalg.gram(A)
    assert_allclose(C, before @ before.T, rtol=1e-12, atol=1e-13)
    assert_array_equal(C, C.T)
    assert_array_equal(A, before)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (3, 5), (40, 33), (1, 6), (6, 1)])
def test_subtracting_a_gram_changes_the_lower_triangle_only(order, shape):
    rng = np.random.default_rng(4)
    A = ORDERS[order](rng.normal(size=shape))
    C = rng.normal(size=(shape[0], shape[0]))
    before = C.copy()
    assert linalg.subtract_gram(C, A) is C
    assert_allclose(np.tril(C), np.tril(before - A @ A.T), rtol=1e-12, atol=1e-13)
    assert_array_equal(np.triu(C, 1), np.triu(before, 1))


def test_gram_of_nothing():
    assert_array_equal(linalg.gram(np.empty((3, 0))), np.zeros((3, 3)))
    assert linalg.gram(np.empty((0, 3))).shape == (0, 0)
    C = np.arange(9.0).reshape(3, 3)
    assert_array_equal(linalg.subtract_gram(C.copy(), np.empty((3, 0))), C)


# --- the adjoint of the Cholesky factor -----------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 5, 9])
@pytest.mark.parametrize("square", [True, False])
def test_adjoint_of_the_factor_is_the_derivative(n, square):
    rng = np.random.default_rng(n)
    A = posdef(n, rng)
    L = np.linalg.cholesky(A)
    weights = rng.normal(size=(n, n))  # its upper triangle meets zeros of L
    power = 2 if square else 1
    L_bar = power * weights * L ** (power - 1)
    A_bar = linalg.cholesky_vjp(L, L_bar)
    assert_array_equal(A_bar, A_bar.T)
    for _ in range(4):
        S = rng.normal(size=(n, n))
        S = S + S.T
        # as large as the least eigenvalue of A: a step of 1e-3 is then one of 1e-3 in L too,
        # the stencil is right to 1e-12 and its rounding to 1e-16 cond(A) / 1e-3
        S *= np.linalg.eigvalsh(A)[0] / np.linalg.norm(S, 2)

        def f(t, S=S):
            return (weights * np.linalg.cholesky(A + t[0] * S) ** power).sum()

        numeric = reference.gradient(f, np.zeros(1), step=1e-3)[0]
        assert_allclose((A_bar * S).sum(), numeric, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("x", [0.7, np.arange(5.0)], ids=["number", "vector"])
def test_the_diagonal_is_added_in_place(x, order):
    A = np.array(np.random.default_rng(0).normal(size=(5, 5)), order=order)
    expected = A + np.diag(x * np.ones(5))
    assert linalg.add_diagonal(A, x) is A
    np.testing.assert_array_equal(A, expected)
