"""Rows on disk: the same answers as from memory, in any order of arrival, forgotten and saved."""

import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import collegium
from collegium import CommitteeRegressor, Transform
from collegium.engines import Serial
from collegium.kernels import Matern32
from collegium.messages.committee import Committee
from collegium.pipeline import job, models
from collegium.pipeline.kept import filling
from collegium.rows.chunk import Chunk
from collegium.rows.store import build, records, segment, store
from collegium.rows.store.store import Store
from estimator_cases import every_id_given

KERNEL, NOISE = Matern32(variance=1.3, length_scale=[0.7, 1.4]), 0.05


def some_rows(n, seed=0, p=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    f = np.sin(2 * X[:, :1]) + 0.3 * X[:, 1:] * np.arange(1, p + 1)
    y = f + 0.2 * rng.normal(size=(n, p))
    return X, y[:, 0] if p == 1 else y


def given(path, **more):
    """A model with a kernel, noise and anchors of its own: nothing is left to learn."""
    Z = np.random.default_rng(9).uniform(-3, 3, size=(25, 2))
    arguments = {
        "kernel": KERNEL, "noise": NOISE, "learn": False, "anchors": Z, "n_local": 30,
        "chunks": 100, "store": path, "transforms": None,
    }  # fmt: skip
    return CommitteeRegressor(**{**arguments, **more})


def learnt(path, **more):
    """A model that learns, from a kernel that makes this quick."""
    start = Matern32(variance=1.0, length_scale=[1.0, 1.0])
    return CommitteeRegressor(start, store=path, random_state=0, **more)


def slow_answers(model, X, y, w, Xs):
    """From all cells, and for each query from its nearest rows by brute force, one by one."""
    own = model.model_
    scaling, c = own.scaling, own.committee
    cells = Store.open(model.store).chunks()
    start = Committee.start(c.basis.kernel, c.noise, c.basis.Z, 1)
    for cell in cells:
        Xc, yc, wc = cell.load()
        chunk = Chunk(cell.number, Xc, scaling.forward(yc), wc)
        start = start.add([chunk], Serial(), keep=False)
    means, variances = [], []
    weights = 1.0 / np.asarray(c.basis.kernel.length_scale) ** 2
    for x in Xs:
        near = np.argsort((((X - x) ** 2) * weights).sum(axis=1), kind="stable")[
            : own.sizes.n_local
        ]
        V, v = c.basis.design(X[near]), c.basis.design(x[None])
        C = c.basis.kernel.value(X[near]) - V.T @ V + np.diag(c.noise / w[near])
        k = c.basis.kernel.value(x[None], X[near])[0] - V.T @ v[:, 0]
        a = np.linalg.solve(C, k)
        t = v[:, 0] - V @ a
        T = start.belief.spread(t[:, None])
        left = c.basis.kernel.diag(x[None])[0] - v[:, 0] @ v[:, 0] - a @ k
        means.append(t @ start.belief.mean[:, 0] + a @ scaling.forward(y[near, None])[:, 0])
        variances.append(left + float((T**2).sum()) + c.noise)
    scale = scaling.scale[0]
    return scaling.mean(np.array(means)), scale * np.sqrt(variances)


def test_answers_are_those_of_slow_code(tmp_path):
    X, y = some_rows(700)
    w = np.random.default_rng(3).integers(1, 4, size=700).astype(float)
    model = given(tmp_path / "a.rows").fit(X, y, w)
    Xs, _ = some_rows(12, 5)
    mean, std = model.predict(Xs, return_std=True)
    slow_mean, slow_std = slow_answers(model, X, y, w, Xs)
    assert_allclose(mean, slow_mean, rtol=1e-8, atol=1e-10)
    assert_allclose(std, slow_std, rtol=1e-8)


def test_a_source_gives_the_model_of_its_arrays_to_the_last_bit(tmp_path):
    X, y = some_rows(2600, p=2)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    Xs, _ = some_rows(9, 7)
    answers = []
    for k, rows in enumerate([(2600,), (700, 333), (65_536,)]):
        source = collegium.open(
            (str(tmp_path / "X.npy"), str(tmp_path / "y.npy")), chunk_rows=rows[-1]
        )
        model = learnt(tmp_path / f"{k}.rows").fit(source)
        answers.append(model.predict(Xs, return_std=True))
    arrays = learnt(tmp_path / "arrays.rows").fit(X, y)
    answers.append(arrays.predict(Xs, return_std=True))
    for mean, std in answers[1:]:
        assert_array_equal(mean, answers[0][0])
        assert_array_equal(std, answers[0][1])


@pytest.mark.parametrize("n_local", [0, 40])
def test_a_stream_is_a_fit_of_all_rows(tmp_path, n_local):
    """There is one way to cut rows into chunks of one, and both have one scale of y."""
    X, y = some_rows(600)
    for part in (y[:200], y[200:]):
        part[:] = (part - part.mean()) / part.std()
    whole = given(tmp_path / "all.rows", chunks=1, n_local=n_local).fit(X, y)
    parts = given(tmp_path / "parts.rows", chunks=1, n_local=n_local).fit(X[:200], y[:200])
    for first, last in ((200, 201), (201, 450), (450, 600)):
        parts.partial_fit(X[first:last], y[first:last])
    assert parts.n_chunks_ == 600
    Xs, _ = some_rows(40, 8)
    for a, b in zip(whole.predict(Xs, return_std=True), parts.predict(Xs, return_std=True)):
        assert_allclose(a, b, rtol=1e-6, atol=1e-9)


def test_rows_of_a_stream_are_found(tmp_path):
    X, y = some_rows(500)
    model = given(tmp_path / "s.rows", n_local=5).fit(X, y)
    far = np.full((3, 2), 8.0) + np.arange(3)[:, None] / 10
    before = model.predict(far, return_std=True)[1]
    model.partial_fit(far, np.array([5.0, 5.1, 5.2]))
    mean, std = model.predict(far, return_std=True)
    assert (std < 0.5 * before).all() and (np.abs(mean - 5.1) < 0.5).all()


def test_forgetting_is_as_if_rows_had_never_come(tmp_path):
    X, y = some_rows(700)
    more_X, more_y = some_rows(250, 4)
    model = given(tmp_path / "f.rows").fit(X, y)
    Xs, _ = some_rows(20, 8)
    before = model.predict(Xs, return_std=True)
    evidence, cells = model.log_evidence_, model.n_chunks_
    model.partial_fit(more_X[:100], more_y[:100], chunk_id="first")
    model.partial_fit(more_X[100:], more_y[100:])
    with_more = model.predict(Xs)
    assert np.abs(with_more - before[0]).max() > 1e-3
    model.forget("first")
    every_id_given(model).forget([id for id in model.chunk_ids_ if id >= cells])
    after = model.predict(Xs, return_std=True)
    assert_array_equal(after[0], before[0])
    assert_array_equal(after[1], before[1])
    assert_allclose(model.log_evidence_, evidence, rtol=1e-12)


def test_a_forgotten_cell_is_gone(tmp_path):
    X, y = some_rows(700)
    model = given(tmp_path / "g.rows").fit(X, y)
    cell = Store.open(model.store).chunks()[2]
    Xc, _, _ = cell.load()
    stay = ~(X[:, None, :] == Xc[None]).all(axis=2).any(axis=1)
    every_id_given(model).forget(cell.number)
    Xs, _ = some_rows(15, 8)
    mean, std = model.predict(Xs, return_std=True)
    slow = slow_answers(model, X[stay], y[stay], np.ones(stay.sum()), Xs)
    assert_allclose(mean, slow[0], rtol=1e-8, atol=1e-10)
    assert_allclose(std, slow[1], rtol=1e-8)
    assert model.n_chunks_ == len(Store.open(model.store).chunks())


def test_files_and_pickles_answer_alike(tmp_path):
    X, y = some_rows(2500)
    model = learnt(tmp_path / "m.rows").fit(X, y)
    model.save(tmp_path / "m.clg")
    Xs, _ = some_rows(15, 8)
    for other in (collegium.load(tmp_path / "m.clg"), pickle.loads(pickle.dumps(model))):
        for a, b in zip(model.predict_interval(Xs), other.predict_interval(Xs)):
            assert_array_equal(a, b)


def test_a_model_does_not_see_what_another_added(tmp_path):
    X, y = some_rows(500)
    model = given(tmp_path / "two.rows", n_local=5).fit(X, y)
    other = pickle.loads(pickle.dumps(model))
    far = np.full((3, 2), 8.0) + np.arange(3)[:, None] / 10
    before = model.predict(far, return_std=True)
    other.partial_fit(far, np.full(3, 5.0))
    again = pickle.loads(pickle.dumps(model)).predict(far, return_std=True)
    assert_array_equal(before[0], again[0])
    assert_array_equal(before[1], again[1])
    with pytest.raises(ValueError, match="another model has added"):
        model.partial_fit(far, np.full(3, 5.0))


@pytest.mark.slow
def test_threads_give_the_same_bits(tmp_path):
    X, y = some_rows(2500)
    one = learnt(tmp_path / "1.rows", n_jobs=1).fit(X, y)
    two = learnt(tmp_path / "2.rows", n_jobs=2).fit(X, y)
    Xs, _ = some_rows(300, 8)
    for a, b in zip(one.predict_interval(Xs), two.predict_interval(Xs)):
        assert_array_equal(a, b)


def test_rows_that_are_sorted_already_are_used(tmp_path):
    X, y = some_rows(2500)
    model = learnt(tmp_path / "r.rows")
    first = model.fit(X, y).predict(X[:5])
    stamp = (tmp_path / "r.rows" / "manifest.json").stat().st_mtime_ns
    assert_array_equal(model.fit(X, y).predict(X[:5]), first)
    assert (tmp_path / "r.rows" / "manifest.json").stat().st_mtime_ns == stamp
    with pytest.raises(ValueError, match="holds other rows"):
        model.fit(X, y + 1.0)
    assert_array_equal(model.predict(X[:5]), first)


def test_few_rows_need_no_store(tmp_path):
    X, y = some_rows(150)
    model = learnt(tmp_path / "few.rows").fit(X, y)
    plain = learnt(None).fit(X, y)
    assert_array_equal(model.predict(X), plain.predict(X))
    assert not (tmp_path / "few.rows").exists()


@pytest.mark.parametrize("transform", [pytest.param("log", marks=pytest.mark.slow), None])
def test_skewed_columns_are_ranked_before_they_are_stored(tmp_path, transform):
    X, y = some_rows(2600)
    skewed, y = np.exp(2.0 * X), np.exp(y)
    model = learnt(tmp_path / "w.rows", transforms=Transform(transform, "rank"))
    model.fit(skewed, y)
    assert model.input_transform_ == ("rank", "rank")
    Xs, ys = some_rows(200, 8)
    mean = model.predict(np.exp(2.0 * Xs))
    assert np.corrcoef(mean, np.exp(ys))[0, 1] > 0.95
    more_X, more_y = some_rows(50, 11)
    model.partial_fit(np.exp(2.0 * more_X), np.exp(more_y))
    assert np.corrcoef(model.predict(np.exp(2.0 * Xs)), np.exp(ys))[0, 1] > 0.95


def test_relearning_sees_rows_that_came_since(tmp_path):
    X, y = some_rows(2500)
    model = learnt(tmp_path / "l.rows").fit(X[:2100], y[:2100])
    model.partial_fit(X[2100:], y[2100:])
    model.relearn()
    assert model.model_.total_weight == 2500 and len(Store.open(model.store)) == 2500
    Xs, ys = some_rows(300, 8)
    mean, std = model.predict(Xs, return_std=True)
    assert np.sqrt(np.mean((mean - ys) ** 2)) < 0.26


@pytest.mark.parametrize(
    "arguments, word",
    [
        ({"inference": "cg"}, "inference='cg'"),
        ({"inference": "transductive"}, "transductive"),
        ({"chunks": "random"}, "chunks cut by 'random'"),
        ({"learn": "anchored"}, "anchored"),
        ({"store": 3.0}, "path of a folder"),
    ],
)
def test_what_needs_all_rows_is_refused(tmp_path, arguments, word):
    X, y = some_rows(2500)
    with pytest.raises(ValueError, match=word):
        CommitteeRegressor(**{"store": tmp_path / "no.rows", **arguments}).fit(X, y)
    assert not (tmp_path / "no.rows").exists()


def test_models_of_stores_are_not_put_together(tmp_path):
    X, y = some_rows(700)
    one = given(tmp_path / "1.rows").fit(X, y)
    other = one.blank().partial_fit(X[:50], y[:50], chunk_id="new")
    with pytest.raises(ValueError, match="rows of a store"):
        one.merge(other)


def test_a_store_that_is_gone_is_named(tmp_path):
    X, y = some_rows(700)
    model = given(tmp_path / "gone.rows").fit(X, y)
    (tmp_path / "gone.rows").rename(tmp_path / "moved.rows")
    with pytest.raises(FileNotFoundError, match=r"gone\.rows"):
        pickle.loads(pickle.dumps(model)).predict(X[:2])


class Stopped(KeyboardInterrupt):
    """Ctrl-C."""


def test_a_fit_that_is_stopped_leaves_the_model_and_goes_on_from_sorted_rows(tmp_path, monkeypatch):
    X, y = some_rows(700)
    model = given(tmp_path / "old.rows").fit(X, y)
    before = model.predict(X[:9])
    model.set_params(store=tmp_path / "new.rows")

    def stop(*_, **__):
        raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(models, "model_of_store", stop)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y - 1.0)
    assert_array_equal(model.predict(X[:9]), before)
    written = (tmp_path / "new.rows" / "manifest.json").stat().st_mtime_ns
    model.fit(X, y - 1.0)
    assert (tmp_path / "new.rows" / "manifest.json").stat().st_mtime_ns == written
    assert_allclose(model.predict(X[:9]), before - 1.0, atol=1e-9)


