"""Whole numbers that are names are distinguished from quantities by held-out rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from collegium import CommitteeRegressor
from collegium.engines.local import Serial
from collegium.kernels import Matern32
from collegium.learning.levels import agreements, candidates, levels_by_held_out
from collegium.learning.pool import Pool
from collegium.rows.rows import Rows


def rows(n=1500, n_ids=60, seed=0, *, smooth=False):
    """y = effect of the id + sin 2x + noise; `smooth`: the effect is a smooth function of it."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, n_ids, n).astype(float)
    X = np.column_stack([rng.uniform(-2, 2, n), ids, rng.integers(0, 9, n)])
    effect = np.sin(6.0 * ids / n_ids) if smooth else rng.normal(size=n_ids)[ids.astype(int)]
    return X, effect + np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=n)


def slow_agreements(column, z):
    """All pairs with equal and with adjacent numbers, in loops."""
    values = np.unique(column)
    same = [z[i] * z[j] for i in range(z.size) for j in range(i) if column[i] == column[j]]
    near = []
    for a, b in zip(values, values[1:]):
        left, right = z[column == a], z[column == b]
        near.append((left.sum() * right.mean(), left.size))
    return np.mean(same), sum(s for s, _ in near) / sum(m for _, m in near)


def test_agreements_are_those_of_all_pairs():
    X, y = rows(3000, 12, seed=3)
    z = (y - y.mean()) / y.std()
    found = agreements(X[:, 1], z[:, None], np.random.default_rng(1))
    assert_allclose(found, slow_agreements(X[:600, 1], z[:600]), atol=0.08)
    assert found[0] > 0.4


@pytest.mark.parametrize("column", [
    np.arange(1500.0), np.zeros(1500), np.arange(1500) % 2.0,
    np.random.default_rng(0).normal(size=1500), np.arange(1500) % 1300.0,
], ids=["all differ", "constant", "two", "no whole numbers", "few repeat"])  # fmt: skip
def test_columns_without_repeated_whole_numbers_are_no_candidates(column):
    X, y = rows()
    effect = np.random.default_rng(5).normal(size=3000)[column.astype(int)]
    table = np.column_stack([X[:, 0], column])
    assert candidates(table, (y + 3 * effect)[:, None]) == ()


def test_a_quantity_is_no_candidate_and_a_name_is():
    X, y = rows()
    assert candidates(X, y[:, None]) == (1,)
    assert candidates(X, y[:, None], (1,)) == ()
    X, y = rows(smooth=True)
    assert candidates(X, y[:, None]) == ()


def test_held_out_rows_decide():
    said = []
    X, y = rows()
    pool = Pool(Rows(X, y[:, None] / y.std(), np.ones(y.size)))
    found = levels_by_held_out(pool, (), None, Serial(), lambda: False, said.append)
    assert found == (1,) and "; used" in said[0]
    # few values far apart, for which numbers are as good as names
    rng = np.random.default_rng(2)
    x = rng.integers(0, 12, 1500).astype(float)
    y = np.cos(1.5 * x) + 0.1 * rng.normal(size=1500)
    pool = Pool(Rows(np.column_stack([x, X[:, 0]]), y[:, None] / y.std(), np.ones(1500)))
    assert candidates(pool.rows.X, pool.rows.y) == (0,)
    assert levels_by_held_out(pool, (), None, Serial(), lambda: False, said.append) == ()
    assert "; not used" in said[1]
    assert levels_by_held_out(pool, (), None, Serial(), lambda: True, pytest.fail) == ()


@pytest.mark.slow
def test_a_committee_takes_ids_for_names():
    X, y = rows(1000, 80)
    arguments = {"random_state": 0, "noise": "constant", "chunks": 300}
    model = CommitteeRegressor(**arguments).fit(X[:800], y[:800])
    assert ("mismatch", 1) in model.kernel_.labels and ("length", 0) in model.kernel_.labels
    numbers = CommitteeRegressor(Matern32(), **arguments).fit(X[:800], y[:800])
    errors = [np.mean((one.predict(X[800:]) - y[800:]) ** 2) for one in (model, numbers)]
    assert errors[0] < 0.9 * errors[1]


@pytest.mark.slow
def test_few_rows_are_averaged_with_names():
    X, y = rows(360, 20, seed=4)
    model = CommitteeRegressor(random_state=0).fit(X[:300], y[:300])
    assert model.model_.averaged[0].levels == (1,)
    assert "x1: numbers that are names, by rows held out" in model.summary()
    assert np.mean((model.predict(X[300:]) - y[300:]) ** 2) < 0.3**2
