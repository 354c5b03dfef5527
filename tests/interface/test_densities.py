"""log_density, cdf and quantile of every regressor agree with each other."""

import numpy as np
import pytest

from collegium import (
    CommitteeRegressor,
    OnlineGPRegressor,
    RegressionFilter,
    RVCRegressor,
    SparseGPRegressor,
)

LEVELS = np.array([0.03, 0.3, 0.5, 0.9])


def table(n=150, counts=False):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (n, 1))
    f = np.sin(2 * X[:, 0])
    y = rng.poisson(np.exp(1 + f)) if counts else 3 + 2 * f + 0.5 * rng.normal(size=n)
    return X, y.astype(float)


MODELS = {
    "committee": lambda: CommitteeRegressor(random_state=0),
    "sparse": lambda: SparseGPRegressor(random_state=0),
    "online": lambda: OnlineGPRegressor(random_state=0),
    "filter": lambda: RegressionFilter(random_state=0),
    "rvc": lambda: RVCRegressor(random_state=0),
    "student-t": lambda: CommitteeRegressor(likelihood="student-t", random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_density_is_the_slope_of_cdf_and_quantile_its_inverse(name):
    X, y = table()
    model = MODELS[name]().fit(X, y)
    ask = X[:20]
    ends = model.quantile(ask, LEVELS)
    assert ends.shape == (20, 4)
    for level, end in zip(LEVELS, ends.T):
        assert np.allclose(model.cdf(ask, end), level, atol=1e-6)
        h = 1e-4
        slope = (model.cdf(ask, end + h) - model.cdf(ask, end - h)) / (2 * h)
        assert np.allclose(np.exp(model.log_density(ask, end)), slope, rtol=1e-5)
    lower, upper = model.predict_interval(ask, 0.8)
    ends = np.stack([lower, upper], axis=1)
    assert np.allclose(model.quantile(ask, [0.1, 0.9]), ends, rtol=1e-12)
    assert model.quantile(ask, 0.5).shape == (20,)


def test_counts_are_probabilities_with_and_without_exposure():
    X, y = table(counts=True)
    model = CommitteeRegressor(likelihood="poisson", random_state=0).fit(X, y)
    for e in (1.0, 2.5):
        counts = np.arange(200.0)
        ask = np.repeat(X[:1], counts.size, axis=0)
        p = np.exp(model.log_density(ask, counts, exposure=e))
        assert np.isclose(p.sum(), 1.0, atol=1e-6)
        assert np.allclose(np.cumsum(p), model.cdf(ask, counts, exposure=e), atol=1e-6)
        mean = model.predict(X[:1], exposure=e)[0]
        assert np.isclose(p @ counts, mean, rtol=1e-4)


def test_waiting_times_have_a_density_and_its_integral():
    X, y = table()
    rng = np.random.default_rng(1)
    model = CommitteeRegressor(likelihood="exponential", random_state=0)
    model.fit(X, np.exp(0.5 * y - 1) * rng.exponential(size=y.size) + 1e-3)
    end = model.quantile(X[:20], 0.4)
    assert np.allclose(model.cdf(X[:20], end), 0.4, atol=1e-6)
    h = 1e-4
    slope = (model.cdf(X[:20], end * (1 + h)) - model.cdf(X[:20], end * (1 - h))) / (2 * h * end)
    assert np.allclose(np.exp(model.log_density(X[:20], end)), slope, rtol=1e-5)


def test_several_outputs_and_bad_targets():
    X, y = table()
    model = CommitteeRegressor(random_state=0).fit(X, np.column_stack([y, -y]))
    both = model.log_density(X, np.column_stack([y, -y]))
    assert both.shape == (150, 2) and np.allclose(both[:, 0], both[:, 1])
    assert model.quantile(X, [0.1, 0.5, 0.9]).shape == (150, 2, 3)
    with pytest.raises(ValueError, match="y has shape"):
        model.log_density(X, y)
    with pytest.raises(ValueError, match="NaN"):
        model.cdf(X[:1], [[np.nan, 0.0]])
    for q in (0.0, 1.5, "median", [[0.5]]):
        with pytest.raises(ValueError, match="q="):
            model.quantile(X, q)
