"""Options: objects that clone and grid search reach into; arguments that act in fit only."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from collegium import (
    CG,
    Chunks,
    CommitteeOf,
    CommitteeRegressor,
    ExpertsRegressor,
    Inductive,
    Learn,
    Limits,
    RegressionFilter,
    Select,
    Sweeps,
    Transductive,
    Transform,
)
from estimator_cases import GIVEN, queries, rows

ALL = [
    Select("sgma", 7), Transductive(40, 0.5, 3), Inductive(2), Sweeps(3, 0.1, "sequence"),
    CG(0.5, 4), Chunks(7, "time"), Learn("average", 3), Transform("log", None), Limits(60.0, "2GB"),
]  # fmt: skip


@pytest.mark.parametrize("options", ALL, ids=lambda one: type(one).__name__)
def test_options_are_records_that_can_be_cloned(options):
    copy = clone(options)
    assert copy == options and copy is not options and copy != type(options)()
    assert type(options)(**options.get_params()) == options
    with pytest.raises(ValueError, match="no argument 'breadth'"):
        copy.set_params(breadth=3)


def test_a_clone_has_options_of_its_own():
    model = CommitteeRegressor(anchors=Select("sgma", 7), inference=CG(0.5))
    copy = clone(model).set_params(anchors__m=9, inference__tol=0.1)
    assert (copy.anchors, copy.inference) == (Select("sgma", 9), CG(0.1))
    assert (model.anchors, model.inference) == (Select("sgma", 7), CG(0.5))
    assert model.get_params()["anchors__rule"] == "sgma"


def test_arguments_of_a_plain_value_name_the_object_that_has_them():
    model = CommitteeRegressor(learn=True)
    with pytest.raises(
        ValueError, match=r"learn__n_starts: learn=True .*learn=Learn\(n_starts=…\)"
    ):
        model.set_params(learn__n_starts=3)
    with pytest.raises(ValueError, match="learn__pace: learn=True has no arguments"):
        model.set_params(learn__pace=3)
    with pytest.raises(ValueError, match=r"chunks__rule: .*chunks=Chunks\(rule=…\)"):
        model.set_params(chunks__rule="time")
    assert model.learn is True
    assert model.set_params(learn=Learn(), learn__n_starts=3).learn == Learn(n_starts=3)


def test_grid_search_reaches_inside():
    X, y = rows(60)
    model = CommitteeRegressor(**GIVEN, chunks=12, anchors=Select("random"), n_local=0)
    grid = {"anchors__m": [2, 25], "anchors__rule": ["kmeans", "sgma"]}
    found = GridSearchCV(model, grid, cv=2).fit(X, y)
    assert len(found.cv_results_["params"]) == 4
    assert found.best_params_["anchors__m"] == 25
    assert found.best_estimator_.anchors_.shape == (25, 2)
    assert model.anchors == Select("random")


def test_chunks_have_a_size_and_a_rule():
    X, y = rows(60)
    model = CommitteeRegressor(**GIVEN, chunks=Chunks(12, "time"), anchors=6)
    assert model.fit(X, y).chunk_size_ == 12
    assert [c.X.tolist() for c in model.model_.kept.cells()] == [
        X[i : i + 12].tolist() for i in range(0, 60, 12)
    ]
    wider = clone(model).set_params(chunks__size=20)
    assert wider.fit(X, y).n_chunks_ == 3 and model.chunks == Chunks(12, "time")
    assert clone(model).set_params(chunks__rule=np.arange(60) % 4).fit(X, y).n_chunks_ == 4


def test_options_say_what_the_plain_words_say():
    X, y = rows(60)
    small, labels = {**GIVEN, "anchors": 6, "chunks": 12}, np.arange(60) % 5
    for plain, options in (
        ({"anchors": 6}, {"anchors": Select(m=6)}),
        ({"chunks": 12}, {"chunks": Chunks(12)}),
        ({"chunks": labels}, {"chunks": Chunks(rule=labels)}),
        ({"chunks": "time"}, {"chunks": Chunks(rule="time")}),
        ({"inference": "transductive", "anchors": 6},
         {"inference": Transductive(), "anchors": Select(m=6)}),
        ({"inference": "cg", "anchors": 6}, {"inference": CG(), "anchors": 6}),
    ):  # fmt: skip
        one, two = (CommitteeRegressor(**{**small, **each}).fit(X, y) for each in (plain, options))
        np.testing.assert_array_equal(one.predict(queries()), two.predict(queries()))


@pytest.mark.parametrize("model, changes, named", [
    (CommitteeRegressor(**GIVEN), {"learn": Learn(n_starts=3), "chunks": 9},
     "chunks, learn"),
    (CommitteeRegressor(**GIVEN, anchors=Select(m=4)), {"anchors__m": 5}, "anchors"),
    (ExpertsRegressor(**GIVEN), {"combination": "poe"}, "combination"),
    (RegressionFilter(n_basis=8), {"n_basis": 5}, "n_basis"),
    (CommitteeOf([("a", CommitteeRegressor(**GIVEN))]), {"a__n_local": 3}, "a"),
])  # fmt: skip
def test_arguments_that_wait_for_the_next_fit_are_named(model, changes, named):
    X, y = rows(30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(model).set_params(**changes)  # before a fit all is well
    model = clone(model).fit(X, y)
    before = model.predict(queries())
    with pytest.warns(UserWarning, match=rf"^changes of {named} take effect with the next fit"):
        model.set_params(**changes)
    np.testing.assert_array_equal(model.predict(queries()), before)


def test_what_acts_at_once_or_does_not_change_is_not_warned_of():
    X, y = rows(30)
    model = CommitteeRegressor(**GIVEN).fit(X, y)
    by_members = CommitteeOf([("a", clone(model)), ("b", clone(model))], query_size=9).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(n_jobs=2, verbose=0, n_local="auto", noise=GIVEN["noise"])
        by_members.set_params(query_size=20, combination="poe")
        RegressionFilter(n_basis=8).fit(X, y).set_params(prior_mean=1.0)
