"""Queries beyond the rows."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import collegium
from collegium import CommitteeRegressor, ExtrapolationWarning, kernels
from collegium.answers.outside import Ranges

WAYS = {
    "averaged": (90, {}),
    "exact": (700, {}),
    "committee": (2_400, {}),
    "anchors": (2_400, {"n_local": 0}),
    "stored": (2_400, {"store": True}),
    "student-t": (900, {"likelihood": "student-t", "chunks": 300}),
    "cells": (2_400, {"n_local": collegium.AnswerTime(0.1)}),
}
KNOWN = {"kernel": kernels.Matern32(1.0, [0.4, 0.8]), "noise": 0.01, "learn": False}


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 1.0, size=(n, 2)) * [1.0, 3.0]
    return X, np.sin(5.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("way", WAYS)
def test_queries_beyond_a_range_are_outside(way, tmp_path):
    n, arguments = WAYS[way]
    arguments = dict(arguments)
    if arguments.pop("store", False):
        arguments["store"] = tmp_path / "rows"
    if n > 1_000:
        arguments |= KNOWN
    model = CommitteeRegressor(random_state=0, **arguments).fit(*table(n))
    inside = np.random.default_rng(1).uniform(0.1, 0.9, size=(40, 2)) * [1.0, 3.0]
    beyond = inside + np.where(np.arange(40)[:, None] % 2, [1.5, 0.0], [0.0, -4.5])
    both = np.concatenate([inside, beyond])
    expected = np.repeat([False, True], 40)
    assert_array_equal(model.outside(both), expected)
    model.save(tmp_path / "model")
    assert_array_equal(collegium.load(tmp_path / "model").outside(both), expected)


def test_a_deep_gap_is_outside_and_a_shallow_one_is_not():
    """Where var[f] is above half of the prior's, by the exact GP."""
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.uniform(0.0, 1.0, 60), rng.uniform(2.0, 3.0, 60)])[:, None]
    k, noise = kernels.Matern32(2.0, 0.3), 0.05
    model = CommitteeRegressor(k, noise=noise, learn=False, transforms=None).fit(X, X[:, 0])
    Q = np.linspace(0.2, 2.8, 61)[:, None]
    K = k.value(X, X) + noise * np.eye(120)
    c = k.value(X, Q)
    left = 2.0 - np.einsum("nq,nq->q", c, np.linalg.solve(K, c))
    assert 3 < (left > 1.0).sum() < 30
    assert_array_equal(model.outside(Q), left > 1.0)


def test_codes_of_levels_have_no_range():
    X = np.column_stack([np.linspace(0.0, 2.0, 50), np.arange(50.0)])
    box = Ranges.of(X, 0.1, codes=[1])
    assert_array_equal(box.leaves(np.array([[-0.1, 90.0], [-0.3, 2.0], [2.1, -7.0]])), [0, 1, 0])
    none = Ranges.of(np.empty((0, 3)), 0.1)
    assert not none.leaves(np.full((2, 3), 1e300)).any()


@pytest.mark.parametrize(("n", "d"), [(40, 300), (250, 400), (2_000, 8)])
def test_new_rows_like_the_others_are_seldom_outside(n, d):
    """Nor is one that leaves the range of one column among hundreds; all columns beyond are."""
    rng = np.random.default_rng(3)
    box, X = Ranges.of(rng.normal(size=(n, d)), 0.01), rng.normal(size=(400, d))
    assert box.leaves(X).mean() < 0.06
    assert box.leaves(X + 9.0 * (np.arange(d) < d // 2)).all()
    alone = np.zeros((1, d))
    alone[0, 0] = 9.0
    assert box.leaves(alone).all() == (d < 10)


@pytest.mark.parametrize("value", [0.1, -1e9 / 3.0, 7.0, 0.0])
def test_a_value_rounded_to_single_precision_is_the_same(value):
    X = np.column_stack([np.linspace(0.0, 1.0, 60), np.full(60, value)])
    box = Ranges.of(X, 0.01)
    assert not box.leaves(X.astype(np.float32).astype(float)).any()
    assert box.leaves(X + [0.0, 1e-5 * (abs(value) or 1.0)]).all()


def test_ranges_of_anchors_end_half_a_distance_of_a_grid_beyond_them():
    g = np.arange(10.0) / 9.0
    Z = np.stack(np.meshgrid(g, 3.0 * g), axis=-1).reshape(-1, 2)
    half = 0.5 / 10.0
    for way in ([1.0, 0.0], [0.0, 3.0], [-1.0, 0.0]):
        edge = np.clip(np.sign(way), 0.0, 1.0) * [1.0, 3.0]
        queries = edge + np.outer([0.9 * half, 1.1 * half], way)
        assert_array_equal(Ranges.of_anchors(Z).leaves(queries), [False, True])


def test_huge_ranges_stay_finite():
    X = np.array([[-1.7e308], [1.7e308]])
    with np.errstate(over="ignore"):
        assert not Ranges.of(X, 0.01).leaves(X).any()


def test_a_call_that_is_mostly_outside_is_warned_of_once():
    X, y = table(300)
    model = CommitteeRegressor(random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ExtrapolationWarning)
        model.predict(X)
        model.predict(np.concatenate([X, X + 5.0]))  # half of them
        model.predict(X[:5] + 5.0)  # too few to be a mistake
        model.outside(X + 5.0)  # an answer, not a question
    with pytest.warns(ExtrapolationWarning, match="100% of these queries") as seen:
        model.predict_interval(X + 5.0)
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", ExtrapolationWarning)
        model.predict(X + 5.0)
    model.fit(X, y)
    with pytest.warns(ExtrapolationWarning):
        model.predict(X + 5.0)


def test_a_stream_moves_its_ranges():
    X, y = table(300)
    model = CommitteeRegressor(random_state=0).partial_fit(X, y)
    assert model.outside(X + 4.0).all()
    model.partial_fit(X + 4.0, y)
    assert not model.outside(X + 4.0).any()
