"""CV+ by bisection is CV+ by sorting all pairs, in far less memory."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium.conformal.cross import cross_interval, random_folds, smallest_of_union
from collegium.conformal.scores import Ends


def pairs(sizes, q, p, seed=0):
    """Ends of each fold's model at q queries, and the scores of its rows."""
    rng, at = np.random.default_rng(seed), []
    for _ in sizes:
        lower = 1e3 + rng.normal(size=(q, p))
        at.append(
            Ends(lower, lower + 1.0 + rng.exponential(size=(q, p)), rng.gamma(2.0, size=(q, p)))
        )
    return at, [rng.standard_t(2, size=(n, p)) for n in sizes]


def by_sorting(at, scores, coverage):
    """Barber et al. (2021), eq. 10: order statistics of all values, one query at a time."""
    n = sum(map(len, scores))
    k = int(np.floor((1 - coverage) * (n + 1) + 1e-9))
    ends = np.empty((2, *at[0].lower.shape))
    for i, j in np.ndindex(ends.shape[1:]):
        low = [e.lower[i, j] - s * e.unit[i, j] for e, own in zip(at, scores) for s in own[:, j]]
        high = [e.upper[i, j] + s * e.unit[i, j] for e, own in zip(at, scores) for s in own[:, j]]
        ends[:, i, j] = np.sort(low)[k - 1], np.sort(high)[n - k]
    return ends


@pytest.mark.parametrize("coverage", [0.3, 0.8, 0.95])
@pytest.mark.parametrize("sizes", [(30,), (7, 19, 40), (12,) * 9])
def test_ends_are_those_of_sorting_all_pairs(sizes, coverage):
    at, scores = pairs(sizes, 23, 2)
    found = np.array(cross_interval(at, scores, coverage))
    slow = by_sorting(at, scores, coverage)
    crossed = slow[0] > slow[1]
    assert_allclose(found[:, ~crossed], slow[:, ~crossed], rtol=4e-16)
    assert_allclose(found[0][crossed], slow.mean(axis=0)[crossed], rtol=1e-15)


def test_ties_and_infinite_scores_count_like_others():
    at, scores = pairs((20, 25), 9, 1, seed=3)
    scores[0][4:9] = scores[0][3]
    scores[1][:3] = np.inf
    assert_allclose(cross_interval(at, scores, 0.9), by_sorting(at, scores, 0.9), rtol=4e-16)
    unit, start = (np.stack([getattr(one, name)[:, 0] for one in at]) for name in ("unit", "upper"))
    own = [np.sort(one[:, 0]) for one in scores]
    assert np.isfinite(smallest_of_union(start, unit, own, 42)).all()
    assert np.isinf(smallest_of_union(start, unit, own, 43)).all()


def test_memory_does_not_grow_with_queries_times_rows():
    at, scores = pairs((2_000,) * 10, 2_000, 1, seed=4)  # all pairs: 320 MB
    tracemalloc.start()
    cross_interval(at, scores, 0.9)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5e6


def test_folds_are_of_one_size_and_hold_whole_groups():
    rng = np.random.default_rng(5)
    fold = random_folds(103, 10, None, rng)
    assert set(np.bincount(fold)) == {10, 11}
    assert len({tuple(fold[:30]), tuple(random_folds(103, 10, None, rng)[:30])}) == 2
    group = rng.integers(25, size=103) * 3
    fold = random_folds(103, 4, group, rng)
    assert all(np.ptp(fold[group == one]) == 0 for one in np.unique(group))
    assert_array_equal(np.unique(fold), np.arange(4))
