"""Pictures show what the model says."""

import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal

from collegium import CommitteeRegressor, RegressionFilter, kernels, sample_prior
from collegium.plots import plot_basis, plot_fit, plot_prior
from picture_cases import Known

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 5, (40, 1))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=40)
BOTH = ("function", "observation")


class Told:
    """Answers with a mean, a standard deviation and a skewed interval for each level."""

    std = {"model": 0.5, "function": 1.0, "observation": 2.0}
    levels = ("observation", "function", "model")

    def predict(self, X, return_std=False, level="observation"):
        mean = X[:, 0] ** 2
        return (mean, np.full(len(X), self.std[level])) if return_std else mean

    def predict_interval(self, X, coverage, level="observation"):
        half = coverage * self.std[level]
        return X[:, 0] ** 2 - half, X[:, 0] ** 2 + 2.0 * half


def band(collection):
    """Lower and upper end of a band at each x it is drawn at."""
    corners = collection.get_paths()[0].vertices
    x = np.unique(corners[:, 0])
    ends = [corners[corners[:, 0] == at, 1] for at in x]
    return x, np.array([e.min() for e in ends]), np.array([e.max() for e in ends])


def test_bands_are_the_intervals_of_the_model():
    ax = plot_fit(Told(), low=-1.0, high=3.0, coverage=0.8)
    for drawn, level in zip(ax.collections, ("observation", "function", "model")):  # widest first
        x, lower, upper = band(drawn)
        assert_allclose(lower, x**2 - 0.8 * Told.std[level], atol=1e-12)
        assert_allclose(upper, x**2 + 1.6 * Told.std[level], atol=1e-12)
        assert drawn.get_label().startswith("80 % interval")
    (mean,) = ax.lines
    assert_allclose(mean.get_ydata(), mean.get_xdata() ** 2)


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
    given = Figure().subplots()
    ax = plot_fit(model, X, Y, truth=lambda x: np.sin(2 * x[:, 0]), ax=given, levels=BOTH)
    assert ax is given
    x, lower, upper = band(ax.collections[0])
    assert x[0] < X.min() and x[-1] > X.max()
    mean = model.predict(x[:, None])
    ends = model.predict_interval(x[:, None], 0.95)
    assert_allclose((lower, upper), ends, rtol=1e-6)
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
        ends = model.predict_interval(x[:, None], 0.95, level=level)
        assert_allclose((lower, upper), ends, atol=1e-6)


def test_one_level_and_lists_will_do():
    ax = plot_fit(Told(), X.tolist(), Y.tolist(), levels="function", high=9.0)
    assert len(ax.collections) == 1
    assert ax.get_xlim()[1] == 9.0


def test_a_frame_gives_its_names_to_the_axes_and_many_rows_are_thinned():
    X = pd.DataFrame({"depth (m)": np.linspace(0.0, 1.0, 50)})
    y = pd.Series(X["depth (m)"] ** 2, name="salt")
    ax = plot_fit(CommitteeRegressor(random_state=0).fit(X, y), X, y)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("depth (m)", "salt")
    ax = plot_fit(Told(), np.linspace(0, 1, 1_000_000)[:, None], np.zeros(1_000_000))
    assert max(line.get_xdata().size for line in ax.lines) <= 5_000


def test_a_model_without_intervals_is_drawn_by_its_deviations_where_that_is_said():
    with pytest.raises(ValueError, match="no predict_interval; give width"):
        plot_fit(Known(), X, Y)


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
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"collegium\[plot\]"):
        plot_prior(kernels.RBF())


@pytest.mark.parametrize(("change", "words"), [
    ({"levels": ()}, "levels="),
    ({"width": 0.0}, "width=0.0"),
    ({"coverage": 95}, "coverage=95"),
    ({"ax": 3}, "ax=3"),
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
