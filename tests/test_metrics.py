"""Scores of predictive distributions against slow code, their theorems, and scikit-learn."""

import inspect
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import kstest, norm
from scipy.stats import t as student
from sklearn import clone, config_context
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import BayesianRidge
from sklearn.metrics import check_scoring, mean_pinball_loss
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from collegium.metrics import (
    PredictiveScorer,
    calibration_error,
    coverage,
    coverage_scorer,
    crps,
    crps_scorer,
    interval_score,
    interval_score_scorer,
    nlpd,
    nlpd_scorer,
    pinball,
    pit,
)

SCORERS = {
    "nlpd": nlpd_scorer,
    "crps": crps_scorer,
    "coverage": coverage_scorer,
    "interval_score": interval_score_scorer,
}
DENSITY = [nlpd, crps, calibration_error]  # (y, mean, std)
INTERVAL = [coverage, interval_score]  # (y, lower, upper)
NUMBER = st.floats(-50, 50)


@pytest.fixture
def forecast():
    """Observations, means and standard deviations, (17, 3): outputs of unlike scale and bias."""
    rng = np.random.default_rng(3)
    scale = np.array([0.3, 1.0, 20.0])
    mean = scale * rng.normal(size=(17, 3))
    std = scale * rng.uniform(0.2, 2.0, size=(17, 3))
    return mean + std * rng.normal([0.0, 0.4, -0.9], 1.3, size=(17, 3)), mean, std


@pytest.fixture
def rows():
    rng = np.random.default_rng(5)
    X = rng.uniform(-3, 3, size=(60, 1))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=60)


def gp(length_scale=0.7, noise=0.05):
    return GaussianProcessRegressor(
        RBF(length_scale, "fixed") + WhiteKernel(noise, "fixed"), normalize_y=False
    )


class Heavy(BayesianRidge):
    """The mean of a ridge and errors of t_ν about it, with scales that grow along the first input;
    two outputs are y and −2y. An exposure multiplies all."""

    nu = 2.5

    def fit(self, X, y):
        self.n_outputs_ = np.ndim(y)
        return super().fit(X, np.reshape(y, (len(X), -1))[:, 0])

    def margins(self, X, exposure=1.0):
        mean, scale = super().predict(X), 0.1 * np.exp(0.3 * np.asarray(X)[:, 0])
        factors = np.array([1.0, -2.0])[: self.n_outputs_] * exposure
        found = mean[:, None] * factors, scale[:, None] * np.abs(factors)
        return found if self.n_outputs_ == 2 else (found[0][:, 0], found[1][:, 0])

    def log_density(self, X, y, *, exposure=1.0):
        return student.logpdf(y, self.nu, *self.margins(X, exposure))

    def quantile(self, X, q, *, exposure=1.0):
        mean, scale = self.margins(X, exposure)
        return np.moveaxis([student.ppf(p, self.nu, mean, scale) for p in q], 0, -1)


def arguments(metric, forecast):
    y, mean, std = forecast
    return (y, mean - std, mean + 2 * std) if metric in INTERVAL else forecast


# --- the formulas ---------------------------------------------------------------------------------


def test_nlpd_is_minus_the_mean_log_density(forecast):
    y, mean, std = forecast
    expected = -norm.logpdf(y, mean, std).mean(axis=0)
    assert_allclose(nlpd(*forecast, multioutput="raw_values"), expected, rtol=1e-12)


@pytest.mark.parametrize(("y", "mean", "std"), [(0.3, -0.4, 0.8), (-6.0, 1.0, 1.7), (2.0, 2.0, 5)])
def test_crps_is_the_integral_of_the_squared_distance_of_distributions(y, mean, std):
    below, _ = quad(lambda x: norm.cdf(x, mean, std) ** 2, -np.inf, y, epsabs=1e-11)
    above, _ = quad(lambda x: norm.sf(x, mean, std) ** 2, y, np.inf, epsabs=1e-11)
    assert_allclose(crps([y], [mean], [std]), below + above, rtol=1e-8)


def test_interval_score_is_the_slow_loop(forecast):
    y, lower, upper = arguments(interval_score, forecast)
    total = 0.0
    for yi, li, ui in zip(y.ravel(), lower.ravel(), upper.ravel()):
        total += ui - li
        if yi < li:
            total += 2 / 0.2 * (li - yi)
        if yi > ui:
            total += 2 / 0.2 * (yi - ui)
    assert (y < lower).any() and (y > upper).any()
    assert_allclose(interval_score(y, lower, upper, coverage=0.8), total / y.size, rtol=1e-12)


