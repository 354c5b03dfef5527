"""Streams of OnlineGPRegressor whose errors have a varying scale."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

import collegium
from collegium import OnlineGPRegressor, kernels

KERNEL = kernels.RBF(4.0, [1.5, 3.0])


def noise_sd(X):
    return np.exp(1.2 * X[:, 0]) / 10


def uneven(n=900, seed=0):
    """Noise whose standard deviation is e^(1.2 x₁)/10, x₁ between −2 and 2: from .01 to 1.1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    mean = 10.0 + 3.0 * np.sin(X[:, 0] + 0.5 * X[:, 1])
    return X, mean + noise_sd(X) * rng.normal(size=n)


def streamed(X, y, noise, **given):
    model = OnlineGPRegressor(
        KERNEL, noise=noise, budget=30, learn_rows=100, random_state=0, **given
    )
    for start in range(0, len(y), 60):
        model.partial_fit(X[start : start + 60], y[start : start + 60])
    return model


@pytest.fixture(scope="module")
def models():
    return {noise: streamed(*uneven(), noise) for noise in ("constant", "auto")}


def test_error_bars_are_right_everywhere_and_means_stay(models):
    plain, model = models["constant"], models["auto"]
    X, y = uneven(800, seed=1)
    assert_array_equal(model.predict(X), plain.predict(X))
    gain = model.log_density(X, y).mean() - plain.log_density(X, y).mean()
    assert gain > 0.3
    low, high = model.predict_interval(X)
    inside = (low <= y) & (y <= high)
    for side in (X[:, 0] < 0.0, X[:, 0] > 0.0):
        assert 0.9 < inside[side].mean() < 0.99
    wide = high - low
    assert wide[X[:, 0] > 1.0].mean() > 5.0 * wide[X[:, 0] < -1.0].mean()


def test_density_quantiles_and_distribution_agree(models):
    model, X = models["auto"], uneven(5, seed=2)[0]
    low = model.quantile(X, 0.1)
    assert_allclose(model.cdf(X, low), 0.1, rtol=1e-6)
    step = 1e-5
    slope = (model.cdf(X, low + step) - model.cdf(X, low - step)) / (2.0 * step)
    assert_allclose(np.log(slope), model.log_density(X, low), rtol=1e-5)
    function = model.predict(X, return_std=True, level="function")
    assert_array_equal(function, models["constant"].predict(X, return_std=True, level="function"))


def test_rows_are_checked_as_predicted_before_any_of_a_call_is_learnt_from():
    X, y = uneven(460)
    model = OnlineGPRegressor(KERNEL, noise="auto", budget=30, learn_rows=100, random_state=0)
    known = model.partial_fit(X[:400], y[:400]).model_
    own = model.partial_fit(X[400:], y[400:]).model_.checked
    found = known.gp.predict(X[400:])
    assert_allclose(own.rows.y, known.targets.forward(y[400:, None]), rtol=1e-12)
    assert_allclose(own.mean, found.mean, rtol=1e-12)
    variance = found.variance[:, None] + known.gp.likelihood.noise
    assert_allclose(np.exp(2.0 * own.log_sd), variance, rtol=1e-9)


def test_files_and_pickles_answer_alike_and_the_stream_goes_on(models, tmp_path):
    model, X = models["auto"], uneven(6, seed=3)[0]
    model.save(tmp_path / "model.clg")
    for other in (collegium.load(tmp_path / "model.clg"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(other.predict_interval(X), model.predict_interval(X))
        other.partial_fit(*uneven(60, seed=4))


def test_constant_noise_stays_constant():
    rng = np.random.default_rng(5)
    X = rng.uniform(-2.0, 2.0, (700, 2))
    y = 3.0 * np.sin(X[:, 0]) + 0.3 * rng.normal(size=700)
    model = streamed(X, y, "auto")
    mean, std = model.predict(X[:5], return_std=True)
    assert_allclose(model.log_density(X[:5], y[:5]), norm.logpdf(y[:5], mean, std), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_scale_that_fails_is_given_up():
    X, y = uneven()
    model = streamed(X, y, "auto")
    rng = np.random.default_rng(6)
    Xn = rng.uniform(-2.0, 2.0, (120, 2))
    yn = (
        10.0
        + 3.0 * np.sin(Xn[:, 0] + 0.5 * Xn[:, 1])
        + np.exp(-1.2 * Xn[:, 0]) * rng.normal(size=120)
    )
    learnt = model.model_.errors
    assert learnt is not None
    for start in (0, 60):
        model.partial_fit(Xn[start : start + 60], yn[start : start + 60])
    assert model.model_.errors is not learnt


def test_fit_learns_a_scale_and_several_outputs_have_one_each():
    X, y = uneven()
    both = np.column_stack([y, 10.0 - y])
    model = OnlineGPRegressor(KERNEL, noise="auto", budget=30, learn_rows=100, random_state=0)
    model.fit(X, both)
    low, high = model.predict_interval(X)
    wide = (high - low)[X[:, 0] > 1.0].mean(axis=0), (high - low)[X[:, 0] < -1.0].mean(axis=0)
    assert (wide[0] > 4.0 * wide[1]).all()
