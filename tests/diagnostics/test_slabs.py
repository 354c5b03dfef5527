"""Regions and slabs: every row is in one region, planted faults are found, chance is not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from collegium.diagnostics import coverage_by_region, split_regions, worst_slab
from collegium.diagnostics.regions import _furthest, rule_words

NAMES = ("a", "b", "c")


def rows(n=1000, seed=0):
    return np.random.default_rng(seed).uniform(size=(n, 3))


def obeys(x, rules):
    return all(low < x[j] <= high for j, low, high in rules)


def test_regions_are_those_of_their_rules_and_share_out_the_rows():
    X = rows(333)
    found = split_regions(X, [2, 0], depth=3)
    assert len(found) == 8
    assert sorted(np.concatenate([one.rows for one in found])) == list(range(333))
    for one in found:
        slow = [i for i in range(333) if obeys(X[i], one.rules)]
        assert sorted(one.rows) == slow
        assert {j for j, _, _ in one.rules} == {0, 2}


def test_columns_of_one_value_are_passed_over():
    X = rows(64)
    X[:, 0] = 5.0
    assert {j for one in split_regions(X, [0, 1], 2) for j, _, _ in one.rules} == {1}
    assert len(split_regions(X, [0], 2)) == 1
    X[:, 0] = np.arange(64) >= 20  # most rows at the upper end
    found = split_regions(X, [0], 1)
    assert sorted(one.rows.size for one in found) == [20, 44]


def test_rules_in_words():
    rules = ((0, -np.inf, 1.5), (1, 0.25, np.inf), (2, 1.0, 2.0))
    assert rule_words(rules, NAMES) == "a ≤ 1.5, b > 0.25, 1 < c ≤ 2"
    assert rule_words((), NAMES) == "all rows"


def test_coverage_by_region_counts_rows_of_each():
    X = rows(400, 1)
    inside = X[:, 1] > 0.4
    regions = split_regions(X, [1], 1)
    found = coverage_by_region(inside, 0.9, regions, NAMES)
    cut = np.median(X[:, 1])
    assert found[0].inside == sum(0.4 < x <= cut for x in X[:, 1])
    assert found[1].inside == found[1].n and found[0].sign == -1


def test_a_planted_slab_is_found_and_measured_by_other_rows():
    X = rows(4000, 2) * [1.0, 100.0, 1e-3]
    rng = np.random.default_rng(3)
    bad = (X[:, 1] > 70) & (X[:, 1] < 80)
    inside = rng.uniform(size=4000) < np.where(bad, 0.4, 0.9)
    found = worst_slab(X, inside, 0.9)
    assert found.direction.tolist() == [0.0, 1.0, 0.0]  # a column by itself
    z = (X - X.mean(axis=0)) / X.std(axis=0) @ found.direction
    within = (z >= found.low) & (z <= found.high)
    assert bad[within].mean() > 0.7
    assert found.chosen.n + found.measured.n == within.sum()
    assert found.chosen.inside + found.measured.inside == inside[within].sum()
    assert found.measured.share < 0.6 and found.measured.sign == -1


def test_what_is_measured_is_right_by_chance():
    """The half that chooses sees a share that is too far off; the other half does not."""
    chosen, measured = [], []
    for seed in range(40):
        X = rows(1000, seed)
        inside = np.random.default_rng(seed + 99).uniform(size=1000) < 0.9
        found = worst_slab(X, inside, 0.9, directions=30, seed=seed)
        chosen.append(abs(found.chosen.share - 0.9))
        measured.append(found.measured.share - 0.9)
    assert np.mean(chosen) > 0.07
    assert abs(np.mean(measured)) < 0.02
    assert_allclose(np.std(measured), np.sqrt(0.09 / 50), rtol=0.4)


def test_too_few_rows_or_no_column_give_no_slab():
    assert worst_slab(rows(99), np.ones(99, bool), 0.9) is None
    assert worst_slab(np.ones((200, 2)), np.ones(200, bool), 0.9) is None


@pytest.mark.parametrize("unit", [2.0**-600, 2.0**600])
def test_slabs_are_those_of_any_unit(unit):
    X = rows(400, 5)
    inside = np.random.default_rng(5).uniform(size=400) < np.where(X[:, 1] > 0.8, 0.3, 0.9)
    one, other = (worst_slab(each, inside, 0.9) for each in (X, X * [1.0, unit, 1.0]))
    assert_allclose(other.direction, one.direction, rtol=1e-12)
    assert one.measured.n
    assert (other.low, other.high, other.measured) == (one.low, one.high, one.measured)


def test_windows_of_tied_rows_are_compared_by_their_standard_errors():
    """|Σ away|/√n of every window, one by one: the longest tie is not the furthest by its size."""
    rng = np.random.default_rng(2)
    p = np.repeat(np.arange(9.0), [5, 60, 5, 5, 5, 5, 5, 5, 5])
    away = np.where(rng.random(100) < 0.9, 0.1, -0.9)
    away[p == 1.0] = np.where(np.arange(60) < 47, 0.1, -0.9)
    away[p == 6.0] = -0.9
    order = rng.permutation(100)
    gap, low, high = _furthest(p[order], away[order], 0.05)
    each = {v: abs(away[p == v].sum()) / np.sqrt((p == v).sum()) for v in np.unique(p)}
    assert abs(away[p == 1.0].sum()) > abs(away[p == 6.0].sum())
    assert (low, high) == (6.0, 6.0) and max(each, key=each.get) == 6.0
    assert_allclose(gap, each[6.0])