LEVELS = np.array([0.03, 0.5, 0.85])


def quantiles(forecast, levels=LEVELS):
    """Quantiles (17, 3, k) of the normals."""
    _, mean, std = forecast
    return mean[..., None] + std[..., None] * norm.ppf(levels)


def test_pinball_is_that_of_each_level_averaged(forecast):
    y, Q, weight = forecast[0], quantiles(forecast), np.arange(17.0)
    given = {"sample_weight": weight, "multioutput": "raw_values"}
    each = [mean_pinball_loss(y, Q[..., k], alpha=p, **given) for k, p in enumerate(LEVELS)]
    assert_allclose(pinball(y, Q, LEVELS, **given), np.mean(each, axis=0), rtol=1e-12)
    assert_allclose(pinball(y, Q[..., 2], 0.85, **given), each[2], rtol=1e-12)
    assert_allclose(pinball(y, Q, LEVELS, sample_weight=weight), np.mean(each), rtol=1e-12)
    one = pinball(y[:, 1], Q[:, 1], LEVELS, sample_weight=weight)
    assert_allclose(one, np.mean(each, axis=0)[1], rtol=1e-12)


def test_twice_the_integral_of_pinball_over_levels_is_the_crps(forecast):
    """By the midpoint rule in 4,000 levels; it misses a little of the tails."""
    levels = (np.arange(4_000) + 0.5) / 4_000
    y, mean, std = forecast
    given = {"multioutput": "raw_values"}
    found = 2 * pinball(y, quantiles(forecast, levels), levels, **given)
    assert_allclose(found, crps(y, mean, std, **given), rtol=1e-4)


def test_the_quantile_minimises_the_expected_pinball_loss():
    y = norm.ppf((np.arange(4000) + 0.5) / 4000, 0.5, 1.5)
    for p in LEVELS:
        best = norm.ppf(p, 0.5, 1.5)
        losses = [pinball(y, np.full(4000, best + step), p) for step in (-0.1, 0.0, 0.1)]
        assert losses[1] < min(losses[0], losses[2]) - 1e-5


def test_bad_quantiles_and_levels_are_named():
    y, Q = [0.5, 0.5], [[0.0, 1.0, 2.0]] * 2
    for bad in (Q[0], 1.0, [[0.0, 1.0], [2.0]], [[0.0, np.nan, 2.0]] * 2, [["a"] * 3] * 2, Q * 2):
        with pytest.raises(ValueError, match="y_quantile"):
            pinball(y, bad, LEVELS)
    for bad in ([0.5], Q, [np.inf, 1.0]):
        with pytest.raises(ValueError, match="y_quantile"):
            pinball(y, bad, 0.5)
    for q in (0.0, 1.0, np.nan, [], [0.5, 1.2], [[0.5]], "median"):
        with pytest.raises(ValueError, match="^q must"):
            pinball(y, y, q)
    with pytest.raises(ValueError, match="y_true"):
        pinball([np.nan, 1.0], Q, LEVELS)
    with pytest.raises(ValueError, match="sample_weight"):
        pinball(y, Q, LEVELS, sample_weight=[1.0])


def test_coverage_counts_the_ends_as_inside():
    y, lower, upper = [0.0, 1.0, 2.0, 3.0, 4.0], [0.0] * 5, [1.0, 1.0, 1.0, 3.0, 9.0]
    assert coverage(y, lower, upper) == 4 / 5


def test_calibration_error_is_the_slow_loop(forecast):
    u, total = norm.cdf((forecast[0] - forecast[1]) / forecast[2]), np.zeros(3)
    for k in range(1, 100):
        for j in range(3):
            total[j] += abs(sum(u[:, j] <= k / 100) / len(u) - k / 100) / 99
    assert_allclose(calibration_error(*forecast, multioutput="raw_values"), total, rtol=1e-12)


@settings(max_examples=50, deadline=None)
@given(NUMBER, NUMBER, st.floats(1e-3, 50), st.floats(1e-3, 1e3))
def test_scores_follow_the_units_of_y(y, mean, std, unit):
    scaled = [unit * y], [unit * mean], [unit * std]
    assert_allclose(crps(*scaled), unit * crps([y], [mean], [std]), rtol=1e-9)
    assert_allclose(nlpd(*scaled), np.log(unit) + nlpd([y], [mean], [std]), rtol=1e-9, atol=1e-9)


# --- theorems -------------------------------------------------------------------------------------


