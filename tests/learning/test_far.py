"""Kernels that reach across all rows are learnt from rows end to end."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from collegium import CommitteeRegressor
from collegium.kernels import RBF, Group, Linear, Matern32, Periodic, Trend
from collegium.learning import far
from collegium.learning.far import best_of, end_to_end, reaches_far, starts
from collegium.learning.optimise import Learnt, Scales
from collegium.learning.tuning import TUNING


@pytest.mark.parametrize("part", [Periodic(), Linear(), Trend(columns=0), RBF() * Periodic()])
def test_seasons_slopes_and_trends_reach_far(part):
    assert reaches_far(part) and reaches_far(Matern32() + part)
    assert not reaches_far(Matern32(columns=0) * RBF() + Group(1))


def test_rows_end_to_end():
    assert_array_equal(end_to_end(5, 9), np.arange(5))
    some = end_to_end(1000, 40)
    assert some.size == 40 and some[0] == 0 and some[-1] == 999
    assert np.ptp(np.diff(some)) <= 1


def test_starts_are_the_kernel_and_others_within_bounds():
    kernel, rng = RBF(2.0, 0.5) * Periodic(), np.random.default_rng(0)
    prior = Scales(np.array([3.0]), 100).prior(kernel)
    found = starts(kernel, prior, 5, rng)
    assert found[0] is kernel and len(found) == 5
    for other in found[1:]:
        theta = prior.theta(other)
        assert (theta >= prior.low[:-1]).all() and (theta <= prior.high[:-1]).all()
        assert not np.allclose(other.theta, kernel.theta)
        assert other.parts[1].period == 1.0
    line = Trend()
    assert starts(line, Scales(np.array([3.0]), 100).prior(line), 5, rng) == [line]


def test_the_same_optimum_goes_on_once():
    values = [-1.0, -0.5, -0.5 + 1e-5, -0.7]
    tried = [Learnt(RBF(), 0.1, value) for value in values]
    assert [one.value for one in best_of(tried)] == [-0.5, -0.7]


def series(n, seed=0):
    """Six years of a season that changes slowly, on a bent line."""
    rng = np.random.default_rng(seed)
    t = np.linspace(2000.0, 2006.0, n)
    line = 3.0 * (t - 2003) + 0.2 * (t - 2003) ** 2
    season = (1 + 0.05 * (t - 2003)) * (np.sin(2 * np.pi * t) + 0.4 * np.cos(4 * np.pi * t))
    return t[:, None], line + season + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("whole", [2500, 150], ids=["all rows", "some and clusters"])
def test_a_season_on_a_trend_is_forecast(monkeypatch, whole):
    fewer = replace(TUNING.far, few=80, whole=whole, spaced=90, cluster=60)
    monkeypatch.setattr(far, "TUNING", replace(TUNING, far=fewer))
    X, y = series(300)
    kernel = RBF(4.0, 5.0) + RBF(1.0, 10.0) * Periodic()
    model = CommitteeRegressor(kernel, trend="linear", random_state=0).fit(X[:250], y[:250])
    low, high = model.predict_interval(X[250:])
    assert np.sqrt(np.mean((model.predict(X[250:]) - y[250:]) ** 2)) < 0.4
    assert np.mean((low <= y[250:]) & (y[250:] <= high)) > 0.8
