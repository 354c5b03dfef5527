"""Errors and intervals are drawn as they are."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium import CommitteeRegressor, plots
from collegium.plots import Predictions
from picture_cases import label


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    mean = rng.uniform(0, 10, n)
    y = mean + (0.1 + 0.1 * mean) * rng.standard_t(4, n)
    half = 0.2 + 0.2 * mean
    return Predictions(y, mean, mean - half, mean + 2.0 * half, 0.9, n, "height (m)")


def running(found, count):
    """Slowly: statistics of errors and of ends in `count` parts of the rows by prediction."""
    order = sorted(range(found.y.size), key=lambda i: found.mean[i])
    size, more = divmod(len(order), count)
    table, start = [], 0
    for k in range(count):
        part = order[start : start + size + (k < more)]
        start += len(part)
        error = [found.y[i] - found.mean[i] for i in part]
        low = [found.lower[i] - found.mean[i] for i in part]
        high = [found.upper[i] - found.mean[i] for i in part]
        middle = float(np.median([found.mean[i] for i in part]))
        real = np.quantile(error, [0.05, 0.5, 0.95])
        table.append([middle, np.median(low), np.median(high), real[0], real[2], real[1]])
    return np.array(table)


def test_running_lines_are_medians_and_quantiles_of_parts():
    found = rows(430)
    ax = plots.residuals(found)
    wanted = running(found, 4)
    dots, *lines = ax.lines
    assert_array_equal(np.column_stack(dots.get_data()), np.c_[found.mean, found.y - found.mean])
    for line, column in zip(lines, wanted.T[1:]):
        assert_allclose(line.get_xdata(), wanted[:, 0])
        assert_allclose(line.get_ydata(), column)
    assert label(ax, "promised").get_ydata()[0] < 0
    assert label(ax, "real").get_linestyle() == "--"  # tells it apart in grey
    share = np.mean((found.lower <= found.y) & (found.y <= found.upper))
    assert f"{100 * share:.1f} % of 430 rows are in their\n90 %" in ax.get_title(loc="left")
    assert ax.get_xlabel() == "predicted height (m)"


def test_many_rows_are_hexagons_that_count_them_all():
    found = rows(20_000)
    ax = plots.residuals(found)
    (hexagons,) = ax.collections
    beyond = int(ax.texts[0].get_text().split()[0].replace(",", "")) if ax.texts else 0
    assert hexagons.get_array().sum() + beyond == 20_000
    assert beyond < 0.01 * 20_000
    assert len(ax.lines) == 6


def test_intervals_are_sorted_and_misses_marked():
    found = rows(60)
    ax = plots.intervals(found)
    order = np.argsort(found.mean)
    (bars,) = ax.collections
    drawn = np.array(bars.get_segments())
    assert_allclose(drawn[:, 0], np.c_[np.arange(60), found.lower[order]])
    assert_allclose(drawn[:, 1], np.c_[np.arange(60), found.upper[order]])
    hit = {
        (i, found.y[j])
        for i, j in enumerate(order)
        if found.lower[j] <= found.y[j] <= found.upper[j]
    }
    miss = {(i, found.y[j]) for i, j in enumerate(order)} - hit
    assert 0 < len(miss) < 60
    assert set(zip(*label(ax, "truth").get_data())) == hit
    assert set(zip(*label(ax, "missed").get_data())) == miss
    assert label(ax, "missed").get_marker() == "x"


def test_of_many_rows_some_are_drawn_and_the_title_tells_of_all():
    found = rows(1_000)
    ax = plots.intervals(found, shown=30)
    drawn = label(ax, "prediction").get_ydata()
    ranked = np.sort(found.mean)
    assert_array_equal(drawn, [ranked[int((k + 0.5) * 1_000 / 30)] for k in range(30)])
    assert f"{100 * found.covered:.1f} % of 1,000 rows" in ax.get_title(loc="left")
    low, high = ax.get_ylim()
    assert (
        low <= label(ax, "truth").get_ydata().min() and high >= label(ax, "truth").get_ydata().max()
    )


def test_a_model_is_asked_about_its_rows():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"town": rng.choice(["a", "b"], 80), "t": rng.uniform(0, 3, 80)})
    y = pd.Series(
        np.where(X["town"] == "a", 1.0, 2.0) + X["t"] + 0.1 * rng.normal(size=80), name="price"
    )
    model = CommitteeRegressor(random_state=0).fit(X[:40], y[:40])
    mean, lower, upper = model.predict(X[40:], interval=0.8)
    found = plots.predictions(model, X[40:], y[40:], coverage=0.8)
    assert_allclose((found.mean, found.lower, found.upper), (mean, lower, upper))
    assert_allclose(found.pit, model.cdf(X[40:], y[40:]))
    assert (found.name, found.total, found.coverage) == ("price", 40, 0.8)
    once = plots.intervals(model, X[40:], y[40:], coverage=0.8)
    twice = plots.intervals(found)
    assert_array_equal(
        label(once, "prediction").get_ydata(), label(twice, "prediction").get_ydata()
    )
    some = plots.predictions(model, X[40:], y[40:], most=7)
    assert_array_equal(some.y, y[40:].to_numpy()[np.linspace(0, 39, 7).astype(int)])


@pytest.mark.parametrize("draw", [plots.residuals, plots.intervals])
def test_a_million_rows_are_few_artists(draw, known):
    n = 1_000_000
    X = np.linspace(0.0, 1.0, n)[:, None]
    y = 3.0 * X[:, 0] + np.sin(np.arange(n))
    for ax in (draw(known, X, y), draw(Predictions(y, 3.0 * X[:, 0], y - 1, y + 1, 0.95, n))):
        assert len(ax.get_children()) < 40
        assert all(np.size(line.get_xdata()) <= 10_000 for line in ax.lines)
    assert "10,000 rows (of 1,000,000)" in draw(known, X, y).get_title(loc="left").replace(
        "\n", " "
    )


@pytest.mark.parametrize("draw", [plots.residuals, plots.intervals])
def test_what_makes_no_sense_is_refused(draw, known, one_column):
    model, X, y = one_column
    for arguments, words in [
        ((model,), "give X and y"),
        ((model, X, y[:-1]), "X has 60 rows and y has 59"),
        ((model, X, np.c_[y, y]), "y has 2 columns"),
        ((rows(50), X, y), "predictions alone"),
        (("model", X, y), "model='model'"),
    ]:
        with pytest.raises(ValueError, match=words):
            draw(*arguments)
    with pytest.raises(ValueError, match="coverage=95"):
        draw(model, X, y, coverage=95)
    with pytest.raises(ValueError, match="most=0"):
        draw(model, X, y, most=0)
    with pytest.raises(ValueError, match="ax='here'"):
        draw(rows(50), ax="here")
    with pytest.raises(ValueError, match="lower has shape"):
        Predictions(y, y, y[:3], y)
