"""Rows on disk that were forgotten, added, replaced or few: no model answers from others than it
learnt, and none is left in memory."""

import errno
import pickle
import shutil
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import collegium
from collegium import CommitteeClassifier, CommitteeRegressor, Transform
from collegium.kernels import Matern32
from collegium.rows.store import folder
from collegium.rows.store.store import Store
from estimator_cases import every_id_given


def some_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=n)


Z = np.random.default_rng(9).uniform(-3, 3, size=(25, 2))


def given(path, **more):
    """A model with a kernel, noise and anchors of its own: nothing is left to learn."""
    arguments = {
        "kernel": Matern32(1.3, [0.7, 1.4]), "noise": 0.05, "learn": False, "anchors": Z,
        "n_local": 30, "chunks": 100, "store": path, "transforms": None,
    }  # fmt: skip
    return CommitteeRegressor(**{**arguments, **more})


def test_a_store_with_forgotten_rows_is_not_used_again_for_all(tmp_path):
    X, y = some_rows(700)
    model = given(tmp_path / "a.rows").fit(X, y)
    every_id_given(model).forget(2)
    with pytest.raises(ValueError, match="forgotten since"):
        model.fit(X, y)
    assert model.model_.total_weight < 700


def test_cells_of_later_segments_are_forgotten_after_relearning(tmp_path):
    model = given(tmp_path / "b.rows").fit(*some_rows(700))
    for seed in range(1, 4):
        model.partial_fit(*some_rows(100, seed))
    model.relearn()
    store = Store.open(model.store)
    assert store.n_segments > 1
    last = store.chunks()[-1]
    assert last.number == model.chunk_ids_[-1]
    every_id_given(model).forget(last.number)
    assert model.model_.total_weight == 1000 - last.n == len(Store.open(model.store))
    model.relearn()
    assert last.number not in model.chunk_ids_ and len(model.chunk_ids_) == model.n_chunks_


def test_what_another_model_has_forgotten_is_not_forgotten_twice(tmp_path):
    model = given(tmp_path / "c.rows").fit(*some_rows(700))
    other = pickle.loads(pickle.dumps(model))
    every_id_given(model).forget(2)
    evidence = other.log_evidence_
    with pytest.raises(ValueError, match="another model has forgotten"):
        every_id_given(other).forget([1, 2])
    assert other.log_evidence_ == evidence and other.model_.total_weight == 700
    assert len(Store.open(model.store)) == model.model_.total_weight
    other.forget(1)


def test_all_rows_forgotten_leave_the_prior(tmp_path):
    X, y = some_rows(700)
    model = given(tmp_path / "d.rows", noise="varying", learn=True).fit(X, y)
    every_id_given(model).forget(model.chunk_ids_)
    mean, std = model.predict(X[:3], return_std=True)
    assert_allclose(mean, model.model_.scaling.centre[0])
    assert np.isfinite(std).all() and np.isfinite(model.predict_interval(X[:3])).all()


def test_given_anchors_are_transformed_with_the_rows(tmp_path):
    X, y = some_rows(700)
    arguments = {"transforms": Transform(None, "rank"), "anchors": np.exp(Z), "n_local": 0}
    stored = given(tmp_path / "e.rows", **arguments).fit(np.exp(X), y)
    plain = given(None, **arguments).fit(np.exp(X), y)
    assert_allclose(stored.anchors_, plain.anchors_, rtol=1e-9)
    assert_allclose(stored.predict(np.exp(X)), plain.predict(np.exp(X)), atol=0.1)
    stored.relearn()
    assert_allclose(stored.anchors_, plain.anchors_, rtol=1e-9)


@pytest.mark.parametrize("step", [50, 70, 100])
def test_a_stream_goes_to_disk_once_it_waits_no_more(tmp_path, step):
    """Also where that many rows are exactly one chunk."""
    model = given(tmp_path / "f.rows", anchors=5, chunks=100)
    for seed in range(4):
        model.partial_fit(*some_rows(step, seed))
    assert model.model_.stored is not None and not model.model_.sum.arrived()
    assert len(Store.open(model.store)) == 4 * step == model.model_.total_weight


def test_a_stream_that_does_not_wait_is_on_disk_at_once(tmp_path):
    model = given(tmp_path / "g.rows")
    for seed in range(3):
        model.partial_fit(*some_rows(1, seed))
    assert len(Store.open(model.store)) == 3 == model.n_chunks_
    assert np.isfinite(model.predict(Z, return_std=True)).all()


