"""Streams whose inputs wander, without raw rows: anchors and hyperparameters follow."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium import CommitteeClassifier, CommitteeRegressor, StreamWarning, kernels
from collegium.messages.basis import Anchors
from collegium.messages.growing import appended
from collegium.pipeline.stream.following import Following, gain
from collegium.rows.rows import Rows

GIVEN = dict(
    kernel=kernels.Matern52(2.0, [1.5, 2.0]), noise=0.01, learn=False, n_local=0, random_state=0
)


def wandering(n, seed=0, noise=0.1):
    """Inputs whose first column moves on."""
    rng, t = np.random.default_rng(seed), np.linspace(0, 10, n)
    X = np.column_stack([t + 0.1 * rng.normal(size=n), rng.uniform(-2, 2, n)])
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + noise * rng.normal(size=n)


def streamed(model, X, y, size=100, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StreamWarning)
        for start in range(0, len(y), size):
            model.partial_fit(X[start : start + size], y[start : start + size], **more)
    return model


def scores(model, X, y):
    mean = model.predict(X)
    lower, upper = model.predict_interval(X)
    return np.sqrt(np.mean((mean - y) ** 2)), np.mean((lower <= y) & (y <= upper))


def test_anchors_follow_inputs_that_wander():
    X, y = wandering(2400)
    model = streamed(CommitteeRegressor(chunks=200, anchors=90, **GIVEN), X, y)
    rmse, covered = scores(model, X[-400:], y[-400:])
    assert rmse < 0.15 and 0.90 <= covered <= 0.99
    assert 20 < model.anchors_.shape[0] <= 90
    fixed = streamed(CommitteeRegressor(chunks=200, anchors=model.anchors_[:20], **GIVEN), X, y)
    assert scores(fixed, X[-400:], y[-400:])[0] > 0.5  # anchors that are given stay
    assert_array_equal(fixed.anchors_, model.anchors_[:20])


def test_at_the_budget_anchors_are_dropped_and_counted():
    X, y = wandering(2400)
    model = streamed(CommitteeRegressor(chunks=200, anchors=30, **GIVEN), X, y)
    assert model.anchors_.shape == (30, 2) and model.n_dropped_ > 0
    rmse, covered = scores(model, X[-100:], y[-100:])
    assert rmse < 0.5 and covered > 0.9
    assert np.isfinite(model.log_evidence_)


def test_a_stationary_stream_keeps_its_anchors():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (3000, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=3000)
    model = CommitteeRegressor(chunks=200, anchors=40, **GIVEN).partial_fit(X[:400], y[:400])
    before = model.anchors_
    streamed(model, X[400:], y[400:])
    assert_array_equal(model.anchors_[:40], before)
    assert model.anchors_.shape[0] == 40 and model.n_dropped_ == 0


@pytest.mark.slow
def test_memory_is_flat_once_the_sample_is_full():
    X, y = wandering(9000)
    model = CommitteeRegressor(
        GIVEN["kernel"], chunks=200, anchors=30, n_local=0, noise=0.01, random_state=0
    )
    streamed(model, X[:3000], y[:3000], size=500)
    before = len(pickle.dumps(model))
    streamed(model, X[3000:], y[3000:], size=500)
    assert len(pickle.dumps(model)) < 1.1 * before


def test_hyperparameters_are_learnt_anew_where_the_sample_asks_for_it():
    """The first rows show a straight line; a wiggle begins when rows have doubled."""
    rng = np.random.default_rng(0)
    t = np.linspace(0, 8, 1600)[:, None] + 0.05 * rng.normal(size=(1600, 1))
    y = (
        0.3 * t[:, 0]
        + np.where(t[:, 0] > 2, np.sin(6 * t[:, 0]), 0.0)
        + 0.1 * rng.normal(size=1600)
    )
    model = CommitteeRegressor(kernels.RBF(), chunks=100, anchors=50, n_local=0, random_state=0)
    streamed(model, t[:400], y[:400])
    long = model.kernel_.length_scale
    streamed(model, t[400:], y[400:])
    assert model.n_relearnt_ >= 1 and model.kernel_.length_scale < 0.6 * long
    rmse, covered = scores(model, t[-300:], y[-300:])
    assert rmse < 0.2 and covered > 0.9


def test_the_gain_of_learning_is_none_at_the_optimum_and_seen_away_from_it():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (800, 1))
    y = kernels.RBF(1.0, 0.5).sample(X, 1, rng) + 0.1 * rng.normal(size=(800, 1))
    rows = Rows(X, y, np.ones(800))
    right, wrong = kernels.RBF(1.0, 0.5), kernels.RBF(1.0, 3.0)
    assert gain(right, 0.01, rows, noise_fixed=False) < 0.01
    assert gain(wrong, 0.01, rows, noise_fixed=True) > 0.1


def test_rows_are_badly_seen_where_they_are_worse_than_the_first_ones():
    rng = np.random.default_rng(0)
    kernel = kernels.RBF(1.0, 0.5)
    X = rng.uniform(-1, 1, (500, 1))
    basis = Anchors.at(kernel, np.linspace(-1, 1, 9)[:, None])
    rows = Rows(X, X, np.ones(500))
    start = Following.of(basis, 1e-3, 30, rows, learn=True)
    same, none = start.novel(basis, rng.uniform(-1, 1, (300, 1)))
    assert none.shape == (0, 1) and same.excess < 5.0
    one, first = start.novel(basis, np.array([[2.0]]))
    assert first.shape == (0, 1) and one.excess == pytest.approx(0.95)  # one row alone is no news
    _, found = start.novel(basis, rng.uniform(1.5, 2.5, (50, 1)))
    assert 1 <= len(found) <= 8 and (found > 1.4).all()
    assert start.sample.rows.w.size == 500
    assert Following.of(basis, 1e-3, 30, rows, learn=False).sample.rows.w.size == 0


@pytest.mark.parametrize("likelihood", ["poisson", "student-t"])
def test_latent_functions_follow_too(likelihood):
    X, y = wandering(1600)
    y = np.random.default_rng(1).poisson(np.exp(y)) if likelihood == "poisson" else y
    given = dict(GIVEN, noise=None if likelihood == "poisson" else 0.01)
    model = CommitteeRegressor(likelihood=likelihood, chunks=200, anchors=80, **given)
    streamed(model, X, y, size=200)
    _, covered = scores(model, X[-300:], y[-300:])
    assert 0.9 <= covered <= 1.0 and model.anchors_.shape[0] > 25
    small = CommitteeRegressor(likelihood=likelihood, chunks=200, anchors=25, **given)
    streamed(small, X, y, size=200)
    assert small.anchors_.shape == (25, 2) and small.n_dropped_ > 0
    assert np.isfinite(small.predict(X)).all()


@pytest.mark.parametrize("likelihood", ["logit", "softmax"])
def test_classes_follow_too(likelihood):
    X, y = wandering(1600)
    model = CommitteeClassifier(
        kernels.Matern52(8.0, [1.5, 2.0]), likelihood=likelihood, learn=False, chunks=200,
        anchors=60, n_local=0, random_state=0,
    )  # fmt: skip
    streamed(model, X, y > 1.5, size=200, classes=[False, True])
    assert model.score(X[-300:], y[-300:] > 1.5) > 0.9
    assert 20 < model.anchors_.shape[0] <= 60


def test_appended_anchors_change_no_answer_of_latent_functions():
    X, y = wandering(600)
    model = CommitteeClassifier(
        kernels.Matern52(8.0, [1.5, 2.0]), learn=False, chunks=100, anchors=20, n_local=0,
        random_state=0,
    ).fit(X, y > 1.5)  # fmt: skip
    one = model.model_.committees[0]
    grown = one.with_anchors(appended(one.basis, np.array([[3.3, 0.1], [20.0, 0.0]])))
    Xs = X[::40]
    for a, b in [(one.latent(0), grown.latent(0))]:
        V, W = a.basis.design(Xs), b.basis.design(Xs)
        assert_allclose(W.T @ b.belief.mean, V.T @ a.belief.mean, atol=1e-9)
    assert_allclose(grown.log_evidence, one.log_evidence, rtol=1e-10)
