"""A store depends on its rows alone, is built in bounded memory, and its cells are chunks."""

import pickle
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from store_cases import blocks, contents, rows, tune

from collegium.rows.store import records
from collegium.rows.store.cells import median_planes, spreads
from collegium.rows.store.sample import HashSample, splitmix64
from collegium.rows.store.store import Store


@pytest.fixture
def small(monkeypatch):
    """Many buckets, a sample that leaves rows out, and several slices of a block."""
    tune(monkeypatch, bucket_bytes=20_000, sample_rows=300, slice_bytes=9_000)


def test_splitmix64_gives_its_known_numbers():
    """The first outputs of the published generator with seed 0."""
    state = np.arange(3, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    known = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert splitmix64(state).tolist() == known


@pytest.mark.parametrize("k, count", [(70, 5), (2, 900)])
def test_the_sample_is_of_the_smallest_hashes(small, k, count):
    data = rows(900, 2)
    sample = HashSample(k)
    order = np.random.default_rng(0).permutation(count)
    for one in records.pack_blocks(blocks(data, count, order=order)):
        sample.add(one)
    smallest = np.sort(np.argsort(splitmix64(np.arange(900)))[:k])
    assert_array_equal(sample.records()["id"], smallest)
    assert_array_equal(sample.records()["X"], data[0][smallest])


@pytest.mark.parametrize("spread_of", ["values", "nothing"])
def test_planes_cut_a_sample_into_equal_parts(spread_of):
    """Also where all values are equal: row numbers decide."""
    X = rows(640, 3)[0] if spread_of == "values" else np.ones((640, 3))
    ids = 5 * np.arange(640)
    planes = median_planes(X, ids, spreads(X), levels=4)
    assert_array_equal(np.bincount(planes.buckets(X, ids)), np.full(16, 40))


@pytest.mark.parametrize("kind", ["blocks", "order", "generator", "small"])
def test_the_same_rows_give_the_same_bytes_for_any_cut(tmp_path, small, kind):
    data = rows(2000, 3)
    Store.build(tmp_path / "one", blocks(data), cell_rows=50)
    other = {
        "blocks": lambda: blocks(data, 7),
        "order": lambda: blocks(data, 5, order=[4, 0, 3, 1, 2]),
        "generator": lambda: (block for block in blocks(data, 3)),
        "small": lambda: blocks(data, 600),
    }[kind]()
    store = Store.build(tmp_path / "other", other, cell_rows=50)
    assert contents(tmp_path / "one") == contents(tmp_path / "other")
    assert len(contents(tmp_path / "one")) == 6
    assert len(store._manifest["segments"][0]["planes"][0]) == 7  # eight buckets


def test_every_row_is_in_one_cell_and_inside_its_box(tmp_path, small):
    data = rows(2000, 3)
    store = Store.build(tmp_path / "rows", blocks(data, 3), cell_rows=50)
    ids = store.ids(np.arange(2000))
    assert_array_equal(np.sort(ids), np.arange(2000))
    for stored, given in zip(store.take(np.arange(2000)), data, strict=True):
        assert_array_equal(stored, given[ids])
    cells = np.load(tmp_path / "rows" / "segment-000" / "cells.npz")
    for c, chunk in enumerate(store.chunks()):
        own = ids[cells["start"][c] : cells["start"][c + 1]]
        assert (np.diff(own) > 0).all() and 25 < chunk.n < 75
        assert_array_equal(cells["low"][c], data[0][own].min(axis=0))
        assert_array_equal(cells["high"][c], data[0][own].max(axis=0))
        for loaded, given in zip(chunk.load(), data, strict=True):
            assert_array_equal(loaded, given[own])


def test_chunks_travel_as_references(tmp_path):
    store = Store.build(tmp_path / "rows", blocks(rows(3000, 4)), cell_rows=100)
    store.forget(store.ids(np.arange(10)))
    chunks = store.chunks()
    sent = pickle.dumps(chunks[:5])
    assert len(sent) < 2000
    assert chunks[0].n == 90 and len({one.id for one in chunks}) == 30
    for one, other in zip(pickle.loads(sent), chunks, strict=False):
        assert (one.id, one.n) == (other.id, other.n)
        for loaded, given in zip(one.load(), other.load(), strict=True):
            assert_array_equal(loaded, given)
            assert len(loaded) == one.n


@pytest.mark.parametrize("once", [True, False])
def test_memory_does_not_grow_with_the_rows(tmp_path, small, monkeypatch, once):
    tune(monkeypatch, sample_rows=1100)

    def source(n):
        return ((*rows(200, 4, seed=a), a) for a in range(0, n, 200))

    class Again:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return source(self.n)

    def peak(n):
        """The lesser of two: now and then the interpreter enlarges a table of its own."""
        found = []
        for k in range(1 + (n > 2000)):
            tracemalloc.start()
            given = source(n) if once else Again(n)
            Store.build(tmp_path / f"{n} {k}", given, cell_rows=100)
            found.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        return min(found)

    few, many = peak(2000), peak(8000)
    assert many < 1.2 * few
    assert many < 8000 * 64  # bytes of the rows


def test_half_precision_and_truth_values_are_widened(tmp_path):
    X = np.arange(40.0).reshape(20, 2).astype(np.float16)
    store = Store.build(tmp_path / "rows", [(X, X[:, 0] > 9, None, 0)])
    stored = store.take([0])
    assert [a.dtype for a in stored] == [np.float32, np.uint8, np.float64]


@pytest.mark.parametrize("cell_rows, bucket", [(20, 10**7), (7, 4000)])
def test_equal_rows_are_merged_however_they_come(tmp_path, monkeypatch, cell_rows, bucket):
    """Many ties in X alone, copies of whole rows, several buckets: weights add up."""
    tune(monkeypatch, bucket_bytes=bucket)
    rng = np.random.default_rng(2)
    X, y = rng.integers(3, size=(900, 2)) / 2, rng.integers(4, size=(900, 1)) * 1.0
    X[5], X[6] = 0.0, -0.0
    w = 1.0 + rng.integers(3, size=900)
    stores = [
        Store.build(tmp_path / str(k), blocks((X, y, w), k, order=order), cell_rows=cell_rows,
                    merge=True)
        for k, order in ((1, None), (5, (3, 0, 4, 1, 2)))
    ]  # fmt: skip
    table = np.column_stack([X + 0.0, y])
    rows, first, number = np.unique(table, axis=0, return_index=True, return_inverse=True)
    number = number.ravel()
    for store in stores:
        assert len(store) == len(rows) and store.total_weight() == w.sum()
        every = np.arange(len(store))
        found = np.column_stack([*store.take(every)[:2]])
        order = np.lexsort(found.T[::-1])
        assert_array_equal(found[order], rows)
        assert_array_equal(store.take(every)[2][order], np.bincount(number, w))
        assert_array_equal(store.ids(every)[order], first)
