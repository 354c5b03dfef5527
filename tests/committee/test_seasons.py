"""The default finds seasons and trends of a series, and says so."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import collegium
from collegium import CommitteeRegressor
from collegium.kernels import Matern32
from collegium.kernels.trend import has_trend, split_trend


def sales(n=200, seed=0):
    """Days of a shop: growth, weeks, heat, holidays, noise."""
    rng, k = np.random.default_rng(seed), np.arange(n)
    week = np.array([0.0, 1.0, 1.2, 1.1, 0.9, -2.0, -2.5])[k % 7]
    heat = 0.7 * np.sin(k / 9.0) + rng.normal(size=n)
    holiday = rng.random(n) < 0.1
    y = 20.0 + 0.04 * k + week + heat - 3.0 * holiday + 0.3 * rng.normal(size=n)
    frame = {"date": pd.date_range("2024-03-04", periods=n), "heat": heat}
    return pd.DataFrame(frame | {"day": np.where(holiday, "holiday", "other")}), y


def rmse(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", collegium.ExtrapolationWarning)
        return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))


def test_a_table_with_dates_and_other_columns_is_forecast():
    X, y = sales()
    model = CommitteeRegressor(random_state=0).fit(X[:160], y[:160])
    found = model.model_.sum.seasons
    assert found.degree == 1 and [p for p, _ in found.seasons] == [7 * 86_400.0]
    assert rmse(model, X[160:], y[160:]) < 0.9
    given = CommitteeRegressor(trend="date", random_state=0).fit(X[:160], y[:160])
    assert rmse(given, X[160:], y[160:]) > 1.2
    text = model.summary()
    assert "season of 7 days and a trend, found on held-out future rows: RMSE" in text
    assert "a season that repeats itself of date; period 6.048e+05" in text
    frame = pl.from_pandas(X)
    other = CommitteeRegressor(random_state=0).fit(frame[:160], y[:160])
    assert_allclose(other.predict(frame[100:150]), model.predict(X[100:150]), rtol=1e-7, atol=1e-7)


def test_later_rows_of_a_found_series_are_no_reason_to_warn():
    X, y = sales()
    model = CommitteeRegressor(random_state=0).fit(X[:160], y[:160])
    with warnings.catch_warnings():
        warnings.simplefilter("error", collegium.ExtrapolationWarning)
        model.predict(X[160:])
    assert model.outside(X[160:]).mean() > 0.9  # as before
    with pytest.warns(collegium.ExtrapolationWarning):
        model.predict(X[160:].assign(heat=50.0))


def test_nothing_is_tried_where_something_is_given():
    X, y = sales()
    X, y = X[["date"]][:120], y[:120]
    for given in (
        {"kernel": Matern32(10.0, 1e6)},
        {"trend": "linear"},
        {"kernel": Matern32(10.0, 1e6), "noise": 0.5, "learn": False},
        {"learn": "average"},
    ):
        model = CommitteeRegressor(random_state=0, **given).fit(X, y)
        assert model.model_.sum.seasons is None
    scattered = np.random.default_rng(1).uniform(size=(120, 1))
    model = CommitteeRegressor(random_state=0).fit(scattered, y)
    assert model.model_.sum.seasons is None and not has_trend(model.kernel_)


def test_a_season_of_numbers_goes_on_and_is_kept(tmp_path):
    rng, t = np.random.default_rng(2), np.arange(260.0)[:, None]
    Y = np.column_stack([np.sin(2 * np.pi * t[:, 0] / 13) + 0.01 * t[:, 0], np.cos(t[:, 0] / 40)])
    Y += 0.1 * rng.normal(size=Y.shape)
    model = CommitteeRegressor(random_state=0, verbose=0).fit(t[:200], Y[:200, 0])
    assert model.model_.sum.seasons.seasons[0][0] == 13.0
    assert rmse(model, t[200:], Y[200:, 0]) < 0.16
    rest, beta = split_trend(model.model_.kernel)
    assert not has_trend(rest) and beta.count(1) >= 4
    model.save(tmp_path / "model.clg")
    loaded = collegium.load(tmp_path / "model.clg")
    assert loaded.model_.sum.seasons == model.model_.sum.seasons
    assert_array_equal(loaded.predict(t[:50]), model.predict(t[:50]))
    given = {"kernel": model.kernel_, "noise": model.noise_, "learn": False}
    again = CommitteeRegressor(**given).fit(t[:200], Y[:200, 0])
    assert_allclose(again.predict(t[190:200]), model.predict(t[190:200]), atol=1e-6)
    both = CommitteeRegressor(random_state=0).fit(t[:200], Y[:200])
    assert both.predict(t[:3]).shape == (3, 2)


def test_growth_by_a_factor_is_forecast_in_logs():
    rng, k = np.random.default_rng(3), np.arange(120)
    log = 4.0 + 0.012 * k + 0.25 * np.sin(2 * np.pi * k / 12) + 0.03 * rng.normal(size=120)
    X, y = pd.DataFrame({"month": pd.date_range("2010-01-01", periods=120, freq="MS")}), np.exp(log)
    model = CommitteeRegressor(random_state=0).fit(X[:96], y[:96])
    assert model.target_transform_ == "log"
    assert rmse(model, X[96:], y[96:]) < 0.06 * y[96:].mean()
    plain = CommitteeRegressor(transforms=None, random_state=0).fit(X[:96], y[:96])
    assert plain.target_transform_ is None and plain.model_.sum.seasons is not None


def test_chunks_and_threads_share_the_season():
    rng, t = np.random.default_rng(4), np.arange(500.0)[:, None]
    y = 2.0 * np.sin(2 * np.pi * t[:, 0] / 24) + 0.006 * t[:, 0] + 0.3 * rng.normal(size=500)
    models = [
        CommitteeRegressor(chunks=100, n_jobs=jobs, random_state=0).fit(t[:400], y[:400])
        for jobs in (1, 2)
    ]
    assert_array_equal(*(one.predict(t[300:400]) for one in models))
    assert models[0].n_chunks_ > 3
    assert rmse(models[0], t[400:], y[400:]) < 0.4
    low, high = models[0].predict_interval(t[400:])
    assert np.mean((low <= y[400:]) & (y[400:] <= high)) > 0.88


def test_a_stream_that_waits_keeps_its_season():
    X, y = sales(260)
    X = X[["date"]]
    model = CommitteeRegressor(random_state=0).fit(X[:160], y[:160])
    model.partial_fit(X[160:180], y[160:180])
    assert model.model_.sum.seasons is not None and has_trend(model.kernel_)
    assert rmse(model, X[180:], y[180:]) < 1.8


@pytest.mark.parametrize("kind", ["noise", "walk"])
def test_series_without_season_stay_as_they_were(kind):
    rng, n = np.random.default_rng(5), 150
    y = rng.normal(size=n)
    X = pd.DataFrame({"date": pd.date_range("2020-01-01", periods=n)})
    model = CommitteeRegressor(random_state=0).fit(X, y.cumsum() if kind == "walk" else y)
    assert model.model_.sum.seasons is None and model.model_.averaged