def expected_score(score, mean, std):
    """E score(y, ·) for y ~ N(0.5, 1.5²), by the midpoint rule in the quantile of y."""
    y = norm.ppf((np.arange(4000) + 0.5) / 4000, 0.5, 1.5)
    return score(y, np.full(4000, mean), np.full(4000, std))


def central_score(y, mean, std):
    z = norm.ppf(0.9)
    return interval_score(y, mean - z * std, mean + z * std, coverage=0.8)


@pytest.mark.parametrize("score", [nlpd, crps, central_score])
def test_the_truth_minimises_the_expected_score(score):
    truth = expected_score(score, 0.5, 1.5)
    for mean, std in [(0.6, 1.5), (0.4, 1.5), (0.5, 1.6), (0.5, 1.4), (0.5, 0.1), (3.0, 4.0)]:
        assert expected_score(score, mean, std) > truth + 1e-4


def test_crps_and_nlpd_of_the_truth_are_its_spread_and_entropy():
    assert_allclose(expected_score(crps, 0.5, 1.5), 1.5 / np.sqrt(np.pi), rtol=1e-3)
    assert_allclose(expected_score(nlpd, 0.5, 1.5), norm(0.5, 1.5).entropy(), rtol=1e-3)


def test_pit_is_uniform_if_and_only_if_calibrated():
    rng = np.random.default_rng(11)
    mean, std = rng.normal(size=5000), rng.uniform(0.1, 3, size=5000)
    y = rng.normal(mean, std)
    assert kstest(pit(y, mean, std), "uniform").pvalue > 0.05
    assert kstest(pit(y, mean + 0.1 * std, std), "uniform").pvalue < 1e-3
    assert kstest(pit(y, mean, 1.3 * std), "uniform").pvalue < 1e-3
    assert calibration_error(y, mean, std) < 0.01 < calibration_error(y, mean, 1.3 * std)


def test_pit_has_the_shape_of_y_and_the_sign_of_the_error():
    assert_allclose(pit([[1.0], [-1.0]], [0.0, 0.0], [2.0, 2.0]), norm.cdf([[0.5], [-0.5]]))
    assert pit([1.0], [0.0], [1.0]).shape == (1,)


def test_calibration_error_of_calibrated_rows_is_as_small_as_documented():
    rng = np.random.default_rng(2)
    y = rng.normal(size=(100, 2000))
    errors = calibration_error(y, 0 * y, 0 * y + 1, multioutput="raw_values")
    assert_allclose(errors.mean(), 0.313 / np.sqrt(100), rtol=0.03)


# --- degenerate forecasts -------------------------------------------------------------------------


@pytest.fixture
def no_warning():
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        yield


@pytest.mark.usefixtures("no_warning")
def test_zero_std_is_a_point_forecast():
    point = [3.0, 3.0], [3.0, 1.0], [0.0, 0.0]
    assert nlpd([3.0], [3.0], [0.0]) == -np.inf
    assert nlpd([3.0], [1.0], [0.0]) == np.inf
    assert nlpd(*point) == np.inf
    assert nlpd(*point, sample_weight=[1, 0]) == -np.inf
    assert nlpd([[3.0, 3.0]], [[3.0, 1.0]], [[0.0, 0.0]]) == np.inf
    assert crps(*point) == 1.0
    assert_array_equal(pit([3.0, 3.0, 3.0], [3.0, 1.0, 4.0], [0.0] * 3), [0.5, 1.0, 0.0])
    assert coverage([3.0, 3.0], [3.0, 1.0], [3.0, 1.0]) == 0.5
    assert_allclose(interval_score([3.0, 3.0], [3.0, 1.0], [3.0, 1.0], coverage=0.5), 4.0)


@pytest.mark.usefixtures("no_warning")
@pytest.mark.parametrize(
    ("std", "density", "ranked"),
    [
        (5e-324, np.inf, 4.0),
        (1e-200, np.inf, 4.0),
        (1e200, np.log(1e200 * np.sqrt(2 * np.pi)), (np.sqrt(2) - 1) / np.sqrt(np.pi) * 1e200),
    ],
)
def test_extreme_std_gives_no_nan(std, density, ranked):
    assert_allclose(nlpd([3.0], [-1.0], [std]), density, rtol=1e-12)
    assert_allclose(crps([3.0], [-1.0], [std]), ranked, rtol=1e-12)


