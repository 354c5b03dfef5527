"""Transforms of inputs: scores column by column."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import skew

from collegium.modelfile.tree import Reader, Writer
from collegium.numerics import records
from collegium.transforms.inputs import InputTransform, many_values, skewed, skewness
from collegium.transforms.scores import NormalScores


def table(n=600, seed=0):
    """A skewed column, a normal one, one of five levels, a skewed one of counts."""
    rng = np.random.default_rng(seed)
    columns = [
        np.exp(2.0 * rng.normal(size=n)), rng.normal(size=n), rng.integers(0, 5, n) ** 6,
        np.floor(np.exp(1.5 * rng.normal(size=n) + 2.0)),
    ]  # fmt: skip
    return np.column_stack(columns).astype(float), rng.uniform(0.5, 1.5, n)


def test_columns_have_the_scores_of_their_own_values():
    X, w = table()
    one = InputTransform.of(X, w)
    assert [column is not None for column in one.columns] == [True, True, False, True]
    found = one.forward(X)
    for j in (0, 1, 3):
        assert_array_equal(found[:, j], NormalScores.of(X[:, j], w).forward(X[:, j]))
    assert_array_equal(found[:, 2], X[:, 2])
    assert_allclose(found[:, [0, 1, 3]].std(axis=0), 1.0, atol=0.1)
    assert (np.abs(skew(found[:, [0, 1, 3]])) < 0.3).all()


def test_only_the_columns_named_are_changed():
    X, w = table()
    one = InputTransform.of(X, w, np.array([False, True, True, False]))
    assert [column is not None for column in one.columns] == [False, True, False, False]
    assert one.any and not InputTransform.of(X, w, np.zeros(4, dtype=bool)).any


def test_scores_increase_strictly_and_have_an_inverse():
    X, w = table()
    one = InputTransform.of(X, w)
    fresh = np.sort(np.abs(table(seed=1)[0]), axis=0)
    found = one.forward(fresh)
    for j in range(4):
        rising = np.diff(fresh[:, j]) > 0.0
        assert (np.diff(found[:, j])[rising] > 0.0).all()
    assert_allclose(one.backward(found), fresh, rtol=1e-9)


def test_inputs_outside_go_on_as_lines():
    X, w = table()
    column = NormalScores.of(X[:, 0], w)
    top = X[:, 0].max()
    t = column.forward(np.array([top, 2.0 * top, 3.0 * top]))
    assert_allclose(t[2] - t[1], t[1] - t[0])
    assert np.isfinite(column.forward(np.array([-1e308, 1e308]))).all()


def test_a_given_table_is_not_changed():
    X, w = table()
    before = X.copy()
    InputTransform.of(X, w).forward(X)
    assert_array_equal(X, before)


@pytest.mark.parametrize("factor, shift", [(1e-200, 0.0), (1e200, 0.0), (3.0, -40.0)])
def test_units_order_and_repetitions_do_not_matter(factor, shift):
    X, _ = table()
    count = np.random.default_rng(1).integers(1, 4, X.shape[0])
    one = InputTransform.of(X, count.astype(float))
    other = factor * np.repeat(X, count, axis=0)[::-1] + shift
    other[:, 2] = np.repeat(X[:, 2], count)[::-1]
    two = InputTransform.of(other, np.ones(count.sum()))
    Xs = np.delete(table(seed=3)[0], 2, axis=1)
    for a, b, x in zip((0, 1, 3), (0, 1, 3), Xs.T):
        assert_allclose(
            two.columns[b].forward(factor * x + shift), one.columns[a].forward(x), atol=1e-7
        )


def test_skewness_is_that_of_scipy():
    X, _ = table()
    X[:, 2] = 4.0
    found = skewness(X, np.full(X.shape[0], 3.0))
    assert_allclose(found[[0, 1, 3]], skew(X[:, [0, 1, 3]]), rtol=1e-10)
    assert found[2] == 0.0
    twice = skewness(np.vstack([X, X[:50]]), np.ones(X.shape[0] + 50))
    w = np.ones(X.shape[0])
    w[:50] = 2.0
    assert_allclose(skewness(X, w), twice, rtol=1e-10)
    assert np.isfinite(skewness(1e305 * X, w)).all()


def test_columns_worth_a_try_are_skewed_and_have_many_values():
    X, w = table()
    assert skewed(X, w).tolist() == [True, False, False, True]
    assert skewed(-X, w).tolist() == [True, False, False, True]
    late = np.append(np.zeros(2000), np.arange(40.0))
    assert many_values(late) and not many_values(late[:2010])


def test_inputs_go_through_a_model_file():
    X, w = table()
    one = InputTransform.of(X, w)
    writer = Writer()
    node = writer.node(one, "inputs")
    writer.finish()
    again = Reader(writer.arrays, records.maker_of, str).value(node, "inputs")
    assert_array_equal(again.forward(X), one.forward(X))
