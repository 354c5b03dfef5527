"""Rows added, forgotten and merged: answers are those of the rows that are left."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from store_cases import assert_nearest, blocks, contents, rows

from collegium.rows.store.store import Store

WEIGHTS = np.array([2.0, 0.3])


def part(data, a, b):
    """Rows [a, b) in two blocks."""
    return blocks(tuple(values[a:b] for values in data), 2, first=a)


def sorted_files(path):
    """The files of the one segment of a store."""
    (own,) = path.glob("segment-*")
    return contents(own)


def test_neighbours_come_from_all_segments(tmp_path):
    data = rows(2000, 2)
    store = Store.build(tmp_path / "rows", part(data, 0, 1400), cell_rows=30)
    store.add(part(data, 1400, 1900))
    store.add(part(data, 1900, 2000))
    assert store.n_segments == 3 and len(store) == 2000 and store.next_row == 2000
    for one in (store, Store.open(tmp_path / "rows")):
        assert_nearest(one, data[0], data[0][::150] + 0.1, 70, WEIGHTS)
    assert sum(chunk.n for chunk in store.chunks()) == 2000
    ids = store.ids(np.arange(2000))
    for stored, given in zip(store.take(np.arange(2000)), data, strict=True):
        assert_array_equal(stored, given[ids])


def test_rows_may_have_any_numbers_that_are_free(tmp_path):
    """However rows came, the same are found, in the same order; planes depend on numbers alone."""
    data = rows(900, 2)
    one, two = data[0][:600], tuple(values[600:] for values in data)
    later = [(*(values[:600] for values in data), 10_000)]
    store = Store.build(tmp_path / "rows", later, cell_rows=30)
    with pytest.raises(ValueError, match="number new rows from 10600 on"):
        store.add(blocks(two, 2, first=50))
    store.add(blocks(two, 2, first=50), anywhere=True)
    assert store.next_row == 10_600 and len(store) == 900
    ids = np.concatenate([np.arange(600) + 10_000, np.arange(300) + 50])
    assert_nearest(store, data[0], one[::90] + 0.1, 70, WEIGHTS, ids)
    assert_array_equal(np.sort(store.numbers()), np.sort(ids))
    assert_array_equal(store.numbers(), store.ids(np.arange(900)))
    found = np.concatenate([*store.records()])
    order = np.argsort(ids)
    assert_array_equal(found[np.argsort(found["id"])]["X"], data[0][order])


def test_segments_of_equal_size_merge(tmp_path):
    """As a binary counter does; what is merged is as if built at once."""
    data = rows(800, 2)
    store = Store.build(tmp_path / "rows", part(data, 0, 100), cell_rows=30)
    sizes = [store.n_segments]
    for a in range(100, 800, 100):
        store.add(part(data, a, a + 100))
        sizes.append(store.n_segments)
    assert sizes == [1, 1, 2, 1, 2, 2, 3, 1]
    Store.build(tmp_path / "once", blocks(data), cell_rows=30)
    assert sorted_files(tmp_path / "rows") == sorted_files(tmp_path / "once")
    assert len(list((tmp_path / "rows").iterdir())) == 2


def test_forgotten_rows_are_never_returned(tmp_path):
    data = rows(1500, 2)
    store = Store.build(tmp_path / "rows", part(data, 0, 1200), cell_rows=30)
    store.add(part(data, 1200, 1500))
    gone = np.arange(0, 1500, 3)
    store.forget(gone[:50])
    store.forget(gone[50:])
    ids = np.setdiff1d(np.arange(1500), gone)
    for one in (store, Store.open(tmp_path / "rows")):
        assert len(one) == ids.size
        assert_nearest(one, data[0][ids], data[0][::150], 50, WEIGHTS, ids)
        found = np.concatenate([chunk.load()[1] for chunk in one.chunks()])
        assert_array_equal(np.sort(found[:, 0]), np.sort(data[1][ids, 0]))
        assert all(chunk.n == len(chunk.load()[2]) for chunk in one.chunks())


def test_merging_drops_forgotten_rows(tmp_path):
    data = rows(800, 2)
    store = Store.build(tmp_path / "rows", part(data, 0, 400), cell_rows=30)
    store.forget(np.arange(100, 300))
    store.add(part(data, 400, 800))
    ids = np.concatenate([np.arange(100), np.arange(300, 800)])
    assert store.n_segments == 1
    assert_array_equal(np.sort(store.ids(np.arange(600))), ids)
    assert not list((tmp_path / "rows").glob("tombstones*")) and store.n_forgotten == 0
    assert_nearest(store, data[0][ids], data[0][::90], 40, WEIGHTS, ids)


def test_a_store_may_lose_all_its_rows(tmp_path):
    data = rows(100, 2)
    store = Store.build(tmp_path / "rows", part(data, 0, 60), cell_rows=10)
    store.forget(np.arange(60))
    assert len(store) == 0 and store.chunks() == []
    assert store.nearest(np.zeros((2, 2)), 5)[0].shape == (2, 0)
    store.add(part(data, 60, 100))
    assert_nearest(store, data[0][60:], data[0][:3], 40, WEIGHTS, np.arange(60, 100))


def test_row_numbers_are_not_given_twice(tmp_path):
    data = rows(100, 2)
    store = Store.build(tmp_path / "rows", part(data, 0, 60))
    before = contents(tmp_path / "rows")
    with pytest.raises(ValueError, match="number new rows from 60 on"):
        store.add(part(data, 50, 100))
    with pytest.raises(ValueError, match="row 70 is not in the store"):
        store.forget([3, 70])
    with pytest.raises(ValueError, match="row number 80 comes twice"):
        store.add([*part(data, 60, 100), *part(data, 80, 90)])
    with pytest.raises(ValueError, match="convert all blocks"):
        store.add([(data[0][60:].astype(np.float32), data[1][60:], data[2][60:], 60)])
    store.add([])
    assert contents(tmp_path / "rows") == before
    store.forget([3])
    with pytest.raises(ValueError, match="row 3 is not in the store, or forgotten already"):
        store.forget([3])
