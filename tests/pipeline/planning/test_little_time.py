"""Fits that have little time: error bars are checked all the same."""

from functools import partial

import numpy as np
import pytest

from collegium import CommitteeRegressor, kernels
from collegium.datasets import make_robot_arm
from collegium.messages.committee import Committee
from collegium.metrics import coverage
from collegium.numerics.clock import Clock
from collegium.pipeline import exact
from collegium.pipeline.checks import bars as checking
from collegium.pipeline.checks import errors
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


@pytest.mark.parametrize("n_local", [0, 20])
@pytest.mark.parametrize("store", [False, True])
def test_rows_held_out_of_few_chunks_leave_the_committee_of_all_others(store, n_local, tmp_path):
    """Messages of the few chunks are replaced, and nearest rows are those of all chunks."""
    X, y = rows()
    given = {"kernel": kernels.RBF(1.0, 1.0), "anchors": 50, "chunks": 200, "random_state": 0}
    if store:
        given["store"] = tmp_path / "rows"
    swapped = []

    def spy(model, left):
        swapped.append((model, left))
        return answers(model, left)

    answers = errors.answers_held_out
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Plan, "refines", lambda *_: False)
        patch.setattr(Plan, "learns_errors", lambda *_: False)
        patch.setattr(Plan, "late_errors", lambda _: (100, 8))
        patch.setattr(exact, "with_answers", lambda model, left, bars: left)
        patch.setattr(exact, "with_errors", partial(errors.with_errors, ask=spy))
        CommitteeRegressor(limits=600.0, n_local=n_local, **given).fit(X, y)
    ((model, left),) = swapped
    assert left.held.size == 100 and len(left.chunks) == 8
    assert sum(chunk.n for chunk in left.others.cells()) == len(X) - 100
    found = answers(model, left)
    c = model.committee
    start = Committee.start(c.basis.kernel, c.noise, c.basis.Z, 1)
    slow = start.add(left.others.cells(), left.settings.engine, keep=left.others.in_memory)
    np.testing.assert_array_equal(left.committee(c).belief.mean, slow.belief.mean)
    own = model.answerer(slow, model.sizes.n_local, left.others)
    expected = own.predict(left.rows.X[left.held], left.settings.engine)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-6)


def test_intervals_of_a_hurried_fit_are_those_of_the_whole_model(monkeypatch):
    """A kernel that is too rough: errors are far smaller than it says, and rows show it."""
    monkeypatch.setattr(Plan, "held_out", lambda self, asked: 0)
    monkeypatch.setattr(Plan, "few_chunks", lambda self: 10)
    monkeypatch.setattr(Plan, "refines", lambda *_: False)
    monkeypatch.setattr(Plan, "learns_errors", lambda *_: False)
    X, y = make_robot_arm(9000, random_state=1)
    own = {"kernel": kernels.Matern12(1.0, 3.0), "anchors": 50, "chunks": 400, "random_state": 0}
    model = CommitteeRegressor(limits=600.0, **own).fit(X[:8000], y[:8000])
    covered = coverage(y[8000:], *model.predict_interval(X[8000:]))
    assert 0.92 <= covered <= 0.98


def test_intervals_that_could_not_be_checked_are_said_to_be_so(monkeypatch):
    monkeypatch.setattr(Plan, "refines", lambda *_: False)
    monkeypatch.setattr(Plan, "learns_errors", lambda *_: False)
    monkeypatch.setattr(Plan, "late_errors", lambda _: (0, 0))
    monkeypatch.setattr(exact, "with_answers", lambda model, left, bars: left)
    X, y = rows(n=3000)
    with pytest.warns(UserWarning, match="no time to check the intervals of the whole model"):
        CommitteeRegressor(kernels.RBF(), limits=600.0, anchors=20, chunks=300).fit(X, y)
