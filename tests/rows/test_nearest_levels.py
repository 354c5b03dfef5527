"""Nearest rows where a column has many levels, against plain sorting."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from collegium.kernels import Matern32
from collegium.rows import nearest
from collegium.rows.metric import Metric
from collegium.rows.nearest import Nearby, lowest_positions
from collegium.rows.tuning import TUNING

RNG = np.random.default_rng(3)
X = np.column_stack([
    RNG.integers(0, 60, 700), RNG.integers(0, 3, 700), RNG.normal(size=(700, 3)),
]).astype(float)  # fmt: skip
KERNEL = Matern32(1.3, [1.4, 0.9, 0.7, 1.1, 2.5], categories=(0, 1))
QUERIES = X[::70] + np.array([0.0, 0.0, 0.1, -0.2, 0.3])


def distances(near):
    """Squared distances of the metric, mismatches of many levels included."""
    columns, squares, exact = near.metric.many_levels()
    assert columns == [0]
    S, P = (near.metric.forward(one)[:, exact] for one in (QUERIES, X))
    D = ((S[:, None] - P) ** 2).sum(axis=2)
    return D + (QUERIES[:, None, 0] != X[:, 0]) * squares[0]


@pytest.mark.parametrize("k", [1, 9, 200, 700])
def test_a_scan_of_all_rows_is_exact(k):
    near = Nearby.of(Metric.of(KERNEL, X), X)
    D = distances(near)
    found = near.nearest(QUERIES, k)
    assert_array_equal(found, np.argsort(D.round(11), axis=1, kind="stable")[:, :k])
    for i in range(3):
        assert_array_equal(near.nearest(QUERIES[i : i + 1], k)[0], found[i])


def test_candidates_of_trees_are_ranked_by_the_same_distances(monkeypatch):
    monkeypatch.setattr(nearest, "TUNING", replace(TUNING, scanned=0, scanned_more=0))
    near = Nearby.of(Metric.of(KERNEL, X), X)
    D, found = distances(near), near.nearest(QUERIES, 40)
    own = np.take_along_axis(D, found, axis=1)
    assert (np.diff(own, axis=1) > -1e-9).all()
    right = np.sort(D, axis=1)[:, :40]
    assert (own <= right + 1e-9).mean() > 0.9
    assert all(np.unique(row).size == 40 for row in found)


@pytest.mark.parametrize("k", [1, 5, 12])
def test_the_lowest_values_come_in_order(k):
    D = RNG.normal(size=(6, 12))
    assert_array_equal(lowest_positions(D, k), np.argsort(D, axis=1)[:, :k])
