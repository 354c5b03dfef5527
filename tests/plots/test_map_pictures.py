"""Maps show what the model says, and where it knows little."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from collegium import CommitteeRegressor, plots
from collegium.plots.fields import draw_fields
from collegium.plots.maps import aspect_of


class Dataset(dict):
    """What is used of an xarray.Dataset."""

    @property
    def data_vars(self):
        return dict(self)

    def __getitem__(self, name):
        return self.coordinates[name] if name in self.coordinates else dict.__getitem__(self, name)


def dataset(x, y, dims=("north", "east"), **fields):
    made = Dataset({k: SimpleNamespace(values=v, dims=dims) for k, v in fields.items()})
    made.coordinates = dict(zip(dims, (SimpleNamespace(values=y), SimpleNamespace(values=x))))
    return made


@pytest.fixture(scope="module")
def surface():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, [4, 2], (80, 2))
    return CommitteeRegressor(random_state=0).fit(X, np.sin(X[:, 0]) * X[:, 1]), X


def test_cells_are_the_answers_of_the_model(surface):
    model, X = surface
    axes = plots.map(model, X, cells=8)
    drawn = [ax.collections[0] for ax in axes]
    low, high = X.min(axis=0), X.max(axis=0)
    rows, columns = 4 if high[1] - low[1] > 2.1 else 3, 8
    values = [one.get_array().reshape(-1, columns) for one in drawn]
    rows = values[0].shape[0]
    for i, y in enumerate(np.linspace(low[1], high[1], rows)):
        for j, x in enumerate(np.linspace(low[0], high[0], columns)):
            mean, sd = model.predict([[x, y]], return_std=True, level="function")
            assert_allclose((values[0][i, j], values[1][i, j]), (mean[0], sd[0]), rtol=1e-4)
    assert [ax.get_xlabel() for ax in axes] == ["x0", "x0"]


def test_a_dataset_is_drawn_with_its_gaps_hatched():
    x, y = np.arange(5.0), np.array([10.0, 20.0, 30.0])
    mean = np.arange(15.0).reshape(3, 5)
    mean[0, 0] = np.nan
    outside = np.zeros((3, 5), dtype=bool)
    outside[2, 3:] = True
    given = Figure().subplots(1, 2)
    axes = plots.map(dataset(x, y, mean=mean, sd=mean + 1, outside=outside), ax=given, name="rain")
    assert axes[0] is given[0]
    mesh, hatched = axes[0].collections
    assert_allclose(mesh.get_array().reshape(3, 5), mean)
    assert mesh.get_array().mask.ravel().tolist() == np.isnan(mean).ravel().tolist()
    assert hatched.hatches == ["////"]
    (path,) = hatched.get_paths()
    cells = [(0, 10), (3, 30), (4, 30), (2, 30), (1, 20)]
    assert [bool(path.contains_point(one)) for one in cells] == [True, True, True, False, False]
    assert (axes[0].get_xlabel(), axes[0].get_ylabel()) == ("east", "north")
    assert axes[0].get_title(loc="left") == "Rain"


def test_a_million_cells_are_one_artist():
    n = 1_500
    field = np.random.default_rng(0).normal(size=(n, n))
    x = np.arange(float(n))
    axes = Figure().subplots(1, 2)
    draw_fields(axes, x, x, field, field, field > 3, ("a", "b"), ("", ""), "f")
    assert all(len(ax.collections) == 2 for ax in axes)
    assert axes[0].collections[0].get_array().size <= 1_200**2


def test_degrees_have_the_shape_of_their_latitude():
    x, y = np.array([10.0, 11.0]), np.array([59.0, 61.0])
    assert_allclose(aspect_of(["lon", "lat"], x, y), 2.0)
    assert aspect_of(["east", "north"], x, y) == "equal"
    assert aspect_of(["age", "income"], x, 1e4 * y) == "auto"
    assert aspect_of(["day", "north"], x.astype("M8[s]"), y) == "auto"


def test_what_makes_no_sense_is_refused(surface, one_column):
    model, X = surface
    x = np.arange(2.0)
    for arguments, words in [
        ((one_column[0], one_column[1]), "model has 1 columns"),
        ((model,), "X is None"),
        ((dataset(x, x, mean=np.ones((2, 2))),), r"\['mean'\]: give one with mean and sd"),
        ((dataset(x, x, ("a", "b", "c"), mean=x, sd=x),), "choose a slice"),
    ]:
        with pytest.raises(ValueError, match=words):
            plots.map(*arguments)
    with pytest.raises(ValueError, match="cells=1"):
        plots.map(model, X, cells=1)
    with pytest.raises(ValueError, match="two parts"):
        plots.map(model, X, cells=4, ax=Figure().subplots())


def test_a_dataset_of_xarray(surface):
    pytest.importorskip("xarray")
    model, _ = surface
    found = model.predict_grid(x=np.linspace(0, 4, 5), y=np.linspace(0, 2, 3))
    axes = plots.map(found)
    assert_allclose(axes[1].collections[0].get_array().reshape(3, 5), found["sd"].values)
