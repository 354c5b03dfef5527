"""Folds by the inputs of rows."""

import numpy as np
from numpy.testing import assert_array_equal

from collegium.members.folds import folds_by, folds_of


def test_equal_inputs_are_in_one_fold_in_any_order():
    X = np.random.default_rng(0).normal(size=(500, 3))
    X[250:] = X[:250]
    X[0, 1], X[250, 1] = 0.0, -0.0
    fold = folds_of(X, 5)
    assert_array_equal(fold[:250], fold[250:])
    order = np.random.default_rng(1).permutation(500)
    assert_array_equal(folds_of(X[order], 5), fold[order])


def test_folds_are_of_about_equal_size_on_a_grid():
    X = np.array([[i, j] for i in range(60) for j in range(60)], dtype=float)
    assert np.bincount(folds_of(X, 4)).min() > 800


def test_columns_count_in_their_order():
    X = np.random.default_rng(0).integers(0, 9, size=(400, 2)).astype(float)
    assert (folds_of(X, 7) != folds_of(X[:, ::-1], 7)).any()


def test_groups_stay_together():
    group = np.random.default_rng(0).integers(0, 30, 400)
    fold = folds_by(np.zeros((400, 1)), group, 3)
    assert all(np.unique(fold[group == one]).size == 1 for one in range(30))


def test_folds_for_other_purposes_are_independent():
    X = np.random.default_rng(0).normal(size=(6000, 2))
    table = np.zeros((3, 4))
    np.add.at(table, (folds_of(X, 3), folds_of(X, 4, 1)), 1.0)
    assert table.min() > 400
