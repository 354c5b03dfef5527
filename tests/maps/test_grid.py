"""A function on a grid is the function at its points, whatever the tiles are."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from collegium.maps.grid import Grid, Side, on_grid
from collegium.numerics.memory import LimitError

Y, X = np.array([3.0, 1.0, -4.0, 0.5, 9.0]), np.linspace(-1.0, 2.0, 7)
HELD = np.array([10.0, np.nan, 30.0, np.nan, 50.0])
PLANE = Grid((Side("north", 3, Y), Side("east", 1, X)), HELD)
SLICES = Grid((Side("depth", 2, np.array([5.0, 6.0])), *PLANE.axes), HELD)


def ask(rows):
    return {"sum": rows @ np.array([1.0, 10.0, 100.0, 1e3, 1e4]), "high": rows[:, 3] > 1.0}


@pytest.mark.parametrize("points", [1, 2, 5, 12, 10**6])
def test_answers_are_those_at_the_points(points):
    found = on_grid(SLICES, ask, points=points)
    assert found["sum"].shape == SLICES.shape == (2, 5, 7)
    for k, depth in enumerate([5.0, 6.0]):
        for i, north in enumerate(Y):
            for j, east in enumerate(X):
                row = np.array([[10.0, east, depth, north, 50.0]])
                assert found["sum"][k, i, j] == ask(row)["sum"][0]
                assert found["high"][k, i, j] == (north > 1.0)
    assert found["high"].dtype == bool


@pytest.mark.parametrize("points", [1, 3, 9, 30, 100])
def test_tiles_cover_every_point_once_and_are_small(points):
    seen = np.zeros(SLICES.shape, dtype=int)
    for tile in SLICES.tiles(points):
        assert seen[tile].size <= points
        seen[tile] += 1
    assert (seen == 1).all()


def test_no_more_rows_than_a_tile_are_asked_at_a_time():
    asked = []

    def count(rows):
        asked.append(rows.shape)
        return {"zero": np.zeros(len(rows))}

    done = []
    long = Grid((Side("y", 0, np.arange(500.0)), Side("x", 1, np.arange(300.0))), np.zeros(3))
    on_grid(long, count, points=1_000, done=done.append)
    assert max(rows for rows, _ in asked) <= 1_000
    assert sum(rows for rows, _ in asked) == 150_000 and len(done) == len(asked)


def test_a_grid_of_one_line_is_one():
    line = Grid((Side("y", 0, np.array([2.0])), Side("x", 1, X)), np.zeros(2))
    assert_array_equal(on_grid(line, lambda X: {"x": X[:, 1]})["x"], [X])


def test_a_column_has_one_axis():
    with pytest.raises(ValueError, match="'again' is named for two axes|'east' is named"):
        Grid((Side("east", 1, X), Side("again", 1, Y)), HELD)


def test_maps_beyond_the_machine_are_refused_before_they_are_made():
    side = Side("y", 0, np.broadcast_to(0.0, 10**7))
    huge = Grid((side, Side("x", 1, np.broadcast_to(0.0, 10**7))), np.zeros(2))
    with pytest.raises(LimitError, match="10000000 × 10000000 points .* larger step"):
        on_grid(huge, ask)
