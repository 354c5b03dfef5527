"""Places of cells: boxes are small beside the depth of their rows, centres are the nearest."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from collegium.answers.cells import places
from collegium.answers.cells.places import AroundRows, Boxes
from collegium.answers.tuning import TUNING
from collegium.kernels import Matern32
from collegium.rows.metric import Metric
from collegium.rows.nearest import Nearby


def boxes_of(X, k):
    metric = Metric.of(Matern32(1.0, np.linspace(0.7, 1.4, X.shape[1])), X)
    return Boxes.of(metric, Nearby.of(metric, X).tree, k), metric


@pytest.mark.parametrize("d", [1, 2, 3])
def test_boxes_reach_no_farther_than_a_share_of_the_depth_of_their_rows(d):
    rng = np.random.default_rng(4)
    X = np.concatenate([rng.normal(size=(200, d)), 5.0 + 0.1 * rng.normal(size=(100, d))])
    boxes, metric = boxes_of(X, 20)
    Xs = rng.uniform(-4, 7, (80, d))
    names, number = boxes.names(Xs)
    assert sorted(set(number)) == list(range(len(names)))
    S = metric.forward(Xs)
    for i, j in enumerate(number):
        name = names[j]
        centre = boxes._centres([name])[0]
        half = 0.5 * boxes.side / 2.0 ** name[0]
        assert (np.abs(S[i] - centre) <= half * (1 + 1e-9)).all()
        far = np.sort(np.linalg.norm(metric.forward(X) - centre, axis=1))[:20]
        assert np.sqrt(d) * half <= TUNING.cells.reach * (far[-1] - far[0]) * (1 + 1e-9)
        parent = (name[0] - 1, *(v // 2 for v in name[1:]))
        if name[0]:  # the larger box would have reached too far
            far = np.sort(np.linalg.norm(metric.forward(X) - boxes._centres([parent])[0], axis=1))
            assert np.sqrt(d) * 2 * half > TUNING.cells.reach * (far[19] - far[0])
        assert boxes.inside(name, Xs)[i]
    for i in range(0, 80, 9):
        alone, _ = boxes.names(Xs[i : i + 1])
        assert alone[0] == names[number[i]]


def test_boxes_end_where_rows_are_equal_and_far_away():
    X = np.zeros((50, 2))
    X[40:] = np.random.default_rng(0).normal(size=(10, 2))
    boxes, _ = boxes_of(X, 30)
    names, number = boxes.names(np.array([[0.0, 0.0], [1e300, -1e300], [1e6, 3.0]]))
    assert number.size == 3 and max(name[0] for name in names) <= TUNING.cells.levels


def test_what_boxes_remember_is_bounded(monkeypatch):
    few = replace(TUNING.cells, remembered=10)
    monkeypatch.setattr(places, "TUNING", replace(TUNING, cells=few))
    boxes, _ = boxes_of(np.random.default_rng(1).normal(size=(300, 2)), 20)
    Xs = np.random.default_rng(2).normal(size=(50, 2))
    first = [boxes.names(Xs[i : i + 1])[0] for i in range(50)]
    assert len(boxes.depths) <= 10 + TUNING.cells.levels
    assert first == [boxes.names(Xs[i : i + 1])[0] for i in range(50)]


def test_a_query_is_in_the_cell_of_the_nearest_centre():
    X = np.random.default_rng(1).normal(size=(300, 5))
    metric = Metric.of(Matern32(1.0, np.linspace(0.5, 2.0, 5)), X)
    around, Xs = AroundRows.of(metric, X[::40]), np.random.default_rng(2).normal(size=(30, 5))
    names, number = around.names(Xs)
    D = np.linalg.norm(metric.forward(Xs)[:, None] - metric.forward(X[::40])[None], axis=2)
    assert [names[j][0] for j in number] == list(D.argmin(axis=1))
    for name in names:
        assert_array_equal(around.inside(name, Xs), D.argmin(axis=1) == name[0])
