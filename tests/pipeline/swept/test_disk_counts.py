"""Counts, and other y that are not Gaussian, on disk: the same answers as from memory."""

import copy
import os
import pickle
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from stored_latent_cases import GIVEN, in_memory, latents, site_files, slow_latents

import collegium
from collegium import CommitteeRegressor, Inductive
from collegium.kernels import Matern32
from collegium.pipeline.swept import disk as stored_sweeps
from collegium.rows.chunk import Chunk
from collegium.rows.store.store import Store
from estimator_cases import every_id_given


def some_counts(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    return X, rng.poisson(np.exp(1.0 + np.sin(2 * X[:, 0]) + 0.3 * X[:, 1])).astype(float)


def given(path, **more):
    return CommitteeRegressor(**{**GIVEN, "likelihood": "poisson", "store": path, **more})


def seen(model):
    return lambda y, w: ([model.model_.units.forward(y)], w)


def assert_as_slow(model, gone=(), n=12):
    Xs, _ = some_counts(n, 5)
    committees = in_memory(model, seen(model), gone)
    for one, slow in zip(model.model_.committees, committees):
        assert one.sweeps >= slow.sweeps > 1
    for own, slow in zip(latents(model, Xs), slow_latents(model, committees, Xs)):
        assert_allclose(own[0], slow[0], rtol=1e-7, atol=1e-8)
        assert_allclose(own[1], slow[1], rtol=1e-7)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"inference": Inductive(collegium.Sweeps(schedule="sequence"))},
        {"n_jobs": 2},
        {
            "likelihood": "student-t",
            "noise": 0.4,
            "inference": Inductive(collegium.Sweeps(tol=1e-10)),
        },
    ],
    ids=["plain", "sequence", "threads", "student-t"],
)
def test_answers_are_those_of_slow_code(tmp_path, more):
    X, y = some_counts(700)
    rng = np.random.default_rng(3)
    w, e = rng.integers(1, 4, size=700).astype(float), rng.uniform(0.5, 2.0, size=700)
    exposure = {} if "likelihood" in more else {"exposure": e}
    model = given(tmp_path / "a.rows", **more).fit(X, y, w, **exposure)
    assert_as_slow(model)
    assert_allclose(
        model.log_evidence_,
        replace(
            model.model_,
            sum=replace(model.model_.sum, committees=tuple(in_memory(model, seen(model)))),
        ).log_evidence_in_units,
        rtol=1e-8,
    )


def written(folder, X, y, chunk_rows=65_536):
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    return collegium.open((str(folder / "X.npy"), str(folder / "y.npy")), chunk_rows=chunk_rows)


def test_a_source_gives_the_model_of_its_arrays_to_the_last_bit(tmp_path):
    X, y = some_counts(700)
    Xs, _ = some_counts(9, 7)
    free = {"anchors": 30, "random_state": 0}
    answers = [given(tmp_path / "arrays.rows", **free).fit(X, y).predict(Xs, return_std=True)]
    for k, rows in enumerate([333, 65_536]):
        source = written(tmp_path, X, y, rows)
        model = given(tmp_path / f"{k}.rows", n_jobs=1 + k, **free).fit(source)
        answers.append(model.predict(Xs, return_std=True))
    for mean, std in answers[1:]:
        assert_array_equal(mean, answers[0][0])
        assert_array_equal(std, answers[0][1])


def test_what_is_learnt_is_good_and_does_not_depend_on_threads(tmp_path):
    X, y = some_counts(900)
    Xs, ys = some_counts(1000, 7)
    start = Matern32(variance=1.0, length_scale=[1.0, 1.0])
    free = {"kernel": start, "learn": True, "anchors": "auto", "random_state": 0}
    model = given(tmp_path / "1.rows", **free).fit(X, y)
    other = given(tmp_path / "2.rows", n_jobs=2, **free).fit(written(tmp_path, X, y, 400))
    rate, truth = model.predict(Xs), np.exp(1.0 + np.sin(2 * Xs[:, 0]) + 0.3 * Xs[:, 1])
    assert np.mean(rate - ys * np.log(rate)) < np.mean(truth - ys * np.log(truth)) + 0.02
    assert_array_equal(rate, other.predict(Xs))


def test_a_stream_meets_the_present_belief_once(tmp_path):
    """As in memory, chunk by chunk, however many files there are."""
    X, y = some_counts(700)
    more_X, more_y = some_counts(90, 4)
    model = given(tmp_path / "s.rows", n_local=60).fit(X, y)
    (slow,) = in_memory(model, seen(model))
    first, parts = 0, 0
    for k, last in enumerate((3, 6, 40, 90)):
        part = slice(first, last)
        model.partial_fit(more_X[part], more_y[part])
        raw = np.column_stack([more_y[part], np.ones(last - first)])
        chunk = Chunk(
            10_000 + k, more_X[part], model.model_.units.forward(raw), np.ones(last - first)
        )
        slow = slow.add([chunk])
        first, parts = last, max(parts, len(model.model_.stored.parts))
    assert 1 < parts < 4 and model.n_chunks_ == 7 + 4
    Xs, _ = some_counts(10, 5)
    ((mean, variance),) = latents(model, Xs)
    ((slow_mean, slow_variance),) = slow_latents(model, [slow], Xs)
    assert_allclose(mean, slow_mean, rtol=1e-7, atol=1e-8)
    assert_allclose(variance, slow_variance, rtol=1e-6)


