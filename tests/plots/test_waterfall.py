"""One prediction from the base to its value, as it is drawn."""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose

from collegium.explain.explanation import Explanation
from collegium.plots import waterfall

mpl.use("Agg")
import matplotlib.pyplot as plt

VALUES = np.array([[0.5, -2.0, 1.0, 0.1], [1.0, 1.0, 0.0, -0.2]])


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def told(**other):
    data = np.array(
        [[1.25, "Oslo", np.datetime64("2021-03-01T00:00:00", "us"), None], [0.0, None, None, 2.0]],
        dtype=object,
    )
    given = {
        "columns": ("size", "city", "day", "gap"), "data": data, "base": 3.0, "values": VALUES,
        "prediction": 3.0 + VALUES.sum(axis=1), "error": 0.1 + 0.0 * VALUES,
        "sampling": 0.05 + 0.0 * VALUES, "sd": np.array([0.4, 0.3]),
        "shares": np.full((2, 3), 1 / 3), "nearest": None, "method": "exact",
    }  # fmt: skip
    return Explanation(**{**given, **other})


def bars(ax):
    """Where bars begin and how long they are, from above."""
    return np.array([(one.get_x(), one.get_width()) for one in ax.patches])


def labels(ax):
    return [one.get_text() for one in ax.get_yticklabels()]


def whisker(container):
    """Ends of horizontal whiskers  (k, 2)."""
    return np.array([path[:, 0] for path in container[2][0].get_segments()])


def test_bars_go_from_the_base_to_the_prediction():
    ax = waterfall(told())
    assert_allclose(bars(ax), [[3.0, -2.0], [1.0, 1.0], [2.0, 0.5], [2.5, 0.1]])
    assert labels(ax) == [
        "base", "city = Oslo", "day = 2021-03-01", "size = 1.25", "gap = missing", "prediction"
    ]  # fmt: skip
    blue, vermilion = (mpl.colors.to_rgb(one) for one in ("#0072B2", "#D55E00"))
    colours = [one.get_facecolor()[:3] for one in ax.patches]
    assert colours == [blue, vermilion, vermilion, vermilion]
    contributions, prediction = ax.containers[1:]
    wide = np.hypot(0.1, 0.05)
    ends = np.array([1.0, 2.0, 2.5, 2.6])
    assert_allclose(whisker(contributions), np.stack([ends - wide, ends + wide], axis=1))
    assert_allclose(whisker(prediction), [[2.6 - 0.4, 2.6 + 0.4]])
    assert [one.get_text() for one in ax.texts] == ["-2", "+1", "+0.5", "+0.1"]
    ax.figure.canvas.draw()


def test_columns_that_add_least_are_one_bar():
    ax = waterfall(told(), most=2)
    assert_allclose(bars(ax), [[3.0, -2.0], [1.0, 1.6]])
    assert labels(ax)[2] == "3 other columns"
    other = np.sqrt(3 * (0.1**2 + 0.05**2))
    assert_allclose(np.diff(whisker(ax.containers[1]))[1], 2 * other)


def test_axes_that_are_given_are_drawn_on():
    _, ax = plt.subplots()
    before = ax.figure.get_size_inches().copy()
    assert waterfall(told(), row=-1, ax=ax) is ax
    assert_allclose(bars(ax)[:2], [[3.0, 1.0], [4.0, 1.0]])
    assert_allclose(ax.figure.get_size_inches(), before)


def test_errors_that_were_not_asked_for_have_no_whiskers():
    ax = waterfall(told(error=np.full(VALUES.shape, np.nan)))
    assert_allclose(np.diff(whisker(ax.containers[1])), 0.0)


def test_long_labels_are_cut():
    ax = waterfall(told(columns=("a" * 50, "city", "day", "gap")))
    assert max(map(len, labels(ax))) == 32
    assert labels(ax)[3] == "a" * 24 + "… = 1.25"


@pytest.mark.parametrize(
    ("given", "word"),
    [({"row": 2}, "row=2"), ({"row": 0.5}, "row=0.5"), ({"most": 0}, "most=0")],
)
def test_bad_arguments(given, word):
    with pytest.raises(ValueError, match=word):
        waterfall(told(), **given)


def test_only_explanations_are_drawn():
    with pytest.raises(ValueError, match=r"model\.explain"):
        waterfall([1.0])
