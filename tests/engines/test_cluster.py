"""The same bits on any engine: one thread, several, Dask, Ray, Spark."""

import os
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import collegium
from cluster_cases import MAKERS, Numbered, assert_same_total, numbers, parquet_files, sender
from collegium import CommitteeRegressor
from collegium.engines import Serial
from collegium.engines.cluster import run_length
from collegium.engines.tasks import tree_sum
from collegium.kernels import Matern32
from collegium.messages.adding import add_up, add_up_source
from collegium.messages.total import Total
from collegium.sources.pieces import BadChunkError

SLOW = {"ray", "spark"}
NAMES = [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in MAKERS]


@pytest.fixture(scope="module", params=NAMES)
def engine(request):
    with MAKERS[request.param]() as found:
        yield found


@pytest.fixture(scope="module")
def remote(engine):
    if not hasattr(engine, "reduce"):
        pytest.skip("of clusters only")
    return engine


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return parquet_files(tmp_path_factory.mktemp("rows"))


def data(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


def model(engine=None, **options):
    options = {"kernel": Matern32(1.2, np.array([0.9, 1.6])), "noise": 0.02, **options}
    return CommitteeRegressor(
        learn=False, chunks=50, anchors=15, n_local=20, engine=engine, random_state=0, **options
    )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 200), st.integers(0, 6), st.integers(1, 4))
def test_a_tree_of_runs_is_the_tree_of_all_terms(n, log_length, log_fan_in):
    sums = [chunk.value for chunk in numbers(n)]
    whole, length = tree_sum(sums), 2**log_length
    assert whole == Serial().sum(lambda c: c.value, numbers(n), 0.0)
    while len(sums) > 1:
        sums = [tree_sum(sums[k : k + length]) for k in range(0, len(sums), length)]
        length = 2**log_fan_in
    assert sums == [whole]


def test_runs_are_powers_of_two_and_not_too_many():
    assert [run_length(range(n), 2) for n in (1, 2, 9, 20, 200, 10**4, 10**6)] == [
        1, 1, 4, 4, 16, 512, 512,
    ]  # fmt: skip
    assert run_length([np.zeros(10**5)] * 100, 1) == 4  # some 4 MB


@pytest.mark.parametrize("n", [1, 2, 7, 33, 150])
def test_sums_of_numbers_keep_the_tree_of_one_thread(engine, n):
    chunks = numbers(n)
    order = np.random.default_rng(n).permutation(n)
    found = engine.sum(lambda chunk: chunk.value, [chunks[i] for i in order], 0.25)
    assert found == Serial().sum(lambda chunk: chunk.value, chunks, 0.25)


def test_maps_are_in_order_and_nothing_is_zero(engine):
    assert engine.map(lambda i: i * i, range(37)) == [i * i for i in range(37)]
    assert engine.map(abs, []) == []
    assert engine.sum(abs, [], 7.0) == 7.0
    found = engine.imap(lambda i: i + 1, iter(range(9)))
    assert next(found) == 1
    found.close()


def test_messages_over_files_are_the_same(engine, paths):
    send, basis = sender()
    source = collegium.open(paths, target="y", chunk_rows=25)
    start = Total.zero(basis.m, 1)
    expected = start.plus(Serial().imap(send, source.chunks))
    assert_same_total(add_up(engine, send, source.chunks, start), expected)
    assert_same_total(add_up_source(engine, send, source, start), expected)
    once_more = add_up(engine, send, source.chunks[7:9], expected)
    assert_same_total(once_more, expected.plus(map(send, source.chunks[7:9])))


def test_a_fitted_model_and_its_answers_are_the_same(engine):
    X, y = data()
    Xs = data(600, seed=1)[0]
    own, other = model().fit(X, y), model(engine).fit(X, y)
    assert_same_total(other.model_.committee.messages, own.model_.committee.messages)
    assert_array_equal(other.model_.committee.belief.mean, own.model_.committee.belief.mean)
    for found, expected in zip(
        other.predict(Xs, return_std=True), own.predict(Xs, return_std=True)
    ):
        assert_array_equal(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"inference": "cg"}, {"inference": "transductive"}])
def test_a_learnt_model_and_its_answers_are_the_same(engine, options):
    X, y = data(900)
    Xs = data(100, seed=1)[0]
    fits = [
        CommitteeRegressor(chunks=200, anchors=25, engine=one, random_state=0, **options)
        for one in (None, engine)
    ]
    own, other = (one.fit(X, y).predict(Xs, return_std=True) for one in fits)
    for found, expected in zip(other, own):
        assert_array_equal(found, expected)


def test_copies_share_the_cluster_or_drop_it(remote, tmp_path):
    X, y = data(200)
    fitted = model(remote).fit(X, y)
    assert clone(fitted).engine is remote
    other = pickle.loads(pickle.dumps(fitted))
    assert other.engine is not remote and other.engine.alone
    assert_array_equal(other.predict(X[:9]), fitted.predict(X[:9]))
    with pytest.warns(UserWarning, match="engine is not stored"):
        fitted.save(tmp_path / "model.clg")
    plain = collegium.load(tmp_path / "model.clg")
    assert plain.engine is None
    assert_array_equal(plain.predict(X[:9]), fitted.predict(X[:9]))


