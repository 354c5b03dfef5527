"""Streams that check themselves on arriving rows, and progressive scores."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import collegium
from collegium import (
    CommitteeClassifier,
    CommitteeRegressor,
    OnlineGPClassifier,
    OnlineGPRegressor,
    RegressionFilter,
    RVCRegressor,
    SparseGPRegressor,
    StreamWarning,
    kernels,
)
from collegium.answers.arrived import Arrived, look
from collegium.interface.streams.watching import ALARM, StreamCheck, recent_share

KERNEL = kernels.RBF(1.0, 1.0)
GIVEN = dict(kernel=KERNEL, noise=0.04, learn=False)
STREAMS = {
    "committee": lambda: CommitteeRegressor(**GIVEN, chunks=50, anchors=15, random_state=0),
    "anchors only": lambda: CommitteeRegressor(
        **GIVEN, chunks=50, anchors=15, n_local=0, random_state=0
    ),
    "sparse": lambda: SparseGPRegressor(**GIVEN, anchors=15, random_state=0),
    "filter": lambda: RegressionFilter(**GIVEN, start_rows=100, random_state=0),
    "online": lambda: OnlineGPRegressor(**GIVEN, budget=20, learn_rows=100, random_state=0),
    "local experts": lambda: RVCRegressor(start_rows=100, random_state=0),
}


def rows(n, seed=0, level=0.0, slope=0.0, noise=0.2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sin(X[:, 0]) + level + slope * X[:, 0] + noise * rng.normal(size=n)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_tells_how_well_its_rows_were_predicted(name):
    X, y = rows(600)
    model = STREAMS[name]()
    for part in np.split(np.arange(600), 6):
        model.partial_fit(X[part], y[part])
    check = model.stream_
    assert check.checked >= 40 and check.n_warned == 0
    assert check.rows == (500 if name == "sparse" else 600)
    assert 0.85 < check.coverage <= 1.0 and 0.85 < check.recent_coverage <= 1.0
    assert -0.6 < check.log_density < 0.3  # of N(0, 0.2²): 0.19
    assert check.outside < 0.2 and check.expected == pytest.approx(0.95)
    assert STREAMS[name]().fit(X, y).stream_.rows == 0


@pytest.mark.diagonal
@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("jump", [{"level": 2.0}, {"slope": 1.0}, {"noise": 0.6}], ids=str)
def test_a_jump_of_the_world_is_noticed_within_500_rows(name, jump):
    model = STREAMS[name]()
    X, y = rows(800)
    with warnings.catch_warnings():
        warnings.simplefilter("error", StreamWarning)
        for part in np.split(np.arange(800), 8):
            model.partial_fit(X[part], y[part])
    X, y = rows(500, seed=1, **jump)
    with pytest.warns(StreamWarning, match="error bars cover .* should cover 95%.*fit"):
        for part in np.split(np.arange(500), 5):
            model.partial_fit(X[part], y[part])
    assert model.stream_.n_warned >= 1


def test_labels_that_turn_are_noticed():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (1200, 1))
    y = (X[:, 0] > 0).astype(int)
    y[800:] = 1 - y[800:]
    for model in (
        CommitteeClassifier(KERNEL, learn=False, chunks=50, anchors=10, random_state=0),
        OnlineGPClassifier(KERNEL, learn=False, budget=20, random_state=0),
    ):
        for part in np.split(np.arange(800), 8):
            model.partial_fit(X[part], y[part], classes=[0, 1])
        assert model.stream_.n_warned == 0 and model.stream_.coverage > 0.8
        with pytest.warns(StreamWarning, match="has changed"):
            for part in np.split(np.arange(800, 1200), 4):
                model.partial_fit(X[part], y[part])


def test_a_failed_call_leaves_the_check_as_it_was():
    X, y = rows(200)
    model = STREAMS["committee"]().partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    before = model.stream_
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(np.ones((5, 3)), np.ones(5))
    assert model.stream_ is before


def test_verbose_streams_say_how_they_are_doing(capsys):
    X, y = rows(300)
    model = STREAMS["online"]().set_params(verbose=1)
    model.partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    assert "300 rows: 95 % intervals cover" in capsys.readouterr().out


def arrived(missed, promised=0.05):
    n = len(missed)
    return Arrived(
        np.array(missed, float), np.full(n, promised), np.zeros(n), np.ones(n), np.zeros(n)
    )


def test_figures_are_means_over_all_rows_and_over_the_last():
    check = StreamCheck()
    rng = np.random.default_rng(0)
    parts = [rng.uniform(size=size) for size in (7, 1, 30, 2)]
    for part in parts:
        check = check.after(2 * part.size, arrived(part))
    every = np.concatenate(parts)
    assert check.rows == 80 and check.checked == 40
    assert_allclose(check.coverage, 1.0 - every.mean())
    weights = np.concatenate(  # of one call alike, falling by e^(−1/300) a row from call to call
        [np.full(part.size, np.exp(-sum(p.size for p in parts[i + 1 :]) / 300.0))
         * (1.0 - np.exp(-part.size / 300.0)) / part.size for i, part in enumerate(parts)]
    )  # fmt: skip
    assert_allclose(check.recent_coverage, 1.0 - weights @ every / weights.sum())
    assert recent_share(10, 0) == 1.0 and recent_share(10**6, 5) == pytest.approx(1.0)


def test_a_check_prints_its_figures_one_after_the_other():
    check = StreamCheck().after(30, arrived([0.0] * 30)).after(10, arrived([1.0] * 10))
    late = 1.0 - recent_share(10, 30)
    assert check.coverage == check.overall.coverage == 0.75
    assert check.recent_coverage == check.recent.coverage == late
    expected = (
        f"StreamCheck(rows=40, checked=40, coverage=0.75, log_density=0, square=1, outside=0, "
        f"recent_coverage={late:.4g}, recent_log_density=0, recent_square=1, recent_outside=0, "
        f"expected=0.95, alarm=8, n_warned=0)"
    )
    assert str(check) == expected
    assert repr(StreamCheck()).startswith("StreamCheck(rows=0, checked=0, coverage=nan, log_")


def test_the_alarm_is_a_sum_of_misses_beyond_those_promised():
    check = StreamCheck().after(30, arrived([0.0] * 30))
    assert check.alarm == 0.0
    check = check.after(10, arrived([1.0] * 10))
    assert check.alarm == pytest.approx(8.0)
    check = check.after(5, arrived([0.0] * 5))
    assert check.alarm == pytest.approx(7.0)
    with pytest.warns(StreamWarning):
        after = check.after(10, arrived([1.0] * 8 + [0.0] * 2)).warned("Do.", stacklevel=1)
    assert after.alarm == 0.0 and after.n_warned == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check.warned("Do.", stacklevel=1) is check


def test_false_alarms_are_rare():
    rng = np.random.default_rng(0)
    check = StreamCheck()
    for _ in range(400):
        check = check.after(500, arrived(rng.uniform(size=500) < 0.1))
        assert check.alarm < ALARM


def test_few_rows_are_looked_at_unless_they_look_bad():
    asked = []

    def ask(positions):
        asked.append(positions)
        return arrived(bad[positions])

    bad = np.zeros(500)
    assert look(ask, 500, 8).missed.size == 8
    bad = np.ones(500)
    assert look(ask, 500, 8).missed.size == 64
    assert np.unique(np.concatenate(asked[1:])).size == 64
    assert look(ask, 5, 8).missed.size == 5


@pytest.mark.parametrize("name", STREAMS)
def test_progressive_predicts_rows_that_it_has_not_learnt(name):
    X, y = rows(400)
    model, other = STREAMS[name](), STREAMS[name]()
    found = model.progressive(X, y) if name == "local experts" else model.progressive(
        X, y, batch=100
    )  # fmt: skip
    mean, std = found
    assert mean.shape == std.shape == y.shape and np.isnan(mean[0])
    if name != "local experts":
        for start, stop in [(0, 10), (10, 110), (110, 210)]:
            if start:
                expected = other.predict(X[start:stop], return_std=True)
                assert_allclose((mean[start:stop], std[start:stop]), expected, rtol=1e-12)
            other.partial_fit(X[start:stop], y[start:stop])
    known = np.isfinite(mean)
    assert_allclose(found.rmse, np.sqrt(np.mean((mean - y)[known] ** 2)))
    z = (y - mean)[known] / std[known]
    assert_allclose(found.nlpd, np.mean(0.5 * z**2 + np.log(std[known]) + 0.5 * np.log(2 * np.pi)))
    assert_allclose(found.coverage, np.mean(np.abs(z) < 1.959964))
    assert 0.15 < found.rmse < 0.5 and model.stream_.rows >= 390


def test_progressive_classes():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (400, 1))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=400) > 0, "b", "a")
    model = OnlineGPClassifier(KERNEL, learn=False, random_state=0)
    found = model.progressive(X, y, classes=["a", "b"], batch=80)
    P = found.probability
    assert np.isnan(P[:80]).all() and np.isfinite(P[80:]).all()
    codes = (y[80:] == "b").astype(int)
    assert_allclose(found.accuracy, (P[80:].argmax(axis=1) == codes).mean())
    assert_allclose(found.log_loss, -np.log(P[80:][np.arange(320), codes]).mean())
    assert found.accuracy > 0.85


def test_progressive_needs_a_stream():
    with pytest.raises(ValueError, match="partial_fit"):
        collegium.NystromRegressor().progressive([[1.0], [2.0]], [1.0, 2.0])
    with pytest.raises(ValueError, match="batch"):
        STREAMS["online"]().progressive([[1.0], [2.0]], [1.0, 2.0], batch=0)
