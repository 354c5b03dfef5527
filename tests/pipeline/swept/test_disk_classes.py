"""Labels on disk: the same probabilities as from memory, counted, weighed, forgotten and saved."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from stored_latent_cases import GIVEN, in_memory, latents, site_files, slow_latents

import collegium
from collegium import CommitteeClassifier, Inductive
from collegium.committee.classes import chosen_link
from collegium.committee.labels import problems
from collegium.kernels import Matern32
from collegium.rows.store.store import Store
from estimator_cases import every_id_given


def some_labels(n, seed=0, K=3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    f = 2.0 * np.column_stack([np.sin(2 * X[:, 0]), 0.5 * X[:, 1], -0.2 * X[:, 0]])[:, :K]
    return X, (f + rng.gumbel(size=(n, K))).argmax(axis=1)


def given(path, **more):
    return CommitteeClassifier(**{**GIVEN, "store": path, **more})


def seen(model):
    weights, K = model.class_weight_, model.classes_.size

    def targets(codes, w):
        each = [problem.y for problem in problems(chosen_link(model.likelihood), K, codes)]
        return each, w * weights[codes[:, 0].astype(int)]

    return targets


def written(folder, X, y, chunk_rows=65_536):
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    return collegium.open((str(folder / "X.npy"), str(folder / "y.npy")), chunk_rows=chunk_rows)


def assert_as_slow(model, n=8):
    Xs, _ = some_labels(n, 5)
    committees = in_memory(model, seen(model))
    own = latents(model, Xs)
    assert len(own) == (1 if model.classes_.size == 2 else model.classes_.size)
    for one, slow in zip(own, slow_latents(model, committees, Xs)):
        assert_allclose(one[0], slow[0], rtol=1e-7, atol=1e-8)
        assert_allclose(one[1], slow[1], rtol=1e-7)


@pytest.mark.parametrize(
    "K, more",
    [
        (2, {"likelihood": "probit", "n_jobs": 2}),
        (3, {"class_weight": {"a": 0.5, "c": 3.0}}),
        (3, {"likelihood": "softmax", "inference": Inductive(collegium.Sweeps(tol=1e-9))}),
    ],
    ids=["two", "three", "softmax"],
)
def test_answers_are_those_of_slow_code(tmp_path, K, more):
    X, y = some_labels(500, K=K)
    w = np.random.default_rng(3).integers(1, 4, size=500).astype(float)
    model = given(tmp_path / "a.rows", **more).fit(X, np.array(["a", "b", "c"])[y], w)
    assert_as_slow(model)
    assert_allclose(model.model_.total_weight, (w * model.class_weight_[y]).sum())


def test_functions_that_rest_are_left_alone(tmp_path):
    """Those of the first classes come to rest before the others."""
    X, y = some_labels(500)
    y[:4] = 3
    model = given(tmp_path / "r.rows", inference=Inductive(collegium.Sweeps(tol=1e-6))).fit(X, y)
    sweeps = [one.sweeps for one in model.model_.committees]
    assert sweeps[0] < sweeps[-1]
    assert_as_slow(model)


@pytest.mark.parametrize("class_weight", [None, "balanced", {1.0: 0.0}])
def test_a_source_gives_the_model_of_its_arrays_to_the_last_bit(tmp_path, class_weight):
    X, y = some_labels(500)
    Xs, _ = some_labels(9, 7)
    free = {"anchors": 20, "random_state": 0, "class_weight": class_weight}
    models = [given(tmp_path / "arrays.rows", **free).fit(X, y)]
    for k, rows in enumerate([333, 65_536]):
        source = written(tmp_path, X, y.astype(float), rows)
        models.append(given(tmp_path / f"{k}.rows", n_jobs=1 + k, **free).fit(source))
    for other in models[1:]:
        assert_array_equal(other.predict_proba(Xs), models[0].predict_proba(Xs))
        assert_array_equal(other.classes_, models[0].classes_)
        assert_array_equal(other.class_count_, models[0].class_count_)


@pytest.mark.slow
def test_what_is_learnt_is_good_and_does_not_depend_on_threads(tmp_path):
    X, y = some_labels(900, K=2)
    Xs, ys = some_labels(1000, 7, K=2)
    start = Matern32(variance=1.0, length_scale=[1.0, 1.0])
    free = {"kernel": start, "learn": True, "anchors": "auto", "random_state": 0}
    model = given(tmp_path / "1.rows", **free).fit(X, y)
    other = given(tmp_path / "2.rows", n_jobs=2, **free).fit(written(tmp_path, X, y, 400))
    f = 2.0 * np.sin(2 * Xs[:, 0]) - Xs[:, 1]
    truth = np.where(ys == 0, np.log1p(np.exp(-f)), np.log1p(np.exp(f))).mean()
    table = model.predict_log_proba(Xs)
    assert -table[np.arange(1000), ys].mean() < truth + 0.03
    assert model.calibration_ != (1.0, 1.0)
    assert_array_equal(table, other.predict_log_proba(Xs))


def test_labels_that_come_and_go(tmp_path):
    X, y = some_labels(500)
    more_X, more_y = some_labels(120, 4)
    tight = collegium.Sweeps(tol=1e-9)
    model = given(tmp_path / "f.rows", inference=Inductive(tight)).fit(X, y)
    Xs, _ = some_labels(20, 8)
    before, count = model.predict_proba(Xs), model.class_count_
    model.partial_fit(more_X, more_y, chunk_id="more")
    assert_array_equal(model.class_count_, np.bincount(y) + np.bincount(more_y))
    assert np.abs(model.predict_proba(Xs) - before).max() > 1e-3
    model.forget("more")
    assert_allclose(model.predict_proba(Xs), before, rtol=1e-5)
    assert_array_equal(model.class_count_, count)
    every_id_given(model).forget(3)
    assert_as_slow(model)
    assert model.class_count_.sum() == 400 and len(site_files(model.store)) == 3


def test_rows_of_a_class_that_does_not_count_are_not_stored(tmp_path):
    X, y = some_labels(600)
    model = given(tmp_path / "z.rows", class_weight={1: 0.0}).fit(X, y)
    assert len(Store.open(model.store)) == (y != 1).sum()
    model.partial_fit(X[y == 1][:5], y[y == 1][:5])
    assert len(Store.open(model.store)) == (y != 1).sum()


def test_other_shares_of_classes_are_learnt_anew(tmp_path):
    X, y = some_labels(600, K=2)
    few = np.flatnonzero(y == 1)[:20]
    rows = np.concatenate([np.flatnonzero(y == 0), few])
    start = {"kernel": Matern32(length_scale=[1.0, 1.0]), "learn": True, "random_state": 0}
    model = given(tmp_path / "s.rows", **start).fit(X[rows], y[rows])
    rest = np.setdiff1d(np.arange(600), rows)
    kernel = model.kernel_
    with pytest.warns(collegium.StreamWarning):
        model.partial_fit(X[rest], y[rest])
    assert model.kernel_.theta.tolist() != kernel.theta.tolist()
    assert model.model_.stream.learnt_at == 600 == len(Store.open(model.store))
    assert_as_slow(model)


def test_files_and_pickles_answer_alike(tmp_path):
    X, y = some_labels(500)
    model = given(tmp_path / "m.rows").fit(X, y)
    model.save(tmp_path / "m.clg")
    Xs, _ = some_labels(15, 8)
    answers, own = model.predict_proba(Xs), pickle.dumps(model)
    model.relearn()
    for other in (collegium.load(tmp_path / "m.clg"), pickle.loads(own)):
        assert_array_equal(other.predict_proba(Xs), answers)


def test_what_cannot_be_is_refused_by_name(tmp_path):
    X, y = some_labels(500)
    with pytest.raises(ValueError, match="chunks cut by 'random'"):
        given(tmp_path / "no.rows", chunks="random").fit(X, y)
    with pytest.raises(ValueError, match="continuous"):
        given(tmp_path / "no.rows").fit(written(tmp_path, X, X[:, 0]))
    with pytest.raises(ValueError, match="one class only"):
        given(tmp_path / "no.rows").fit(written(tmp_path, X, np.ones(500)))
    assert not (tmp_path / "no.rows").exists()
    model = given(tmp_path / "m.rows").fit(X, y)
    other = model.blank().partial_fit(X[:50], y[:50], chunk_id="new")
    with pytest.raises(ValueError, match="rows of a store"):
        model.merge(other)