@pytest.mark.usefixtures("no_warning")
def test_an_interval_may_be_one_sided():
    y, lower, upper = [0.0, 5.0], [-np.inf, -np.inf], [1.0, 1.0]
    assert coverage(y, lower, upper) == 0.5
    assert interval_score(y, lower, upper) == np.inf
    with pytest.raises(ValueError, match="lower has NaN or infinite"):
        coverage(y, [np.inf, 0.0], [np.inf, 1.0])


# --- weights and outputs --------------------------------------------------------------------------


@pytest.mark.parametrize("metric", DENSITY + INTERVAL)
def test_weight_is_repetition(metric, forecast):
    weight = np.arange(17) % 4
    arrays = arguments(metric, forecast)
    repeated = [np.repeat(a, weight, axis=0) for a in arrays]
    assert metric(*repeated) != pytest.approx(metric(*arrays), rel=1e-3)
    assert_allclose(metric(*arrays, sample_weight=weight), metric(*repeated), rtol=1e-12)
    assert_allclose(metric(*arrays, sample_weight=0.1 * weight), metric(*repeated), rtol=1e-12)


@pytest.mark.parametrize("metric", DENSITY + INTERVAL)
def test_outputs_are_scored_apart(metric, forecast):
    arrays = arguments(metric, forecast)
    raw = metric(*arrays, multioutput="raw_values")
    assert_allclose(raw, [metric(*(a[:, j] for a in arrays)) for j in range(3)], rtol=1e-12)
    assert isinstance(metric(*arrays), float)
    assert_allclose(metric(*arrays), raw.mean(), rtol=1e-12)


@pytest.mark.parametrize("metric", DENSITY + INTERVAL)
def test_one_column_is_a_vector(metric, forecast):
    y, a, b = (array[:, 1] for array in arguments(metric, forecast))
    assert metric(y[:, None], a, b) == metric(y, a, b)
    assert metric(list(y), list(a), list(b)) == metric(y, a, b)


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [*DENSITY, *INTERVAL, pit])
def test_bad_arrays_are_named(metric):
    names = list(inspect.signature(metric).parameters)[:3]
    for i, name in enumerate(names):
        for bad in ([np.nan, 1.0], ["a", "b"], [], [[[1.0]], [[1.0]]], None):
            arrays = [[0.5, 0.5], [0.0, 0.0], [1.0, 1.0]]
            arrays[i] = bad
            with pytest.raises(ValueError, match=name):
                metric(*arrays)
    for short in names[1:]:
        arrays = {name: [0.5, 0.5] for name in names} | {short: [0.5]}
        with pytest.raises(ValueError, match=short):
            metric(**arrays)
    for shape in [(0,), (0, 2), (2, 1, 1)]:
        with pytest.raises(ValueError, match="y_true has shape"):
            metric(*np.ones((3, *shape)))
    with pytest.raises(ValueError, match=names[1]):  # no broadcasting of (n,) over (n, p)
        metric(np.zeros((2, 2)), np.zeros(2), np.zeros(2))


@pytest.mark.parametrize("metric", [*DENSITY, pit])
def test_negative_std_and_infinity_are_refused(metric):
    with pytest.raises(ValueError, match="y_std has negative"):
        metric([0.0, 1.0], [0.0, 1.0], [1.0, -1e-9])
    with pytest.raises(ValueError, match="y_mean has NaN or infinite"):
        metric([0.0, 1.0], [0.0, np.inf], [1.0, 1.0])


@pytest.mark.parametrize("metric", INTERVAL)
def test_crossed_ends_are_refused(metric):
    with pytest.raises(ValueError, match="lower is greater than upper"):
        metric([0.0, 1.0], [0.0, 2.0], [1.0, 1.5])


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 95, np.nan])
def test_nominal_coverage_lies_between_0_and_1(level, rows):
    with pytest.raises(ValueError, match="coverage must be"):
        interval_score([0.0], [0.0], [1.0], coverage=level)
    for scorer in (coverage_scorer, interval_score_scorer):
        for model in (gp(), Heavy()):
            with pytest.raises(ValueError, match="coverage must be"):
                replace(scorer, coverage=level)(model.fit(*rows), *rows)


@pytest.mark.parametrize("metric", DENSITY + INTERVAL)
def test_bad_options_are_named(metric):
    arrays = [0.5, 0.5], [0.0, 0.0], [1.0, 1.0]
    for weight in ([1.0], [1.0, -1.0], [0.0, 0.0], [1.0, np.inf], [[1.0, 1.0]]):
        with pytest.raises(ValueError, match="sample_weight"):
            metric(*arrays, sample_weight=weight)
    for multioutput in ("mean", None, np.ones(2)):
        with pytest.raises(ValueError, match="multioutput"):
            metric(*arrays, multioutput=multioutput)


