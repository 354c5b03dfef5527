"""Scores and the intervals or sets that they stand for."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from collegium.conformal.scores import (
    Ends,
    class_scores,
    in_order,
    likely_classes,
    smallest_classes,
)


@pytest.fixture
def ends():
    rng = np.random.default_rng(0)
    lower = rng.normal(size=(50, 2))
    return Ends(lower, lower + rng.exponential(size=(50, 2)), 0.1 + rng.exponential(size=(50, 2)))


@pytest.mark.parametrize("q", [0.0, 0.7, -0.05])
def test_intervals_hold_exactly_the_values_whose_scores_are_small(ends, q):
    lower, upper = ends.moved(np.full(2, q))
    for y in np.linspace(-4.0, 6.0, 37):
        inside = (lower <= y) & (y <= upper)
        small = ends.scores(np.full((50, 2), y)) <= q
        assert_array_equal(inside & (lower < upper), small & (lower < upper))
        assert not (small & ~inside).any()


def test_ends_that_cross_become_one_point(ends):
    lower, upper = ends.moved(np.full(2, -9.0))
    assert (lower == upper).all()
    assert ((ends.lower <= lower) & (lower <= ends.upper)).all()
    assert_array_equal(in_order(np.array([-np.inf]), np.array([np.inf])), [[-np.inf], [np.inf]])


def test_units_are_widths_where_deviations_are_infinite():
    found = Ends.of(
        np.zeros((3, 1)), np.full((3, 1), 2.0), np.array([[np.inf], [0.5], [0.0]]), np.array([1e-9])
    )
    assert_array_equal(found.unit[:, 0], [2.0, 0.5, 1e-9])


def test_sets_hold_the_classes_whose_scores_are_small_and_the_most_probable_one():
    probability = np.random.default_rng(1).dirichlet([0.5, 1.0, 2.0], size=40)
    for q in (0.2, 0.6, 0.95):
        found = likely_classes(probability, np.array([q]))
        for k in range(3):
            small = class_scores(probability, np.full(40, k))[:, 0] <= q
            assert_array_equal(found[:, k], small | (probability.argmax(axis=1) == k))


def test_sets_that_add_up_exactly_need_no_more_classes():
    found = smallest_classes(np.array([[0.25, 0.5, 0.25]]), 0.75)
    assert_array_equal(found, [[True, True, False]])
    assert smallest_classes(np.array([[0.25, 0.5, 0.25]]), 0.5).sum() == 1


def test_smallest_sets_add_up_and_need_every_class():
    probability = np.random.default_rng(2).dirichlet([1.0, 1.0, 0.3, 2.0], size=60)
    found = smallest_classes(probability, 0.8)
    total = np.where(found, probability, 0.0)
    assert (total.sum(axis=1) >= 0.8 - 1e-12).all()
    least = np.where(found, probability, 9.0).min(axis=1)
    assert (total.sum(axis=1) - least < 0.8).all()
    assert (np.where(found, -1.0, probability).max(axis=1) <= least).all()
