"""Committees of any regressors as estimators: parameters, storage, refusals, conventions."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from members_cases import NOISE, Plane, committee, gp, queries, rows
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import ARDRegression, BayesianRidge, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from collegium.combining.regressor import CommitteeOf

Q = queries()


def test_members_are_clones_known_by_name():
    X, y = rows()
    given = [("first", gp()), ("second", "drop"), ("third", BayesianRidge())]
    model = CommitteeOf(given, random_state=0).fit(X, y)
    assert len(model.estimators_) == len(model.chunks_) == 2
    assert model.named_estimators_.first is model.estimators_[0]
    assert model.named_estimators_["second"] == "drop"
    assert not hasattr(given[0][1], "X_train_")
    assert_array_equal(model.named_estimators_.first.X_train_, X[model.chunks_[0]])


def test_parameters_of_members_are_reached_by_name():
    model = committee(gp(), make_pipeline(StandardScaler(), gp()))
    params = model.get_params()
    assert params["a__alpha"] == NOISE and params["a__kernel__k1__constant_value"] == 1.7
    model.set_params(a__alpha=0.5, b__gaussianprocessregressor__alpha=0.6, query_size=9)
    assert model.estimators[0][1].alpha == 0.5
    assert model.get_params()["b__gaussianprocessregressor__alpha"] == 0.6
    model.set_params(b="drop")
    X, y = rows()
    assert len(model.fit(X, y).estimators_) == 1
    replaced = clone(model).set_params(b=BayesianRidge())
    assert isinstance(replaced.fit(X, y).estimators_[1], BayesianRidge)
    assert "a__alpha" not in model.get_params(deep=False)


def test_a_grid_search_may_choose_among_members():
    X, y = rows(90)
    grid = {"a__alpha": [1e-3, 0.1, 30.0], "combination": ["bcm", "gpoe"], "c": ["drop", gp()]}
    search = GridSearchCV(committee(), grid, cv=3).fit(X, y)
    assert search.best_params_["a__alpha"] == 0.1
    assert search.best_score_ > 0.6


def test_pickles_and_clones_answer_alike():
    X, y = rows(p=2)
    frame = pd.DataFrame(X, columns=["u", "v"])
    model = committee(partition="balanced").fit(frame, y)
    assert_array_equal(model.feature_names_in_, ["u", "v"])
    assert model.n_features_in_ == 2
    asked = pd.DataFrame(Q, columns=["u", "v"])
    expected = model.predict(asked)
    for other in (pickle.loads(pickle.dumps(model)), clone(model).fit(frame, y)):
        assert_array_equal(other.predict(asked), expected)


@pytest.mark.parametrize("rule", ["bcm", "rbcm"])
def test_threads_change_nothing(rule):
    X, y = rows()
    one, two = (
        committee(combination=rule, query_size=4, n_jobs=n).fit(X, y).predict(Q, return_std=True)
        for n in (None, 2)
    )
    assert_array_equal(one, two)


def test_verbose_says_what_is_done(capsys):
    committee(verbose=1).fit(*rows())
    assert "45 rows for 3 members" in capsys.readouterr().out


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    X, y = rows()
    model = committee().fit(X, y)
    before = model.predict(Q)
    with pytest.raises(ValueError, match="Ridge gives no joint"):
        model.set_params(b=Ridge()).fit(X[:20], y[:20])
    assert_array_equal(model.predict(Q), before)


@pytest.mark.parametrize(
    "words, settings",
    [
        ("combination='best': give one of", {"combination": "best"}),
        ("partition='fair': give one of", {"partition": "fair"}),
        ("query_size=0", {"query_size": 0}),
        ("query_size='auto'", {"query_size": "auto"}),
        ("n_jobs=0", {"n_jobs": 0}),
        ("random_state='x'", {"random_state": "x"}),
        ("labels for n_samples=45", {"partition": np.arange(4)}),
        ("5 distinct labels for 3 estimators", {"partition": np.arange(45) % 5}),
        ("list of \\(name, estimator\\)", {"estimators": [gp()]}),
        ("list of \\(name, estimator\\)", {"estimators": None}),
        ("no members", {"estimators": []}),
        ("no members", {"estimators": [("a", "drop")]}),
        ("not unique", {"estimators": [("a", gp()), ("a", gp())]}),
        ("conflict", {"estimators": [("partition", gp())]}),
        ("member 'a' is", {"estimators": [("a", Plane)]}),
        ("member 'a' is None", {"estimators": [("a", None)]}),
    ],
)
def test_bad_arguments_are_named(words, settings):
    X, y = rows()
    with pytest.raises(ValueError, match=words):
        committee().set_params(**settings).fit(X, y)


def test_bad_calls_are_named():
    X, y = rows()
    model = committee()
    with pytest.raises(ValueError, match="n_samples=2 rows.*3 estimators"):
        model.fit(X[:2], y[:2])
    with pytest.raises(ValueError, match="sample_weight is given, but member 'a' does not"):
        model.fit(X, y, sample_weight=np.ones(45))
    with pytest.raises(ValueError, match="n_samples=2 rows"):
        committee(Plane(), Plane(), Plane()).fit(X, y, sample_weight=np.arange(45) < 2)
    model.fit(X, y)
    with pytest.raises(ValueError, match="return_std and return_cov"):
        model.predict(Q, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="level='truth'"):
        model.predict(Q, level="truth")
    with pytest.raises(ValueError, match="n_samples=0"):
        model.sample_y(Q, 0)
    with pytest.raises(ValueError, match="coverage"):
        model.predict_interval(Q, coverage=1.5)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        committee(BayesianRidge(), gp()).fit(X, np.column_stack([y, y]))


def test_a_column_of_targets_is_one_output_where_a_member_knows_no_more():
    X, y = rows()
    with pytest.warns(DataConversionWarning, match="1d array was expected"):
        model = committee(BayesianRidge(), gp()).fit(X, y[:, None])
    assert model.predict(Q).shape == (12,) and isinstance(model.noise_, float)
    assert committee().fit(X, y[:, None]).predict(Q).shape == (12, 1)


# --- scikit-learn's own checks --------------------------------------------------------------------

SMOOTH = gp(RBF(2.0), alpha=0.1)
USUAL = [
    committee(SMOOTH, BayesianRidge()),
    committee(BayesianRidge(), BayesianRidge(), partition="balanced"),
]
OTHERS = [
    committee(SMOOTH, gp(RBF(0.7)), partition="kmeans"),
    committee(SMOOTH, SMOOTH, combination="independent"),
    committee(SMOOTH, make_pipeline(StandardScaler(), SMOOTH), combination="rbcm"),
    committee(SMOOTH, ARDRegression(), query_size=8, partition="time"),
]


def expected_to_fail(estimator):
    """Members that take no weights make a committee that refuses them, by name."""
    reasons = {}
    if not all(isinstance(each, BayesianRidge) for _, each in estimator.estimators):
        for check in (
            "check_sample_weights_pandas_series",
            "check_sample_weights_not_an_array",
            "check_sample_weights_list",
            "check_sample_weights_shape",
            "check_sample_weights_not_overwritten",
            "check_sample_weight_equivalence_on_dense_data",
        ):
            reasons[check] = "a member's fit has no sample_weight, so that it is refused"
    elif parse_version(sklearn.__version__) < parse_version("1.7"):
        reasons["check_sample_weight_equivalence_on_dense_data"] = (
            "scikit-learn's own BayesianRidge fails it before 1.7"
        )
    if estimator.query_size == 8:
        reasons["check_methods_subset_invariance"] = (
            "the joint answer depends on the queries asked together, by design"
        )
    return reasons


@parametrize_with_checks(USUAL, expected_failed_checks=expected_to_fail)
def test_scikit_learn_conventions_hold(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(OTHERS, expected_failed_checks=expected_to_fail)
def test_scikit_learn_conventions_hold_for_every_kind(estimator, check):
    check(estimator)
