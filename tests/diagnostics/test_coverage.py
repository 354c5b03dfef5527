"""Shares of rows inside intervals, by level and by part, against counting one by one."""

from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose

from collegium.diagnostics import (
    coverage_by_group,
    coverage_by_size,
    coverage_by_third,
    coverage_of_levels,
    covered_share,
    covers,
    pit_histogram,
    randomised_pit,
    rolling_figures,
)
from collegium.diagnostics.coverage import binomial_band


def slow_band(n, p, tail):
    """The smallest counts whose probability of at most so many reaches tail and 1 − tail."""
    total, found = 0.0, {}
    for k in range(n + 1):
        total += comb(n, k) * p**k * (1 - p) ** (n - k)
        for t in (tail, 1 - tail):
            if total >= t and t not in found:
                found[t] = k / n
    return found[tail], found[1 - tail]


@pytest.mark.parametrize("n, p, tests", [(17, 0.9, 1), (60, 0.5, 4), (200, 0.95, 10)])
def test_band_is_that_of_the_binomial(n, p, tests):
    assert_allclose(binomial_band(n, p, tests), slow_band(n, p, 0.025 / tests))


def test_central_intervals_hold_y_where_the_pit_is_not_in_a_tail():
    """y lies between the quantiles of (1 ∓ c)/2 exactly where its PIT does."""
    rng = np.random.default_rng(0)
    pit = rng.uniform(size=400)
    for c in (0.5, 0.9):
        slow = [(1 - c) / 2 <= u <= (1 + c) / 2 for u in pit]
        assert covers(pit, c).tolist() == slow
    for found, c in zip(coverage_of_levels(pit), (0.5, 0.8, 0.9, 0.95), strict=True):
        assert found.inside == sum((1 - c) / 2 <= u <= (1 + c) / 2 for u in pit)
        assert found.n == 400 and found.level == c and found.low < c < found.high


def test_sign_says_whether_chance_allows_a_share():
    inside = np.arange(1000) < 800
    assert covered_share(inside, 0.9).sign == -1
    assert covered_share(inside, 0.8).sign == 0
    assert covered_share(inside, 0.7).sign == 1
    assert covered_share(inside[:0], 0.7).sign == 0


def test_more_shares_have_wider_bands():
    one, ten = (covered_share(np.ones(200, bool), 0.9, tests=k) for k in (1, 10))
    assert ten.low < one.low and ten.high > one.high


def test_parts_by_size_are_tenths_of_the_sorted_rows():
    rng = np.random.default_rng(1)
    size, inside = rng.gamma(2.0, size=503), rng.uniform(size=503) < 0.8
    found = coverage_by_size(inside, 0.8, size)
    assert sum(one.n for one in found) == 503
    assert {one.n for one in found} == {50, 51}
    seen = sorted(zip(size, inside))
    at = 0
    for one in found:
        part = seen[at : at + one.n]
        at += one.n
        assert one.inside == sum(hit for _, hit in part)
        assert one.label == f"{part[0][0]:.3g} to {part[-1][0]:.3g}"


def test_thirds_are_named():
    words = [one.label for one in coverage_by_third(np.ones(9, bool), 0.9, np.arange(9.0))]
    assert words == ["low (0 to 2)", "middle (3 to 5)", "high (6 to 8)"]


def test_groups_of_fewest_rows_covered_come_first():
    groups = ["b", "a", "b", "c", "a", "b"]
    inside = np.array([True, False, True, True, True, False])
    found = coverage_by_group(inside, 0.9, groups, most=2)
    assert [(one.label, one.n, one.inside) for one in found] == [("a", 2, 1), ("b", 3, 2)]


def test_histogram_counts_and_its_band_holds_all_bins_by_chance():
    rng = np.random.default_rng(2)
    pit = np.append(rng.uniform(size=399), 1.0)
    found = pit_histogram(pit, 10)
    slow = [
        sum(k / 10 <= u < (k + 1) / 10 or (k == 9 and u == 1.0) for u in pit) for k in range(10)
    ]
    assert_allclose(found.shares * 400, slow)
    flat = sum(pit_histogram(rng.uniform(size=300), 10).flat for _ in range(300))
    assert 0.92 <= flat / 300 <= 1.0
    assert not pit_histogram(rng.uniform(size=2000) ** 2).flat


def test_randomised_pit_of_counts_is_uniform_and_repeats_itself():
    from scipy.stats import kstest, poisson

    y = np.random.default_rng(3).poisson(1.3, size=2000)
    u = randomised_pit(poisson.cdf(y - 1, 1.3), poisson.cdf(y, 1.3), seed=4)
    assert kstest(u, "uniform").pvalue > 0.01
    assert kstest(poisson.cdf(y, 1.3), "uniform").pvalue < 1e-6
    again = randomised_pit(poisson.cdf(y - 1, 1.3), poisson.cdf(y, 1.3), seed=4)
    assert np.array_equal(u, again)


def test_rolling_figures_are_means_over_the_last_rows():
    rng = np.random.default_rng(5)
    inside, density = rng.uniform(size=333) < 0.9, rng.standard_normal(333)
    found = rolling_figures(inside, density, 0.9, window=40, most=7)
    assert found.position[0] == 40 and found.position[-1] == 333 and len(found.position) == 7
    for last, share, mean in zip(found.position, found.coverage, found.log_density):
        assert_allclose(share, inside[last - 40 : last].mean())
        assert_allclose(mean, density[last - 40 : last].mean())
    assert_allclose((found.low, found.high), slow_band(40, 0.9, 0.025))


def test_windows_without_rows_are_refused():
    for n, window, word in ((0, None, "inside has no rows"), (5, 0, "window=0: give a positive")):
        with pytest.raises(ValueError, match=word):
            rolling_figures(np.ones(n, dtype=bool), np.zeros(n), 0.9, window=window)


def test_rows_of_the_same_size_are_in_one_part_in_any_order():
    rng = np.random.default_rng(7)
    size, inside = (
        rng.choice([1.0, 2.0, 2.5, 7.0], 90, p=[0.1, 0.6, 0.2, 0.1]),
        rng.random(90) < 0.8,
    )
    found, order = coverage_by_size(inside, 0.9, size, 5), rng.permutation(90)
    assert found == coverage_by_size(inside[order], 0.9, size[order], 5)
    assert [one.label for one in found] == ["1 to 1", "2 to 2", "2.5 to 7"]
    assert [one.n for one in found] == [
        int(np.isin(size, own).sum()) for own in ([1.0], [2.0], [2.5, 7.0])
    ]
    same = coverage_by_third(inside, 0.9, np.ones(90))
    assert [(one.label, one.n) for one in same] == [("all (1 to 1)", 90)]
