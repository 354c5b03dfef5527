"""The scale of errors of refined means, as users meet it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium import CG, CommitteeRegressor, kernels
from collegium.pipeline.checks import errors as errors_fitting
from estimator_cases import every_id_given

COMMITTEE = {"chunks": 60, "anchors": 12, "n_local": 20, "random_state": 0}


def uneven(n=700, seed=0):
    """A function that a few anchors miss, with noise that grows along the first column."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    y = np.sin(4.0 * X[:, 0]) * np.cos(4.0 * X[:, 1])
    return X, y + 0.05 * np.exp(X[:, 0]) * rng.standard_t(5, size=n)


@pytest.fixture(scope="module")
def learnt():
    """Kernel and noise for all: about what is learnt from these rows."""
    kernel = kernels.Matern52(0.6857, [0.5935, 0.4805]) + kernels.White(0.02325)
    return {"kernel": kernel, "learn": False, "noise": "varying"}


@pytest.fixture
def held(monkeypatch):
    """What answers are at rows left out, and what these rows are, of the last fit."""
    seen, learnt = {}, errors_fitting.learnt

    def noted(job, model, rows, numbers, at, *more):
        seen.update(at=at, held=numbers, rows=rows, model=model)
        return learnt(job, model, rows, numbers, at, *more)

    monkeypatch.setattr(errors_fitting, "learnt", noted)
    return seen


def exact_without(seen):
    """Means of the exact GP of all other rows at the rows held out, line by line."""
    rows, held, c = seen["rows"], seen["held"], seen["model"].committee
    A = c.basis.kernel.value(rows.X) + np.diag(c.noise / rows.w)
    rest = np.setdiff1d(np.arange(rows.w.size), held)
    return A[np.ix_(held, rest)] @ np.linalg.solve(A[np.ix_(rest, rest)], rows.y[rest])


@pytest.mark.parametrize("p", [1, 2])
def test_rows_are_left_out_by_the_exact_gp_of_all_others(learnt, held, p):
    """Up to what the preconditioner does not know of them."""
    X, y = uneven()
    w = 1.0 + np.arange(y.size) % 3
    Y = y if p == 1 else np.column_stack([y, np.cos(3.0 * X[:, 1])])
    model = CommitteeRegressor(**learnt, **COMMITTEE, inference=CG(tol=1e-9))
    model.fit(X, Y, sample_weight=w)
    wanted, y = exact_without(held), held["rows"].y[held["held"]]
    wrong = held["at"].mean - wanted
    assert np.sqrt(np.mean(wrong**2)) < 0.01 * np.sqrt(np.mean((wanted - y) ** 2))
    assert model.model_.errors is not None


def test_variances_are_those_of_the_committee(learnt, held):
    CommitteeRegressor(**learnt, **COMMITTEE).fit(*uneven())
    own, numbers = held["at"], held["held"]
    CommitteeRegressor(**learnt, **COMMITTEE, inference="cg").fit(*uneven())
    assert_array_equal(held["held"], numbers)
    assert_allclose(held["at"].log_sd, own.log_sd, rtol=1e-10)
    assert np.abs(held["at"].mean - own.mean).max() > 1e-3


def test_stopped_at_once_errors_are_the_committees_own(learnt, held, monkeypatch):
    CommitteeRegressor(**learnt, **COMMITTEE).fit(*uneven())
    own = held["at"]
    monkeypatch.setattr("collegium.pipeline.planning.plan.Plan.enough", lambda plan: True)
    CommitteeRegressor(**learnt, **COMMITTEE, inference="cg").fit(*uneven())
    assert_allclose(held["at"].mean, own.mean, rtol=1e-9, atol=1e-9)


def test_an_early_end_leaves_the_answers_of_both(learnt, held):
    """Nearer to the exact GP's than the committee's own, by what has been solved."""

    def distance(**given):
        CommitteeRegressor(**learnt, **COMMITTEE, **given).fit(*uneven())
        return np.sqrt(np.mean((held["at"].mean - exact_without(held)) ** 2))

    own, early, late = distance(), distance(inference=CG(tol=0.1)), distance(inference=CG(tol=1e-8))
    assert early < 0.02 * own and late < 0.02 * own


def test_refined_means_have_a_scale_of_their_own_and_it_is_better(learnt):
    X, y = uneven(1400)
    train, test = (X[:700], y[:700]), (X[700:], y[700:])
    plain = CommitteeRegressor(**learnt, **COMMITTEE).fit(*train)
    model = CommitteeRegressor(**learnt, **COMMITTEE, inference="cg").fit(*train)
    constant = CommitteeRegressor(**{**learnt, "noise": "constant"}, **COMMITTEE, inference="cg")
    constant.fit(*train)
    assert_allclose(model.predict(X), constant.predict(X), rtol=1e-5, atol=1e-6)
    assert constant.model_.errors is None
    density = {one: one.log_density(*test).mean() for one in (plain, model, constant)}
    assert density[model] > density[plain] and density[model] > density[constant]
    low, high = model.predict_interval(test[0], coverage=0.95)
    assert 0.9 < np.mean((low <= test[1]) & (test[1] <= high)) < 0.99


def test_a_weight_is_a_repetition_and_threads_change_no_bit(learnt):
    X, y = uneven(300)
    w = 1 + np.arange(300) % 3
    given = {**learnt, **COMMITTEE, "inference": "cg"}
    weighted = CommitteeRegressor(**given).fit(X, y, sample_weight=w)
    repeated = CommitteeRegressor(**given).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    threads = CommitteeRegressor(**given, n_jobs=2).fit(X, y, sample_weight=w)
    for other in (repeated, threads):
        assert_array_equal(weighted.log_density(X, y), other.log_density(X, y))


def test_errors_of_refined_means_go_with_them(learnt):
    X, y = uneven()
    model = CommitteeRegressor(**learnt, **COMMITTEE, inference="cg").fit(X, y)
    assert model.model_.errors is not None
    every_id_given(model).forget([0])
    assert model.model_.refined is None and model.model_.errors is None
