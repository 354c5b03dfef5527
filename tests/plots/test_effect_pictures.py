"""Effects and importances are drawn as they were computed."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from test_plots import band

from collegium import CommitteeRegressor, plots
from collegium.explain.effects import Effect, effect, effect2
from picture_cases import label

Z = np.array([0.0, 1.0, 3.0])


def made(grid=Z, kind="partial", missing=None, column="size (m)"):
    n = len(grid)
    mean, sd = np.arange(n) - 1.0, 0.1 * np.arange(1.0, n + 1)
    return Effect(column, kind, grid, mean, sd, np.ones(n) / n, 5.0, 10, True, missing=missing)


def test_curves_have_the_bars_of_the_posterior():
    ax = plots.effect([made(), made(kind="accumulated")])
    for drawn, level in zip(ax.collections, (0.0, 5.0)):  # accumulated from the mean answer on
        x, lower, upper = band(drawn)
        assert_array_equal(x, Z)
        half = 1.96 * np.array([0.1, 0.2, 0.3])
        assert_allclose(lower, level + np.array([-1, 0, 1]) - half)
        assert_allclose(upper - lower, 2 * half)
    partial, accumulated = label(ax, "all rows"), label(ax, "rows near")
    assert_allclose(partial.get_ydata(), [-1, 0, 1])
    assert_allclose(accumulated.get_ydata(), [4, 5, 6])
    assert partial.get_linestyle() != accumulated.get_linestyle()
    assert ax.get_xlabel() == "size (m)"


def test_levels_are_named_with_their_shares():
    grid = np.array(["b", "a", None], dtype=object)
    ax = plots.effect(made(grid))
    names = [one.get_text() for one in ax.get_xticklabels()]
    assert names == ["missing\n33.3 %", "a\n33.3 %", "b\n33.3 %"]
    at, mean = ax.lines[0].get_data()
    assert_allclose(dict(zip(np.round(at), mean))[2.0], -1.0)  # b was the first


def test_dates_are_on_the_axis_and_missing_values_beside_it():
    grid = np.array(["2024-01-01", "2024-02-01", "2024-06-01"], "M8[us]")
    ax = plots.effect(made(grid, missing=(7.0, 0.5, 0.25), column="day"))
    assert "Concise" in type(ax.xaxis.get_major_formatter()).__name__
    assert_array_equal(ax.lines[0].get_xdata(), grid)
    point = label(ax, "missing (25 %")
    assert_allclose(point.lines[0].get_ydata(orig=False), [7.0])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"town": rng.choice(["a", "b"], 60), "age": rng.uniform(0, 3, 60)})
    X.loc[:5, "age"] = np.nan
    y = np.where(X["town"] == "a", 0.0, 1.0) + np.sin(X["age"].fillna(1.0))
    return CommitteeRegressor(random_state=0).fit(X, y), X


def test_a_model_is_asked_and_rows_are_ticks(table):
    model, X = table
    ax = plots.effect(model, X, "age", grid=4, n_rows=20)
    for kind, own in (("partial", "all rows"), ("accumulated", "rows near")):
        found = effect(model, X, "age", kind, grid=4, n_rows=20)
        base = found.base if kind == "accumulated" else 0.0
        assert_allclose(label(ax, own).get_ydata(), found.mean + base)
    (ticks,) = [line for line in ax.lines if line.get_marker() == "|" and line.get_xdata().size > 9]
    assert_allclose(ticks.get_xdata(), np.sort(X["age"].dropna()))
    ax = plots.effect(model, X, "town", kinds="partial", n_rows=20)
    assert [one.get_text()[0] for one in ax.get_xticklabels()] == ["a", "b"]


def test_ticks_of_many_rows_are_few():
    X = np.c_[np.random.default_rng(0).normal(size=1_000_000), np.zeros(1_000_000)]
    ax = plots.effects.new_axes(None)
    plots.effects._draw_rows(ax, X, "x0")
    assert ax.lines[0].get_xdata().size <= 200


def test_two_columns_are_a_mean_and_its_deviation(table):
    model, X = table
    found = effect2(model, X, ("age", "town"), grid=3, n_rows=10)
    mean, deviation = plots.effect2(found)
    for ax, wanted in ((mean, found.mean), (deviation, found.sd)):
        assert_allclose(ax.collections[0].get_array().reshape(wanted.T.shape), wanted.T)
    assert [one.get_text() for one in mean.get_yticklabels()] == ["a", "b"]
    again, _ = plots.effect2(model, X, ("age", "town"), grid=3, n_rows=10)
    assert_allclose(again.collections[0].get_array(), mean.collections[0].get_array())


def test_bars_are_shares_the_largest_first():
    shares = {f"c{k}": 0.01 * k for k in range(1, 14)}
    ax = plots.importance(shares, most=5)
    widths = [bar.get_width() for bar in ax.patches]
    assert_allclose(widths, [13, 12, 11, 10, 9, 36])
    names = [one.get_text() for one in ax.get_yticklabels()]
    assert names == ["c13", "c12", "c11", "c10", "c9", "8 others"]
    assert ax.patches[-1].get_hatch()


def test_shares_are_those_of_the_model(table):
    model, _ = table
    ax = plots.importance(model)
    found = {one.get_text(): bar.get_width() for one, bar in zip(ax.get_yticklabels(), ax.patches)}
    assert_allclose([found["town"], found["age"]], 100 * model.feature_importances_)


def test_what_makes_no_sense_is_refused(table):
    model, X = table
    for draw, arguments, words in [
        (plots.effect, (model, X), "give X and column"),
        (plots.effect, (model, X, "size"), "column='size'"),
        (
            plots.effect,
            (
                model,
                X,
                "age",
            ),
            "kinds=",
        ),
        (plots.effect, ([made(), made(column="b")],), "one column"),
        (plots.effect2, (made(),), "of one column"),
        (plots.effect2, (model, X), "give X and columns"),
        (plots.importance, ({},), "no columns"),
    ]:
        with pytest.raises(ValueError, match=words):
            draw(*arguments, **({"kinds": ("all",)} if words == "kinds=" else {}))