# --- scorers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [gp(), BayesianRidge(), make_pipeline(StandardScaler(), gp())])
def test_scorers_are_minus_the_losses_of_the_predictive_distribution(model, rows):
    X, y = rows
    weight = np.arange(60) % 3
    mean, std = model.fit(X[:40], y[:40]).predict(X, return_std=True)
    scores = {name: scorer(model, X, y, sample_weight=weight) for name, scorer in SCORERS.items()}
    lower, upper = norm.interval(0.95, mean, std)
    share = coverage(y, lower, upper, sample_weight=weight)
    assert_allclose(scores["nlpd"], -nlpd(y, mean, std, sample_weight=weight), rtol=1e-12)
    assert_allclose(scores["crps"], -crps(y, mean, std, sample_weight=weight), rtol=1e-12)
    assert_allclose(scores["coverage"], -abs(share - 0.95), rtol=1e-9)
    assert_allclose(
        scores["interval_score"], -interval_score(y, lower, upper, sample_weight=weight), rtol=1e-9
    )
    assert all(type(score) is float for score in scores.values())


def two(y):
    return np.column_stack([y, -2.0 * y + 0.3])


@pytest.mark.parametrize("outputs", [lambda y: y, two], ids=["one output", "two"])
def test_scorers_use_the_density_and_the_quantiles_of_a_model(rows, outputs):
    X, y = rows[0], outputs(rows[1])
    weight, model = np.arange(60) % 3, Heavy().fit(X[:40], y[:40])
    mean, scale = model.margins(X, 1.7)
    given = {"sample_weight": weight, "exposure": 1.7}
    scores = {name: scorer(model, X, y, **given) for name, scorer in SCORERS.items()}
    density = np.average(student.logpdf(y, Heavy.nu, mean, scale), axis=0, weights=weight)
    assert_allclose(scores["nlpd"], density.mean(), rtol=1e-12)
    lower, upper = student.interval(0.95, Heavy.nu, mean, scale)
    share = coverage(y, lower, upper, sample_weight=weight, multioutput="raw_values")
    assert_allclose(scores["coverage"], -np.abs(share - 0.95).mean(), rtol=1e-9)
    ends = interval_score(y, lower, upper, sample_weight=weight)
    assert_allclose(scores["interval_score"], -ends, rtol=1e-9)
    # E|Y − y| − ½E|Y − Y'| by midpoints of probability
    u = student.ppf((np.arange(2000) + 0.5) / 2000, Heavy.nu)
    spread = np.abs(np.subtract.outer(u, u)).mean() / 2
    far = np.abs(((y - mean) / scale)[..., None] - u).mean(axis=-1)
    ranked = np.average(scale * (far - spread), axis=0, weights=weight).mean()
    assert_allclose(scores["crps"], -ranked, rtol=2e-3)
    assert all(type(score) is float for score in scores.values())


@pytest.mark.parametrize("z", [0.0, 0.013, -0.6, 1.9, -4.0, 30.0])
def test_crps_by_quantiles_is_the_closed_form_of_a_normal(z):
    class Normal(Heavy):
        def quantile(self, X, q):
            return norm.ppf(q, 1.0, 0.7)[None]

    score = crps_scorer(Normal(), [[0.0]], [1.0 + 0.7 * z])
    assert_allclose(-score, crps([1.0 + 0.7 * z], [1.0], [0.7]), rtol=1e-3)


@pytest.mark.parametrize("scorer", SCORERS.values(), ids=SCORERS)
def test_searches_and_pipelines_are_scored_by_the_density_of_what_is_in_them(scorer, rows):
    X, y = rows
    scaled = StandardScaler().fit(X)
    expected = scorer(Heavy().fit(scaled.transform(X), y), scaled.transform(X), y)
    pipeline = make_pipeline(StandardScaler(), Heavy()).fit(X, y)
    assert_allclose(scorer(pipeline, X, y), expected, rtol=1e-12)
    assert_allclose(scorer(make_pipeline(pipeline[-1]), scaled.transform(X), y), expected)
    search = GridSearchCV(pipeline, {"heavy__tol": [1e-3]}, cv=3, scoring=scorer)
    assert_allclose(search.fit(X, y).score(X, y), expected, rtol=1e-12)


