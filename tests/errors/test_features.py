"""Inputs of the scale: nearby errors against loops, weights and copies, standardised values."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium.errors.features import Neighbours, ScaleInputs, Standard
from collegium.errors.tuning import TUNING
from collegium.kernels import RBF, Matern32
from collegium.rows.metric import Metric


def rows(n=80, d=2, p=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(n, p)), rng


def slow_log_error(S, y, at, m, left_out=None):
    """log(mean of (yⱼ − m)² over the twenty nearest rows + 1e-6), one query at a time."""
    rest = [j for j in range(len(S)) if j != left_out]
    near = sorted(rest, key=lambda j: math.dist(S[j], at))[:20]
    return [math.log(sum((y[j][k] - m[k]) ** 2 for j in near) / len(near) + 1e-6)
            for k in range(len(m))]  # fmt: skip


def test_log_error_is_that_of_the_twenty_nearest_rows():
    S, y, rng = rows()
    at, m = rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    expected = [slow_log_error(S, y, a, b) for a, b in zip(at, m)]
    assert_allclose(Neighbours.of(S, y).log_error(at, m), expected, rtol=1e-12)


@pytest.mark.parametrize("n", [80, 12])
def test_a_row_is_left_out_of_its_own_neighbours(n):
    S, y, rng = rows(n)
    own, m = np.array([3, 11, 7]), rng.normal(size=(3, 2))
    expected = [slow_log_error(S, y, S[i], b, left_out=i) for i, b in zip(own, m)]
    assert_allclose(Neighbours.of(S, y).log_error(S[own], m, own), expected, rtol=1e-12)


def test_a_row_is_left_out_of_others_at_its_place():
    S, y, rng = rows(30)
    S[:12] = S[0]
    own, m = np.array([0, 5]), rng.normal(size=(2, 2))
    expected = [slow_log_error(S[:12], y[:12], S[0], b, left_out=i) for i, b in zip(own, m)]
    found = Neighbours.of(S[:12], y[:12]).log_error(S[own], m, own)
    assert_allclose(found, expected, rtol=1e-10)


def test_equal_places_do_not_depend_on_the_order_of_rows():
    S, y, rng = rows(200)
    S = S.round(0)
    at, m, order = S[:50], rng.normal(size=(50, 2)), rng.permutation(200)
    found = Neighbours.of(S, y).log_error(at, m)
    assert_array_equal(found, Neighbours.of(S[order], y[order]).log_error(at, m))


def test_a_weight_of_two_is_a_row_twice():
    S, y, rng = rows(60)
    count = np.where(np.arange(60) % 2, 1.0, 3.0)
    twice = np.repeat(np.arange(60), count.astype(int))
    at, m = rng.normal(size=(5, 2)), rng.normal(size=(5, 2))
    share = count.mean()  # rows count by weight over mean weight
    once = Neighbours.of(S, y, count)
    both = Neighbours.of(S[twice], y[twice])
    assert_allclose(once.count * share, both.count)
    assert_allclose(once.mean, both.mean, rtol=1e-12)
    assert_allclose(Neighbours.of(S, y, 7.0 * count).log_error(at, m), once.log_error(at, m))


def test_few_rows_and_exact_predictions_give_finite_numbers():
    S, y, _ = rows(1)
    one = Neighbours.of(S, y)
    assert_allclose(one.log_error(S, y), np.log(TUNING.basis.least_error))
    assert_allclose(one.log_error(S, y, np.array([0])), np.log(TUNING.basis.least_error))
    assert TUNING.basis.nearest == 20


def test_metric_of_a_sum_of_kernels_weighs_terms_by_variance():
    """1/ℓⱼ² = Σₖ vₖ/ℓₖⱼ² / Σₖ vₖ, up to one factor."""
    X = np.random.default_rng(0).normal(size=(50, 2))
    kernel = Matern32(0.3, [1.0, 4.0]) + RBF(2.0, [0.5, 3.0])
    found = Metric.of(kernel, X).weights ** 2
    expected = [(0.3 / 1.0 + 2.0 / 0.25) / 2.3, (0.3 / 16.0 + 2.0 / 9.0) / 2.3]
    assert_allclose(found / found[0], np.array(expected) / expected[0], rtol=1e-12)


def test_standard_values_have_mean_zero_and_variance_one_and_stay_in_range():
    lines, w = np.random.default_rng(0).normal(-3.0, 2.0, (40, 3)), np.arange(1.0, 41.0)
    found = Standard.of(lines, w, (0, 1, 3))
    t = found.forward(lines)
    assert_allclose(np.average(t, axis=0, weights=w), 0.0, atol=1e-12)
    assert_allclose(np.average(t**2, axis=0, weights=w), 1.0)
    assert_array_equal(found.forward(lines.max(axis=0) + 9.0), t.max(axis=0))
    assert_array_equal(found.forward(lines.min(axis=0) - 9.0), t.min(axis=0))


def test_inputs_share_a_variance_or_have_one_an_output():
    mean, place = np.zeros((4, 2)), np.zeros((4, 1))
    shared = ScaleInputs.of(mean, np.full(4, 9.0), place, None)
    own = ScaleInputs.of(mean, np.array([[9.0, 4.0]] * 4), place, mean + 5.0)
    assert shared.kinds == (0, 1) and own.kinds == (0, 1, 2)
    assert_allclose(shared.lines(1, (0, 1)), np.tile([np.log(3.0), 0.0], (4, 1)))
    assert_allclose(own.lines(1, own.kinds), np.tile([np.log(2.0), 0.0, 5.0], (4, 1)))
    unknown = np.array([7.0, 8.0, 9.0])
    assert_allclose(shared.lines(1, (0, 1, 3), unknown), np.tile([np.log(3.0), 0.0, 9.0], (4, 1)))


def test_the_line_of_trees_stays_in_the_units_it_was_grown_in():
    """Targets ratio·y + shift: log sd, m and q move, the answers of trees do not."""
    rng = np.random.default_rng(0)
    lines, w, kinds = rng.normal(size=(40, 4)), np.ones(40), (0, 1, 2, 3)
    own = Standard.of(lines, w, kinds)
    moved = lines * [1.0, 3.0, 1.0, 1.0] + [np.log(3.0), -0.4, 2.0 * np.log(3.0), 0.0]
    assert_allclose(own.moved(3.0, -0.4).forward(moved), own.forward(lines), atol=1e-12)
