"""Fits that have little time: error bars are checked all the same."""

import numpy as np
import pytest

from collegium import CommitteeRegressor, kernels
from collegium.numerics.clock import Clock
from collegium.pipeline import checking, exact
from collegium.pipeline.kept.memory import InMemory, runs
from collegium.pipeline.planning.cost import Speed, look
from collegium.pipeline.planning.plan import FEWEST, Plan
from collegium.rows.rows import Rows


def rows(n=6000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=n)


def test_runs_of_chunks_are_neighbours_from_all_over():
    np.testing.assert_array_equal(runs(7, 9), np.arange(7))
    found = runs(200, 40)
    np.testing.assert_array_equal(
        found.reshape(5, 8), np.arange(0, 200, 40)[:, None] + np.arange(8)
    )
    for n, number in [(100, 11), (12, 10), (5, 3), (6, 5), (41, 40)]:
        found = runs(n, number)
        assert found.size == number == np.unique(found).size and found.max() < n


@pytest.fixture
def hurried(monkeypatch):
    """A fit that has no time to hold out rows of all chunks; returns what was checked."""
    checked = []

    def spy(model, left, regions, more):
        checked.append(left)
        return check(model, left, regions, lambda: False)

    check = checking.check_bars
    monkeypatch.setattr(exact, "check_bars", spy)
    monkeypatch.setattr(Plan, "held_out", lambda self, asked: 0)
    monkeypatch.setattr(Plan, "few_chunks", lambda self: 12)
    return checked


@pytest.mark.parametrize("n_local", [0, 20])
@pytest.mark.parametrize("store", [False, True])
def test_error_bars_are_checked_on_rows_of_few_chunks(hurried, store, n_local, tmp_path):
    """Noise that is ten times too small is found out."""
    X, y = rows()
    given = {"kernel": kernels.RBF(1.0, 1.0), "anchors": 50, "chunks": 200, "random_state": 0}
    if store:
        given["store"] = tmp_path / "rows"
    model = CommitteeRegressor(limits=600.0, n_local=n_local, **given).fit(X, y)
    (left,) = hurried
    assert left.held.size == FEWEST and left.others.n_chunks == 12
    mean, std = model.predict(rows(seed=1)[0][:1000], return_std=True)
    z = (mean - rows(seed=1)[1][:1000]) / std
    assert 0.7 < np.sqrt(np.mean(z**2)) < 1.3
    assert np.isin(left.held, np.concatenate(left.others.groups)).sum() == 0


def test_few_chunks_of_rows_are_those_rows():
    data = Rows(np.arange(20.0)[:, None], np.arange(20.0)[:, None], np.ones(20))
    kept = InMemory(data, tuple(np.arange(20).reshape(10, 2)), tuple(range(10)))
    few = kept.few(5)
    assert few.rows is data and few.n_chunks == 5
    np.testing.assert_array_equal(np.concatenate(few.groups).reshape(5, 2)[:, 0], [0, 4, 8, 12, 16])


def test_a_look_finds_the_pace_of_the_moment():
    """A machine on which every look at the clock is 0.5 s later than the last."""
    hands = iter(np.arange(0.0, 100.0, 0.5))
    clock, speed = Clock(10.0, now=lambda: float(next(hands))), Speed(0.01, 1e10, 1e-9, 1e-3)
    look(speed, 2, clock)
    assert clock.pace.expected > 0.05  # six steps
    assert clock.pace.factor == pytest.approx(0.5 / 0.06, rel=0.05)
    free = Clock()
    look(speed, 2, free)
    assert free.pace.factor == 1.0
