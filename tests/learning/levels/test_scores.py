"""Levels that are alike get numbers that are near, where held-out rows gain by it."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from collegium import CommitteeRegressor
from collegium.engines.local import Serial
from collegium.kernels import Matern32
from collegium.learning.levels import level_scores, main_direction, scores_by_held_out
from collegium.learning.optimise import Learnt
from collegium.learning.pool import Pool
from collegium.rows.rows import Rows

HIDDEN = np.random.default_rng(7).permutation(np.linspace(-1.5, 1.5, 30))  # of levels 0 … 29


def rows(n=1200, seed=0):
    """Few rows per level; its effect depends on a hidden number and on x."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, HIDDEN.size, n)
    h = HIDDEN[level]
    X = np.column_stack([rng.uniform(-1.0, 1.0, (n, 2)), level])
    X[:, 0] -= 0.6 * h
    y = np.sin(2.0 * X[:, 0] + 1.2 * h) + h * X[:, 1] + 2.0 * X[:, 0] + 1.2 * h
    y += 0.1 * rng.normal(size=n)
    return Rows(X, ((y - y.mean()) / y.std())[:, None], np.ones(n))


def test_the_main_direction_has_mean_zero_and_variance_one():
    rng = np.random.default_rng(0)
    share, true = np.array([0.2, 0.5, 0.3]), np.array([-1.0, 0.2, 1.1])
    F = 7.0 + np.outer(true, rng.uniform(1.0, 2.0, 9)) + 1e-3 * rng.normal(size=(3, 9))
    found = main_direction(F, share)
    assert found[0] > 0.0  # the largest
    centred = true - share @ true
    assert_allclose(-found, centred / np.sqrt(share @ centred**2), atol=5e-3)
    assert main_direction(np.ones((3, 9)), share) is None


def test_scores_are_effects_given_the_other_columns():
    own = rows()
    by_mean = [own.y[own.X[:, 2] == k].mean() for k in range(HIDDEN.size)]
    kernel = Matern32(4.0, [2.0, 2.0, 0.8], categories=2)
    (found,) = level_scores(Learnt(kernel, 0.01, 0.0), own, (2,))
    assert abs(np.corrcoef(by_mean, HIDDEN)[0, 1]) < 0.8
    assert abs(np.corrcoef(found.values, HIDDEN)[0, 1]) > 0.97
    share = np.bincount(own.X[:, 2].astype(int)) / 1200
    assert_allclose([share @ found.values, share @ found.values**2], [0.0, 1.0], atol=1e-12)


def test_held_out_rows_decide():
    said, own = [], rows(1100, seed=1)
    (found,) = scores_by_held_out(Pool(own), (2,), None, Serial(), lambda: False, said.append)
    assert found.column == 2 and "used" in said[0] and "not used" not in said[0]
    rng = np.random.default_rng(3)
    y = rng.normal(size=30)[own.X[:, 2].astype(int)] + 0.3 * rng.normal(size=1100)
    pool = Pool(Rows(own.X, y[:, None] / y.std(), np.ones(1100)))  # no level is like another
    assert scores_by_held_out(pool, (2,), None, Serial(), lambda: False, said.append) == ()
    assert scores_by_held_out(pool, (), None, Serial(), lambda: False, pytest.fail) == ()
    assert scores_by_held_out(pool, (2,), None, Serial(), lambda: True, pytest.fail) == ()


@pytest.mark.slow
def test_a_committee_knows_which_levels_are_alike():
    own = rows(1300, seed=2)
    words = np.array([f"level {k}" for k in range(30)])[own.X[:, 2].astype(int)]
    X = pd.DataFrame({"a": own.X[:, 0], "level": words, "b": own.X[:, 1]})
    model = CommitteeRegressor(random_state=0, noise="constant", chunks=400)
    model.fit(X[:1200], own.y[:1200, 0])
    assert "scores of columns [1]" in repr(model.kernel_)
    given = CommitteeRegressor(Matern32(), random_state=0, noise="constant", chunks=400)
    given.fit(X[:1200], own.y[:1200, 0])
    errors = [np.mean((one.predict(X[1200:]) - own.y[1200:, 0]) ** 2) for one in (model, given)]
    assert errors[0] < 0.9 * errors[1]
