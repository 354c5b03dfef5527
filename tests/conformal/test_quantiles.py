"""Quantiles of exchangeable scores cover by counting alone."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from collegium.conformal.quantiles import corrected_quantile, fewest, quantiles_of_groups, rank


@pytest.mark.parametrize("n", [1, 4, 19, 20, 99, 250])
@pytest.mark.parametrize("coverage", [0.05, 0.5, 0.9, 0.95])
def test_of_exchangeable_scores_the_share_covered_is_between_the_bounds(n, coverage):
    """Each of n + 1 scores is equally likely to be the new one: leave out each in turn."""
    scores = np.random.default_rng(n).standard_cauchy((n + 1, 1))
    others = [np.delete(scores, i, axis=0) for i in range(n + 1)]
    covered = [scores[i] <= corrected_quantile(rest, coverage) for i, rest in enumerate(others)]
    assert coverage - 1e-12 <= np.mean(covered) <= coverage + 1 / (n + 1) + 1e-12


def test_with_ties_more_is_covered_and_never_less():
    scores = np.random.default_rng(0).integers(3, size=(30, 1)).astype(float)
    others = [np.delete(scores, i, axis=0) for i in range(30)]
    covered = [scores[i] <= corrected_quantile(rest, 0.8) for i, rest in enumerate(others)]
    assert np.mean(covered) >= 0.8


@pytest.mark.parametrize("coverage", [0.03, 0.5, 0.9, 0.95, 0.99, 0.999])
def test_fewest_is_where_quantiles_become_finite(coverage):
    n = fewest(coverage)
    assert n >= 1 and rank(n, coverage) <= n
    assert n == 1 or rank(n - 1, coverage) > n - 1
    assert np.isfinite(corrected_quantile(np.zeros((n, 1)), coverage)).all()
    assert np.isinf(corrected_quantile(np.zeros((n - 1, 2)), coverage)).all()


def test_whole_products_are_not_rounded_up():
    assert [rank(9, 0.9), rank(19, 0.95), rank(99, 0.07)] == [9, 19, 7]


def test_groups_have_the_quantiles_of_their_own_scores():
    rng = np.random.default_rng(1)
    scores, group = rng.normal(size=(90, 2)), rng.integers(3, size=90) * 7
    asked = np.array([14, 0, 0, 7, 14])
    found = quantiles_of_groups(scores, group, asked, 0.75)
    slow = [corrected_quantile(scores[group == one], 0.75) for one in asked]
    assert_array_equal(found, slow)