def test_coverage_scorer_takes_another_level_and_outputs_do_not_cancel(rows):
    X, y = rows
    Y = np.column_stack([np.zeros(60), 100 * y])  # the first is always covered, the second never
    model = gp().fit(X, np.zeros((60, 2)))
    scorer = replace(coverage_scorer, coverage=0.5)
    assert_allclose(scorer(model, X, Y), -0.5, atol=0.02)


@pytest.mark.parametrize("scorer", SCORERS.values(), ids=SCORERS)
def test_cross_val_score_is_the_slow_loop(scorer, rows):
    X, y = rows
    assert check_scoring(gp(), scoring=scorer) is scorer
    scores = cross_val_score(gp(), X, y, cv=KFold(3), scoring=scorer, error_score="raise")
    for score, (train, test) in zip(scores, KFold(3).split(X)):
        assert_allclose(score, scorer(gp().fit(X[train], y[train]), X[test], y[test]), rtol=1e-12)


@pytest.mark.parametrize("scorer", SCORERS.values(), ids=SCORERS)
def test_grid_search_prefers_the_true_noise(scorer, rows):
    grid = {"kernel": [gp(noise=noise).kernel for noise in (4.0, 0.04, 1e-6)]}
    search = GridSearchCV(gp(), grid, cv=3, scoring=scorer, error_score="raise").fit(*rows)
    assert search.best_index_ == 1
    assert search.score(*rows) == scorer(search.best_estimator_, *rows)
    assert clone(search).scoring == scorer


def test_several_scorers_at_once_and_nested_cross_validation(rows):
    grid = {"kernel": [gp(noise=noise).kernel for noise in (4.0, 0.04)]}
    search = GridSearchCV(gp(), grid, cv=3, scoring=SCORERS, refit="nlpd", error_score="raise")
    outer = cross_validate(search, *rows, cv=2, scoring=SCORERS, error_score="raise")
    alone = cross_val_score(gp(noise=0.04), *rows, cv=2, scoring=crps_scorer)
    assert_allclose(outer["test_crps"], alone, rtol=1e-12)


def test_searches_weigh_the_scores(rows):
    X, y = rows
    weight = np.arange(60) % 3 + 0.5
    folds = list(KFold(3).split(X))
    models = [BayesianRidge().fit(X[i], y[i], sample_weight=weight[i]) for i, _ in folds]
    expected = [
        crps_scorer(model, X[j], y[j], sample_weight=weight[j])
        for model, (_, j) in zip(models, folds)
    ]
    plain = [crps_scorer(model, X[j], y[j]) for model, (_, j) in zip(models, folds)]
    assert abs(np.mean(expected) - np.mean(plain)) > 1e-4
    with config_context(enable_metadata_routing=True):
        model = BayesianRidge().set_fit_request(sample_weight=True)
        options = {"cv": KFold(3), "params": {"sample_weight": weight}}
        scorer = crps_scorer.set_score_request(sample_weight=True)
        assert_allclose(cross_val_score(model, X, y, scoring=scorer, **options), expected)
        scorer = crps_scorer.set_score_request(sample_weight=False)
        assert_allclose(cross_val_score(model, X, y, scoring=scorer, **options), plain)
        with pytest.raises(UnsetMetadataPassedError, match="set_score_request"):
            cross_val_score(model, X, y, scoring=crps_scorer, **options)


def test_several_scorers_take_weights_without_routing(rows):
    X, y = rows
    weight = np.arange(60) % 3 + 0.5
    search = GridSearchCV(BayesianRidge(), {"tol": [1e-3]}, cv=3, scoring=SCORERS, refit=False)
    search.set_params(error_score="raise").fit(X, y, sample_weight=weight)
    assert np.isfinite(search.cv_results_["mean_test_nlpd"]).all()


@pytest.mark.parametrize("scorer", SCORERS.values(), ids=SCORERS)
def test_scorers_survive_pickling(scorer, rows):
    copy = pickle.loads(pickle.dumps(scorer))
    model = gp().fit(*rows)
    assert isinstance(copy, PredictiveScorer) and copy == scorer
    assert copy(model, *rows) == scorer(model, *rows)


def test_scorers_name_what_an_estimator_returned_wrong(rows):
    class Broken(BayesianRidge):
        def predict(self, X, return_std=False):
            return np.zeros(len(X)), np.full(len(X), -1.0)

    for scorer in SCORERS.values():
        with pytest.raises(ValueError, match="y_std has negative"):
            scorer(Broken(), *rows)
