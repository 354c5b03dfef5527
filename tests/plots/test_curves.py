"""Learning curves are errors of fits on nested rows; colours are seen in grey."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from collegium import plots
from collegium.diagnostics.numbers import as_percent, three_digits
from collegium.explain.effects import Effect
from collegium.plots import LearningCurve, Predictions, axes, learning_errors
from picture_cases import label


class Mean(RegressorMixin, BaseEstimator):
    """The mean of the rows, and their standard deviation."""

    fits: list = []

    def fit(self, X, y):
        self.fits.append(np.asarray(X)[:, 0].tolist())
        self.mean_, self.sd_ = np.mean(y), np.std(y)
        return self

    def predict(self, X, return_std=False):
        mean, sd = np.full((2, len(X)), [[self.mean_], [self.sd_]])
        return (mean, sd) if return_std else mean


class Shares(ClassifierMixin, BaseEstimator):
    """The shares of the classes among the rows."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.share_ = counts / len(y)
        return self

    def predict_proba(self, X):
        return np.tile(self.share_, (len(X), 1))


def test_errors_of_nested_fits():
    Mean.fits.clear()
    y = np.random.default_rng(0).normal(size=100)
    X = np.arange(100.0)[:, None]
    found = learning_errors(Mean(), X, y, sizes=[5, 20, 60], held_out=30)
    five, twenty, sixty = (list(map(int, one)) for one in Mean.fits)
    assert twenty[:5] == five and sixty[:20] == twenty and len(set(sixty)) == 60
    held = np.random.default_rng(0).permutation(100)[:30]
    assert not set(held) & set(sixty)
    for k, rows in enumerate((five, twenty, sixty)):
        square = (y[held] - y[rows].mean()) ** 2
        rmse = np.sqrt(square.mean())
        assert_allclose(found.error[k], rmse)
        assert_allclose(found.expected[k], y[rows].std())
        assert_allclose(found.half[k], 1.96 * square.std() / np.sqrt(30) / (2 * rmse))
    ax = plots.learning_curve(found)
    line, _, (bars,) = label(ax, "error of 30").lines
    assert_allclose(line.get_data(), (found.sizes, found.error))
    ends = np.array(bars.get_segments())[:, :, 1]
    assert_allclose(ends, np.c_[found.error - found.half, found.error + found.half])
    assert_allclose(label(ax, "error it expects").get_ydata(), found.expected)


def test_classes_are_counted_wrong():
    y = np.array(["a"] * 70 + ["b"] * 30)
    found = learning_errors(Shares(), np.arange(100.0)[:, None], y, sizes=3)
    held = np.random.default_rng(0).permutation(100)[:20]
    assert_allclose(found.error, np.mean(y[held] == "b"))
    assert found.words == "share of wrong labels" and found.sizes[-1] == 80
    ax = plots.learning_curve(Shares(), np.arange(100.0)[:, None], y, sizes=3)
    assert_allclose(label(ax, "error of 20").lines[0].get_ydata(), found.error)


def test_sizes_of_a_million_rows_end_where_fits_get_long():
    sizes = plots.curves.sizes_of(6, 900_000)
    assert (sizes[0], sizes[-1], sizes.size) == (625, 20_000, 6)


def test_the_title_says_what_the_last_step_brought():
    curve = LearningCurve(np.array([100, 1_000]), np.array([2.0, 1.5]), np.zeros(2), np.ones(2), 50)
    title = plots.learning_curve(curve).get_title(loc="left").replace("\n", " ")
    assert title == "From 100 to 1,000 rows: the error was lowered by 25 %"


def test_what_makes_no_sense_is_refused():
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    for change, words in [
        ({"sizes": [1, 5]}, r"sizes=\[1, 5\]"),
        ({"sizes": 1}, "sizes=1"),
        ({"held_out": 19}, "held_out=19"),
        ({"y": y[:3]}, "y has shape"),
        ({"X": None}, "give X and y"),
    ]:
        given = {"X": X, "y": y, **change}
        with pytest.raises(ValueError, match=words):
            plots.learning_curve(Mean(), given.pop("X"), given.pop("y"), **given)
    with pytest.raises(ValueError, match="model=3"):
        plots.learning_curve(3, X, y)


def lightness(colours):
    """CIE lightness of sRGB colours, 0 to 100."""
    c = mpl.colors.to_rgba_array(colours)[:, :3]
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    Y = linear @ [0.2126, 0.7152, 0.0722]
    return np.where(Y > 0.008856, 116 * np.cbrt(Y) - 16, 903.3 * Y)


@pytest.mark.parametrize("name", [axes.VALUES, axes.DEVIATIONS, axes.COUNTS])
def test_colour_maps_are_ordered_in_grey(name):
    steps = np.diff(lightness(mpl.colormaps[name](np.linspace(0, 1, 64))))
    assert (steps > 0).all() or (steps < 0).all()


def test_lines_differ_from_paper_and_dots_from_lines_in_grey():
    line, truth, dots, faint = lightness([axes.LINE, axes.TRUTH, axes.DOTS, axes.FAINT])
    assert max(line, truth, dots) < 60 and min(line, truth) - dots > 10 and faint - line > 10


@pytest.mark.parametrize(("share", "words"), [
    (0.9466, "94.7 %"), (0.95, "95 %"), (1.0, "100 %"), (0.0034, "0.34 %"), (0.0, "0 %"),
    (2e-5, "< 0.1 %"),
])  # fmt: skip
def test_shares_in_words(share, words):
    assert as_percent(share) == words


def test_numbers_in_words():
    told = [three_digits(x) for x in (44_231.0, 0.012345, 1.5, 3e9, 0.0)]
    assert told == ["44,200", "0.0123", "1.5", "3e+09", "0"]


def test_a_dollar_is_no_formula():
    assert axes.short_name("price ($) of $ size") == r"price (\$) of \$ size"
    y = pd.Series(np.arange(40.0), name="$1 to $x_{")
    X = pd.DataFrame({"$a": np.arange(40.0)})
    grid = np.array(["$1 $", "<script>"], dtype=object)
    effect = Effect("$x_ $", "partial", grid, *np.ones((3, 2)), 0.0, 2, True, "chance of $ {$")
    for ax in (
        plots.importance({"a $x_{ $ b": 1.0, "<script>": 0.5}),
        plots.learning_curve(Mean(), X, y, sizes=2),
        plots.residuals(Predictions(y, y, y, y, name=y.name)),
        plots.effect(effect),
    ):
        ax.figure.canvas.draw()
    assert next(one.get_text() for one in ax.get_xticklabels()) == "\\$1 \\$\n100 %"