def test_first_rows_of_a_store_have_no_names(tmp_path):
    X, y = some_rows(700)
    model = given(tmp_path / "h.rows")
    with pytest.raises(ValueError, match="chunk_id='a'"):
        model.partial_fit(X, y, chunk_id="a")
    assert not (tmp_path / "h.rows").exists() and not hasattr(model, "model_")
    model.partial_fit(X[:600], y[:600]).partial_fit(X[600:], y[600:], chunk_id="a")
    assert "a" in model.chunk_ids_


def test_other_rows_in_the_folder_are_told(tmp_path):
    X, y = some_rows(700)
    model = given(tmp_path / "k.rows").fit(X, y)
    kept = pickle.dumps(model)
    shutil.rmtree(tmp_path / "k.rows")
    given(tmp_path / "k.rows").fit(some_rows(700, 5)[0], y + 100.0)
    old = every_id_given(pickle.loads(kept))
    for ask in (
        lambda: old.predict(X), lambda: old.partial_fit(X, y), lambda: old.forget(1), old.relearn
    ):  # fmt: skip
        with pytest.raises(ValueError, match="not the row store of this model"):
            ask()
    assert len(Store.open(tmp_path / "k.rows")) == 700


def test_equal_rows_are_one(tmp_path):
    model = CommitteeRegressor(Matern32(1.0, 1.0), store=tmp_path / "o.rows", chunks=50)
    model.fit(np.ones((300, 2)), np.full(300, 2.0))
    mean, std = model.predict(np.ones((1, 2)), return_std=True)
    assert_allclose(mean, 2.0)
    assert np.isfinite(std).all()


def test_a_logarithm_that_is_not_there_is_told_before_rows_are_sorted(tmp_path, monkeypatch):
    from collegium.pipeline.kept import filling
    from collegium.rows.store.sample import splitmix64

    few = replace(filling.TUNING, disk=replace(filling.TUNING.disk, sample=50))
    monkeypatch.setattr(filling, "TUNING", few)
    X, y = some_rows(700)
    y = np.exp(y)
    y[np.argmax(splitmix64(np.arange(700)))] = -1.0  # not in the sample
    with pytest.raises(ValueError, match="no logarithm"):
        given(tmp_path / "n.rows", transforms=Transform("log", None)).fit(X, y)
    assert not (tmp_path / "n.rows").exists()


def test_skipped_chunks_are_told_where_rows_are_sorted_already(tmp_path):
    X, y = some_rows(400)
    y[250] = np.nan
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    model = given(tmp_path / "s.rows")
    told = []
    for _ in range(2):
        files = (str(tmp_path / "X.npy"), str(tmp_path / "y.npy"))
        model.fit(collegium.open(files, on_bad_chunk="skip", chunk_rows=100))
        told.append(model.skipped_)
    assert len(told[0]) == 1 and told[0] == told[1] and model.model_.total_weight == 300


def test_a_model_forgets_nothing_from_a_store_that_another_has_added_to(tmp_path):
    model = given(tmp_path / "u.rows").fit(*some_rows(700))
    other = pickle.loads(pickle.dumps(model)).partial_fit(*some_rows(50, 1), chunk_id="a")
    with pytest.raises(ValueError, match="another model has added"):
        every_id_given(model).forget(1)
    assert len(Store.open(model.store)) == 750
    with pytest.raises(ValueError, match="leave out X and y"):
        other.forget("a", *some_rows(50, 1))
    every_id_given(other).forget([1, "a"])
    assert len(Store.open(model.store)) == other.model_.total_weight < 700


def test_relearning_keeps_given_ids(tmp_path):
    model = given(tmp_path / "v.rows").fit(*some_rows(700))
    for seed, id in enumerate(["a", 3000, "b", None], 1):
        model.partial_fit(*some_rows(150, seed), chunk_id=id)
    number = model.chunk_ids_[0]
    for _ in range(2):
        model.relearn()
        assert {"a", "b", 3000} <= set(model.chunk_ids_)
        assert model.model_.total_weight == 1300 == len(Store.open(model.store))
    model.partial_fit(*some_rows(40, 8), chunk_id="c")
    every_id_given(model).forget(["a", number])
    left = model.model_.total_weight
    assert left == len(Store.open(model.store)) < 1190
    Xa = some_rows(150, 1)[0]
    store = Store.open(model.store)
    found = {tuple(x) for x in store.inputs(store.sample(10**6))}
    assert not any(tuple(x) in found for x in Xa)
    model.forget([3000, "b", "c"])
    assert model.model_.total_weight == left - 340


