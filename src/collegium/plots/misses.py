"""Draw errors against predictions, and intervals beside the truth."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..diagnostics.numbers import as_percent, three_digits
from ..interface.checks.arguments import whole_number
from .axes import (
    DOTS,
    FAINT,
    LINE,
    SMALL,
    TRUTH,
    by_part,
    colours_of_counts,
    dress,
    legend,
    new_axes,
    parts_by,
    short_name,
    thousands,
)
from .judged import MOST, Predictions, given_predictions, of_rows

Array = np.ndarray
#: More rows than this are drawn as hexagons, so many across.
AS_DOTS, ACROSS = 2_000, 48
#: Parts by prediction that running lines are made of, and rows in each at least.
PARTS, FEWEST = 25, 100
#: Share of the rows that may lie beyond the picture, on either side.
BEYOND = 0.002


def plot_residuals(
    model, X=None, y=None, *, coverage=0.95, most=MOST, ax=None, **exposure
):  # fmt: skip
    """Draw errors against predictions, with their running median and the promised interval.

    The solid lines are where the model promises the errors to be, the dashed ones where they are:
    the running median, and the quantiles that hold the same share of the errors. All are averages
    over parts of like many rows. More than 2,000 rows are drawn as hexagons, coloured by the log of
    their number.

    Parameters
    ----------
    model : fitted regressor, or `Predictions` that were made before
    X, y : rows that the model has not learnt from
    coverage : float, default=0.95
        The share of errors that is promised to be between the lines.
    most : int, default=10_000
        Rows that are predicted, evenly spaced, where there are more.
    ax : matplotlib Axes, default=None
        None: a new figure.
    exposure : array-like of shape (n,)
        Of counts, as in `predict`.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import CommitteeRegressor, plots
    >>> X = np.linspace(0, 5, 60)[:, None]
    >>> y = np.sin(2 * X[:, 0])
    >>> model = CommitteeRegressor(random_state=0).fit(X[::2], y[::2])
    >>> ax = plots.residuals(model, X[1::2], y[1::2])
    """
    found = given_predictions(model, X, y, coverage, most, exposure)
    ax = new_axes(ax)
    error = found.y - found.mean
    _draw_errors(ax, found.mean, error)
    _draw_running(ax, found, error)
    ax.axhline(0.0, color=FAINT, lw=0.8, zorder=0)
    typical = float(np.sqrt(np.mean(error**2)))
    title = (
        f"Errors are typically {three_digits(typical)}; {as_percent(found.covered)} of "
        f"{of_rows(error.size, found.total)} are in their {as_percent(found.coverage)} intervals"
    )
    name = short_name(found.name)
    dress(ax, title, f"predicted {name}", f"error: {name} − prediction")
    legend(ax)
    return ax


def _draw_errors(ax: Any, mean: Array, error: Array) -> None:
    """Draw dots, or hexagons that show the densest part of many rows."""
    if mean.size <= AS_DOTS:
        ax.plot(mean, error, ".", color=DOTS, ms=4, alpha=0.6, mew=0, label="rows")
        return
    (left, right), (low, high) = _view(mean), _view(error)
    seen = (mean >= left) & (mean <= right) & (error >= low) & (error <= high)
    hexagons = ax.hexbin(
        mean[seen], error[seen], gridsize=(ACROSS, ACROSS // 2), bins="log", mincnt=1,
        cmap=colours_of_counts(), extent=(left, right, low, high), lw=0,
    )  # fmt: skip
    ax.figure.colorbar(hexagons, ax=ax, label="rows per hexagon", pad=0.01)
    ax.set(xlim=(left, right), ylim=(low, high))
    if beyond := int((~seen).sum()):
        ax.text(
            0.99, 0.99, f"{beyond:,} rows beyond", transform=ax.transAxes, ha="right", va="top",
            fontsize=SMALL, color=DOTS,
        )  # fmt: skip


def _view(values: Array) -> tuple[float, float]:
    """Ends of an axis that show all values, but not the most extreme of many."""
    low, high = np.quantile(values, [BEYOND, 1.0 - BEYOND])
    room = 0.25 * (high - low) or 1.0
    return max(float(values.min()), low - room), min(float(values.max()), high + room)


def _draw_running(ax: Any, found: Predictions, error: Array) -> None:
    """Draw running lines: promised ends, median and ends of the errors."""
    count = min(PARTS, found.mean.size // FEWEST)
    parts = parts_by(np.argsort(found.mean, kind="stable"), max(count, 1))
    at = by_part(np.median, found.mean, parts)
    outer = 0.5 - 0.5 * found.coverage
    promised = f"promised: {as_percent(found.coverage)} between"
    for k, ends in enumerate((found.lower - found.mean, found.upper - found.mean)):
        label = None if k else promised
        ax.plot(at, by_part(np.median, ends, parts), color=LINE, lw=1.8, label=label)
    real = f"real: {as_percent(found.coverage)} between"
    for k, p in enumerate((outer, 1.0 - outer)):
        own = by_part(lambda part: np.quantile(part, p), error, parts)  # noqa: B023
        ax.plot(at, own, color=TRUTH, lw=1.4, ls="--", label=None if k else real)
    ax.plot(at, by_part(np.median, error, parts), color=TRUTH, lw=1.4, label="median error")


def plot_intervals(
    model, X=None, y=None, *, shown=100, coverage=0.95, most=MOST, ax=None, **exposure
):  # fmt: skip
    """Draw sorted predictions with their intervals and the truth; misses are crosses.

    Parameters
    ----------
    model : fitted regressor, or `Predictions` that were made before
    X, y : rows that the model has not learnt from
    shown : int, default=100
        Rows that are drawn, of more evenly spaced ones in the order of their predictions. The title
        tells of all rows.
    coverage, most, ax, exposure : as in `residuals`

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import CommitteeRegressor, plots
    >>> X = np.linspace(0, 5, 60)[:, None]
    >>> y = np.sin(2 * X[:, 0])
    >>> model = CommitteeRegressor(random_state=0).fit(X[::2], y[::2])
    >>> ax = plots.intervals(model, X[1::2], y[1::2])
    """
    whole_number(shown, "shown")
    found = given_predictions(model, X, y, coverage, most, exposure)
    ax = new_axes(ax)
    order = np.argsort(found.mean, kind="stable")
    if order.size > shown:  # at the middle of so many equal parts
        order = order[((np.arange(shown) + 0.5) * order.size / shown).astype(int)]
    at, inside = np.arange(order.size), found.inside[order]
    band = f"{as_percent(found.coverage)} interval"
    width = float(np.clip(250.0 / order.size, 0.6, 5.0))
    ax.vlines(
        at, found.lower[order], found.upper[order], color=LINE, alpha=0.35, lw=width, label=band
    )
    ax.plot(at, found.mean[order], "_", color=LINE, ms=4, label="prediction")
    hit, miss = order[inside], order[~inside]
    ax.plot(at[inside], found.y[hit], ".", color=DOTS, ms=4, label="truth")
    ax.plot(at[~inside], found.y[miss], "x", color=TRUTH, ms=7, mew=1.8, label="missed")
    title = (
        f"{as_percent(found.covered)} of {of_rows(found.y.size, found.total)} are in their "
        f"{as_percent(found.coverage)} intervals"
    )
    which = "" if order.size == found.y.size else f"{order.size} of them, "
    dress(ax, title, f"{which}sorted by prediction", short_name(found.name)).set(xticks=[])
    ax.margins(x=0.01)
    ax.set_ylim(*_view_of_bars(found.y[order], found.lower[order], found.upper[order]))
    thousands(ax.yaxis)
    legend(ax, bbox_to_anchor=(0.5, -0.08))
    return ax


def _view_of_bars(y: Array, lower: Array, upper: Array) -> tuple[float, float]:
    """Ends of an axis that show the truth and all bars but the longest ones."""
    low = min(float(y.min()), float(np.quantile(lower, 0.03)))
    high = max(float(y.max()), float(np.quantile(upper, 0.97)))
    room = 0.05 * (high - low) or 1.0
    low, high = (one if np.isfinite(one) else own for one, own in ((low, y.min()), (high, y.max())))
    return low - room, high + room
