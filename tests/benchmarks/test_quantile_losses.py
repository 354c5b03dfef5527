"""Pinball loss and CRPS of forecasts: closed forms against integrals, quantiles against normals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm, t

from benchmarks.harness import quantiles
from benchmarks.harness.forecast import Forecast
from benchmarks.harness.quantiles import LEVELS, NODES
from benchmarks.peers.regression import quantiles_common
from benchmarks.tasks.regression import scores, student
from benchmarks.tasks.regression.render import table
from collegium import metrics

ROWS = [(0.3, -0.4, 0.8), (-6.0, 1.0, 1.7), (2.0, 2.0, 0.05)]
NU = 3.0


def slow_pinball(y, q, p):
    return p * (y - q) if y > q else (1 - p) * (q - y)


def integral(y, own):
    """2 ∫₀¹ pinball_p(y, q(p)) dp, adaptively, by x = q(p) on both sides of y."""

    def loss(x):
        return 2 * slow_pinball(y, x, own.cdf(x)) * own.pdf(x)

    return sum(quad(loss, *ends, epsabs=1e-11)[0] for ends in ((-np.inf, y), (y, np.inf)))


@pytest.fixture
def forecast():
    rng = np.random.default_rng(4)
    mean, std = rng.normal(size=300), rng.uniform(0.1, 3.0, 300)
    return mean + 1.4 * std * rng.normal(size=300), mean, std


@pytest.mark.parametrize(("y", "mean", "std"), ROWS)
def test_the_crps_of_a_normal_is_twice_the_integral_of_the_pinball_loss(y, mean, std):
    found = Forecast.normal(*(np.array([one]) for one in (y, mean, std)))
    assert_allclose(found.crps, integral(y, norm(mean, std)), rtol=1e-6)
    slow = [slow_pinball(y, norm.ppf(p, mean, std), p) for p in np.arange(0.05, 0.96, 0.05)]
    assert_allclose(found.pinball, np.mean(slow), rtol=1e-12)


@pytest.mark.parametrize(("y", "mean", "scale"), ROWS)
def test_the_crps_of_a_t_by_its_quantiles(y, mean, scale):
    """Right to 2e-3 of its scale."""
    Q = t.ppf(NODES, NU, mean, scale)[None]
    found = quantiles.crps(np.array([y]), Q)
    exact = integral(y, t(NU, mean, scale))
    assert_allclose(found, exact, atol=2e-3 * scale)


def test_pinball_is_the_public_one(forecast):
    y, mean, std = forecast
    Q = norm.ppf(LEVELS, mean[:, None], std[:, None])
    assert_allclose(quantiles.mean_pinball(y, Q).mean(), metrics.pinball(y, Q, LEVELS), rtol=1e-12)
    assert_allclose(LEVELS, [k / 20 for k in range(1, 20)])


def test_quantiles_between_levels_are_linear_and_beyond_them_constant():
    rng = np.random.default_rng(0)
    levels, at = np.array([0.1, 0.25, 0.7, 0.9]), np.array([0.01, 0.1, 0.2, 0.69, 0.9, 0.99])
    Q = np.sort(rng.normal(size=(7, 4)), axis=1)
    slow = [np.interp(at, levels, row) for row in Q]
    assert_allclose(quantiles.interpolated(levels, Q, at), slow, rtol=1e-12)


def test_many_quantiles_of_a_normal_are_scored_as_the_normal(forecast):
    y, mean, std = forecast
    levels = np.arange(1, 2_000) / 2_000
    Q = norm.ppf(levels, mean[:, None], std[:, None])
    found, exact = Forecast.of_quantiles(y, mean, levels, Q), Forecast.normal(y, mean, std)
    assert_allclose(found.pinball, exact.pinball, rtol=1e-9)
    assert_allclose(found.crps, exact.crps, rtol=0.01, atol=2e-3)
    assert_allclose(found.lower, exact.lower, rtol=1e-9)
    assert_allclose(found.upper, exact.upper, rtol=1e-9)
    assert_allclose(found.probability, exact.probability, atol=0.02)
    row = scores.scores(y, found)
    assert "NLPD" not in row and "NLPD" in scores.scores(y, exact)
    assert_allclose(row["median_z"], scores.scores(y, exact)["median_z"], rtol=0.05)


def test_a_target_beyond_all_quantiles_has_probability_zero_or_one():
    Q = np.array([[0.0, 1.0], [0.0, 1.0]])
    found = Forecast.of_quantiles(np.array([-5.0, 5.0]), np.zeros(2), np.array([0.1, 0.9]), Q)
    assert_allclose(found.probability, [0.0, 1.0], atol=1e-12)
    assert (found.probability <= 1.0).all()


def test_mean_and_spread_of_quantiles(forecast):
    _, mean, std = forecast
    Q = norm.ppf(quantiles_common.ASKED, mean[:, None], std[:, None])
    found, spread = quantiles_common.moments(Q)
    assert_allclose(found, mean, atol=1e-12)  # symmetric
    assert_allclose(spread, np.maximum(std, 0.01 * std.mean()), rtol=0.01)
    Q[0] = 7.0  # all quantiles coincide
    found, spread = quantiles_common.moments(Q)
    assert found[0] == pytest.approx(7.0) and spread[0] == pytest.approx(0.01 * std.mean(), rel=0.1)


def test_the_density_of_a_t_is_that_of_its_rows(forecast):
    y, mean, std = forecast
    found = student.log_density(y, mean, std, 1.3, 4.0)
    assert_allclose(found, t.logpdf((y - mean) / (1.3 * std), 4.0) - np.log(1.3 * std), rtol=1e-9)
    assert student.nlpd(y, mean, std, 1.3, 4.0) == pytest.approx(-found.mean())


def test_methods_without_a_density_are_sorted_by_their_t():
    common = {
        "RMSE": 0.5, "pinball": 0.0612, "CRPS": 0.1234, "coverage": 0.95, "interval": 2.0,
        "fit_cpu_s": 1.0, "predict_cpu_s": 0.5, "fit_wall_s": 1.0, "predict_wall_s": 0.6,
        "peak_gb": 0.4, "baseline_gb": 0.2, "n_train": 900, "n_available": 900,
    }  # fmt: skip
    results = {
        "collegium": common | {"NLPD": 0.6},
        "LightGBM": common | {"NLPD": 0.2, "NLPD_t": 0.1},
        "quantile forest": common | {"NLPD_t": 0.4},
        "LightGBM quantiles": common,
    }
    lines = table(results).splitlines()[2:]
    assert [line.split(" | ")[0].strip("| ") for line in lines] == [
        "LightGBM", "quantile forest", "**collegium**", "LightGBM quantiles",
    ]  # fmt: skip
    assert "| – | 0.400 | 0.0612 | 0.1234 |" in lines[1]
