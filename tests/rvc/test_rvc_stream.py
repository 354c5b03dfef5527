"""Streams of RVCRegressor: in parts, weighted, forgotten; error bars of streams that change."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from rvc_cases import GRID, MODES, assert_alike, assert_sound, model, wave

from collegium import RVCRegressor
from estimator_cases import assert_same_state, leaves, queries, rmse, rows, state

#: Sweeps of a quick fit; experts as published have to converge.
MOST = {"local": 8, "paper": 300}


@MODES
@pytest.mark.parametrize("p", [None, 2])
def test_a_stream_in_many_calls_is_the_stream(mode, p):
    X, y = rows(900, p=p)
    one = model(mode=mode, start_rows=100, forgetting=0.999, sweeps=2).partial_fit(X, y)
    many = model(mode=mode, start_rows=100, forgetting=0.999, sweeps=2)
    for part in np.split(np.arange(900), [1, 2, 30, 99, 100, 101, 150, 420]):
        many.partial_fit(X[part], y[part])
    assert_alike(one, many, queries(), rtol=0)
    assert one.n_seen_ == many.n_seen_ == 900
    assert one.width_ == many.width_ and one.n_experts_ == many.n_experts_
    for a, b in zip(one.model_.widths, many.model_.widths, strict=True):
        assert (a.rounds, a.round_rows, a.round_length, a.best_index) == (
            b.rounds, b.round_rows, b.round_length, b.best_index,
        )  # fmt: skip
        assert_allclose(a.gains, b.gains, rtol=1e-10)
    for kept in (one.model_.waiting, many.model_.waiting):
        assert kept is None


@MODES
def test_the_first_rows_are_answered_for(mode):
    X, y = wave(60)
    found = model(mode=mode, start_rows=40)
    for i in range(60):
        found.partial_fit(X[[i]], y[[i]])
        assert_sound(found, X[:3])
        assert found.n_seen_ == i + 1
        assert (found.model_.waiting is None) == (i + 1 >= 40)
        if i == 0:
            assert_allclose(found.predict(X[:5]), y[0], rtol=1e-12)
    assert rmse(found.predict(GRID), np.sin(GRID[:, 0])) < 0.35


@pytest.mark.diagonal
@MODES
@pytest.mark.parametrize("p", [None, 2])
def test_progressive_is_predict_and_partial_fit_row_by_row(mode, p):
    X, y = rows(130, p=p)
    frame, given = pd.DataFrame(X, columns=["a", "b"]), {"mode": mode, "start_rows": 40}
    at_once, by_row, means, stds = model(**given), model(**given), [], []
    for i in range(130):
        if i:
            mean, std = by_row.predict(frame[i : i + 1], return_std=True)
            means.append(mean[0])
            stds.append(std[0])
        by_row.partial_fit(frame[i : i + 1], y[[i]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parts = [at_once.progressive(frame[a:b], y[a:b]) for a, b in ((0, 25), (25, 60), (60, 130))]
    mean, std = (np.concatenate(each) for each in zip(*parts, strict=True))
    assert np.isnan(mean[0]).all() and np.isnan(std[0]).all()
    assert_allclose(mean[1:], means, rtol=1e-10)
    assert_allclose(std[1:], stds, rtol=1e-10)
    assert_alike(at_once, by_row, frame[:9], rtol=0)
    assert at_once.n_seen_ == 130 and list(at_once.feature_names_in_) == ["a", "b"]
    before = leaves(state(at_once))
    with pytest.raises(ValueError, match="NaN"):
        at_once.progressive(frame, np.where(np.arange(130)[:, None] == 99, np.nan, 1.0))
    assert_same_state(before, at_once)


@MODES
def test_fit_goes_on_as_a_stream(mode):
    X, y = wave(1200)
    found = model(mode=mode, max_experts=40).fit(X[:300], y[:300])
    assert found.bound_ and 1 <= found.n_iter_ <= found.max_iter and found.n_seen_ == 300
    before = rmse(found.predict(GRID), np.sin(GRID[:, 0]))
    found.partial_fit(X[300:], y[300:])
    assert found.n_seen_ == 1200
    assert rmse(found.predict(GRID), np.sin(GRID[:, 0])) < max(before, 0.03)
    stream = model(mode=mode).partial_fit(X, y)
    assert stream.n_iter_ == 0 and not hasattr(stream, "bound_")


@MODES
def test_forgetting_follows_a_jump(mode):
    X, y = wave(2500)
    y[1500:] *= -1
    errors = {}
    for forgetting in (1.0, 0.95):
        found = model(mode=mode, forgetting=forgetting, max_experts=30, width=0.3)
        found.partial_fit(X, y)
        errors[forgetting] = rmse(found.predict(GRID), -np.sin(GRID[:, 0]))
    assert errors[0.95] < 0.1 < 0.2 < errors[1.0]
    faded, still = (
        model(mode=mode, forgetting=f, width=0.3, max_experts=30, max_iter=MOST[mode]).fit(X, y)
        for f in (0.995, 1.0)
    )
    errors = [rmse(each.predict(GRID), -np.sin(GRID[:, 0])) for each in (faded, still)]
    assert errors[0] < 0.15 < 0.2 < errors[1]


@MODES
def test_weights_are_repetitions(mode):
    X, y = rows(60)
    w = np.random.default_rng(0).integers(0, 4, 60)
    again = np.repeat(np.arange(60), w)
    given = {"mode": mode, "max_iter": MOST[mode], "max_experts": 6}
    weighed = model(**given).fit(X, y, w)
    assert_alike(weighed, model(**given).fit(X[again], y[again]), queries(), rtol=0)
    assert weighed.n_seen_ == (w > 0).sum()
    plain = model(**given).fit(X, y)
    assert rmse(plain.predict(queries()), weighed.predict(queries())) > 1e-3


@MODES
def test_weights_on_a_stream(mode):
    X, y = rows(1_000)
    w = np.random.default_rng(0).integers(0, 3, 1_000)
    streams = {"w": (X, y, w), "without": (X[w > 0], y[w > 0], w[w > 0])}
    again = np.repeat(np.arange(1_000), w)
    streams["twice"] = X[again], y[again]
    given = {"mode": mode, "start_rows": 200, "width": 0.8}
    found = {name: model(**given).partial_fit(*each) for name, each in streams.items()}
    assert_alike(found["w"], found["without"], queries(), rtol=0)
    assert found["w"].n_seen_ == (w > 0).sum()
    one, two = (found[name].predict(queries(), return_std=True) for name in ("w", "twice"))
    assert rmse(one[0], two[0]) < 0.1 * y.std()
    assert_allclose(one[1], two[1], rtol=0.4 if mode == "local" else 0.8)


@MODES
def test_memory_does_not_grow_with_the_rows(mode):
    found, sizes = model(mode=mode, start_rows=50), {}
    for seed in range(10):
        found.partial_fit(*wave(4_000, seed))
        sizes[found.n_seen_] = len(pickle.dumps(found))
    flat = [sizes[n] for n in range(8_000, 40_001, 4_000)]
    assert max(flat) - min(flat) < 100
    assert max(flat) < 20_000


# -- streams that change ---------------------------------------------------------------------------


def test_idle_experts_are_replaced():
    """Inputs that wander off for good, with far fewer experts than places."""
    t = 0.1 * np.arange(8_000.0)[:, None]
    y = np.sin(t[:, 0]) + 0.05 * np.random.default_rng(0).normal(size=8_000)
    found = model(max_experts=60, start_rows=200)
    mean, std = found.progressive(t, y)
    late = slice(2_000, None)
    assert found.n_experts_ <= 60 and found.experts_["centre"].min() > 100.0
    assert rmse(mean[late], y[late]) < 0.4
    assert (np.abs(y - mean) < 1.96 * std)[late].mean() > 0.88


def test_one_outlier_spoils_nothing():
    X, y = wave(3_000)
    for at in (700, 1500):
        wrong = y.copy()
        wrong[at] = 1e6
        mean, _ = model(start_rows=100).progressive(X, wrong)
        assert rmse(mean[at + 300 :], y[at + 300 :]) < 0.2


def test_bars_recover_after_rows_that_were_predicted_exactly():
    X, y = wave(8_000)
    y[:6_000] = 3.0
    found = model().partial_fit(X[:6_000], y[:6_000])
    mean, std = found.progressive(X[6_000:], y[6_000:])
    assert np.isfinite(mean).all() and (std > 0).all()
    assert (np.abs(y[6_000:] - mean) < 1.96 * std)[1_000:].mean() > 0.85


def wandering(n, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.linspace(0, 10, n) + 0.1 * rng.normal(size=n), rng.uniform(-2, 2, n)])
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("seed", [1, 4])
def test_bars_cover_what_a_stream_that_wanders_has_left_behind(seed):
    X, y = wandering(6_000, seed)
    found = RVCRegressor(random_state=0)
    for start in range(0, 6_000, 500):
        found.partial_fit(X[start : start + 500], y[start : start + 500])
    mean, std = found.predict(X[-1_000:], return_std=True)
    assert rmse(mean, y[-1_000:]) <= 0.15
    assert 0.90 <= np.mean(np.abs(y[-1_000:] - mean) <= 1.96 * std) <= 0.99


def test_bars_are_those_of_arriving_rows_or_of_the_past_where_these_are_wider():
    X, y = wandering(3_000)
    stream = model(width=0.2).partial_fit(X, y).model_
    narrow = replace(stream.committees[0], scale=np.array([-3.0, 3_000.0, 0.0]))
    Xs, ys = stream.inputs.forward(X), stream.scaling.forward(y[:, None])[:, 0]
    wide = narrow.covering(Xs, ys)
    assert_allclose(wide.factor_of_bars, np.exp(2 * wide.past))
    answer = wide.answer(Xs)
    known = np.argsort(answer.variance, kind="stable")[:1_500]
    outside = np.abs(ys - answer.mean) > 1.959963984540054 * np.sqrt(answer.variance)
    assert_allclose(outside[known].mean(), 0.05, atol=1e-3)
    wider = replace(wide, scale=np.array([wide.past + 1.0, 3_000.0, 0.0]))
    assert_allclose(wider.factor_of_bars, np.exp(2 * (wide.past + 1.0)))
    assert model(width=0.2, forgetting=0.99).partial_fit(X, y).model_.sample is None
