"""skpro and sktime: the distribution is the model's own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("skpro")
pd = pytest.importorskip("pandas")

from skpro.utils.estimator_checks import check_estimator  # noqa: E402

import collegium.skpro  # noqa: E402
from collegium import CommitteeRegressor, kernels  # noqa: E402


def given(noise=0.05):
    return CommitteeRegressor(kernels.Matern32(1.5, 0.6), noise=noise, learn=False, random_state=0)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"a": rng.uniform(-2, 2, 90)}, index=np.arange(90) + 7)
    return X, pd.DataFrame({"y": np.sin(2 * X["a"]) + 0.2 * rng.normal(size=90)})


@pytest.mark.parametrize("name", ["CommitteeProba", "Predicted"])
def test_the_checks_of_skpro_pass(name):
    found = check_estimator(getattr(collegium.skpro, name), raise_exceptions=True, verbose=False)
    assert len(found) > 50 and set(found.values()) == {"PASSED"}


def test_distributions_are_those_of_the_model(table):
    X, y = table
    model = collegium.skpro.CommitteeProba(given()).fit(X[:60], y[:60])
    own = given().fit(X[:60], y["y"][:60])
    found, new, seen = model.predict_proba(X[60:]), X[60:], y[60:]
    assert_array_equal(found.mean()["y"], own.predict(new))
    assert_array_equal(found.log_pdf(seen)["y"], own.log_density(new, seen["y"]))
    assert_array_equal(found.cdf(seen)["y"], own.cdf(new, seen["y"]))
    lower, upper = own.predict_interval(new, 0.8)
    each = model.predict_interval(new, coverage=0.8)
    assert_allclose(each, np.stack([lower, upper], axis=1), rtol=1e-12)
    levels = np.random.default_rng(1).uniform(0.01, 0.99, (30, 1))  # each row another: bisection
    slow = [own.quantile(new[i : i + 1], levels[i])[0] for i in range(30)]
    assert_allclose(found.ppf(levels)["y"], np.ravel(slow), rtol=1e-9)
    assert_array_equal(found.iloc[3:5].mean()["y"], found.mean()["y"][3:5])


def test_quantiles_of_the_outermost_tails(table):
    """Levels below 1e-9 too; what is no probability has no quantile."""
    X, y = table
    model = collegium.skpro.CommitteeProba(given()).fit(X, y)
    found = model.predict_proba(X[:40])
    levels = np.concatenate([np.geomspace(1e-14, 1e-8, 20), 1.0 - np.geomspace(1e-14, 1e-8, 20)])
    slow = [model.estimator_.quantile(X[i : i + 1], levels[i])[0] for i in range(40)]
    assert_allclose(found.ppf(levels[:, None])["y"], np.ravel(slow), rtol=1e-3)
    for given_levels in (np.linspace(-0.2, 1.2, 40), np.full(40, np.nan)):
        ends = found.ppf(given_levels[:, None])["y"]
        assert (ends.isna() == ~((given_levels >= 0.0) & (given_levels <= 1.0))).all()


def test_counts_are_whole(table):
    """Quantiles and draws are counts, which have probabilities and no density."""
    X = table[0]
    y = np.random.default_rng(0).poisson(np.exp(0.5 * X["a"]))
    own = CommitteeRegressor(likelihood="poisson", random_state=0)
    model = collegium.skpro.CommitteeProba(own).fit(X, pd.DataFrame({"n": y}, index=X.index))
    found, levels = model.predict_proba(X[:40]), np.linspace(0.001, 0.999, 40)
    slow = [model.estimator_.quantile(X[i : i + 1], levels[i])[0] for i in range(40)]
    assert_array_equal(found.ppf(levels[:, None])["n"], np.ravel(slow))
    drawn = found.sample()["n"]
    assert (drawn == drawn.round()).all() and drawn.max() > 1
    each = [found.pmf(np.full((40, 1), float(k)))["n"] for k in range(60)]
    assert_allclose(np.sum(each, axis=0), 1.0, atol=1e-4)
    assert_array_equal(found.pdf(np.ones((40, 1))), 0.0)


def test_update_is_partial_fit(table):
    X, y = table
    model = collegium.skpro.CommitteeProba(given()).fit(X[:60], y[:60]).update(X[60:], y[60:])
    own = given().fit(X[:60], y["y"][:60]).partial_fit(X[60:], y["y"][60:])
    assert_array_equal(model.predict(X)["y"], own.predict(X))


def test_sktime_forecasts_with_it(table):
    compose = pytest.importorskip("sktime.forecasting.compose")
    X, y = table
    series = y["y"].set_axis(pd.RangeIndex(90))
    drivers = X.set_axis(pd.RangeIndex(90))
    forecaster = compose.YfromX(collegium.skpro.CommitteeProba(given()))
    forecaster.fit(series[:80], X=drivers[:80], fh=np.arange(1, 11))
    own = given().fit(drivers[:80], series[:80])
    assert_allclose(forecaster.predict(X=drivers[80:]), own.predict(drivers[80:]), rtol=1e-12)
    ends = forecaster.predict_interval(X=drivers[80:], coverage=0.8)
    assert_allclose(ends, np.stack(own.predict_interval(drivers[80:], 0.8), 1), rtol=1e-9)


def test_a_missing_library_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "skpro.regression.base", None)
    monkeypatch.delitem(vars(collegium.skpro), "CommitteeProba", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'collegium\[skpro\]'"):
        collegium.skpro.CommitteeProba  # noqa: B018
