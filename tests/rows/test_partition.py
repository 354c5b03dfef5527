"""Rows into chunks: every row once, sizes as promised, for any rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from collegium.engines import single_threaded
from collegium.learning import anchors as selection
from collegium.rows.partition import (
    RULES,
    balanced,
    by_label,
    by_time,
    evenly_spaced,
    kmeans_clusters,
    n_parts,
    random_samples,
)

steady = settings(max_examples=40, deadline=None, derandomize=True)
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())


@pytest.fixture(autouse=True)
def one_thread():
    """Threads of k-means that wait for each other make a busy machine ten times slower."""
    with single_threaded():
        yield


SHAPES = {
    "plain": lambda rng, n: rng.normal(size=(n, 3)),
    "one column": lambda rng, n: rng.normal(size=(n, 1)),
    "all equal": lambda rng, n: np.full((n, 2), 0.7),
    "two places": lambda rng, n: rng.integers(0, 2, (n, 1)) * np.ones((1, 3)),
    "one value often": lambda rng, n: np.where(rng.random((n, 1)) < 0.9, 0.0, rng.random((n, 2))),
    "huge": lambda rng, n: rng.normal(size=(n, 3)) * 1e150,
    "tiny": lambda rng, n: rng.normal(size=(n, 3)) * 1e-150,
    "far away": lambda rng, n: 1e12 + rng.normal(size=(n, 2)),
    "constant column": lambda rng, n: np.stack([rng.normal(size=n), np.ones(n)], axis=1),
}


def asked(rule, X, size, seed=0):
    return rule(X, size, np.random.default_rng(seed))


def assert_every_row_once(groups, n):
    assert_array_equal(np.sort(np.concatenate(groups)), np.arange(n))
    assert all(np.issubdtype(group.dtype, np.integer) for group in groups)


@every_rule
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("n", "size"), [(1, 1), (1, 10), (5, 1), (37, 10), (40, 10), (41, 40)])
def test_every_row_is_in_one_chunk_and_no_chunk_is_empty(rule, shape, n, size):
    X = SHAPES[shape](np.random.default_rng(3), n)
    groups = asked(rule, X, size)
    assert_every_row_once(groups, n)
    assert all(group.size > 0 for group in groups)
    assert max(group.size for group in groups) <= (2 * size if rule is kmeans_clusters else size)


@steady
@given(st.integers(1, 200), st.integers(1, 50), st.integers(1, 3), st.integers(0, 99))
def test_equal_sizes_differ_by_one_row_at_most(n, size, d, seed):
    X = np.random.default_rng(seed).integers(0, 5, (n, d)).astype(float)
    for rule in (balanced, random_samples, by_time):
        groups = asked(rule, X, size, seed)
        sizes = [group.size for group in groups]
        assert_every_row_once(groups, n)
        assert len(groups) == n_parts(n, size) == -(-n // size)
        assert max(sizes) - min(sizes) <= 1
        assert max(sizes) <= size


@steady
@given(st.integers(1, 150), st.integers(1, 40), st.integers(1, 12), st.integers(0, 99))
def test_kmeans_with_few_distinct_rows(n, size, distinct, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(distinct, 2))[rng.integers(0, distinct, n)]
    groups = asked(kmeans_clusters, X, size, seed)
    assert_every_row_once(groups, n)
    assert max(group.size for group in groups) <= 2 * size


@every_rule
def test_the_same_seed_gives_the_same_chunks(rule):
    X = np.random.default_rng(4).normal(size=(300, 4))
    for one, two in zip(asked(rule, X, 31, seed=7), asked(rule, X, 31, seed=7), strict=True):
        assert_array_equal(one, two)


@every_rule
def test_inputs_are_left_alone(rule):
    X = np.random.default_rng(5).normal(size=(60, 2))
    before = X.copy()
    X.flags.writeable = False
    asked(rule, X, 9)
    assert_array_equal(X, before)


def spread(X, groups):
    """Mean squared distance of a row to the centre of its chunk."""
    return np.mean(np.concatenate([((X[g] - X[g].mean(axis=0)) ** 2).sum(axis=1) for g in groups]))


@pytest.mark.parametrize("rule", [balanced, kmeans_clusters], ids=["balanced", "kmeans"])
@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e150])
def test_clusters_keep_neighbours_together(rule, unit):
    X = np.random.default_rng(6).uniform(size=(800, 2))
    near = spread(X, asked(rule, X * unit, 50))
    assert near < 0.15 * spread(X, asked(random_samples, X * unit, 50))


def test_bisection_cuts_across_the_widest_direction():
    rng = np.random.default_rng(7)
    angle = np.array([0.6, 0.8])
    along = rng.permutation(np.linspace(-3, 3, 100))
    X = along[:, None] * angle + 0.1 * rng.normal(size=(100, 1)) * np.array([-0.8, 0.6])
    one, two = asked(balanced, X, 50)
    assert (along[one].max() < along[two].min()) or (along[two].max() < along[one].min())


def test_balanced_chunks_of_one_column_are_intervals():
    x = np.random.default_rng(8).normal(size=(101, 1))
    groups = sorted(asked(balanced, x, 13), key=lambda g: x[g].min())
    for left, right in zip(groups, groups[1:]):
        assert x[left].max() < x[right].min()


def test_time_chunks_are_runs_in_order():
    groups = asked(by_time, np.zeros((10, 1)), 4)
    assert [list(group) for group in groups] == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]


def test_random_chunks_differ_with_the_seed_and_mix_the_rows():
    X = np.zeros((100, 1))
    one, two = asked(random_samples, X, 50, seed=0), asked(random_samples, X, 50, seed=1)
    assert not np.array_equal(one[0], two[0])
    assert 10 < np.sum(one[0] < 50) < 40


@pytest.mark.parametrize(
    "labels",
    [[2, 0, 2, 1, 0, 2], ["c", "a", "c", "b", "a", "c"], [2.5, -1.0, 2.5, 0.0, -1.0, 2.5]],
    ids=["numbers", "words", "floats"],
)
def test_labels_give_a_chunk_each_in_their_order_rows_in_theirs(labels):
    groups = by_label(np.array(labels))
    assert [list(group) for group in groups] == [[1, 4], [3], [0, 2, 5]]


def test_rows_of_a_label_keep_their_order():
    labels = np.random.default_rng(12).integers(0, 4, 500)
    for label, group in enumerate(by_label(labels)):
        assert_array_equal(group, np.flatnonzero(labels == label))


def test_one_label_is_one_chunk():
    assert [list(group) for group in by_label(np.zeros(3))] == [[0, 1, 2]]


@pytest.mark.parametrize(("n", "size", "parts"), [(0, 5, 1), (1, 5, 1), (5, 5, 1), (6, 5, 2)])
def test_number_of_parts(n, size, parts):
    assert n_parts(n, size) == parts


# --- anchors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("m", [1, 4, 30])
def test_anchors_are_distinct_and_no_more_than_the_number_given(shape, m):
    X = SHAPES[shape](np.random.default_rng(9), 120)
    Z = selection.kmeans(X, m, np.random.default_rng(0))
    assert 1 <= Z.shape[0] <= m
    assert Z.shape[1] == X.shape[1]
    assert np.unique(Z, axis=0).shape == Z.shape
    assert np.isfinite(Z).all()
    slack = 1e-9 * np.abs(X).max()
    assert (Z >= X.min(axis=0) - slack).all() and (Z <= X.max(axis=0) + slack).all()


def test_few_distinct_rows_are_the_anchors_themselves():
    rng = np.random.default_rng(10)
    places = rng.normal(size=(5, 2))
    Z = selection.kmeans(places[rng.integers(0, 5, 400)], 8, rng)
    assert_array_equal(Z, np.unique(places, axis=0))


def test_anchors_cover_the_rows():
    X = np.random.default_rng(11).uniform(size=(3000, 2))
    Z = selection.kmeans(X, 40, np.random.default_rng(0))
    distance = np.sqrt(((X[:, None] - Z[None]) ** 2).sum(axis=2)).min(axis=1)
    assert Z.shape[0] > 30
    assert distance.max() < 0.3


@pytest.mark.parametrize("n, most", [(1, 1), (5, 5), (5, 9), (17, 4), (100, 99), (100, 2)])
def test_evenly_spaced_rows_are_distinct_and_reach_both_ends(n, most):
    found = evenly_spaced(n, most)
    assert found.size == min(n, most) and (np.diff(found) > 0).all()
    assert found[0] == 0 and found[-1] == n - 1
    assert np.ptp(np.diff(found)) <= 1 if found.size > 1 else True


@pytest.mark.parametrize("d", [1, 2])
def test_of_rows_that_are_equally_far_the_first_come_first(d):
    """So that chunks do not depend on how a library sorts, nor on the last bit of a projection."""
    rng = np.random.default_rng(5)
    x = rng.integers(0, 4, 200).astype(float)  # ties at every cut
    X = x[:, None] * np.array([[1.0, 0.3]])[:, :d]
    order = np.lexsort([np.arange(200), x])
    expected = [np.sort(part) for part in np.split(order, 8)]
    moved = X * (1.0 + 1e-15 * rng.choice([-1.0, 1.0], X.shape)) if d > 1 else X
    for rows in (X, moved):
        groups = asked(balanced, rows, 25)
        assert sorted(map(tuple, groups)) == sorted(map(tuple, expected))
