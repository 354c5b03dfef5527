"""Predictions of known rows, block by block, are those of the model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.compose import make_column_transformer
from sklearn.linear_model import BayesianRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from collegium import CommitteeRegressor, plots
from collegium.diagnostics import covers, predicted, predicted_rows
from collegium.kernels import RBF

RNG = np.random.default_rng(0)
X = RNG.uniform(-3, 3, size=(120, 2))


@pytest.fixture(scope="module")
def model():
    y = np.sin(X[:, 0]) + 0.2 * RNG.standard_normal(120)
    return CommitteeRegressor(RBF(1.0, 1.5), noise=0.05, learn=False).fit(X[:80], y[:80]), y


def test_blocks_do_not_matter_and_answers_are_those_of_the_model(model, monkeypatch):
    fitted, y = model
    whole = predicted_rows(fitted, X[80:], y[80:])
    monkeypatch.setattr(predicted, "BLOCK", 7)
    parts = predicted_rows(fitted, X[80:], y[80:])
    mean, sd, lower, upper = fitted.predict(X[80:], return_std=True, interval=0.8)
    for found in (whole, parts):
        assert_allclose(found.mean, mean)
        assert_allclose(found.sd, sd)
        assert_allclose(found.log_density, fitted.log_density(X[80:], y[80:]))
        inside = (lower <= y[80:]) & (y[80:] <= upper)
        assert covers(found.pit, 0.8).tolist() == inside.tolist()


def test_counts_are_randomised_between_their_jumps():
    y = RNG.poisson(np.exp(X[:, 0] / 2))
    exposure = RNG.uniform(0.5, 2.0, size=120)
    fitted = CommitteeRegressor(RBF(1.0, 1.5), likelihood="poisson", learn=False)
    fitted.fit(X, y, exposure=exposure)
    found = predicted_rows(fitted, X, y, exposure=exposure)
    upto = fitted.cdf(X, y, exposure=exposure)
    below = np.zeros(120)
    some = y > 0
    below[some] = fitted.cdf(X[some], y[some] - 1, exposure=exposure[some])
    assert ((found.pit >= below - 1e-6) & (found.pit <= upto + 1e-12)).all()
    assert found.pit.std() > 0.2 and (found.pit < upto).mean() > 0.9


def test_other_models_are_taken_as_normal():
    y = X[:, 0] + RNG.standard_normal(120)
    other = BayesianRidge().fit(X, y)
    found = predicted_rows(other, X, y)
    mean, sd = other.predict(X, return_std=True)
    assert_allclose(found.pit, norm.cdf(y, mean, sd))
    assert_allclose(found.log_density, norm.logpdf(y, mean, sd))


def test_a_wrong_number_of_exposures_is_named(model):
    with pytest.raises(ValueError, match=r"exposure has shape \(7,\): give one per row"):
        predicted_rows(model[0], X[80:], model[1][80:], exposure=np.ones(7))


def test_a_pipeline_is_asked_by_the_last_step_of_it():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": X[:, 0], "word": np.where(X[:, 1] > 0, "up", "down")})
    y = np.sin(X[:, 0]) + (X[:, 1] > 0) + 0.1 * RNG.standard_normal(120)
    codes = OneHotEncoder(sparse_output=False)
    columns = make_column_transformer((codes, ["word"]), remainder="passthrough")
    model = CommitteeRegressor(RBF(1.0, 1.5), noise=0.01, learn=False, random_state=0)
    line = make_pipeline(columns, model).fit(frame[:80], y[:80])
    seen = columns.transform(frame[80:])
    found = predicted_rows(line, frame[80:], y[80:])
    assert_allclose(found.pit, line[-1].cdf(seen, y[80:]))
    assert_allclose(found.mean, line.predict(frame[80:]))
    drawn = plots.predictions(line, frame[80:], y[80:], most=10)
    assert drawn.total == 40 and np.isin(drawn.pit, found.pit).all()


def test_other_models_may_be_asked_about_words():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"word": np.where(X[:, 1] > 0, "up", "down")})
    y = (X[:, 1] > 0) + 0.1 * RNG.standard_normal(120)
    line = make_pipeline(OneHotEncoder(sparse_output=False), BayesianRidge()).fit(frame, y)

    class Wrapped:  # of a library that takes frames itself
        def predict(self, X, return_std):
            return line.predict(X, return_std=return_std)

    found = predicted_rows(Wrapped(), frame, y)
    mean, sd = line.predict(frame, return_std=True)
    assert_allclose(found.pit, norm.cdf(y, mean, sd))
    assert_allclose(predicted_rows(line, frame, y).pit, norm.cdf(y, mean, sd))
