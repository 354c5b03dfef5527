"""The joint committee machine over the queries, as users meet it."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from collegium import Anchors, CommitteeRegressor, Transductive, kernels
from collegium.pipeline.checks.bars import QuerySizeWarning
from estimator_cases import (
    GIVEN,
    SlowGP,
    assert_same_answers,
    committee,
    queries,
    rmse,
    rows,
    smooth_rows,
    truth,
)

pytestmark = pytest.mark.filterwarnings("ignore:query_size=.* is below")
SMOOTH = {"kernel": kernels.RBF(1.0, 1.2), "noise": 0.0025, "learn": False, "random_state": 0}


@pytest.fixture(scope="module")
def smooth():
    """A model of 400 smooth rows in ten chunks, and queries inside."""
    model = CommitteeRegressor(**SMOOTH, inference=Transductive(120), chunks=40, anchors=30).fit(
        *smooth_rows()
    )
    return model, 0.9 * smooth_rows(80, seed=7)[0]


def test_one_query_is_answered_as_well_as_many(smooth):
    model, Xs = smooth
    together, std = model.predict(Xs, return_std=True)
    alone = [model.predict(x[None], return_std=True) for x in Xs]
    error = rmse(together, truth(Xs))
    assert error < 0.06
    assert rmse(np.concatenate([mean for mean, _ in alone]), truth(Xs)) < 1.3 * error
    assert_allclose(np.concatenate([s for _, s in alone]), std, rtol=0.05)


def test_more_queries_than_one_batch_holds_are_answered_as_well(smooth):
    model, Xs = smooth
    many = np.concatenate([Xs, 0.9 * smooth_rows(500, seed=8)[0]])
    assert rmse(model.predict(many)[:80], truth(Xs)) < 1.3 * rmse(model.predict(Xs), truth(Xs))


def test_duplicated_queries_change_nothing(smooth):
    model, Xs = smooth
    twice = np.concatenate([Xs, Xs[::-1]])
    mean, std = model.predict(Xs, return_std=True)
    again, bars = model.predict(twice, return_std=True)
    assert_allclose(again, np.concatenate([mean, mean[::-1]]), rtol=1e-9)
    assert_allclose(bars, np.concatenate([std, std[::-1]]), rtol=1e-9)
    _, cov = model.predict(np.repeat(Xs[:3], 2, axis=0), return_cov=True, level="function")
    assert_allclose(cov[::2, ::2], cov[1::2, ::2], rtol=1e-9)


def test_the_order_of_queries_means_nothing(smooth):
    model, Xs = smooth
    assert_allclose(model.predict(Xs[::-1]), model.predict(Xs)[::-1], rtol=1e-12)


def test_queries_may_be_training_rows(smooth):
    model, _ = smooth
    X, y = smooth_rows()
    mean, std = model.predict(X[:60], return_std=True)
    assert rmse(mean, truth(X[:60])) < 0.06
    assert (std > np.sqrt(0.0025)).all() and (std < 0.12).all()
    alone = np.concatenate([model.predict(x[None]) for x in X[:20]])
    assert rmse(alone, truth(X[:20])) < 0.06


@pytest.mark.parametrize("n_queries", [1, 3])
def test_padding_with_every_row_is_the_exact_gp(n_queries):
    X, y = rows(40)
    model = committee("transductive", **GIVEN).fit(X, y)
    assert model.n_chunks_ == 5
    mean, cov = SlowGP(X, y).predict(queries(n_queries))
    found, std = model.predict(queries(n_queries), return_std=True, level="function")
    assert_allclose(found, mean, rtol=1e-6)
    assert_allclose(std, np.sqrt(np.diag(cov)), rtol=1e-5)


def test_padding_is_what_lies_nearest():
    X, y = smooth_rows()
    model = CommitteeRegressor(**SMOOTH, inference=Transductive(60), chunks=40, anchors=100).fit(
        X, y
    )
    Q = [2.0, 0.0] + 0.3 * queries(20)
    padding = model.model_.predictor().padding(Q)
    assert padding.shape == (40, 2)
    distance = np.linalg.norm(padding[:, None] - Q, axis=2).min(axis=1)
    assert distance.max() < 1.2


def test_a_joint_answer_beats_the_anchors_it_is_padded_with(smooth):
    model, Xs = smooth
    plain = CommitteeRegressor(**SMOOTH, chunks=40, anchors=model.anchors_, n_local=0)
    plain.fit(*smooth_rows())
    assert rmse(model.predict(Xs), truth(Xs)) < 0.5 * rmse(plain.predict(Xs), truth(Xs))


def test_small_batches_of_queries_are_still_sound():
    X, y = rows(60)
    model = committee("transductive", inference=Transductive(1)).fit(X, y)
    one_by_one = [model.predict(x[None]) for x in queries()]
    assert_allclose(model.predict(queries()), np.concatenate(one_by_one), rtol=1e-9)
    assert_same_answers(model, model.fit(X, y), queries(), rtol=0)


def test_too_few_query_points_are_told():
    X, y = smooth_rows()
    given = {**SMOOTH, "inference": "transductive", "chunks": 40}
    wanted = CommitteeRegressor(**given).fit(X, y)
    with pytest.warns(QuerySizeWarning, match="query_size=30 is below the .* degrees of freedom"):
        CommitteeRegressor(**{**given, "inference": Transductive(30)}).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CommitteeRegressor(
            **{**given, "inference": Transductive(int(wanted.effective_dof_) + 1)}
        ).fit(X, y)


def test_sizes_follow_the_degrees_of_freedom():
    X, y = smooth_rows()
    given = {**SMOOTH, "chunks": 40}
    simple = {**given, "kernel": kernels.RBF(1.0, 6.0)}
    for arguments in (given, simple):
        model = CommitteeRegressor(**arguments).fit(X, y)
        K = model.kernel_.value(X)
        dof = np.trace(K @ np.linalg.inv(K + model.noise_ * np.eye(400)))
        assert_allclose(model.effective_dof_, dof, rtol=1e-6)
        assert len(model.anchors_) == np.clip(int(2 * dof), 20, 40)
    joint = CommitteeRegressor(**simple, inference="transductive").fit(X, y)
    assert joint.query_size_ == 200
    exact = CommitteeRegressor(**SMOOTH).fit(X, y)
    K = exact.kernel_.value(X)
    dof = np.trace(K @ np.linalg.inv(K + exact.noise_ * np.eye(400)))
    assert_allclose(exact.effective_dof_, dof, rtol=1e-6)


def test_screening_skips_far_chunks_and_moves_no_answer():
    rng = np.random.default_rng(0)
    X = rng.uniform(-60.0, 60.0, size=(1500, 2))
    y = np.sin(X[:, 0]) + np.cos(X[:, 1]) + 0.1 * rng.normal(size=1500)
    given = {**SMOOTH, "noise": 0.01, "inference": "transductive", "chunks": 30}
    screened = CommitteeRegressor(**{**given, "inference": Transductive(100, 1e-4)}).fit(X, y)
    heard = CommitteeRegressor(**{**given, "inference": Transductive(100, 0.0)}).fit(X, y)
    Q = rng.uniform(-10.0, 10.0, size=(80, 2))
    joint = screened.model_.predictor()
    basis = Anchors.at(joint.committee.basis.kernel, np.concatenate([Q, joint.padding(Q)]))
    left = joint.boxes.matter(basis, joint.committee.noise, 1e-4)
    assert left.size < 0.5 * screened.n_chunks_
    mean, std = screened.predict(Q, return_std=True, level="function")
    whole, bars = heard.predict(Q, return_std=True, level="function")
    assert np.abs(mean - whole).max() <= 1e-4 * bars.max()
    assert (np.abs(mean - whole) <= 1e-4 * bars + 1e-12).all()
    assert_allclose(std, bars, rtol=1e-4)


def test_far_queries_get_the_prior():
    X, y = smooth_rows()
    model = CommitteeRegressor(**SMOOTH, inference="transductive", chunks=40).fit(X, y)
    mean, std = model.predict([[1e5, 0.0], [-1e5, 3e5]], return_std=True, level="function")
    assert_allclose(mean, y.mean(), rtol=1e-9)
    assert_allclose(std, 1.0, rtol=1e-9)