def test_a_search_with_an_engine_is_the_search_without(remote):
    X, y = data(160)
    grid = {"noise": [0.01, 0.1]}
    own, other = (
        GridSearchCV(model(one), grid, cv=2, error_score="raise").fit(X, y)
        for one in (None, remote)
    )
    assert_array_equal(other.cv_results_["mean_test_score"], own.cv_results_["mean_test_score"])


def test_a_copy_without_a_cluster_works_on_its_own(remote):
    alone = pickle.loads(pickle.dumps(remote))
    alone.threads = lambda: 0  # whatever cluster is current here
    chunks = numbers(21)
    assert alone.sum(lambda c: c.value, chunks, 0.0) == remote.sum(lambda c: c.value, chunks, 0.0)
    assert alone.map(abs, [-1, 2]) == [1, 2]


# --- chunks that cannot be used -------------------------------------------------------------------


def with_gap(folder):
    """Files whose third has a gap in its second row group."""
    import pyarrow as pa
    from pyarrow import parquet

    paths = parquet_files(folder)
    table = parquet.read_table(paths[2])
    y = table.column("y").to_pylist()
    y[60 + 33] = None
    parquet.write_table(table.set_column(3, "y", pa.array(y)), paths[2], row_group_size=60)
    return paths


def test_a_bad_chunk_is_named(engine, tmp_path):
    send, basis = sender()
    source = collegium.open(with_gap(tmp_path), target="y", chunk_rows=30)
    with pytest.raises(BadChunkError, match=r"chunk 23 \(.*part2.parquet, row group 1, rows 30–59"):
        add_up_source(engine, send, source, Total.zero(basis.m, 1))


def test_a_chunk_left_out_is_left_out_here(engine, tmp_path):
    send, basis = sender()
    paths, given = with_gap(tmp_path), {"chunk_rows": 30, "on_bad_chunk": "skip"}
    sources = [collegium.open(paths, target="y", **given) for _ in range(3)]
    start = Total.zero(basis.m, 1)
    found = [add_up_source(one, send, s, start) for one, s in zip((Serial(), engine), sources)]
    assert_same_total(found[1], found[0])
    list(sources[2].rows())
    assert sources[0].skipped == sources[1].skipped == sources[2].skipped
    assert [one.id for one in sources[1].skipped] == [23]


def test_an_error_keeps_its_type_and_says_where(remote, paths):
    source = collegium.open(paths, target="y")

    def fails(chunk):
        if chunk.id == 11:
            raise ZeroDivisionError("no")
        return 0.0

    with pytest.raises(ZeroDivisionError, match="no") as caught:
        remote.sum(fails, source.chunks, 0.0)
    assert any("part2.parquet, row group 1" in note for note in caught.value.__notes__)


def test_the_system_is_asked_again(remote, tmp_path):
    def flaky(chunk):
        mark = tmp_path / str(chunk.id)
        if chunk.id % 3 == 0 and not mark.exists():
            mark.write_text("tried")
            raise OSError(5, "Input/output error")
        return chunk.value

    chunks = numbers(10)
    assert remote.sum(flaky, chunks, 0.0) == Serial().sum(lambda c: c.value, chunks, 0.0)
    assert len(list(tmp_path.iterdir())) == 4

    def gone(chunk):
        raise FileNotFoundError(2, "No such file", "rows.parquet")

    with pytest.raises(FileNotFoundError, match="rows.parquet"):
        remote.sum(gone, chunks[:2], 0.0)


def test_what_others_raise_does_not_depend_on_who_is_first(remote):
    def fails(chunk):
        raise ValueError(f"number {chunk.id}")

    for _ in range(3):
        with pytest.raises(ValueError, match="number 0"):
            remote.sum(fails, [Numbered(i, 0.0) for i in range(40)], 0.0)


def test_work_is_done_by_other_processes(remote):
    found = remote.map(lambda _: os.getpid(), range(20))
    assert os.getpid() not in found


def test_rows_on_disk_give_the_same_bits(engine, paths, tmp_path):
    """From files into a store: cells send messages on the workers, which find near rows there."""
    source = collegium.open(paths, target="y")
    answers = []
    for k, own in enumerate((Serial(), engine)):
        options = {"store": tmp_path / f"{k}.rows", "noise": 0.05, "kernel": Matern32(1.0, 1.0)}
        fitted = model(own, **options).fit(collegium.open(paths, target="y"))
        assert fitted.n_chunks_ > 10
        answers.append((fitted.log_evidence_, *fitted.predict(source, return_std=True)))
    for a, b in zip(*answers):
        assert_array_equal(a, b)


def test_sites_on_disk_give_the_same_bits(engine, tmp_path):
    """Workers read sites of a cell from one file of the store and write them to another."""
    X, y = data()
    counts, answers = np.floor(np.exp(y)), []
    for k, own in enumerate((Serial(), engine)):
        options = {"store": tmp_path / f"{k}.rows", "likelihood": "poisson", "noise": "auto"}
        fitted = model(own, **options).fit(X, counts)
        assert fitted.n_chunks_ == 8 and fitted.n_sweeps_ > 1
        answers.append((fitted.log_evidence_, *fitted.predict(X, return_std=True)))
    for a, b in zip(*answers):
        assert_array_equal(a, b)
