"""Figures, colours, words and grids that all pictures share.

New figures are not pyplot's: none stays open, and no setting of matplotlib is changed.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_array

from ..numerics.libraries import library

Array = np.ndarray
#: Blue, vermilion, dark and light grey: safe for the colour-blind (Okabe & Ito 2008). Blue and
#: vermilion are alike in grey, where marks and dashes tell them apart.
LINE, TRUTH, DOTS, FAINT = "#0072B2", "#D55E00", "#444444", "#9A9A9A"
#: Colours of values, of deviations and of counts: lightness changes one way only.
VALUES, DEVIATIONS, COUNTS = "viridis", "YlOrBr", "Blues"
#: The part of a colour map of counts that is seen on white.
SEEN = (0.2, 1.0)
#: Opacity of a band, and of a second one inside it.
BAND, INNER = 0.18, 0.35
GRID = 400
#: Letters per inch of a title.
LETTERS = 11.0
SMALL = "small"


def new_figure(width: float = 6.4, height: float = 4.2) -> Any:
    figure = library("matplotlib.figure", "plot", "a picture")
    return figure.Figure(figsize=(width, height), layout="constrained")


def new_axes(ax: Any, width: float = 6.4, height: float = 4.2) -> Any:
    """Return the given axes; those of a new figure for None."""
    if ax is None:
        return new_figure(width, height).subplots()
    if not hasattr(ax, "add_collection"):
        raise ValueError(f"ax={ax!r}: give matplotlib Axes, or None for a new figure")
    return ax


def two_axes(ax: Any = None, width: float = 6.4, height: float = 5.2, **layout: Any) -> Any:
    """Return the pair of axes that was given; for None two in a new figure."""
    if ax is None:
        return new_figure(width, height).subplots(**layout)
    pair = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if pair.size != 2 or not all(hasattr(one, "add_collection") for one in pair):
        raise ValueError(f"ax={ax!r}: this picture has two parts, give a pair of matplotlib Axes")
    return pair


def colours_of_counts() -> Any:
    """Colours of counts without those that are hardly seen on white."""
    mpl = library("matplotlib", "plot", "a picture")
    own = mpl.colormaps[COUNTS](np.linspace(*SEEN, 256))
    return library("matplotlib.colors", "plot", "a picture").ListedColormap(own)


#: Two parts, the upper one larger, which share their x axis.
ABOVE = {"nrows": 2, "sharex": True, "height_ratios": (3, 1)}


def dress(ax: Any, title: str = "", xlabel: str = "", ylabel: str = "") -> Any:
    """Put words on a picture; leave out frames that say nothing."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    thousands(ax.xaxis)
    thousands(ax.yaxis)
    if title:
        inches = ax.get_position().width * ax.figure.get_size_inches()[0]
        text = textwrap.fill(title, max(24, int(1.12 * LETTERS * inches)))
        ax.set_title(text, loc="left", fontsize="medium")
    return ax


def legend(ax: Any, **options: Any) -> None:
    """Add a legend below the picture, where it hides no data."""
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        own = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": min(len(labels), 4)}
        ax.legend(handles, labels, fontsize=SMALL, frameon=False, **own | options)


def plain_numbers(axis: Any) -> None:
    """Write ticks of a logarithmic axis as numbers: 500, not 5×10²."""
    ticker = library("matplotlib.ticker", "plot", "a picture")
    axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def turned(ax: Any, words: Sequence[str]) -> None:
    """Write words below the whole numbers 0, 1, … of the x axis, slanted where they are long."""
    slanted = sum(map(len, words)) > 45
    ax.set_xticks(np.arange(len(words)), words)
    if slanted:
        ax.tick_params(axis="x", rotation=40)
        for label in ax.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")


def short_name(word: Any, most: int = 24) -> str:
    """Cut a long name; a dollar is no formula."""
    text = str(word)
    text = text if len(text) <= most else f"{text[: most - 1]}…"
    return text.replace("$", r"\$")


def thousands(axis: Any) -> None:
    """Write ticks of large values as 200,000, of others as matplotlib does."""
    ticker = library("matplotlib.ticker", "plot", "a picture")
    if type(axis.get_major_formatter()) is not ticker.ScalarFormatter:
        return
    low, high = sorted(axis.get_view_interval())
    if 1e4 <= max(abs(low), abs(high)) < 1e7 and high - low > 50.0:
        axis.set_major_formatter("{x:,.0f}")


def brief_dates(axis: Any) -> None:
    """Write dates briefly: the year once, not at every tick."""
    dates = library("matplotlib.dates", "plot", "a picture")
    where = dates.AutoDateLocator(maxticks=8)
    axis.set_major_locator(where)
    axis.set_major_formatter(dates.ConciseDateFormatter(where))


def grid(low, high, n=GRID):
    return np.linspace(low, high, n)[:, None]


def one_column(X, name):
    X = check_array(X, dtype=np.float64, input_name=name)
    if X.shape[1] != 1:
        raise ValueError(f"{name} has {X.shape[1]} columns: only one input can be drawn")
    return X


def check_ends(low, high):
    for name, value in (("low", low), ("high", high)):
        if not (isinstance(value, Real) and np.isfinite(value)):
            raise ValueError(f"{name}={value!r}: give a number, an end of the curve")
    if not low < high:
        raise ValueError(f"low={low!r} must be below high={high!r}")
    return float(low), float(high)


def parts_by(order: Array, most: int) -> list[Array]:
    """Cut sorted positions into at most `most` parts of like size."""
    return np.array_split(order, max(1, min(most, order.size)))


def by_part(statistic: Callable[[Array], Any], values: Array, parts: Sequence[Array]) -> Array:
    """Evaluate a statistic of the values of each part."""
    return np.array([statistic(values[part]) for part in parts])