def test_forgetting_is_as_if_rows_had_never_come(tmp_path):
    X, y = some_counts(700)
    more_X, more_y = some_counts(150, 4)
    tight = collegium.Sweeps(tol=1e-9)
    model = given(tmp_path / "f.rows", inference=Inductive(tight)).fit(X, y)
    Xs, _ = some_counts(20, 8)
    before, evidence = model.predict(Xs, return_std=True), model.log_evidence_
    model.partial_fit(more_X[:60], more_y[:60], chunk_id="first")
    model.partial_fit(more_X[60:], more_y[60:])
    assert np.abs(model.predict(Xs) / before[0] - 1.0).max() > 1e-3
    model.forget("first")
    every_id_given(model).forget(7)
    after = model.predict(Xs, return_std=True)
    assert_allclose(after[0], before[0], rtol=1e-6)
    assert_allclose(after[1], before[1], rtol=1e-6)
    assert_allclose(model.log_evidence_, evidence, rtol=1e-8)
    assert model.model_.total_weight == 700 and model.n_chunks_ == 7


def test_a_forgotten_cell_is_gone(tmp_path):
    X, y = some_counts(700)
    model = given(tmp_path / "g.rows", inference=Inductive(collegium.Sweeps(tol=1e-10))).fit(X, y)
    every_id_given(model).forget([2, 5])
    assert_as_slow(model)
    with pytest.raises(ValueError, match="no rows would be left"):
        model.forget(model.chunk_ids_)
    assert_as_slow(model)


def test_files_and_pickles_answer_alike_whatever_becomes_of_the_model(tmp_path):
    X, y = some_counts(500)
    model = given(tmp_path / "m.rows").fit(X, y)
    model.save(tmp_path / "m.clg")
    Xs, _ = some_counts(15, 8)
    answers, own = model.predict(Xs, return_std=True), pickle.dumps(model)
    model.fit(X, y)
    for other in (collegium.load(tmp_path / "m.clg"), pickle.loads(own)):
        for a, b in zip(answers, other.predict(Xs, return_std=True)):
            assert_array_equal(a, b)


def test_models_on_one_store_do_not_meet_and_files_end_with_their_model(tmp_path):
    X, y = some_counts(500)
    Xs, _ = some_counts(15, 8)
    one = given(tmp_path / "two.rows").fit(X, y)
    before = one.predict(Xs)
    other = given(tmp_path / "two.rows", kernel=2.0 * Matern32(length_scale=[0.3, 0.4])).fit(X, y)
    assert len(site_files(one.store)) == 2
    assert np.abs(other.predict(Xs) / before - 1.0).max() > 1e-3
    other.fit(X, y)
    assert len(site_files(one.store)) == 2
    del other
    assert len(site_files(one.store)) == 1
    assert_array_equal(copy.deepcopy(one).predict(Xs), before)
    assert_array_equal(one.predict(Xs), before)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("call", ["fit", "partial_fit", "forget"])
def test_after_an_error_model_and_store_are_as_they_were(tmp_path, monkeypatch, error, call):
    X, y = some_counts(500)
    model = every_id_given(given(tmp_path / "e.rows").fit(X, y))
    Xs, _ = some_counts(15, 8)
    before, files = model.predict(Xs), site_files(model.store)

    def fails(*arguments, **more):
        raise error("now")

    cells = []

    def fails_late(*arguments):
        cells.append(0)
        return write(*arguments) if len(cells) < 4 else fails()

    write = stored_sweeps.write_cell
    monkeypatch.setattr(stored_sweeps, "write_cell", fails_late)
    monkeypatch.setattr(Store, "add", fails)
    arguments = {"fit": (X, y), "partial_fit": (X[:20] + 0.01, y[:20]), "forget": (1,)}
    with pytest.raises(error):
        getattr(model, call)(*arguments[call])
    monkeypatch.undo()
    assert site_files(model.store) == files
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(Xs), before)
    getattr(model, call)(*arguments[call])


def test_a_model_does_not_see_what_another_added(tmp_path):
    X, y = some_counts(500)
    model = given(tmp_path / "two.rows", n_local=5).fit(X, y)
    other = pickle.loads(pickle.dumps(model))
    far = np.full((3, 2), 8.0) + np.arange(3)[:, None] / 10
    before = model.predict(far)
    other.partial_fit(far, np.full(3, 50.0))
    assert (other.predict(far) > 3 * before).all()
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(far), before)
    with pytest.raises(ValueError, match="another model has added"):
        model.partial_fit(far, np.full(3, 5.0))
    with pytest.raises(ValueError, match="has not learnt from"):
        model.relearn()


