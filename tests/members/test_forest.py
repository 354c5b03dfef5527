"""Trees as arrays answer as scikit-learn's do, bit for bit."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import HistGradientBoostingRegressor

from collegium.members.boosting import forest_of
from collegium.members.forest import Forest


def table(n=1500, seed=0):
    """Two columns of levels, four of numbers, gaps in one of each."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[:, 0], X[:, 1] = rng.integers(0, 40, n), rng.integers(0, 3, n)
    X[rng.uniform(size=n) < 0.1, 0] = np.nan
    X[rng.uniform(size=n) < 0.2, 3] = np.nan
    y = np.nan_to_num(X[:, 0]) % 4 + X[:, 2] * X[:, 4] + np.isnan(X[:, 3]) + rng.normal(size=n)
    return X, y


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_a_forest_answers_as_scikit_learn_does(loss):
    X, y = table()
    y = np.abs(y) if loss == "poisson" else y
    own = HistGradientBoostingRegressor(
        loss=loss, max_iter=37, max_leaf_nodes=13, learning_rate=0.17, categorical_features=[0, 1],
        random_state=3,
    ).fit(X, y)  # fmt: skip
    Q = table(700, seed=1)[0]
    Q[:60, 0], Q[60:90, 1], Q[90:140, 2] = np.nan, np.nan, np.nan  # unknown levels, new gaps
    found, wanted = forest_of(own)(Q), own.predict(Q)
    assert_array_equal(np.exp(found) if loss == "poisson" else found, wanted)


def test_a_row_has_the_same_answer_in_any_batch():
    X, y = table()
    forest = forest_of(HistGradientBoostingRegressor(max_iter=20, random_state=0).fit(X, y))
    whole = forest(X[:600])
    assert_array_equal(np.concatenate([forest(X[:1]), forest(X[1:300]), forest(X[300:600])]), whole)


def test_without_trees_only_the_base_is_left():
    forest = Forest.joined(2.5, [])
    assert forest.trees == 0
    assert_array_equal(forest(np.zeros((3, 2))), [2.5, 2.5, 2.5])
