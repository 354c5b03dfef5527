"""Draw a series: its past, its forecast and the intervals, with dates on the axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..diagnostics.numbers import as_percent
from ..interface.checks.arguments import check_coverage, whole_number
from ..rows.partition import evenly_spaced
from ..tables.reading import DATE, Found, names_of
from .axes import BAND, DOTS, INNER, LINE, TRUTH, brief_dates, dress, legend, new_axes, short_name
from .judged import check_model, count_rows, read_column, take_rows, target_name

Array = np.ndarray
#: Moments of the past that are drawn one by one; of more, the range of each of so many stretches.
AS_DOTS, STRETCHES = 2_000, 500
#: Moments of the future that are asked about, evenly spaced, where there are more.
ASKED = 1_000


def plot_series(
    model, X, y, future, *, y_future=None, column=None, coverage=0.95, ax=None, last=None
):  # fmt: skip
    """Draw the past of a series, its forecast and the intervals.

    Of more than 2,000 moments of the past the range in each of 500 stretches is drawn, of more than
    1,000 of the future as many evenly spaced ones.

    Parameters
    ----------
    model : fitted regressor
    X : array-like or frame of shape (n, d)
        The past: moments, and what else the model needs.
    y : array-like of shape (n,)
    future : array-like or frame of shape (m, d)
        Rows to forecast.
    y_future : array-like of shape (m,), default=None
        What came, where it is known.
    column : str or int, default=None
        The column of times; None: the only column, or the only one of dates.
    coverage : float, default=0.95
    ax : matplotlib Axes, default=None
        None: a new figure.
    last : int, default=None
        Rows of the past that are drawn, the latest; None: all.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import CommitteeRegressor, plots
    >>> t = np.arange(60.0)[:, None]
    >>> model = CommitteeRegressor(random_state=0).fit(t, 0.1 * t[:, 0])
    >>> ax = plots.series(model, t, 0.1 * t[:, 0], np.arange(60.0, 70.0)[:, None])
    """
    check_coverage(coverage)
    check_model(model)
    past, seen = _times(X, column, "X"), _one_number_each(y, X, "y")
    ahead = _times(future, past.name if names_of(future) else column, "future")
    if past.kind != ahead.kind:
        raise ValueError(
            f"future: its column of times holds {ahead.kind}s, and that of X {past.kind}s"
        )
    _draw_past(ax := new_axes(ax, 7.6), past, seen, last)
    order = np.argsort(ahead.values, kind="stable")
    order = order[evenly_spaced(order.size, ASKED)]
    mean, lower, upper = model.predict(take_rows(future, order), interval=coverage)
    t, words = moments_of(ahead)[order], f"{as_percent(coverage)} interval"
    ax.fill_between(t, lower, upper, color=LINE, alpha=BAND + 0.07, lw=0, label=words)
    ax.plot(t, mean, color=LINE, lw=1.6, label="forecast")
    name = short_name(target_name(y))
    title = f"{name} and its forecast, {count_rows(future):,} moments ahead"
    if y_future is not None:
        came = _one_number_each(y_future, future, "y_future")[order]
        inside = (lower <= came) & (came <= upper)
        ax.plot(t, came, color=TRUTH, lw=1.2, ls=(0, (4, 2)), label="what came")
        held = f"{inside.sum():,} of {inside.size:,} lie in their {as_percent(coverage)} intervals"
        title = f"Forecast of {name}: {held}"
    if past.kind == DATE:
        brief_dates(ax.xaxis)
    dress(ax, title, "" if past.kind == DATE else short_name(past.name), name)
    ax.margins(x=0.01)
    legend(ax)
    return ax


def _times(X: Any, column: Any, name: str) -> Found:
    """Read the column of times, numbers or dates without gaps."""
    names = names_of(X)
    d = len(names) if names is not None else (np.ndim(X) > 1 and np.shape(X)[1]) or 1
    if column is None and d > 1:
        dates = [j for j in range(d) if read_column(X, j).kind == DATE]
        if len(dates) != 1:
            raise ValueError(f"{name} has {d} columns: say which one holds times, column=")
        column = dates[0]
    found = read_column(X, 0 if column is None else column)
    if found.keys or found.gone.any():
        raise ValueError(f"{name}: column {found.name!r} must hold numbers or dates, without gaps")
    return found


def _one_number_each(y: Any, X: Any, name: str) -> Array:
    found = np.asarray(y, dtype=float)
    if found.shape != (count_rows(X),):
        n = count_rows(X)
        raise ValueError(f"{name} has shape {found.shape}: give one number for each of {n} rows")
    return found


def moments_of(found: Found) -> Array:
    """Times as matplotlib draws them: numbers, or dates of NumPy."""
    if found.kind != DATE:
        return found.values
    return np.rint(found.values * 1e6).astype(np.int64).astype("M8[us]")


def _draw_past(ax: Any, found: Found, y: Array, last: Any) -> None:
    """Draw rows of the past as dots, or the range of each stretch of many."""
    order = np.argsort(found.values, kind="stable")
    if last is not None:
        order = order[-whole_number(last, "last") :]
    t, y = moments_of(found)[order], y[order]
    if order.size <= AS_DOTS:
        ax.plot(t, y, ".-", color=DOTS, ms=3.5, lw=0.5, label="past")
        return
    starts = np.linspace(0, order.size, STRETCHES + 1).astype(int)[:-1]
    ends = np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)
    words = "past, lowest to highest"
    ax.fill_between(t[starts], *ends, color=DOTS, alpha=INNER, lw=0, label=words)
    counts = np.diff(np.append(starts, order.size))
    ax.plot(t[starts], np.add.reduceat(y, starts) / counts, color=DOTS, lw=0.8, label="past, mean")
