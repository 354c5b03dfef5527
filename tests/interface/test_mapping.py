"""A map has the predictions at its points, to the last bit, whatever its tiles are."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from collegium import (
    CommitteeClassifier,
    CommitteeRegressor,
    NystromRegressor,
    OnlineGPRegressor,
    RegressionFilter,
    RVCRegressor,
    SparseGPRegressor,
    kernels,
)
from collegium.maps import grid as grids

GIVEN = {
    "kernel": kernels.Matern32(variance=2.0, length_scale=[1.7, 3.9, 2.0]), "noise": 0.1,
    "learn": False, "random_state": 0,
}  # fmt: skip
MODELS = {
    "exact": CommitteeRegressor(**GIVEN),
    "local": CommitteeRegressor(**GIVEN, chunks=40, anchors=15, n_local=11),
    "warped": CommitteeRegressor(**GIVEN, transforms="yeo-johnson"),
    "sparse": SparseGPRegressor(**GIVEN, chunks=40, anchors=15),
    "nystrom": NystromRegressor(**GIVEN, anchors=20),
    "online": OnlineGPRegressor(**GIVEN),
    "filter": RegressionFilter(**GIVEN),
    "local experts": RVCRegressor(random_state=0),
}
X, Y = {1: (-1.0, 4.0, 0.5)}, {0: np.array([7.0, 5.5, 2.0])}
pytestmark = pytest.mark.filterwarnings("ignore::collegium.sparse.nystrom.NystromWarning")


def rows(n=120):
    rng = np.random.default_rng(4)
    X = rng.uniform([0, -2, 10], [9, 5, 12], size=(n, 3))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] + X[:, 2] + 0.2 * rng.normal(size=n)


def points(axes, held):
    """Points of a grid, one by one: slices, then lines, then columns."""
    found = []
    for values in np.ndindex(*(len(v) for _, v in axes)):
        row = np.array(held, dtype=float)
        for (column, own), at in zip(axes, values):
            row[column] = own[at]
        found.append(row)
    return np.array(found)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("tile", [7, 10**5])
def test_maps_are_predictions_at_their_points(name, tile, monkeypatch):
    monkeypatch.setattr(grids, "POINTS", tile)
    model = MODELS[name].fit(*rows())
    grid, found = model._grid_answers(X, Y, {2: [10.5, 11.0]}, None, 0.8, "function")
    Q = points([(2, [10.5, 11.0]), (0, [7.0, 5.5, 2.0]), (1, np.arange(-1.0, 4.1, 0.5))], [0] * 3)
    mean, sd, lower, upper = model.predict(Q, return_std=True, interval=0.8, level="function")
    assert grid.shape == (2, 3, 11) == found["mean"].shape
    for own, expected in zip(("mean", "sd", "lower", "upper"), (mean, sd, lower, upper)):
        assert_array_equal(found[own].ravel(), expected)
    assert ("outside" in found) == hasattr(model, "outside")
    if "outside" in found:
        assert_array_equal(found["outside"].ravel(), model.outside(Q))


def test_a_dataset_has_names_coordinates_and_attributes():
    pytest.importorskip("xarray")
    table, y = rows()
    frame = pd.DataFrame(table, columns=["north", "east", "depth"])
    model = MODELS["exact"].fit(frame, y)
    found = model.predict_grid(
        {"east": 0.5}, {"north": (9, 0, -3)}, {"depth": [10.0, 11.5]}, interval=0.5,
        attrs={"units": "m", "crs": "EPSG:32618"},
    )  # fmt: skip
    assert found["mean"].dims == ("depth", "north", "east")
    assert_array_equal(found["north"], [9.0, 6.0, 3.0, 0.0])
    east = found["east"].values
    assert east[0] == np.floor(frame["east"].min() / 0.5) * 0.5
    assert east[-1] == np.ceil(frame["east"].max() / 0.5) * 0.5
    assert found.attrs == {
        "units": "m", "crs": "EPSG:32618", "level": "observation", "coverage": 0.5,
    }  # fmt: skip
    assert found["sd"].attrs["units"] == "m" and "units" not in found["outside"].attrs
    one = found["upper"].sel(depth=11.5, north=3.0, east=east[4]).item()
    query = pd.DataFrame({"north": [3.0], "east": east[4:5], "depth": [11.5]})
    assert one == model.predict_interval(query, 0.5)[1][0]


@pytest.fixture(scope="module")
def mixed():
    """A model of a table with numbers, a gap, levels and dates."""
    table, y = rows()
    frame = pd.DataFrame(table, columns=["a", "b", "c"])
    frame["kind"] = np.where(np.arange(len(y)) % 3 == 0, "oak", "fir")
    frame["when"] = pd.date_range("2020-01-01", periods=len(y), freq="D")
    frame.loc[5, "b"] = np.nan
    kernel = kernels.Matern32(length_scale=3.0, columns=["a", "b", "c"])
    model = CommitteeRegressor(
        kernel + kernels.Group("kind"), noise=0.1, learn=False, random_state=0
    )
    return model.fit(frame, y), frame


def test_other_columns_are_held_at_medians_and_usual_levels(mixed):
    model, frame = mixed
    grid, found = model._grid_answers({"a": [1.0, 2.0]}, {"c": [10.0, 11.0]}, None, None, 0.9,
                                      "observation")  # fmt: skip
    query = pd.DataFrame({
        "a": [1.0, 2.0, 1.0, 2.0], "b": frame["b"].median(), "c": [10.0, 10.0, 11.0, 11.0],
        "kind": "fir", "when": frame["when"].quantile(0.5),
    })[list(frame)]  # fmt: skip
    assert_array_equal(found["mean"].ravel(), model.predict(query))
    _, other = model._grid_answers({"a": [1.0, 2.0]}, {"c": [10.0, 11.0]}, None,
                                   {"kind": "oak", "b": 1.0}, 0.9, "observation")  # fmt: skip
    assert_array_equal(other["mean"].ravel(), model.predict(query.assign(kind="oak", b=1.0)))


def test_slices_by_level_and_lines_by_date(mixed):
    model, frame = mixed
    days = np.array(["2020-02-01", "2020-03-05"], dtype="M8[D]")
    grid, found = model._grid_answers({"a": [1.0, 2.0, 3.0]}, {"when": days}, "kind", {"b": 1.0},
                                      0.9, "observation")  # fmt: skip
    assert [side.name for side in grid.axes] == ["kind", "when", "a"]
    assert list(grid.axes[0].coordinates) == ["fir", "oak"]
    assert_array_equal(grid.axes[1].coordinates, days)
    query = pd.DataFrame({"a": [3.0], "b": 1.0, "c": frame["c"].median(), "kind": "oak",
                          "when": pd.to_datetime(days[1:])})  # fmt: skip
    assert found["mean"][1, 1, 2] == model.predict(query)[0]
    grid, _ = model._grid_answers({"a": 2.0}, {"b": 2.0}, "c", None, 0.9, "observation")
    assert_array_equal(grid.axes[0].values, np.quantile(frame["c"], (0.1, 0.5, 0.9)))


def test_classes_are_maps_of_probabilities():
    pytest.importorskip("xarray")
    table, y = rows()
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [11.0, 13.0])]
    model = CommitteeClassifier(random_state=0).fit(table[:, :2], labels)
    found = model.predict_grid((0, 8, 4), (0, 4, 4))
    assert found["probability"].dims == ("class", "x1", "x0")
    Q = points([(1, [0.0, 4.0]), (0, [0.0, 4.0, 8.0])], [0, 0])
    expected = model.predict_proba(Q)
    assert_array_equal(found["probability"].values.reshape(3, -1).T, expected)
    one = model.predict_grid((0, 8, 4), (0, 4, 4), label="middle")
    assert_array_equal(
        one["probability"].values.ravel(), expected[:, list(model.classes_).index("middle")]
    )
    with pytest.raises(ValueError, match="label='none'"):
        model.predict_grid(label="none")


def test_counts_are_mapped_for_an_exposure():
    table, y = rows()
    model = CommitteeRegressor(
        kernels.RBF(0.5, 3.0), likelihood="poisson", learn=False, random_state=0
    ).fit(table, np.floor(y), exposure=2.0)
    _, found = model._grid_answers(X, Y, None, {2: 11.0}, 0.9, "observation", 7.0)
    Q = points([(0, [7.0, 5.5, 2.0]), (1, np.arange(-1.0, 4.1, 0.5))], [0, 0, 11.0])
    mean, sd = model.predict(Q, return_std=True, exposure=7.0)
    assert_array_equal(found["mean"].ravel(), mean)
    assert_array_equal(found["sd"].ravel(), sd)


BAD = [
    ({"x": "nowhere"}, "x: there is no column 'nowhere', but"),
    ({"x": {7: 1.0}}, "there is no column 7"),
    ({"x": {0: 1.0, 1: 1.0}}, "give one column"),
    ({"x": 0.0}, "x=0.0: give a step above 0"),
    ({"x": -2}, "give a step above 0"),
    ({"x": np.nan}, "x has nan: give finite numbers"),
    ({"x": (0, 1, -1)}, "no step of -1 leads to 1"),
    ({"x": (0, 1, 0)}, "no step of 0"),
    ({"x": (0, np.inf, 1)}, "give finite numbers"),
    ({"x": 1e-12}, "give a larger step"),
    ({"x": [1.0, 3.0, 2.0]}, "neither rise nor fall"),
    ({"x": [1.0, np.nan]}, "give finite numbers"),
    ({"x": [[1.0]]}, "in one dimension"),
    ({"x": ["a", "b"]}, "give finite numbers"),
    ({"x": True}, "give finite numbers|in one dimension"),
    ({"y": {0: 1.0}}, "'x0' is named for two axes"),
    ({"by": {2: [1.0, 1.0]}}, "is there twice"),
    ({"by": {2: [np.inf]}}, "finite|infinite"),
    ({"at": {0: 1.0}}, "at: 'x0' is mapped"),
    ({"at": {2: np.nan}}, "missing values"),
    ({"at": [1.0]}, "at=.*give {column: value}"),
    ({"interval": 1.0}, "interval=1.0"),
    ({"level": "map"}, "level='map'"),
    ({"exposure": 2.0}, "exposure means something"),
]  # fmt: skip


@pytest.mark.parametrize("asked, words", BAD, ids=[str(asked) for asked, _ in BAD])
def test_bad_arguments_are_named(asked, words):
    model = MODELS["exact"].fit(*rows())
    usual = {"x": 1.0, "y": 1.0, "by": None, "at": None, "interval": 0.9, "level": "function"}
    with pytest.raises(ValueError, match=words):
        model._grid_answers(**{**usual, **asked})


def test_levels_have_no_order_and_are_known(mixed):
    model, _ = mixed
    rest = {"at": None, "interval": 0.9, "level": "function"}
    with pytest.raises(ValueError, match="'kind' holds levels, which have no order"):
        model._grid_answers("kind", "a", None, **rest)
    with pytest.raises(ValueError, match="'kind' has no level 'elm'"):
        model._grid_answers("a", "b", {"kind": ["fir", "elm"]}, **rest)


def test_several_outputs_and_one_column_are_refused():
    table, y = rows()
    both = CommitteeRegressor(random_state=0).fit(table, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="2 outputs: fit one"):
        both._grid_answers(1.0, 1.0, None, None, 0.9, "function")
    one = CommitteeRegressor(random_state=0).fit(table[:, :1], y)
    with pytest.raises(ValueError, match="y: the model has 1 column: y needs another, 2 in all"):
        one._grid_answers(1.0, 1.0, None, None, 0.9, "function")


def test_columns_called_like_results_are_refused():
    frame = pd.DataFrame(rows()[0], columns=["mean", "b", "c"])
    model = MODELS["exact"].fit(frame, rows()[1])
    with pytest.raises(ValueError, match="a column is called 'mean'"):
        model._grid_answers(1.0, 1.0, None, None, 0.9, "function")


def test_without_xarray_its_name_is_told(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ImportError, match=r"needs xarray: pip install 'collegium\[geo\]'"):
        MODELS["exact"].fit(*rows()).predict_grid(1.0, 1.0)


def test_dates_levels_and_gaps_of_any_table():
    """Dates beyond nanoseconds, levels of several types, and a column that is mostly missing."""
    rng, n = np.random.default_rng(1), 60
    own = [1, "a", True, 2.5]
    table = pd.DataFrame({
        "east": rng.uniform(0, 10, n), "north": rng.uniform(0, 5, n),
        "kind": pd.Series([own[k] for k in rng.integers(0, 4, n)], dtype=object),
        "day": np.datetime64("2500-01-01") + rng.integers(0, 300, n).astype("m8[D]"),
        "soil": [None] * 50 + ["clay"] * 7 + ["sand"] * 3,
    })  # fmt: skip
    model = CommitteeRegressor(
        kernels.Matern32(1.0, 2.0), noise=0.1, learn=False, random_state=0, transforms=None
    ).fit(table, np.sin(table["east"]))
    steps = {"x": {"east": (0, 10, 5)}, "y": {"north": [1.0]}}
    at = {"day": table["day"][0]}
    grid, found = model._grid_answers(steps["x"], steps["y"], "kind", at, 0.9, "function")
    assert sorted(map(repr, grid.axes[0].coordinates)) == sorted(map(repr, own))
    row = table.iloc[[0]].assign(east=5.0, north=1.0, soil="clay")
    for k, level in enumerate(grid.axes[0].coordinates):
        row["kind"] = pd.Series([level], dtype=object)
        assert_array_equal(found["mean"][k, 0, 1], model.predict(row)[0])
    grid, _ = model._grid_answers(steps["x"], steps["y"], "day", {"kind": 1}, 0.9, "function")
    days = grid.axes[0].coordinates
    assert (days > np.datetime64("2500-01-01")).all() and (days < np.datetime64("2500-12-01")).all()
