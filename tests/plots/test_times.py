"""Series and streams are drawn as they came and as they were predicted."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from test_plots import band

from collegium import OnlineGPRegressor, plots
from collegium.diagnostics import rolling_figures
from picture_cases import Known, label


class Calendar(Known):
    """Says the day of the month, ± 2."""

    def predict(self, X, interval=None):
        mean = X["day"].dt.day.to_numpy(dtype=float)
        return mean if interval is None else (mean, mean - 2.0, mean + 2.0)


def test_dates_past_and_forecast():
    X = pd.DataFrame({"shop": 1.0, "day": pd.date_range("2024-01-01", periods=20)})
    y = pd.Series(np.arange(20.0), name="sales")
    ax = plots.series(Calendar(), X[:15], y[:15], X[15:], y_future=y[15:] - 3.0)
    past, forecast = label(ax, "past"), label(ax, "forecast")
    assert_array_equal(past.get_xdata(), X["day"][:15].to_numpy().astype("M8[us]"))
    assert_allclose(forecast.get_ydata(), np.arange(16.0, 21.0))
    _, lower, upper = band(ax.collections[0])
    assert_allclose((lower, upper), (np.arange(14.0, 19.0), np.arange(18.0, 23.0)))
    assert "0 of 5 lie in their 95 %" in ax.get_title(loc="left")
    assert "Concise" in type(ax.xaxis.get_major_formatter()).__name__
    assert ax.get_ylabel() == "sales"
    ax = plots.series(Calendar(), X[:15], y[:15], X[15:], last=4)
    assert_array_equal(label(ax, "past").get_ydata(), [11, 12, 13, 14])


def test_rows_in_any_order_are_drawn_in_time(known):
    t = np.array([[2.0], [0.0], [1.0]])
    ax = plots.series(known, t, [2.0, 0.0, 1.0], np.array([[5.0], [4.0]]))
    assert_array_equal(label(ax, "past").get_xdata(), [0, 1, 2])
    assert_array_equal(label(ax, "forecast").get_data(), ([4, 5], [12, 15]))


def test_a_long_past_is_the_range_of_stretches(known):
    n = 1_000_000
    t = np.arange(float(n))[:, None]
    y = np.random.default_rng(0).normal(size=n)
    ax = plots.series(known, t, y, t + n)
    x, lower, upper = band(ax.collections[0])
    assert x.size == 500
    for k in (0, 77, 499):
        own = y[2_000 * k : 2_000 * (k + 1)]
        assert_allclose((lower[k], upper[k]), (own.min(), own.max()))
        assert_allclose(label(ax, "past, mean").get_ydata()[k], own.mean())
    assert all(line.get_xdata().size <= 1_000 for line in ax.lines)


def test_figures_of_a_stream_are_means_over_windows():
    rng = np.random.default_rng(0)
    mean, sd = rng.normal(size=(2, 120))
    sd = np.abs(sd) + 0.5
    y = mean + sd * rng.normal(size=120)
    sd[:10] = np.nan
    above, below = plots.stream((mean, sd), y, window=30, coverage=0.8)
    covered = label(above, "covered")
    z = norm.ppf(0.9)
    for at, share, density in zip(*covered.get_data(), below.lines[0].get_ydata()):
        rows = range(int(at) - 30, int(at))
        assert_allclose(share, 100 * np.mean([abs(y[i] - mean[i]) <= z * sd[i] for i in rows]))
        assert_allclose(density, np.mean([norm.logpdf(y[i], mean[i], sd[i]) for i in rows]))
    assert (covered.get_xdata()[0], covered.get_xdata()[-1]) == (40, 120)
    assert label(above, "promised").get_ydata()[0] == 80


def test_a_stream_of_a_model_and_what_it_keeps():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (300, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=300)
    model = OnlineGPRegressor(random_state=0)
    found = model.progressive(X, y)
    times = pd.Series(pd.date_range("2024-01-01", periods=300, tz="UTC"), name="day")
    above, below = plots.stream(found, y, times=times)
    assert label(above, "covered").get_xdata()[-1] == np.datetime64("2024-10-26")
    again = plots.stream(tuple(found), y)
    assert_allclose(again[1].lines[0].get_ydata(), below.lines[0].get_ydata())
    assert below.get_xlabel() == "day"
    kept = model.stream_.errors[~np.isnan(model.stream_.errors)]
    for one in (model, model.stream_):
        above, _ = plots.stream(one, window=60)
        covered = label(above, "covered")
        assert_allclose(covered.get_ydata()[-1], 100 * np.mean(kept[-60:] <= norm.ppf(0.975)))
        assert covered.get_xdata()[-1] == model.stream_.checked
    longer = replace(model.stream_, checked=9_000)  # of which the last errors were kept
    assert label(plots.stream(longer)[0], "covered").get_xdata()[-1] == 9_000


def test_figures_that_were_computed_before_and_a_million_rows():
    rng = np.random.default_rng(0)
    inside, density = rng.uniform(size=1_000_000) < 0.9, rng.normal(size=1_000_000)
    figures = rolling_figures(inside, density, 0.9)
    above, below = plots.stream(figures)
    assert_allclose(label(above, "covered").get_ydata(), 100 * figures.coverage)
    assert_allclose(below.lines[0].get_ydata(), figures.log_density)
    above, _ = plots.stream((0.0 * density, 1.0 + 0.0 * density), density)
    assert label(above, "covered").get_xdata().size <= 400


def test_what_makes_no_sense_is_refused(known, one_column):
    t = np.arange(4.0)[:, None]
    for change, words in [
        ({"y": [1.0]}, "y has shape"),
        ({"X": np.ones((4, 2))}, "X has 2 columns"),
        ({"X": np.array([["a"]] * 4, dtype=object)}, "must hold numbers or dates"),
        (
            {"future": np.array([["2024-01-01"]], "M8[s]")},
            "its column of times holds dates",
        ),
        ({"y_future": [1.0]}, "y_future has shape"),
        ({"last": 0}, "last=0"),
        ({"coverage": 1}, "coverage=1"),
        ({"column": "t"}, "column='t'"),
    ]:
        given = {"X": t, "y": t[:, 0], "future": t + 4, **change}
        with pytest.raises(ValueError, match=words):
            plots.series(known, given.pop("X"), given.pop("y"), given.pop("future"), **given)
    for arguments, words in [
        ((3,), "found is a int"),
        (((t, t),), "y is None"),
        (((t, t), t[:2]), r"y has shape \(2, 1\)"),
        ((one_column[0],), "keeps no errors"),
    ]:
        with pytest.raises(ValueError, match=words):
            plots.stream(*arguments)
    with pytest.raises(ValueError, match="times has 2 rows"):
        plots.stream((t, t + 1), t, times=[1, 2])
