"""Estimators of the user: accepted, weighed and copied in one place."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from collegium.members.estimators import fitted_copy, is_estimator, weight_argument
from collegium.members.own import check_member_weights, train
from collegium.rows.rows import Rows

NESTED = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), LinearRegression()))


def test_weights_reach_a_regressor_at_the_end_of_pipelines():
    rng = np.random.default_rng(3)
    X, y, w = rng.normal(size=(40, 2)), rng.normal(size=40), rng.integers(1, 5, 40).astype(float)
    A = np.column_stack([np.ones(40), X])
    beta = np.linalg.solve(A.T @ (w[:, None] * A), A.T @ (w * y))  # weighted least squares
    member = train(NESTED, Rows(X, y[:, None], w))
    assert_allclose(member(X), A @ beta, rtol=1e-9, atol=1e-9)
    plain = train(NESTED, Rows(X, y[:, None], np.full(40, 2.5)))
    assert_allclose(plain(X), A @ np.linalg.lstsq(A, y, rcond=None)[0], rtol=1e-9, atol=1e-9)
    assert not hasattr(NESTED[-1][-1], "coef_")  # a copy was fitted


def test_weights_are_refused_where_the_last_step_takes_none():
    knn = make_pipeline(StandardScaler(), KNeighborsRegressor())
    assert weight_argument(knn) is None and weight_argument(KNeighborsRegressor()) is None
    assert weight_argument(NESTED) == "pipeline__linearregression__sample_weight"
    with pytest.raises(ValueError, match="takes no sample_weight"):
        check_member_weights(knn, np.array([1.0, 2.0]))
    check_member_weights(knn, np.array([2.0, 2.0]))
    check_member_weights(NESTED, np.array([1.0, 2.0]))
    check_member_weights("trees", np.array([1.0, 2.0]))


def test_a_class_is_no_estimator():
    assert is_estimator(LinearRegression()) and not is_estimator(LinearRegression)
    assert not is_estimator("trees") and not is_estimator(None) and not is_estimator(np.ones(3))


def test_a_copy_without_weights_is_a_plain_fit():
    X, y = np.arange(6.0)[:, None], np.arange(6.0) ** 2
    assert_allclose(fitted_copy(LinearRegression(), X, y).coef_, [5.0])
