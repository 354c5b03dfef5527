"""Nearest rows on disk are those of a search through all rows, ties included."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from store_cases import assert_nearest, blocks, rows, tune

from collegium.rows.store.store import Store


def queries(X, count=12, seed=1):
    """Some rows themselves, some between rows, one far outside."""
    rng = np.random.default_rng(seed)
    near = X[rng.integers(len(X), size=count)] + rng.normal(size=(count, X.shape[1]))
    return np.vstack([X[:5], near, np.full(X.shape[1], 40.0)]).astype(float)


@pytest.mark.parametrize("d", [1, 2, 8, 20])
def test_the_nearest_rows_are_those_of_a_search_through_all(tmp_path, d):
    data = rows(1500, d)
    store = Store.build(tmp_path / "rows", blocks(data), cell_rows=40)
    rng = np.random.default_rng(d)
    for weights in (np.ones(d), rng.uniform(0.01, 100, d), np.arange(d) % 2 * 1.0):
        assert_nearest(store, data[0], queries(data[0]), 33, weights)


def test_many_buckets_change_no_neighbour(tmp_path, monkeypatch):
    tune(monkeypatch, bucket_bytes=10_000)
    data = rows(3000, 3)
    store = Store.build(tmp_path / "rows", blocks(data, 4), cell_rows=25)
    assert_nearest(store, data[0], queries(data[0]), 60, [3.0, 0.1, 1.0])


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_rows_keep_their_type_and_are_compared_in_double_precision(tmp_path, dtype):
    X, y, w = rows(800, 2, dtype=dtype)
    X = X + dtype(2**23)
    data = X, y.astype(np.float32), w.astype(np.int16)
    store = Store.build(tmp_path / "rows", blocks(data), cell_rows=30)
    assert_nearest(store, X, queries(X) + 0.3, 20, [1.0, 7.0])
    for stored, given in zip(store.take(np.arange(800)), data, strict=True):
        assert stored.dtype == given.dtype


def test_equal_rows_come_by_their_numbers(tmp_path):
    X = np.full((700, 2), 0.7)
    store = Store.build(tmp_path / "rows", [(X, np.zeros(700), None, 0)], cell_rows=50)
    positions, D = store.nearest(np.array([[0.7, 0.7], [3.0, 1.0]]), 120)
    assert_array_equal(store.ids(positions), np.tile(np.arange(120), (2, 1)))
    assert (D[0] == 0).all() and len(store.chunks()) == 14


def test_fewer_rows_than_asked_for_are_all_of_them(tmp_path):
    data = rows(30, 2)
    store = Store.build(tmp_path / "rows", blocks(data), cell_rows=7)
    assert store.nearest(np.zeros((4, 2)), 100)[0].shape == (4, 30)
    assert_nearest(store, data[0], np.zeros((1, 2)), 30, [1.0, 1.0])
    assert store.nearest(np.zeros((0, 2)), 3)[0].shape == (0, 3)


def test_capped_searches_see_the_nearest_cells_only(tmp_path):
    data = rows(1000, 2, step=1e-9)
    store = Store.build(tmp_path / "rows", blocks(data), cell_rows=20)
    ends = np.cumsum([one.n for one in store.chunks()])
    Z = queries(data[0])
    exact = store.nearest(Z, 30)[1]
    for most in (1, 2, 5):
        positions, D = store.nearest(Z, 30, most_cells=most)
        for own, distances, best in zip(positions, D, exact, strict=True):
            met = own[own >= 0]
            assert np.unique(np.searchsorted(ends, met, side="right")).size <= most
            assert_array_equal(np.isinf(distances), own < 0)
            assert (distances >= best).all()
    assert (store.nearest(Z, 30, most_cells=1)[0] < 0).any()
    assert_array_equal(store.nearest(Z, 30, most_cells=50)[1], exact)


def test_impossible_questions_are_refused(tmp_path):
    store = Store.build(tmp_path / "rows", blocks(rows(30, 2)))
    for wrong, said in [
        ({"queries": np.zeros((2, 3))}, r"give \(q, 2\)"),
        ({"queries": np.array([[0.0, np.nan]])}, "finite"),
        ({"k": 0}, "above 0"),
        ({"most_cells": 0}, "above 0"),
        ({"weights": [1.0, -1.0]}, "≥ 0"),
        ({"weights": [1.0]}, "give 2"),
    ]:
        with pytest.raises(ValueError, match=said):
            store.nearest(**{"queries": np.zeros((1, 2)), "k": 3, **wrong})
    with pytest.raises(IndexError, match="from 0 to 29"):
        store.take([30])
