"""Limits on time and memory, and what is said about both."""

import time

import numpy as np
import pytest

from collegium import CommitteeRegressor, kernels
from collegium.core.clock import Clock
from collegium.core.learning import Effort
from collegium.engines import Serial, Threads
from collegium.estimators.limits import bytes_allowed, seconds_allowed
from collegium.estimators.planning import EFFORTS, Plan
from collegium.estimators.progress import Progress
from collegium.estimators.settings import Settings


def rows(n=3000, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, d))
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=n)


def plan(n=40_000, d=8, **arguments):
    settings = Settings.of(CommitteeRegressor(**arguments))
    return Plan.of(settings, n, d, 1, Clock(settings.time_limit))


@pytest.mark.parametrize("limit", [0.2, 3.0])
def test_little_time_gives_a_model_and_time_to_spare_refines_it(limit):
    X, y = rows()
    model = CommitteeRegressor(time_limit=limit, chunk_size=300, random_state=0).fit(X, y)
    mean, std = model.predict(X[:200] + 0.01, return_std=True)
    truth = np.sin(2 * (X[:200, 0] + 0.01)) * (X[:200, 1] + 0.01)
    assert np.sqrt(np.mean((mean - truth) ** 2)) < 0.2
    assert np.all(std > 0.02)


def test_a_plan_does_more_where_there_is_more_time():
    little, much, free = plan(time_limit=1e-3), plan(time_limit=1e4), plan()
    assert little.effort == EFFORTS[0].for_rows(40_000)
    assert not little.check and not little.refine and little.most_anchors == 50
    assert much.effort == free.effort == Effort().for_rows(40_000)
    assert much.check and much.refine and much.most_anchors == free.most_anchors == 200
    assert free.check and not free.refine
    assert little.seconds < much.seconds


def test_what_is_given_is_kept_however_little_time_there_is():
    found = plan(time_limit=1e-3, n_anchors=400, refine="cg")
    assert found.most_anchors == 400 and found.refine
    assert not plan(time_limit=1e4, n_local=0).refine
    assert not plan(time_limit=1e4, inference="transductive").refine


def test_efforts_grow():
    steps = [effort.steps() for effort in EFFORTS]
    assert steps == sorted(steps) and steps[0] < 0.02 * steps[-1]


def test_memory_is_kept_by_fewer_anchors_or_refused_before_the_work():
    X, y = rows()
    free = plan(memory_limit=None)
    tight = plan(memory_limit=0.8 * free.bytes)
    assert tight.most_anchors < free.most_anchors and tight.bytes <= 0.8 * free.bytes
    model = CommitteeRegressor(memory_limit="10kB", random_state=0)
    with pytest.raises(ValueError, match="memory_limit.*n_local=0"):
        model.fit(X, y)
    assert not hasattr(model, "built_")


def test_a_plan_counts_the_memory_of_rows_anchors_chunks_and_workers():
    base = plan().bytes
    assert plan(n=400_000).bytes > 4 * base
    assert plan(n_anchors=2000).bytes > base + 8 * 2000**2
    assert plan(chunk_size=4000).bytes > base + 8 * 4000**2
    assert plan(n_jobs=8).bytes > base


@pytest.mark.parametrize(
    "given, size",
    [("2GB", 2e9), ("1.5 mb", 1.5e6), ("10KiB", 1e4), (4096, 4096.0), (1e9, 1e9), ("7", 7.0)],
)
def test_sizes_are_read_as_people_write_them(given, size):
    assert bytes_allowed(given) == size


@pytest.mark.parametrize("given", [0, -1, "much", "2XB", True, [1], float("nan")])
def test_a_wrong_memory_limit_names_itself(given):
    with pytest.raises(ValueError, match="memory_limit"):
        bytes_allowed(given)


@pytest.mark.parametrize("given", [0, -1.0, "60", True, float("nan")])
def test_a_wrong_time_limit_names_itself(given):
    with pytest.raises(ValueError, match="time_limit"):
        seconds_allowed(given)


def test_a_clock_counts_and_shares():
    clock = Clock(10.0, time.perf_counter() - 4.0)
    assert 5.9 < clock.left() <= 6.0 and not clock.out()
    assert clock.share(0.5).left() == pytest.approx(3.0, abs=0.1)
    assert Clock(1.0, time.perf_counter() - 2.0).out()
    assert Clock(1.0, time.perf_counter() - 2.0).share(0.5).out()
    assert not Clock().out() and not Clock().share(0.1).out()


def test_the_estimate_comes_before_the_work(capsys):
    X, y = rows(400)
    kernel = kernels.RBF(1.0, 1.0)
    CommitteeRegressor(kernel, noise=0.1, learn=False, verbose=1).fit(X, y)
    first = capsys.readouterr().out.splitlines()[0]
    assert "expecting about" in first and "GB" in first


@pytest.mark.parametrize("engine", [Serial(), Threads(2)], ids=["one", "two"])
def test_long_work_shows_a_bar_and_the_same_result(engine, capsys, monkeypatch):
    monkeypatch.setattr("collegium.estimators.progress.PAUSE", 0.0)
    watched = Progress(1).watch(engine)
    assert watched.map(lambda i: i * i, range(5)) == [0, 1, 4, 9, 16]
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 and lines[-1].endswith("5 of 5") and "#" * 30 in lines[-1]
    assert watched.n_jobs == engine.n_jobs


def test_silence_and_engines_of_others_are_left_alone():
    other = object()
    assert Progress(1).watch(other) is other
    engine = Serial()
    assert Progress(0).watch(engine) is engine
