"""Exact sums against Python's fractions: any order, any grouping, terms taken out again."""

from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from collegium.numerics.exact import ExactSum, TooLarge

steady = settings(max_examples=60, deadline=None, derandomize=True)
#: Of both signs and of any size that a message may have, and the edges of words.
sizes = st.floats(1e-18, 1e18) | st.floats(1e-25, 1e-18) | st.sampled_from([0.0, 1.0, 2.0**-64])
edges = st.sampled_from(
    [2.0**32, 2.0**53, 2.0**62, 1.0 - 2.0**-53, 2.0**64, 2.0**120, np.nextafter(2.0**64, 0.0)]
)
numbers = st.builds(lambda x, sign: sign * x, sizes | edges, st.sampled_from([-1.0, 1.0]))
tables = st.integers(1, 12).flatmap(lambda n: arrays(float, (n, 5), elements=numbers))


def total(rows):
    found = ExactSum.zero(rows.shape[1])
    for row in rows:
        found.include(row)
    return found


def units(x):
    """⌊x·2⁶⁴⌋."""
    return Fraction(float(x)) * 2**64 // 1


def slow(rows):
    """The sums of floored terms in units of 2⁻⁶⁴, as whole numbers of any size."""
    return [sum(map(units, column)) for column in rows.T]


def assert_same(a, b):
    for words in ("lo", "hi", "top"):
        assert_array_equal(getattr(a, words), getattr(b, words))


def whole(found):
    """The three words as one whole number."""
    return [
        int(top) * 2**128 + int(hi) * 2**64 + int(lo)
        for lo, hi, top in zip(found.lo, found.hi, found.top)
    ]


@steady
@given(tables)
def test_a_sum_is_that_of_its_terms_floored(rows):
    found = total(rows)
    assert whole(found) == slow(rows)


@steady
@given(tables)
def test_the_value_is_the_sum_rounded_once(rows):
    exact = slow(rows)
    if max(map(abs, exact)) >= 2**190:
        with pytest.raises(TooLarge):
            total(rows).value()
    else:  # Python divides whole numbers with one correct rounding
        assert_array_equal(total(rows).value(), [k / 2**64 for k in exact])


@steady
@given(tables, st.randoms(use_true_random=False), st.integers(0, 12))
def test_neither_order_nor_grouping_matters(rows, random, cut):
    order = list(range(len(rows)))
    random.shuffle(order)
    assert_same(total(rows), total(rows[order]))
    assert_same(total(rows), total(rows[order[:cut]]) + total(rows[order[cut:]]))


@steady
@given(tables, st.integers(0, 12))
def test_what_is_subtracted_was_never_added(rows, cut):
    assert_same(total(rows) - total(rows[:cut]), total(rows[cut:]))
    opposite = -total(rows)
    assert whole(opposite) == [-k for k in slow(rows)]


def test_a_value_is_rounded_to_even_and_not_twice():
    # (2⁵³ + 1)·size + 2⁻⁶⁴: above the middle of two numbers, by the last bit that is held
    for sign, low in ((1.0, 2.0**-64), (-1.0, -(2.0**-64))):
        for size in (1.0, 2.0**40, 2.0**64, 2.0**70):
            middle = np.array([[sign * 2.0**53 * size], [sign * size]])
            assert total(middle).value() == sign * 2.0**53 * size
            assert total(np.vstack([middle, [[low]]])).value() == sign * (2.0**53 + 2.0) * size


def test_sums_on_the_way_may_be_larger_than_the_last():
    large = np.full((3, 1), 2.0**125)
    found = total(large)
    with pytest.raises(TooLarge, match="noise"):
        found.value()
    assert (found + total(-large) + total(np.array([[1.5]]))).value() == 1.5


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_sum_that_leaves_its_range_is_refused_not_wrapped(sign):
    large = np.full((5, 1), sign * 2.0**125)
    with pytest.raises(TooLarge, match="noise"):
        total(large)
    with pytest.raises(TooLarge, match="noise"):
        total(large[:3]) + total(large[:3])


@pytest.mark.parametrize("bad", [2.0**126, -(2.0**126), 1e300, np.inf, -np.inf, np.nan])
def test_a_term_that_is_too_large_or_no_number_is_refused(bad):
    with pytest.raises(TooLarge, match="noise"):
        ExactSum.zero(3).include(np.array([1.0, bad, 2.0]))
    A = np.eye(3)
    A[2, 1] = bad
    with pytest.raises(TooLarge):
        ExactSum.zero(6).include(A)


def test_of_a_matrix_the_lower_triangle_is_added():
    A = np.arange(16.0).reshape(4, 4) - 7.5
    found = ExactSum.zero(10)
    found.include(A)
    assert_array_equal(found.value(), A[np.tril_indices(4)])
    lower = np.tril(A)
    assert_array_equal(found.symmetric(4), lower + np.tril(A, -1).T)


def test_zeros_are_appended():
    found = total(np.array([[1.25, -3.0]])).padded(4)
    assert_array_equal(found.value(), [1.25, -3.0, 0.0, 0.0])
    assert found.top.dtype == np.int64


def test_words_that_do_not_belong_together_are_refused():
    """Compiled loops do not look where arrays end: a file that was made on purpose might."""
    lo, hi, top = (getattr(ExactSum.zero(6), name) for name in ("lo", "hi", "top"))
    for words in ((lo, hi[:1], top), (lo, hi, top[:1]), (lo, hi, top.astype(float))):
        with pytest.raises(ValueError, match="three words"):
            ExactSum(*words)
    found = ExactSum(lo, hi, top)
    for values in (np.ones(7), np.ones((4, 4)), np.ones((3, 5))):
        with pytest.raises(ValueError, match="sums are not|not square"):
            found.include(values)
    with pytest.raises(ValueError, match="sums are not"):
        found + ExactSum.zero(7)
    with pytest.raises(ValueError, match="sums are not"):
        found.symmetric(4)
