"""Anchors beside random effects of groups."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from collegium import CommitteeRegressor, SparseGPRegressor
from collegium.kernels import Group, Linear, Matern32, Periodic
from collegium.learning.anchors import (
    Stop,
    choose_anchors,
    effects_wanted,
    group_columns,
    unseen,
)
from collegium.rows.rows import Rows

NOISE = 0.09
KERNEL = Matern32(1.0, 1.5, columns=0) + Group(1, variance=1.0)


def table(groups, each, seed=0, queries=300):
    rng = np.random.default_rng(seed)
    own = np.concatenate([np.repeat(np.arange(groups), each), rng.integers(0, groups, queries)])
    x, effect = rng.uniform(-3, 3, own.size), rng.normal(size=groups)
    f = np.sin(2 * x) + effect[own]
    X, y, n = np.column_stack([x, own]), f + 0.3 * rng.normal(size=own.size), groups * each
    return X[:n], y[:n], X[n:], f[n:]


def error(model, Xs, f):
    return np.sqrt(np.mean((model.predict(Xs) - f) ** 2))


def test_many_small_groups_are_nearly_those_of_the_exact_gp():
    X, y, Xs, f = table(100, 10)
    given = {"noise": NOISE, "learn": False, "random_state": 0}
    exact = error(CommitteeRegressor(KERNEL, **given, chunks=1000).fit(X, y), Xs, f)
    chunks = CommitteeRegressor(KERNEL, **given, chunks=150).fit(X, y)
    assert error(chunks, Xs, f) < 1.04 * exact
    assert (chunks.anchors_[:, 1] == -1.0).all()
    few = SparseGPRegressor(KERNEL, **given, anchors=130).fit(X, y)
    assert error(few, Xs, f) < 1.04 * exact
    assert np.isin(np.arange(100), few.anchors_[:, 1]).all()


def test_columns_that_groups_alone_look_at():
    assert group_columns(KERNEL, 2) == [1]
    assert group_columns(KERNEL + Linear(columns=0) + Group(2), 3) == [1, 2]
    for kernel in (
        Group(1),
        Matern32(columns=0) * Group(1),
        Matern32() + Group(1),
        Matern32(columns=[0, 1], categories=1) + Group(1),
        Matern32(columns=0) + Periodic(columns=0),
    ):
        assert group_columns(kernel, 2) == []


def test_a_level_that_no_row_has():
    assert unseen(np.array([0.0, 3.0])) == -1.0
    assert unseen(np.array([-1.0, 0.0])) == -2.0
    assert unseen(np.array([-1.0, -1e20])) == -2e20


@pytest.mark.parametrize(
    ("m", "groups", "near", "expected"),
    [(150, 150, True, 0), (170, 150, True, 150), (150, 150, False, 100), (30, 500, False, 10)],
)
def test_how_many_anchors_stand_for_groups(m, groups, near, expected):
    assert effects_wanted(m, groups, near=near) == expected


def test_largest_groups_come_first_and_crossed_ones_are_unseen_to_each_other():
    rng = np.random.default_rng(3)
    a = np.concatenate([np.zeros(40), np.repeat(np.arange(1.0, 8.0), 5)])
    X = np.column_stack([rng.normal(size=75), a, rng.integers(0, 3, 75)])
    rows, kernel = Rows(X, X[:, :1], np.ones(75)), KERNEL + Group(2)
    Z = choose_anchors("kmeans", kernel, NOISE, rows, Stop(26), rng, near=False).Z
    effects = Z[20:]
    assert len(Z) == 26 and (Z[:20, 1:] == -1.0).all()
    assert ((effects[:, 1] == -1.0) ^ (effects[:, 2] == -1.0)).all()
    assert (effects[:, 1] == 0.0).sum() == 1
    plain = choose_anchors("random", kernel, NOISE, rows, Stop(12), rng, near=False)
    assert_array_equal(plain.Z, X[plain.index])
