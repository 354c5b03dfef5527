"""Pictures show what the model says."""

import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from numpy.testing import assert_allclose, assert_array_equal

from collegium import CommitteeRegressor, RegressionFilter, kernels, sample_prior
from collegium.plots import plot_basis, plot_fit, plot_prior

mpl.use("Agg")
import matplotlib.pyplot as plt

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 5, (40, 1))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=40)
BOTH = ("function", "observation")


class Told:
    """Answers with a mean and a standard deviation for each level."""

    std = {"model": 0.5, "function": 1.0, "observation": 2.0}
    levels = ("observation", "function", "model")

    def predict(self, X, return_std=False, level="observation"):
        assert return_std
        return X[:, 0] ** 2, np.full(len(X), self.std[level])


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def band(collection):
    """Lower and upper end of a band at each x it is drawn at."""
    corners = collection.get_paths()[0].vertices
    x = np.unique(corners[:, 0])
    ends = [corners[corners[:, 0] == at, 1] for at in x]
    return x, np.array([e.min() for e in ends]), np.array([e.max() for e in ends])


def test_bands_are_nested_and_have_the_width_asked_for():
    ax = plot_fit(Told(), low=-1.0, high=3.0, width=1.5)
    assert isinstance(ax, Axes)
    assert len(ax.collections) == 3
    for drawn, level in zip(ax.collections, ("observation", "function", "model")):  # widest first
        x, lower, upper = band(drawn)
        assert (x[0], x[-1]) == (-1.0, 3.0)
        assert_allclose(lower, x**2 - 1.5 * Told.std[level], atol=1e-12)
        assert_allclose(upper, x**2 + 1.5 * Told.std[level], atol=1e-12)
    (mean,) = ax.lines
    assert_allclose(mean.get_ydata(), mean.get_xdata() ** 2)
    ax.figure.canvas.draw()


def test_the_fit_of_a_regressor_with_its_data_and_the_truth():
    model = CommitteeRegressor(random_state=0).fit(X, Y)
    _, given = plt.subplots()
    ax = plot_fit(model, X, Y, truth=lambda x: np.sin(2 * x[:, 0]), ax=given, levels=BOTH)
    assert ax is given
    x, lower, upper = band(ax.collections[0])
    assert x[0] < X.min() and x[-1] > X.max()
    mean, std = model.predict(x[:, None], return_std=True)
    assert_allclose(upper - lower, 2 * 1.96 * std, rtol=1e-6)
    curve, truth, dots = ax.lines
    assert_allclose(curve.get_ydata(), mean, rtol=1e-6)
    assert_allclose(truth.get_ydata(), np.sin(2 * truth.get_xdata()))
    assert truth.get_linestyle() == "--"
    assert_array_equal(np.column_stack(dots.get_data()), np.column_stack([X, Y]))
    ax.legend()
    ax.figure.canvas.draw()


def test_the_three_bars_of_a_regression_filter_are_drawn():
    model = RegressionFilter(kernels.Matern12(1.0, 0.7), noise=0.1, n_basis=8, learn=False)
    ax = plot_fit(model.fit(X, Y), X, Y)
    for drawn, level in zip(ax.collections, ("observation", "function", "model")):
        x, lower, upper = band(drawn)
        mean, std = model.predict(x[:, None], return_std=True, level=level)
        assert_allclose(lower, mean - 1.96 * std, atol=1e-6)
        assert_allclose(upper, mean + 1.96 * std, atol=1e-6)


def test_one_level_and_lists_will_do():
    ax = plot_fit(Told(), X.tolist(), Y.tolist(), levels="function", high=9.0)
    assert len(ax.collections) == 1
    assert ax.get_xlim()[1] == 9.0


def test_a_prior_is_drawn_as_its_samples():
    kernel = kernels.Matern12(1.0, 0.5)
    ax = plot_prior(kernel, n_samples=4, random_state=3)
    x = ax.lines[0].get_xdata()
    assert (x[0], x[-1], len(ax.lines)) == (-4.0, 4.0, 4)
    drawn = np.column_stack([line.get_ydata() for line in ax.lines])
    assert_array_equal(drawn, sample_prior(kernel, x[:, None], 4, 3))
    ax = plot_prior(kernel, X)
    assert_array_equal(ax.lines[0].get_xdata(), np.sort(X[:, 0]))


def test_a_basis_is_drawn_as_its_functions():
    ax = plot_basis(lambda X: X ** np.arange(4), 0.0, 2.0)
    x = ax.lines[0].get_xdata()
    assert (x[0], x[-1]) == (0.0, 2.0)
    for power, line in enumerate(ax.lines):
        assert_allclose(line.get_ydata(), x**power)


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"collegium\[plot\]"):
        plot_prior(kernels.RBF())


@pytest.mark.parametrize(("change", "words"), [
    ({"levels": ()}, "levels="),
    ({"width": 0.0}, "width=0.0"),
    ({"y": None}, "X and y"),
    ({"truth": 3.0}, "truth=3.0"),
    ({"X": np.ones((40, 2))}, "X has 2 columns"),
    ({"low": 9.0}, "must be below"),
    ({"X": None, "y": None}, "low=None"),
    ({"high": np.nan}, "high=nan"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        plot_fit(Told(), **{"X": X, "y": Y, **change})


def test_a_basis_that_is_none_is_refused():
    with pytest.raises(ValueError, match="basis="):
        plot_basis("splines", 0.0, 1.0)
    with pytest.raises(ValueError, match="basis gave"):
        plot_basis(lambda X: X[:, 0], 0.0, 1.0)
