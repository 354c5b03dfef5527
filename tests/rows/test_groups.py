"""Groups of rows: codes, counts, and whole groups that are held out."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from scipy.stats import t as student

from collegium.rows.groups import (
    HELD,
    apart,
    codes,
    count_of,
    error_of_mean,
    members,
    numbered,
    tenths_of_groups,
    whole_groups,
)
from collegium.rows.rows import Rows
from collegium.rows.scaling import merged


def test_equal_labels_have_equal_codes_and_others_do_not():
    same = codes([1, 1.0, np.int64(1), np.float32(1), True, Fraction(1)])
    assert (same == same[0]).all()
    labels = [1, "1", 1.5, b"1", (1, 2), (2, 1), "", None, 2**60, 2**60 + 1, np.datetime64("2020")]
    assert np.unique(codes(labels)).size == len(labels)
    assert_array_equal(codes(labels)[::-1], codes(labels[::-1]))  # whatever came before
    assert (codes(labels).astype(float).astype(int) == codes(labels)).all()


def test_groups_are_numbered_by_their_first_rows():
    group = np.array([7, 3, 7, 9, 3])
    assert_array_equal(numbered(group), [0, 1, 0, 2, 1])
    for got, want in zip(members(group), [[0, 2], [1, 4], [3]], strict=True):
        assert_array_equal(got, want)


def test_rows_of_equal_groups_count_as_so_many_rows():
    assert_allclose(count_of(np.repeat(np.arange(6), 4), np.full(24, 2.5)), 6.0)
    w = np.array([1.0, 3.0, 2.0])
    assert_allclose(count_of(None, w), 36.0 / 14.0)
    assert_allclose(count_of(np.array([5, 5, 8]), w), 36.0 / 20.0)


def test_the_error_of_a_mean_is_that_of_the_means_of_groups():
    """Of groups of equal size: the standard error of the mean of their means."""
    rng = np.random.default_rng(0)
    group = rng.permutation(np.repeat(np.arange(8), 5))
    each = rng.normal(size=8)[group] + 0.3 * rng.normal(size=40)
    means = np.array([each[group == k].mean() for k in range(8)])
    for times in (1.0, 2.5):
        found = error_of_mean(np.full(40, 1 / 40), each, group, times)
        wider = student.ppf(norm.cdf(times), 7) / times
        assert_allclose(found, wider * means.std(ddof=1) / np.sqrt(8))
    assert_allclose(error_of_mean(np.full(40, 1 / 40), each, None), each.std() / np.sqrt(40))


@pytest.mark.parametrize("count", [2, 3, 12])
def test_errors_of_the_mean_of_few_groups_are_exceeded_as_often_as_those_of_many(count):
    each = np.repeat(np.random.default_rng(1).normal(size=(2000, count)), 4, axis=1)
    group, share = np.repeat(np.arange(count), 4), np.full(4 * count, 0.25 / count)
    beyond = [one.mean() > 2.0 * error_of_mean(share, one, group, 2.0) for one in each]
    assert abs(np.mean(beyond) - norm.sf(2.0)) < 0.01


def test_one_group_says_nothing_about_others():
    each = np.random.default_rng(2).normal(size=9)
    assert error_of_mean(np.full(9, 1 / 9), each, np.full(9, 4)) == np.inf


@pytest.mark.parametrize("deal", [whole_groups, tenths_of_groups])
@pytest.mark.parametrize(("count", "size"), [(2, 50), (5, 40), (300, 3), (40, 20)])
def test_groups_are_held_out_whole_and_some_remain(deal, count, size):
    group = np.random.default_rng(1).permutation(np.repeat(np.arange(count) * 11, size))
    found = deal(group, 60, np.random.default_rng(2))
    parts = found if deal is tenths_of_groups else [found]
    for held in parts:
        rest = np.delete(group, held)
        assert held.size and rest.size and not np.isin(rest, group[held]).any()
        assert held.size <= max(group.size // 10 + size, size * min(HELD, count // 3))
    every = np.concatenate(parts)
    assert np.unique(every).size == every.size
    if deal is tenths_of_groups and count < HELD:
        assert every.size == group.size  # few groups are held out in turn, all of them


def test_a_group_of_most_rows_stays():
    group = np.append(np.zeros(950, dtype=int), np.repeat(np.arange(1, 6), 10))
    for seed in range(9):
        held = whole_groups(group, 500, np.random.default_rng(seed))
        assert held.size and group[held].all()


def test_names_of_groups_do_not_matter():
    group = np.random.default_rng(1).permutation(np.repeat(np.arange(30), 4))
    renamed = np.random.default_rng(5).permutation(30)[group] * 17
    for deal in (whole_groups, tenths_of_groups):
        one, other = (deal(g, 20, np.random.default_rng(2)) for g in (group, renamed))
        assert_array_equal(np.concatenate([*one], axis=None), np.concatenate([*other], axis=None))


def test_rows_without_groups_become_groups_of_one():
    def some(n, group=None):
        return Rows(np.zeros((n, 1)), np.zeros((n, 1)), np.ones(n), group=group)

    assert (some(2) + some(1)).group is None
    both = some(2) + some(3, np.array([4, 4, 9])) + some(2)
    assert_array_equal(both.group[2:5], [4, 4, 9])
    assert np.unique(both.group).size == 6
    assert np.unique(np.append(apart(both.group, 3), both.group)).size == 9
    assert_array_equal(both.take(slice(1, 4)).group, both.group[1:4])


def test_equal_rows_of_different_groups_stay_apart():
    X = np.array([[1.0], [1.0], [1.0], [0.0]])
    rows = Rows(X, 2.0 * X, np.ones(4), group=np.array([7, 3, 7, 3]))
    found, _ = merged(rows, None, in_order=False)
    assert_array_equal(found.X[:, 0], [0.0, 1.0, 1.0])
    assert sorted(zip(found.group[1:], found.w[1:])) == [(3, 1.0), (7, 2.0)]
    assert merged(replace(rows, group=None), None, in_order=False)[0].w.size == 2
