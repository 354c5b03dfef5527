"""Seasons and trends are found where there are some, and only there."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium.kernels import Season, Trend
from collegium.learning.seasons.periods import periods_of, spectral_periods
from collegium.learning.seasons.residuals import without_terms
from collegium.learning.seasons.search import (
    FoundSeasons,
    Search,
    clearly_less,
    find_seasons,
    period_words,
)
from collegium.learning.seasons.series import Series, is_regular, other_features
from collegium.rows.rows import Rows

DAY = 86_400.0


def rows_of(t, y, *others):
    X = np.column_stack([t, *others])
    return Rows(X, np.reshape(y, (len(t), -1)).astype(float), np.ones(len(t)))


def weekly(n, rng, slope=0.02):
    """Days of some weeks: a line, a week of several harmonics, weather."""
    k = np.arange(n)
    week = np.array([0.0, 1.0, 1.2, 1.1, 0.9, -2.0, -2.5])[k % 7]
    weather = np.convolve(rng.normal(size=n + 9), np.ones(10) / 4, "valid")
    return DAY * k, slope * k + week + weather


def test_a_week_and_a_line_of_dates_are_found_in_any_order():
    rng = np.random.default_rng(0)
    t, y = weekly(200, rng)
    order = rng.permutation(200)
    found = find_seasons(rows_of(t[order], y[order]), 0, dates=True)
    assert found.degree == 1 and [p for p, _ in found.seasons] == [7 * DAY]
    assert found.after < 0.6 * found.before
    assert found.words().startswith("season of 7 days and a trend, found on held-out future rows")
    assert found == find_seasons(rows_of(t, y), 0, dates=True)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dates", [True, False])
def test_nothing_is_found_in_a_random_walk_or_in_noise(seed, dates):
    rng, t = np.random.default_rng(seed), DAY * np.arange(500.0)
    assert find_seasons(rows_of(t, rng.normal(size=500).cumsum()), 0, dates=dates) is None
    assert find_seasons(rows_of(t, rng.normal(size=500)), 0, dates=dates) is None


def test_a_period_of_numbers_is_found_in_the_data():
    rng, t = np.random.default_rng(1), 0.25 * np.arange(600)
    angle = 2 * np.pi * t / 8.3
    y = np.sin(angle) + 0.8 * np.cos(2 * angle) + 0.5 * rng.normal(size=600)
    found = find_seasons(rows_of(t, y), 0, dates=False)
    assert found.degree == 0 and len(found.seasons) == 1
    assert abs(found.seasons[0][0] / 8.3 - 1.0) < 2e-3
    assert found.words().startswith("season of 8.")


def test_a_peak_of_a_harmonic_leads_to_its_period():
    rng, t = np.random.default_rng(2), np.arange(500.0)
    y = np.cos(2 * np.pi * 2 * t / 24) + 0.1 * np.cos(2 * np.pi * t / 24)
    series = Series.of(rows_of(t, y + 0.3 * rng.normal(size=500)), 0)
    found = spectral_periods(series)
    assert found[0] == 12.0 and 24.0 in found


@pytest.mark.parametrize("step", [1.0, 0.125, 3600.0])
def test_a_period_is_rounded_whatever_the_unit_of_time(step):
    """Hours, days of eight steps or seconds: the same series has the same period in steps."""
    rng, k = np.random.default_rng(3), np.arange(300)
    y = 2.0 * np.sin(2 * np.pi * k / 24) + 0.4 * rng.normal(size=300)
    found = spectral_periods(Series.of(rows_of(1.7e9 + step * k, y), 0))
    assert_allclose(found[0] / step, 24.0, rtol=1e-12)


def test_a_year_of_weeks_is_no_whole_number_of_weeks():
    rng, t = np.random.default_rng(4), 7.0 * np.arange(500)
    y = 2.0 * np.sin(2 * np.pi * t / 365.2425) + 0.2 * rng.normal(size=500)
    assert abs(spectral_periods(Series.of(rows_of(t, y), 0))[0] - 365.2425) < 0.8


def test_periods_of_the_calendar_are_shown_several_times():
    def days(n, step):
        return periods_of(Series.of(rows_of(step * DAY * np.arange(n), np.ones(n)), 0), dates=True)

    assert days(100, 1.0 / 24) == [DAY]
    assert days(100, 1.0) == [7 * DAY]
    assert days(60, 30.4) == [365.2425 * DAY]
    assert days(20, 1.0 / 24) == []


def test_growth_by_a_factor_is_seen_in_logs():
    rng, k = np.random.default_rng(3), np.arange(132)
    log = 4.0 + 0.012 * k + 0.2 * np.sin(2 * np.pi * k / 12) + 0.03 * rng.normal(size=132)
    rows = rows_of(30.436875 * DAY * k, np.exp(log))
    found = find_seasons(rows, 0, dates=True)
    assert found.log and found.degree == 1 and found.seasons[0][0] == 365.2425 * DAY
    assert " of log y," in found.words()
    assert not find_seasons(rows, 0, dates=True, logs=(False,)).log
    assert not find_seasons(rows_of(rows.X[:, 0], log), 0, dates=True).log


def test_a_gain_of_forecasts_is_one_on_average_beyond_chance():
    before = np.array([1.0, 1.2, 0.9, 1.1])
    assert clearly_less(before, before * [0.8, 0.7, 0.75, 0.9])
    assert not clearly_less(before, before * [0.97, 0.96, 0.95, 0.97])  # too little
    assert not clearly_less(before, before * [0.3, 1.1, 1.1, 1.1])  # by one block alone
    assert not clearly_less(before, before * 1.5)


def test_densities_of_logs_are_compared_in_the_units_of_y():
    """log p(y) = log p(z) − log |dy/dz| for z = (log y − centre)/scale, by differences."""
    y = np.exp(np.random.default_rng(9).normal(1.0, 0.3, size=(90, 1)))
    series = Series.of(rows_of(np.arange(90.0), np.log(y)), 0)
    search, step = Search.of(series, y, [], log=True), 1e-6
    z = (np.log(y) - search.centre) / search.scale
    up, down = (np.exp(search.centre + search.scale * (z + s * step)) for s in (1, -1))
    assert_allclose(search.jacobian(), np.log((up - down) / (2 * step)).sum(), rtol=1e-6)


def test_what_other_columns_explain_is_no_season():
    rng = np.random.default_rng(4)
    t, n = DAY * np.arange(300), 300
    weekday, heat = np.arange(n) % 7, rng.normal(size=n).cumsum() / 5
    y = np.array([0.0, 1.0, 1.2, 1.1, 0.9, -2.0, -2.5])[weekday] + heat + 0.3 * rng.normal(size=n)
    assert find_seasons(rows_of(t, y, weekday, heat), 0, [1], dates=True) is None
    assert find_seasons(rows_of(t, y, heat), 0, dates=True).seasons[0][0] == 7 * DAY


def test_a_trend_may_bend():
    rng, t = np.random.default_rng(5), np.arange(300.0)
    y = (t / 100) ** 2 + 0.1 * rng.normal(size=300)
    found = find_seasons(rows_of(t, y), 0, dates=False, logs=(False,))
    assert found.degree == 2 and not found.seasons
    assert found.words().startswith("a trend that bends, found")


def test_regular_numbers_are_times_and_others_are_not():
    rng = np.random.default_rng(6)
    t = 1958.2 + 0.01917 * np.delete(np.arange(300), rng.choice(298, 40) + 1)
    assert is_regular(t) and is_regular(rng.permutation(t))
    assert not is_regular(rng.uniform(size=300))
    assert not is_regular(np.repeat(np.arange(100.0), 3))
    assert not is_regular(np.arange(20.0)) and not is_regular(np.ones(300))


def test_equal_times_are_averaged_by_weight():
    rows = Rows(
        np.array([[2.0], [1.0], [2.0]]), np.array([[6.0], [1.0], [0.0]]), np.array([1.0, 1, 2])
    )
    series = Series.of(rows, 0)
    assert_array_equal(series.t, [1.0, 2.0])
    assert_allclose(series.y[:, 0], [1.0, 2.0])


def test_features_of_other_columns():
    X = np.array([[0.0, 5.0, 7.0], [1.0, 6.0, 7.0], [2.0, 5.0, 7.0]])
    assert_array_equal(other_features(X, 0)[:, 0], [0.0, 1.0, 0.0])
    assert other_features(X, 0).shape == (3, 1)
    assert other_features(X[:, :1], 0).shape == (3, 0)


def test_terms_are_subtracted_beside_other_columns():
    rng, n = np.random.default_rng(7), 400
    t, x = np.arange(n) / 10.0, rng.normal(size=n)
    X = np.column_stack([t, x])
    season, line = Season(50.0, 3.0, 2, columns=0), Trend(50.0, 10.0, 20.0, columns=0)
    rest = 0.8 * x + 0.05 * rng.normal(size=n)
    y = 2.0 * np.sin(2 * np.pi * t / 3.0) + 0.3 * t + rest
    found = without_terms(Rows(X, y[:, None], np.ones(n)), season + line, 0)
    assert_allclose(found.y[:, 0] - found.y.mean(), rest - rest.mean(), atol=0.05)


@pytest.mark.parametrize(
    "seconds, words",
    [(DAY, "1 day"), (7 * DAY, "7 days"), (365.2425 * DAY, "1 year"), (1.5, "1.5 s")],
)
def test_periods_in_words(seconds, words):
    assert period_words(seconds, dates=True).startswith(words)
    assert period_words(8.25, dates=False) == "8.25"
    assert FoundSeasons(0, 1, (), False, False, 2.0, 1.0).words().endswith("RMSE 2 -> 1")


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_any_finite_numbers_are_searched(size):
    rng, t = np.random.default_rng(8), np.arange(100.0)
    for y in (np.zeros(100), np.full(100, 3.0), size * np.sin(t), size * rng.normal(size=100)):
        found = find_seasons(rows_of(t, y), 0, dates=False)
        assert found is None or np.isfinite([found.before, found.after]).all()
