"""Nearest rows on disk among levels, groups and places: those of a search through all rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from collegium.kernels import Group, Matern12, Matern32, Sphere
from collegium.pipeline.kept.disk import OnDisk, ScaledTargets
from collegium.rows.metric import Metric
from collegium.rows.scaling import Scaling
from collegium.rows.store.distance import Distance
from collegium.rows.store.store import Store


def rows(n, levels, seed=0):
    """Two numbers and two columns of codes, some of gaps."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 1)
    X[:, 1] = rng.integers(0, levels, n)
    X[:, 3] = rng.integers(-1, 3, n)
    X[X[:, 3] < 0, 3] = -2.0
    return X


def built(path, X, cell_rows=40, first=0):
    return Store.build(path, [(X, np.zeros(len(X)), None, first)], cell_rows=cell_rows)


def slow(X, z, k, distance, ids):
    D = ((X - z) ** 2 * distance.weights).sum(axis=1)
    for column, weight in zip(distance.levels, distance.mismatch):
        D = D + np.where(X[:, column] == z[column], 0.0, weight)
    for (a, b), weight in zip(distance.places, distance.chords):
        D = D + weight * ((on_globe(X[:, [a, b]]) - on_globe(z[[a, b]][None])) ** 2).sum(axis=1)
    order = np.lexsort((ids, D))[:k]
    return ids[order], D[order]


def on_globe(X):
    turn, up = np.radians(X).T
    points = np.cos(up) * np.cos(turn), np.cos(up) * np.sin(turn), np.sin(up)
    return np.degrees(np.stack(points, axis=1))


def assert_nearest(store, X, queries, k, distance, exact=True):
    positions, D = store.nearest(queries, k, distance)
    ids = store.ids(np.arange(store.n_positions))
    own = store.inputs(np.arange(store.n_positions))
    for z, found, far in zip(queries, store.ids(positions), D, strict=True):
        expected = slow(own, z, k, distance, ids)
        if exact:
            assert_array_equal(found, expected[0])
            assert_array_equal(far, expected[1])
        else:
            np.testing.assert_allclose(far, expected[1], rtol=1e-9, atol=1e-9)


def queries(X, seed=1):
    """Rows, rows nearby, one of unknown levels and one far outside."""
    rng = np.random.default_rng(seed)
    near = X[rng.integers(len(X), size=9)]
    near[:, [0, 2]] += np.round(rng.normal(size=(9, 2)), 1)
    odd = np.array([[0.3, -77.0, 0.1, -2.0], [50.0, 3.0, -50.0, 1.0]])
    return np.vstack([X[:4], near, odd])


@pytest.mark.parametrize("levels", [5, 50, 5000])
@pytest.mark.parametrize("mismatch", [(0.01, 0.5), (1.5, 0.0), (1e3, 30.0)])
def test_a_mismatch_adds_its_weight(tmp_path, levels, mismatch):
    X = rows(6000, levels)
    store = built(tmp_path / "s.rows", X)
    weights = np.array([1.0, 0.0, 0.25, 0.0])
    distance = Distance(weights, np.array([1, 3]), np.array(mismatch))
    assert_nearest(store, X, queries(X), 30, distance)


@pytest.mark.parametrize("levels", [5, 50, 5000])
def test_the_metric_of_a_kernel_is_searched_exactly(tmp_path, levels):
    """Recall 1 against brute force in the kernel's metric, with a group too."""
    X = rows(5000, levels)
    kernel = Matern32(1.3, [0.7, 2.0, 1.5, 0.8], categories=[1]) + Group(3, variance=0.4)
    metric = Metric.of(kernel, X)
    assert {one.columns for one in metric.embeddings} == {(1,), (3,)}
    store = built(tmp_path / "s.rows", X)
    found = OnDisk(store, ScaledTargets(Scaling.none()), metric).nearest(queries(X), 25)
    distance = Distance.of(metric)
    ids = np.arange(len(X))
    for z, own in zip(queries(X), store.ids(found), strict=True):
        assert_array_equal(own, slow(X, z, 25, distance, ids)[0])
    level = next(one for one in metric.embeddings if one.columns == (1,))
    meant = metric.weights[0] ** 2 * 0.7**2 / 2.0**2
    few_rows = 100.0 if levels == 5000 else 1.0  # of each level: those of the same come first
    np.testing.assert_allclose(level.inverse_square, few_rows * meant)