def test_relearning_gives_the_same_sum_however_chunks_are_named(tmp_path):
    """Messages of named runs and of the cells without them add up to those of all rows."""
    models = []
    for name, id in (("w", "a"), ("x", None)):
        model = given(tmp_path / f"{name}.rows", n_local=0).fit(*some_rows(700))
        models.append(model.partial_fit(*some_rows(150, 1), chunk_id=id).relearn())
    named, plain = (one.predict(Z, return_std=True) for one in models)
    assert_allclose(named, plain, rtol=0.05, atol=0.01)
    assert "a" in models[0].chunk_ids_ and len(models[0].chunk_ids_) < len(models[1].chunk_ids_)


def test_cells_take_no_number_that_was_given(tmp_path):
    model = given(tmp_path / "y.rows").fit(*some_rows(700))
    model.partial_fit(*some_rows(150, 1), chunk_id=len(model.chunk_ids_) + 1)
    model.partial_fit(*some_rows(900, 2)).relearn()
    ids = model.chunk_ids_
    assert len(ids) == len(set(ids)) and 8 in ids and len(ids) + 1 == model.n_chunks_
    model.forget(8)
    assert model.model_.total_weight == 1600
    every_id_given(model).forget(ids[-1])
    assert 8 not in model.chunk_ids_ and len(Store.open(model.store)) == model.model_.total_weight


@pytest.mark.parametrize("likelihood", ["gaussian", "student-t"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_call_that_stops_between_rows_and_model_leaves_a_model_that_goes_on(
    tmp_path, monkeypatch, error, likelihood
):
    more = {} if likelihood == "gaussian" else {"likelihood": likelihood}
    model = given(tmp_path / "z.rows", **more).fit(*some_rows(700))
    model.partial_fit(*some_rows(60, 1), chunk_id="a")
    before, n = model.predict(Z), len(Store.open(model.store))
    real = Store.add

    def add(store, *arguments, **keywords):
        real(store, *arguments, **keywords)
        raise error

    for seed in (2, 3):
        with monkeypatch.context() as patch, pytest.raises(error):
            patch.setattr(Store, "add", add)
            model.partial_fit(*some_rows(70, seed), chunk_id="b")
        np.testing.assert_array_equal(model.predict(Z), before)
    model.partial_fit(*some_rows(80, 4), chunk_id="c")
    assert len(Store.open(model.store)) == n + 80 == model.model_.total_weight
    other = given(tmp_path / "other.rows", **more).fit(*some_rows(700))
    other.partial_fit(*some_rows(60, 1), chunk_id="a")
    other.partial_fit(*some_rows(80, 4), chunk_id="c")
    np.testing.assert_array_equal(model.predict(Z), other.predict(Z))
    one, two = (pickle.loads(pickle.dumps(model)) for _ in range(2))
    one.partial_fit(*some_rows(50, 6))  # rows of a model that was kept stay
    with pytest.raises(ValueError, match="another model has added"):
        two.partial_fit(*some_rows(50, 7))


@pytest.mark.parametrize("likelihood", ["gaussian", "student-t"])
@pytest.mark.parametrize("sizes", [(60,), (30,), (60, 50)])
def test_of_two_writers_at_once_one_is_refused_and_no_row_of_the_other_is_lost(
    tmp_path, monkeypatch, likelihood, sizes
):
    more = {} if likelihood == "gaussian" else {"likelihood": likelihood}
    first = given(tmp_path / "w.rows", **more).fit(*some_rows(700))
    second, before = pickle.loads(pickle.dumps(first)), first.predict(Z)
    n, keep = len(Store.open(first.store)), type(first)._keep

    def late(model, *arguments):  # rows are on disk, the call has not ended
        monkeypatch.undo()
        for k, size in enumerate(sizes):
            second.partial_fit(*some_rows(size, 2 + k))
        keep(model, *arguments)

    monkeypatch.setattr(type(first), "_keep", late)
    with pytest.raises(ValueError, match="another model"):
        first.partial_fit(*some_rows(60, 1))
    store = Store.open(first.store)
    stored = np.sort(store.take(store.positions(n, 10**6))[0][:, 0])
    ours = np.concatenate([some_rows(size, 2 + k)[0][:, 0] for k, size in enumerate(sizes)])
    np.testing.assert_array_equal(stored, np.sort(ours))
    np.testing.assert_array_equal(first.predict(Z), before)
    with pytest.raises(ValueError, match="another model has added"):
        first.partial_fit(*some_rows(10, 4))
    second.partial_fit(*some_rows(10, 4))
    assert len(Store.open(first.store)) == n + sum(sizes) + 10 == second.model_.total_weight


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(errno.ENOSPC, "full")])
def test_rows_that_cannot_be_confirmed_are_not_learnt(tmp_path, monkeypatch, error, replaced):
    model = given(tmp_path / "c.rows").fit(*some_rows(700))
    model.partial_fit(*some_rows(40, 1))
    old, before = pickle.dumps(model), model.predict(Z)
    n, write, failed = len(Store.open(model.store)), folder.write_manifest, []

    def fails(path, manifest):
        if manifest.get("tentative", 0) is None and not failed:
            failed.append(replaced and write(path, manifest))
            raise error
        write(path, manifest)

    with monkeypatch.context() as patch, pytest.raises((KeyboardInterrupt, OSError)):
        patch.setattr(folder, "write_manifest", fails)
        model.partial_fit(*some_rows(60, 2))
    assert failed and model.model_.total_weight == n
    np.testing.assert_array_equal(model.predict(Z), before)
    model.partial_fit(*some_rows(50, 3))
    with pytest.raises(ValueError, match="another model has added"):
        pickle.loads(old).partial_fit(*some_rows(20, 4))
    store = Store.open(model.store)
    assert len(store) == n + 50 == model.model_.total_weight
    kept = np.sort(store.take(store.positions(n, 10**6))[0][:, 0])
    np.testing.assert_array_equal(kept, np.sort(some_rows(50, 3)[0][:, 0]))


