"""Counts with exposures: scored, routed, and never left out unnoticed."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_validate

from collegium import CommitteeRegressor, kernels
from collegium.metrics import nlpd_scorer

GIVEN = {"kernel": kernels.RBF(1.0, 1.0), "learn": False, "likelihood": "poisson"}
MANY = {"chunks": 20, "anchors": 5, "random_state": 0}


def counted(n=60):
    rng = np.random.default_rng(2)
    X, e = rng.uniform(-2.0, 2.0, size=(n, 1)), rng.uniform(0.5, 40.0, n)
    return X, rng.poisson(e * np.exp(np.sin(2.0 * X[:, 0]))).astype(float), e


def test_counts_are_scored_with_their_exposures():
    X, y, e = counted()
    model = CommitteeRegressor(**GIVEN).fit(X, y, exposure=e)
    w = np.arange(60.0)
    expected = r2_score(y, model.predict(X, exposure=e), sample_weight=w)
    assert model.score(X, y, w, exposure=e) == expected
    with pytest.warns(UserWarning, match="without"):
        assert model.score(X, y) < model.score(X, y, exposure=e) - 0.5
    with pytest.raises(ValueError, match="exposure"):
        CommitteeRegressor(kernels.RBF(), noise=1.0, learn=False).fit(X, y).score(X, y, exposure=e)


def test_exposures_are_routed_to_fits_and_scores():
    X, y, e = counted()
    with sklearn.config_context(enable_metadata_routing=True):
        model = CommitteeRegressor(**GIVEN).set_fit_request(exposure=True)
        model = model.set_score_request(exposure=True)
        found = cross_validate(model, X, y, params={"exposure": e}, cv=3)["test_score"]
        assert (found > 0.5).all()
        scorer = nlpd_scorer.set_score_request(exposure=True)
        found = cross_validate(model, X, y, params={"exposure": e}, cv=3, scoring=scorer)
        assert np.isfinite(found["test_score"]).all()
    plain = CommitteeRegressor(**GIVEN).fit(X, y, exposure=e)
    assert nlpd_scorer(plain, X, y, exposure=e) > -10.0


def test_one_number_is_the_exposure_of_all_rows():
    X, y, _ = counted()
    one, other = CommitteeRegressor(**GIVEN), CommitteeRegressor(**GIVEN)
    one.fit(X, y, exposure=3.0)
    other.fit(X, y, exposure=np.full(60, 3.0))
    assert_array_equal(one.predict(X, exposure=2.0), other.predict(X, exposure=np.full(60, 2.0)))


def test_an_exposure_left_out_is_warned_of():
    X, y, e = counted()
    model = CommitteeRegressor(**GIVEN).fit(X, y, exposure=e)
    for ask in (model.predict, model.predict_interval, model.sample_y):
        with pytest.warns(UserWarning, match="exposure=1.0"):
            found = ask(X)
        assert_array_equal(found, ask(X, exposure=1.0))
    CommitteeRegressor(**GIVEN).fit(X, y).predict(X)  # none was given: nothing to warn of


@pytest.mark.parametrize("sizes", [{}, MANY])
def test_a_stream_keeps_its_exposures(sizes):
    X, y, e = counted()
    model = CommitteeRegressor(**GIVEN, **sizes).partial_fit(X, y, exposure=e)
    before = model.predict(X, exposure=e)
    with pytest.raises(ValueError, match="exposure was given in earlier calls"):
        model.partial_fit(X, y)
    assert_allclose(model.predict(X, exposure=e), before)
    model.partial_fit(X, y, exposure=1.0)
    late = CommitteeRegressor(**GIVEN, **sizes).partial_fit(X, y).partial_fit(X, y, exposure=e)
    with pytest.raises(ValueError, match="exposure was given in earlier calls"):
        late.partial_fit(X, y)