def test_later_segments_and_forgotten_rows(tmp_path):
    X, more = rows(3000, 60), rows(500, 90, 5)
    store = built(tmp_path / "s.rows", X)
    store.add([(more, np.zeros(500), None, 3000)])
    gone = np.arange(0, 3500, 3)
    store = store.without(gone)
    distance = Distance(np.array([1.0, 0.0, 4.0, 0.0]), np.array([1]), np.array([9.0]))
    both, ids = np.vstack([X, more]), np.setdiff1d(np.arange(3500), gone)
    positions, D = store.nearest(queries(both), 20, distance)
    for z, own, far in zip(queries(both), store.ids(positions), D, strict=True):
        expected = slow(both[ids], z, 20, distance, ids)
        assert_array_equal(own, expected[0])
        assert_array_equal(far, expected[1])


def test_few_cells_are_visited_where_levels_matter(tmp_path):
    """A cap on cells finds all rows of the level: boxes of others are farther."""
    X = rows(20_000, 200)
    store = built(tmp_path / "s.rows", X, cell_rows=50)
    distance = Distance(np.array([1.0, 0.0, 1.0, 0.0]), np.array([1]), np.array([1e4]))
    Z = X[:30]
    exact = store.nearest(Z, 10, distance)[1]
    capped = store.nearest(Z, 10, distance, most_cells=40)[1]
    assert np.mean(exact == capped) > 0.95


@pytest.mark.parametrize("moved", [0.0, 360.0, -180.0])
def test_places_on_a_globe_have_no_seam_and_no_pole(tmp_path, moved):
    rng = np.random.default_rng(2)
    X = np.column_stack([
        rng.uniform(-180, 180, 4000) + moved, np.degrees(np.arcsin(rng.uniform(-1, 1, 4000))),
        rng.integers(0, 9, 4000),
    ])  # fmt: skip
    X[:400, 1] = 90.0 - 1e-3 * np.arange(400)
    store = built(tmp_path / "s.rows", X)
    Z = np.array([[179.999, 0.0, 1], [-179.999, 60.0, 2], [33.0, 90.0, 3], [200.0, -89.9, 4],
                  [-180.0, 12.0, 5], [0.0, 0.0, 99], [720.5, -45.0, 1], [90, 90, 0]])  # fmt: skip
    for chord, mismatch in ((1.0, 3.0), (1e-3, 100.0)):
        distance = Distance(
            np.zeros(3), np.array([2]), np.array([mismatch]), np.array([[0, 1]]), np.array([chord])
        )
        assert_nearest(store, X, Z, 25, distance, exact=False)
        visited = store.nearest(Z, 25, distance, most_cells=60)[1]
        assert np.mean(visited == store.nearest(Z, 25, distance)[1]) > 0.9


def test_a_kernel_on_a_sphere_is_searched_on_the_sphere(tmp_path):
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.uniform(-180, 180, 3000), rng.uniform(-90, 90, 3000)])
    kernel = Sphere(Matern12(1.0, 10.0), columns=(0, 1)).for_width(2)
    metric = Metric.of(kernel, X)
    store = built(tmp_path / "s.rows", X)
    Z = np.array([[179.9, 10.0], [-179.9, -10.0], [5.0, 89.9]])
    found = OnDisk(store, ScaledTargets(Scaling.none()), metric).nearest(Z, 20)
    for z, own in zip(Z, store.ids(found), strict=True):
        far = ((on_globe(X) - on_globe(z[None])) ** 2).sum(axis=1)
        assert set(own) == set(np.argsort(far)[:20])