@pytest.mark.parametrize("kind", ["gaussian", "student-t", "classes"])
@pytest.mark.parametrize("after", [1, 3])
def test_an_interrupted_progressive_leaves_a_model_that_goes_on(tmp_path, monkeypatch, kind, after):
    more = {} if kind == "gaussian" else {"likelihood": kind}

    def fitted(path):
        if kind == "classes":
            model = CommitteeClassifier(
                Matern32(1.3, [0.7, 1.4]), learn=False, anchors=Z, n_local=30, chunks=100,
                store=path, random_state=0,
            )  # fmt: skip
        else:
            model = given(path, **more)
        return model.fit(*told(700, 0))

    def told(n, seed):
        X, y = some_rows(n, seed)
        return X, (y > 0).astype(int) if kind == "classes" else y

    def answers(model):
        return model.predict_proba(Z) if kind == "classes" else model.predict(Z)

    model = fitted(tmp_path / "p.rows")
    before, n, keep, calls = answers(model), len(Store.open(model.store)), type(model)._keep, []

    def stop(own, *arguments):
        calls.append(0)
        if len(calls) > after:
            raise KeyboardInterrupt
        keep(own, *arguments)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(type(model), "_keep", stop)
        model.progressive(*told(400, 1), batch=60)
    np.testing.assert_array_equal(answers(model), before)
    model.progressive(*told(130, 2), batch=60)
    other = fitted(tmp_path / "q.rows")
    other.progressive(*told(130, 2), batch=60)
    assert len(Store.open(model.store)) == n + 130
    assert Store.open(model.store).tentative_from is None
    np.testing.assert_array_equal(answers(model), answers(other))


@pytest.mark.parametrize("likelihood", ["gaussian", "student-t"])
@pytest.mark.parametrize("place", ["model", "manifest"])
def test_an_interrupted_forget_forgets_nothing(tmp_path, monkeypatch, likelihood, place):
    more = {} if likelihood == "gaussian" else {"likelihood": likelihood}
    model = given(tmp_path / "f.rows", **more).fit(*some_rows(700))
    every_id_given(model.partial_fit(*some_rows(60, 1), chunk_id="a"))
    before, n, write = model.predict(Z), len(Store.open(model.store)), folder.write_manifest
    failed = []

    def stop(*arguments):
        if not failed:
            failed.append(place == "manifest" and write(*arguments))
            raise KeyboardInterrupt
        write(*arguments)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        owner, name = (type(model), "_keep") if place == "model" else (folder, "write_manifest")
        patch.setattr(owner, name, stop)
        model.forget(["a", 2])
    assert len(Store.open(model.store)) == n == model.model_.total_weight
    np.testing.assert_array_equal(model.predict(Z), before)
    model.forget(["a", 2])
    assert len(Store.open(model.store)) == model.model_.total_weight < n
    other = given(tmp_path / "g.rows", **more).fit(*some_rows(700))
    every_id_given(other.partial_fit(*some_rows(60, 1), chunk_id="a")).forget(["a", 2])
    np.testing.assert_array_equal(model.predict(Z), other.predict(Z))
