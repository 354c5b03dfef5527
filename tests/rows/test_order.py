"""Orders of columns and rows that depend on what they hold alone."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from collegium.rows.order import columns_by_content, sorted_rows
from collegium.rows.rows import Rows
from collegium.rows.scaling import merged


def table(seed=0, n=50):
    rng = np.random.default_rng(seed)
    X = np.column_stack([
        rng.normal(size=n), rng.uniform(size=n), rng.integers(0, 3, n), np.full(n, 7.5),
        rng.exponential(size=n),
    ])  # fmt: skip
    return X, rng.normal(size=(n, 2))


@pytest.mark.parametrize("change", [
    lambda X: X, lambda X: 3.7 * X, lambda X: X + 100.0, lambda X: 1e-150 * X, lambda X: 1e150 * X,
    lambda X: X[::-1],
])  # fmt: skip
def test_columns_are_known_by_what_they_hold(change):
    X, _ = table()
    first = columns_by_content(X)
    assert sorted(first) == list(range(5))
    for order in ([4, 3, 2, 1, 0], [2, 0, 4, 1, 3]):
        assert_array_equal(np.array(order)[columns_by_content(change(X)[:, order])], first)


def test_columns_alike_stay_in_their_order():
    x = np.arange(5.0)
    assert_array_equal(
        columns_by_content(np.column_stack([x, 2.0 * x, x[[1, 0, 2, 4, 3]]])), [0, 1, 2]
    )


def test_rows_are_sorted_by_the_same_columns():
    X, y = table()
    order = [3, 1, 0, 4, 2]
    own, other = sorted_rows(X, y), sorted_rows(X[:, order], y)
    assert_array_equal(own, other)
    x = X[own][:, columns_by_content(X)[0]]
    assert (x[1:] >= x[:-1]).all()


def test_ties_are_broken_by_other_columns_then_by_y():
    X = np.array([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    y = np.array([[0.0], [5.0], [0.0], [3.0]])
    first, second = columns_by_content(X)
    slow = sorted(range(4), key=lambda i: (X[i, first], X[i, second], y[i, 0]))
    assert_array_equal(sorted_rows(X, y), slow)


def test_merged_rows_are_the_same_in_any_order_of_columns_and_rows():
    X, y = table()
    X, y, w = np.repeat(X, 2, axis=0), np.repeat(y, 2, axis=0), np.ones(100)
    plain, _ = merged(Rows(X, y, w), None, in_order=False)
    assert plain.w.tolist() == [2.0] * 50
    rows, columns = np.random.default_rng(1).permutation(100), [4, 2, 0, 3, 1]
    other, _ = merged(Rows(X[rows][:, columns], y[rows], w), None, in_order=False)
    assert_array_equal(other.X, plain.X[:, columns])
    assert_array_equal(other.y, plain.y)


def test_weights_of_copies_add_up_to_the_same_bits_in_any_order():
    rng = np.random.default_rng(0)
    X, w = rng.integers(0, 4, size=(300, 2)).astype(float), rng.uniform(0.1, 3.0, 300)
    y = X[:, :1]
    plain, _ = merged(Rows(X, y, w), None, in_order=False)
    assert plain.w.size == 16
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(300)
        other, _ = merged(Rows(X[order], y[order], w[order]), None, in_order=False)
        assert_array_equal(other.w, plain.w)


@pytest.mark.parametrize("x", [
    [-3.0, -3.0, 0.0, 1.0, 5.0],  # -x has another skewness alone
    [-9.0, -5.0, -1.0, 7.0, 8.0],  # -x has another median alone
])  # fmt: skip
def test_a_column_and_its_negative_are_told_apart(x):
    x = np.array(x)
    both = np.column_stack([x, -x])
    assert_array_equal(columns_by_content(both), columns_by_content(both[:, ::-1])[::-1])