def test_rows_that_were_sorted_anew_are_not_taken_for_others(tmp_path):
    X, y = some_counts(600)
    model = given(tmp_path / "n.rows").fit(X[:400], y[:400]).partial_fit(X[400:450], y[400:450])
    other = pickle.loads(pickle.dumps(model))
    model.relearn()
    before = model.predict(X[:9])
    other.partial_fit(X[450:], y[450:])
    with pytest.raises(ValueError, match="sorted again"):
        pickle.loads(pickle.dumps(model)).predict(X[:9])
    assert before.shape == (9,)


def test_relearning_sees_rows_and_exposures_that_came_since(tmp_path):
    X, y = some_counts(700)
    model = given(tmp_path / "l.rows", anchors=30).fit(X[:500], y[:500])
    model.partial_fit(X[500:], y[500:], exposure=2.0)
    model.relearn()
    assert_as_slow(model)
    assert model.model_.total_weight == 700 and model.model_.units.exposed
    assert model.n_chunks_ == len(Store.open(model.store).chunks())
    assert len(site_files(model.store)) == 1


def test_anchors_alone_answer_without_rows(tmp_path):
    X, y = some_counts(700)
    model = given(tmp_path / "0.rows", n_local=0).fit(X, y)
    (slow,) = in_memory(model, seen(model))
    Xs, _ = some_counts(10, 5)
    V = slow.basis.design(Xs)
    assert_allclose(latents(model, Xs)[0][0], V.T @ slow.beliefs[0].mean[:, 0], rtol=1e-8)


def test_few_rows_need_no_store(tmp_path):
    X, y = some_counts(90)
    model = given(tmp_path / "few.rows").fit(X, y)
    assert not (tmp_path / "few.rows").exists()
    assert_array_equal(model.predict(X), given(None).fit(X, y).predict(X))


def test_what_cannot_be_is_refused_by_name(tmp_path):
    X, y = some_counts(700)
    with pytest.raises(ValueError, match="transductive"):
        given(tmp_path / "no.rows", inference="transductive", n_local="auto").fit(X, y)
    assert not (tmp_path / "no.rows").exists()
    with pytest.raises(ValueError, match="counts"):
        given(tmp_path / "no.rows").fit(written(tmp_path, X, y - 1.5))
    assert not (tmp_path / "no.rows").exists()
    model = given(tmp_path / "m.rows").fit(X, y)
    other = model.blank().partial_fit(X[:50], y[:50], chunk_id="new")
    with pytest.raises(ValueError, match="rows of a store"):
        model.merge(other)
    (tmp_path / "m.rows" / site_files(model.store)[0]).unlink()
    with pytest.raises(FileNotFoundError, match="fit again"):
        pickle.loads(pickle.dumps(model)).predict(X[:2])


#: Fits a model of counts, then kills itself: its files are nobody's.
KILLED = """
import os, signal, sys
import numpy as np
from collegium import CommitteeRegressor
from collegium.kernels import RBF
rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, size=(500, 2))
y = rng.poisson(np.exp(np.sin(X[:, 0])))
model = CommitteeRegressor(
    RBF(), likelihood="poisson", learn=False, anchors=15, chunks=100, store=sys.argv[1]
).fit(X, y)
if len(sys.argv) > 2:
    model.save(sys.argv[2])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("saved", [False, True])
def test_files_of_a_killed_process_are_swept_unless_a_model_file_needs_them(tmp_path, saved):
    store, file = tmp_path / "c.rows", tmp_path / "c.clg"
    given = [str(store), *([str(file)] if saved else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", KILLED, *given], env=environment)
    assert done.returncode == -signal.SIGKILL
    assert len(list(store.glob("sites-*.f64"))) == 1
    Store.open(store)
    assert len(list(store.glob("sites-*"))) == saved
    if saved:
        assert np.isfinite(collegium.load(file).predict(np.zeros((2, 2)))).all()


def test_damaged_sites_are_refused(tmp_path):
    model = given(tmp_path / "d.rows").fit(*some_counts(600))
    model.partial_fit(*some_counts(50, 1))
    model.save(tmp_path / "d.clg")
    expected = model.predict(np.zeros((3, 2)))
    files = sorted((tmp_path / "d.rows").glob("sites-*.f64"))
    for file in files:
        good = file.read_bytes()
        for at in (3, len(good) // 2, len(good) - 3):
            other = file.with_suffix(".new")  # another file: known ones are compared once
            other.write_bytes(good[:at] + bytes([good[at] ^ 8]) + good[at + 1 :])
            os.replace(other, file)
            with pytest.raises(OSError, match="is damaged.*checksum"):
                collegium.load(tmp_path / "d.clg").predict(np.zeros((3, 2)), n_local=600)
        other.write_bytes(good)
        os.replace(other, file)
    assert_array_equal(collegium.load(tmp_path / "d.clg").predict(np.zeros((3, 2))), expected)
