"""Columns as trees see them."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from collegium.members.columns import LevelMeans, TreeColumns
from collegium.members.tuning import TUNING


def test_levels_come_first_and_are_numbered():
    X = np.column_stack([np.arange(6.0), [7.0, -2.0, 7.0, 3.0, 3.0, 3.0], np.arange(6.0) ** 2])
    seen = TreeColumns.of(X, np.arange(6.0), np.ones(6), (1,))
    assert_array_equal(seen(X), np.column_stack([[2, 0, 2, 1, 1, 1], X[:, 0], X[:, 2]]))
    new = seen(np.array([[1.0, 5.0, 2.0]]))
    assert np.isnan(new[0, 0]) and list(new[0, 1:]) == [1.0, 2.0]


def test_means_of_levels_are_shrunk_by_a_slow_formula():
    x, y, w = np.array([4.0, 4.0, 9.0]), np.array([1.0, 2.0, 6.0]), np.array([2.0, 1.0, 3.0])
    found = LevelMeans.of(x, y, w)
    k, mean = TUNING.growing.prior_rows * 2.0, (2.0 + 2.0 + 18.0) / 6.0
    want = [(4.0 + k * mean) / (3.0 + k), (18.0 + k * mean) / (3.0 + k), mean]
    assert_allclose(found(np.array([4.0, 9.0, 5.0])), want, rtol=1e-14)


def test_a_row_does_not_tell_its_own_mean():
    """Changing y of one fold changes the encoding of other folds alone."""
    rng = np.random.default_rng(0)
    n = 3000
    X = np.column_stack([rng.integers(0, 300, n).astype(float), rng.normal(size=n)])
    y, w, fold = rng.normal(size=n), np.ones(n), rng.integers(0, 4, n)
    seen = TreeColumns.of(X, y, w, (0,))
    assert not seen.levels and seen.means[0] is not None  # 300 levels are too many to split by
    before = seen.for_growing(X, y, w, fold)
    moved = y + 5.0 * (fold == 2)
    after = TreeColumns.of(X, moved, w, (0,)).for_growing(X, moved, w, fold)
    assert_array_equal(before[fold == 2], after[fold == 2])
    assert (before[fold == 1] != after[fold == 1]).any()