def test_rows_that_are_stopped_on_their_way_are_no_store_and_go_on(tmp_path, monkeypatch):
    X, y = some_rows(700)

    def stop(*_, **__):
        raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(build, "_sort_bucket", stop)
        with pytest.raises(KeyboardInterrupt):
            given(tmp_path / "half.rows").fit(X, y)
    with pytest.raises(ValueError, match="not finished"):
        Store.open(tmp_path / "half.rows")
    model, other = (given(tmp_path / name).fit(X, y) for name in ("half.rows", "whole.rows"))
    assert_array_equal(model.predict(X), other.predict(X))


def test_memory_does_not_grow_with_the_rows(tmp_path, monkeypatch):
    """Python's own memory; rows that are mapped are not counted. What is bounded is made small:
    one copy of the rows that are more would take 1.9 MB."""
    few = replace(job.TUNING, disk=replace(job.TUNING.disk, sample=2000))
    for module in (filling, job):
        monkeypatch.setattr(module, "TUNING", few)
    sizes = {"sample_rows": 2000, "bucket_bytes": 400_000, "slice_bytes": 200_000}
    for module in (build, records, segment, store):
        monkeypatch.setattr(module, "TUNING", replace(module.TUNING, **sizes))
    most = []
    for n in (5000, 20_000, 80_000):  # the first compiles
        X, y = some_rows(n)
        np.save(tmp_path / "X.npy", X)
        np.save(tmp_path / "y.npy", y)
        source = collegium.open((str(tmp_path / "X.npy"), str(tmp_path / "y.npy")), chunk_rows=5000)
        tracemalloc.start()
        given(tmp_path / f"{n}.rows", chunks=500).fit(source)
        most.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert most[2] < most[1] + 1e6, most
