"""Streams: the same chunks give the same model; what fails changes nothing."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from collegium import Chunks, CommitteeRegressor
from collegium.engines import Serial
from estimator_cases import (
    GIVEN,
    VARIANTS,
    SlowGP,
    assert_is_the_gp,
    assert_same_answers,
    assert_same_state,
    committee,
    leaves,
    queries,
    rmse,
    rows,
    smooth_rows,
    state,
    truth,
)

ANCHORS = queries(7, seed=9)
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


def stream(model, X, y, batches, w=None):
    for batch in batches:
        model.partial_fit(X[batch], y[batch], None if w is None else w[batch])
    return model


def batches_of_equal_moments(count=6, size=16):
    """Batches whose targets have mean zero and the same variance, free of rounding."""
    rng = np.random.default_rng(8)
    half = np.append(1.0, rng.integers(1, 64, size // 2 - 1) / 64.0)
    values = np.concatenate([half, -half])
    y = np.concatenate([rng.permutation(values) for _ in range(count)])
    return queries(y.size, seed=3), y, np.arange(y.size).reshape(count, size)


# -- stream = batch -------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("variant", ["local", "anchors only", "transductive"])
def test_a_stream_is_fit_on_the_same_chunks(variant, weighted):
    X, y, batches = batches_of_equal_moments()
    w = np.tile([3.0, 1.0, 1.0, 3.0], y.size // 4) if weighted else None
    if weighted:  # the weighted moments are equal too
        y = np.tile([1.0, -1.0, 1.0, -1.0], y.size // 4) * np.repeat([1.0, -1.0] * 3, 16)
    given = {**GIVEN, "anchors": ANCHORS}
    labels = np.repeat(np.arange(6), 16)
    whole = committee(variant, **given, chunks=labels).fit(X, y, w)
    online = committee(variant, **given, chunks=Chunks(16, "time"))
    assert whole.n_chunks_ == 6
    same = stream(online, X, y, batches, w)
    assert same.n_chunks_ == 6
    assert_same_answers(same, whole, queries(), rtol=0)
    del same.model_
    permuted = stream(online, X, y, batches[[4, 0, 2, 5, 1, 3]], w)
    assert_same_answers(permuted, whole, queries(), rtol=1e-9)


@pytest.mark.parametrize("rule", ["time", "balanced", "random"])
def test_a_stream_of_one_batch_cut_in_chunks_is_fit(rule):
    X, y = rows(50)
    model = CommitteeRegressor(**GIVEN, anchors=ANCHORS, chunks=Chunks(8, rule))
    online = CommitteeRegressor(**model.get_params(deep=False))
    assert_same_answers(online.partial_fit(X, y), model.fit(X, y), queries(), rtol=0)


def test_rows_that_wait_are_answered_by_the_exact_gp():
    X, y = rows(60)
    model = CommitteeRegressor(**GIVEN, chunks=40, anchors=15)
    stream(model, X, y, [np.arange(1), np.arange(1, 20), np.arange(20, 59)])  # enough: 60
    assert model.n_chunks_ == 1 and len(model.anchors_) == 0
    assert_is_the_gp(model, SlowGP(X[:59], y[:59]), queries())


@pytest.mark.parametrize("variant", ["local", "anchors only", "transductive"])
def test_a_stream_turns_to_anchors_when_it_has_enough_rows(variant):
    X, y = smooth_rows(200)
    model = committee(variant, chunks=Chunks(25, "time"), anchors=20)
    if variant == "local":
        model.set_params(n_local=30)
    stream(model, X, y, [np.arange(30), np.arange(30, 79)])
    assert len(model.anchors_) == 0 and model.model_.committee.sizes == (79,)
    model.partial_fit(X[79:120], y[79:120])
    assert len(model.anchors_) == 20 and model.n_chunks_ == 5
    kernel = model.kernel_
    model.partial_fit(X[120:], y[120:])
    assert model.n_chunks_ == 9
    assert_allclose(model.kernel_.theta, kernel.theta)
    Xs = 0.9 * smooth_rows(100, seed=4)[0]
    assert rmse(model.predict(Xs), truth(Xs)) < 0.15
    kept = sum(model.model_.committee.sizes)
    assert kept == (0 if variant == "anchors only" else 200)


def test_waiting_rows_learn_anew_when_they_have_grown_by_a_quarter():
    X, y = rows(60)
    model = committee("exact")
    learnt = []
    for batch in np.split(np.arange(60), [20, 24, 25, 31]):
        model.partial_fit(X[batch], y[batch])
        learnt.append(model.model_.stream.learnt_at)
    assert learnt == [20, 20, 25, 25, 60]


def test_hyperparameters_that_wait_keep_the_units_of_y():
    X, y = rows(40)
    model = committee("exact").partial_fit(X[:35], y[:35])
    kernel, noise = model.kernel_, model.noise_
    model.partial_fit(X[35:], 3.0 * y[35:])
    assert_allclose(model.kernel_.theta, kernel.theta)
    assert_allclose(model.noise_, noise)


def test_an_exact_fit_that_hears_more_rows_turns_to_anchors():
    X, y = rows(60)
    model = CommitteeRegressor(**GIVEN, chunks=Chunks(30, "time"), anchors=10)
    model.fit(X[:25], y[:25])
    assert len(model.anchors_) == 0
    model.partial_fit(X[25:], y[25:])
    assert len(model.anchors_) == 10 and model.n_chunks_ == 2


@pytest.mark.parametrize("first", ["fit", "partial_fit"])
def test_a_stream_has_chunks_of_one_size_whatever_the_first_batch(first):
    X, y = rows(602)
    model = CommitteeRegressor(**GIVEN, anchors=ANCHORS, chunks="time", n_local=5)
    getattr(model, first)(X[:2], y[:2])
    model.partial_fit(X[2:], y[2:])
    assert model.model_.committee.sizes == (2, 300, 300) and model.chunk_size_ == 500


def test_labels_serve_fit_and_later_rows_come_in_order():
    X, y = rows(60)
    labels = np.repeat(["c", "a", "b"], [5, 20, 15])
    model = CommitteeRegressor(**GIVEN, anchors=5, chunks=Chunks(10, labels))
    model.fit(X[:40], y[:40])
    assert model.model_.committee.sizes == (20, 15, 5)
    assert model.chunk_ids_ == ["a", "b", "c"]
    model.partial_fit(X[40:], y[40:])  # numbers come before names
    assert model.model_.committee.sizes == (10, 10, 20, 15, 5)
    assert model.relearn().model_.committee.sizes == (10, 10, 20, 15, 5)
    assert model.chunk_ids_ == [0, 1, "a", "b", "c"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_questions_asked_on_the_way_change_nothing(variant):
    X, y = rows(60)
    silent, asked = committee(variant, **GIVEN), committee(variant, **GIVEN)
    for batch in np.split(np.arange(60), 4):
        silent.partial_fit(X[batch], y[batch])
        asked.partial_fit(X[batch], y[batch]).predict(queries(), return_cov=True)
    assert_same_answers(asked, silent, queries(), rtol=0)
    assert_same_answers(asked.fit(X[:30], y[:30]), silent.fit(X[:30], y[:30]), queries(), rtol=0)


# -- relearn --------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["exact", "local", "transductive"])
def test_relearn_is_fit_on_the_rows_that_were_kept(variant):
    X, y = rows(60)
    model = stream(committee(variant, **GIVEN), X, y, np.split(np.arange(60), 4))
    fresh = committee(variant, **GIVEN).fit(X, y)
    assert_same_answers(model.relearn(), fresh, queries(), rtol=1e-7)


def test_relearn_learns():
    X, y = smooth_rows(160)
    model = committee("local", chunks=Chunks(20, "time"), anchors=10, n_local=30)
    stream(model, X, 1e-3 * y, [np.arange(40)])
    stream(model, X, y, [np.arange(40, 160)])
    before = model.noise_
    assert model.relearn().noise_ > 100 * before
    assert model.model_.stream.learnt_at == 160


def test_relearn_needs_rows():
    model = committee("anchors only").fit(*rows(40))
    with pytest.raises(ValueError, match="n_local"):
        model.relearn()


# -- all or nothing -------------------------------------------------------------------------------


def bad(X, y, w, where, value):
    arrays = {"X": X.copy(), "y": y.copy(), "w": w.copy()}
    arrays[where].flat[3] = value
    return arrays["X"], arrays["y"], arrays["w"]


X_OK, Y_OK = rows(12, seed=6)
W_OK = np.ones(12)
BAD = {
    "infinity in X": (bad(X_OK, Y_OK, W_OK, "X", np.inf), "X"),
    "NaN in y": (bad(X_OK, Y_OK, W_OK, "y", np.nan), "y"),
    "infinite y": (bad(X_OK, Y_OK, W_OK, "y", np.inf), "y"),
    "NaN in weights": (bad(X_OK, Y_OK, W_OK, "w", np.nan), "weight"),
    "negative weight": (bad(X_OK, Y_OK, W_OK, "w", -1.0), "weight"),
    "no weight": ((X_OK, Y_OK, 0.0 * W_OK), "(?i)sample.weight"),
    "too few weights": ((X_OK, Y_OK, W_OK[1:]), "(?i)sample.weight"),
    "too few targets": ((X_OK, Y_OK[1:], None), "inconsistent"),
    "huge y": ((X_OK, 1e160 * Y_OK, None), "y "),
    "words": ((X_OK.astype(str), np.array(["a"] * 12), None), "could not convert"),
    "no rows": ((X_OK[:0], Y_OK[:0], None), "0 sample"),
}
BAD_MORE = {
    "another width": ((X_OK[:, :1], Y_OK, None), "features"),
    "another number of outputs": ((X_OK, np.column_stack([Y_OK, Y_OK]), None), "outputs"),
    "other names": ((pd.DataFrame(X_OK, columns=["b", "a"]), Y_OK, None), "feature names"),
}


def fitted(variant):
    X, y = rows(40)
    return committee(variant).fit(pd.DataFrame(X, columns=["a", "b"]), y)


@pytest.mark.parametrize("variant", VARIANTS)
def test_bad_input_leaves_the_fitted_state_untouched(variant):
    model = fitted(variant)
    before, answer = leaves(state(model)), model.predict(queries())
    for method, cases in (("fit", BAD), ("partial_fit", {**BAD, **BAD_MORE})):
        for arguments, message in cases.values():
            with pytest.raises(ValueError, match=message):
                getattr(model, method)(*arguments)
            assert_same_state(before, model)
    assert (model.predict(queries()) == answer).all()


@dataclass(frozen=True)
class Failing(Serial):
    """An engine whose machine burns down at the third item."""

    def imap(self, f, items):
        for number, item in enumerate(items):
            if number == 2:
                raise RuntimeError("fire")
            yield f(item)


@pytest.mark.parametrize("method", ["fit", "partial_fit", "relearn"])
@pytest.mark.parametrize("variant", ["local", "transductive"])
def test_a_failure_on_the_way_leaves_the_fitted_state_untouched(variant, method):
    model = fitted(variant).set_params(engine=Failing())
    before = leaves(state(model))
    arguments = () if method == "relearn" else rows(30, d=2 if method == "partial_fit" else 3)
    with pytest.raises(RuntimeError, match="fire"):
        getattr(model, method)(*arguments)
    assert_same_state(before, model)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_bad_input_does_not_make_a_model_fitted(method):
    model = committee("local")
    before = vars(model).copy()
    for (X, y, w), message in BAD.values():
        with pytest.raises(ValueError, match=message):
            getattr(model, method)(X, y, w)
        assert vars(model) == before
    with pytest.raises(ValueError, match="anchors"):
        getattr(model.set_params(anchors=np.ones((3, 5))), method)(X_OK, Y_OK)
    assert set(vars(model)) == set(before)
