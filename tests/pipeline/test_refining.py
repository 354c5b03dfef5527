"""Means refined to those of the exact Gaussian process, as users meet them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from collegium import CG, CommitteeRegressor
from estimator_cases import GIVEN, SlowGP, assert_same_answers, queries, rmse, rows

COMMITTEE = {"chunks": 12, "anchors": 8, "n_local": 5}


@pytest.mark.parametrize("p", [None, 2])
def test_refined_means_are_those_of_the_exact_gp(p):
    X, y = rows(60, p=p)
    plain = CommitteeRegressor(**GIVEN, **COMMITTEE).fit(X, y)
    exact = CommitteeRegressor(**GIVEN, **COMMITTEE, inference=CG(tol=1e-11)).fit(X, y)
    for j in range(p or 1):
        target = y if p is None else y[:, j]
        mean, _ = SlowGP(X, target).predict(queries())
        found, own = exact.predict(queries()), plain.predict(queries())
        found, own = (found, own) if p is None else (found[:, j], own[:, j])
        assert_allclose(found, mean, rtol=1e-8)
        assert rmse(own, mean) > 1e-4
    assert exact.residuals_[-1] <= 1e-11 and plain.residuals_.size == 0
    assert_allclose(
        exact.predict(queries(), return_std=True)[1], plain.predict(queries(), return_std=True)[1]
    )


def test_a_weight_is_a_repetition_and_threads_change_no_bit():
    X, y = rows(60)
    w = 1 + np.arange(60) % 3
    given = {**GIVEN, **COMMITTEE, "inference": "cg"}
    weighted = CommitteeRegressor(**given).fit(X, y, sample_weight=w)
    repeated = CommitteeRegressor(**given).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    threads = CommitteeRegressor(**given, n_jobs=2).fit(X, y, sample_weight=w)
    assert_same_answers(weighted, repeated, queries(), rtol=0)
    assert_same_answers(weighted, threads, queries(), rtol=0)


def test_running_out_of_iterations_is_told_and_leaves_a_sound_answer():
    X, y = rows(60)
    model = CommitteeRegressor(**GIVEN, **COMMITTEE, inference=CG(tol=1e-12, max_iter=1))
    with pytest.warns(ConvergenceWarning, match="residual of .*max_iter"):
        model.fit(X, y)
    assert model.residuals_.size == 2
    mean, _ = SlowGP(X, y).predict(queries())
    assert rmse(model.predict(queries()), mean) < 2.0


def test_one_chunk_has_nothing_to_refine():
    X, y = rows(40)
    model = CommitteeRegressor(**GIVEN, inference="cg").fit(X, y)
    assert model.residuals_.size == 0
    assert_allclose(model.predict(queries()), SlowGP(X, y).predict(queries())[0], rtol=1e-8)


def test_a_covariance_comes_with_the_refined_mean():
    X, y = rows(60)
    model = CommitteeRegressor(**GIVEN, **COMMITTEE, inference="cg").fit(X, y)
    mean, cov = model.predict(queries(), return_cov=True)
    assert_allclose(mean, model.predict(queries()))
    assert_allclose(np.sqrt(np.diag(cov)), model.predict(queries(), return_std=True)[1])


def test_a_stream_is_not_refined():
    X, y = rows(40)
    with pytest.raises(ValueError, match="inference='cg' needs all rows at once"):
        CommitteeRegressor(inference="cg").partial_fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("noise", [0.0, 1e-12])
def test_no_noise_and_no_variation_are_survived(noise):
    X, y = rows(60)
    for targets in (y, np.full(60, 3.0)):
        model = CommitteeRegressor(**{**GIVEN, **COMMITTEE, "noise": noise}, inference="cg")
        mean, std = model.fit(X, targets).predict(queries(), return_std=True)
        assert np.isfinite(mean).all() and np.isfinite(std).all()
