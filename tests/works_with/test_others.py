"""river, MAPIE and skore, with little or no code of ours."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import collegium.mapie
from collegium import CommitteeRegressor, OnlineGPClassifier, OnlineGPRegressor, kernels


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, (260, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=260)


def given():
    return CommitteeRegressor(kernels.Matern32(1.5, 0.8), noise=0.05, learn=False, random_state=0)


def test_river_learns_row_by_row(rows):
    compat = pytest.importorskip("river.compat")
    X, y = rows
    X, y = X[:60], y[:60]
    mine = OnlineGPRegressor(random_state=0)
    theirs = compat.convert_sklearn_to_river(OnlineGPRegressor(random_state=0))
    for x, value in zip(X, y):
        mine.partial_fit(x[None], [value])
        theirs.learn_one({"a": x[0], "b": x[1]}, value)
    found = [theirs.predict_one({"a": x[0], "b": x[1]}) for x in X[:5]]
    assert_allclose(found, mine.predict(X[:5]), rtol=1e-12)


def test_river_learns_many(rows):
    compat, pd = pytest.importorskip("river.compat"), pytest.importorskip("pandas")
    X, y = rows
    table = pd.DataFrame(X, columns=["a", "b"])
    model = compat.convert_sklearn_to_river(
        OnlineGPClassifier(random_state=0), classes=[False, True]
    )
    model.learn_many(table[:200], pd.Series(y[:200] > 0))
    own = OnlineGPClassifier(random_state=0)
    own.partial_fit(table[:200], y[:200] > 0, classes=[False, True])
    assert_array_equal(model.predict_many(table[200:]), own.predict(table[200:]))


def test_mapie_widens_standard_deviations(rows):
    regression = pytest.importorskip("mapie.regression")
    X, y = rows
    own = given().fit(X[:100], y[:100])
    score = collegium.mapie.StdConformityScore(own)
    split = regression.SplitConformalRegressor(
        own, confidence_level=0.8, conformity_score=score, prefit=True
    ).conformalize(X[100:180], y[100:180])
    mean, ends = split.predict_interval(X[180:])
    assert_array_equal(mean, own.predict(X[180:]))
    mean, std = own.predict(X[100:180], return_std=True)
    q = np.sort(np.abs(y[100:180] - mean) / std)[int(np.ceil(0.8 * 81)) - 1]
    mean, std = own.predict(X[180:], return_std=True)
    assert_allclose(ends[:, :, 0], np.stack([mean - q * std, mean + q * std], 1), rtol=1e-9)


def test_skore_reports_on_a_model(rows):
    skore = pytest.importorskip("skore")
    X, y = rows
    report = skore.EstimatorReport(
        given(), X_train=X[:200], y_train=y[:200], X_test=X[200:], y_test=y[200:]
    )
    own = given().fit(X[:200], y[:200])
    found = report.metrics.rmse(data_source="test")
    assert_allclose(found, np.sqrt(np.mean((own.predict(X[200:]) - y[200:]) ** 2)), rtol=1e-12)
