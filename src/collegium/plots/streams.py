"""Draw how well a stream was predicted before it was learnt from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..conformal.adaptive import known_scores
from ..diagnostics.numbers import as_percent
from ..diagnostics.rolling import RollingFigures, rolling_figures
from ..interface.checks.arguments import check_coverage, whole_number
from ..interface.streams.watching import Progressive, StreamCheck
from ..tables.reading import DATE
from .axes import DOTS, FAINT, LINE, SMALL, brief_dates, dress, short_name, two_axes
from .judged import read_column
from .times import moments_of

Array = np.ndarray
EQUAL = {"nrows": 2, "sharex": True}
#: Rows that are looked at along the way: the picture is a line through so many windows.
WINDOWS = 400
HALF_LOG = 0.5 * np.log(2.0 * np.pi)


def plot_stream(found, y=None, *, times=None, window=None, coverage=0.95, ax=None):
    """Draw how well a stream was predicted: coverage above, log density below, as means of rows.

    Each row was predicted before it was learnt from. The grey band is where coverage lies in 95 %
    of all windows, if intervals are right.

    Parameters
    ----------
    found : `Progressive`, pair of arrays, `RollingFigures`, or a model that learns by `partial_fit`
        What `progressive` returns, or means and standard deviations of any predictions, either with
        y; or what `collegium.diagnostics.rolling_figures` returns. A model, or its `stream_`, keeps
        the errors of the last 500 rows that it checked, in units of their standard deviations:
        those are drawn.
    y : array-like of shape (n,), default=None
        What came.
    times : array-like of shape (n,), default=None
        When rows came, numbers or dates; None: their numbers.
    window : int, default=None
        Rows that are averaged; None: a twentieth of them, but 50 at least.
    coverage : float, default=0.95
        The share of the rows that normal intervals are to hold.
    ax : pair of matplotlib Axes, default=None
        None: a new figure.

    Returns
    -------
    pair of matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import OnlineGPRegressor, plots
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(200, 1))
    >>> y = np.sin(X[:, 0])
    >>> found = OnlineGPRegressor(random_state=0).progressive(X, y)
    >>> above, below = plots.stream(found, y)
    """
    check_coverage(coverage)
    if window is not None:
        whole_number(window, "window")
    check, words = getattr(found, "stream_", found), "mean log density"
    if isinstance(check, RollingFigures):
        figures = check
    elif isinstance(check, StreamCheck):
        figures, words = _kept_figures(check, window, coverage), "mean log density (unit: sd)"
    else:
        figures = _figures(*_moments_and_truth(found, y), window, coverage)
    axes = two_axes(ax, **EQUAL)
    above, below = axes
    at, label = _when(below, figures, times)
    band = [100.0 * figures.low, 100.0 * figures.high]
    above.axhspan(*band, color=FAINT, alpha=0.3, lw=0, label="right, within chance")
    above.axhline(100.0 * figures.level, color=DOTS, lw=0.8, ls="--", label="promised")
    above.plot(at, 100.0 * figures.coverage, color=LINE, lw=1.6, label="covered")
    below.plot(at, figures.log_density, color=LINE, lw=1.6)
    beyond = float(np.mean((figures.coverage < figures.low) | (figures.coverage > figures.high)))
    title = (
        f"{as_percent(figures.level)} intervals cover {as_percent(figures.coverage.mean())}; "
        f"{as_percent(beyond)} of the windows of {figures.window:,} rows are beyond chance"
    )
    dress(above, title, "", "rows covered (%)")
    dress(below, "", label, words)
    above.legend(
        fontsize=SMALL, frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.03)
    )
    return axes


def _moments_and_truth(found: Any, y: Any) -> tuple[Array, Array, Array]:
    """Means, standard deviations and what came, (n, p) each."""
    if not isinstance(found, Progressive) and not (isinstance(found, tuple) and len(found) == 2):
        raise ValueError(
            f"found is a {type(found).__name__}: give what progressive returns, a pair of means "
            "and standard deviations, RollingFigures, or a regressor that learns by partial_fit"
        )
    if y is None:
        raise ValueError("y is None: give what came, to compare predictions with")
    mean, sd, seen = (np.asarray(one, dtype=float) for one in (*found, y))
    if not mean.shape == sd.shape == seen.shape or not seen.size:
        raise ValueError(
            f"y has shape {seen.shape}, and predictions {mean.shape}: give the same rows"
        )
    n = len(seen)
    return mean.reshape(n, -1), sd.reshape(n, -1), seen.reshape(n, -1)


def _figures(mean: Array, sd: Array, y: Array, window: Any, coverage: float) -> RollingFigures:
    """Shares of |y − mean| ≤ z·sd and means of log N(y; mean, sd²); rows before the first
    prediction are left out."""
    known = np.isfinite(sd).all(axis=1)
    if not known.any():
        raise ValueError("found has no prediction that is a number: give more rows")
    z = (y - mean)[known] / np.maximum(sd[known], 1e-150)
    inside = (np.abs(z) <= ndtri(0.5 + 0.5 * coverage)).mean(axis=1)
    density = (-0.5 * z**2 - HALF_LOG - np.log(np.maximum(sd[known], 1e-150))).mean(axis=1)
    rolled = rolling_figures(inside, density, coverage, window=window, most=WINDOWS)
    return replace(rolled, position=np.flatnonzero(known)[rolled.position - 1] + 1)


def _kept_figures(check: StreamCheck, window: Any, coverage: float) -> RollingFigures:
    """Figures of the errors that a model keeps, in units of their standard deviations."""
    e = known_scores(check.errors).astype(float)
    if not e.size or not np.isfinite(check.square) or (e == 1.0).all():
        raise ValueError(
            "found keeps no errors of rows: it was fitted by fit alone, or tells classes. Give "
            "what progressive returns, with y"
        )
    inside = e <= ndtri(0.5 + 0.5 * coverage)
    rolled = rolling_figures(inside, -0.5 * e**2 - HALF_LOG, coverage, window=window, most=WINDOWS)
    return replace(rolled, position=rolled.position + check.checked - e.size)


def _when(ax: Any, figures: RollingFigures, times: Any) -> tuple[Array, str]:
    """Positions on the time axis, and its name."""
    if times is None:
        return figures.position, "rows that came"
    column = read_column(times if hasattr(times, "columns") else _as_column(times), 0)
    if column.values.size < figures.position.max():
        raise ValueError(
            f"times has {column.values.size} rows: give one for each row of the stream"
        )
    if column.keys or column.gone.any():
        raise ValueError("times must be numbers or dates, without gaps")
    if column.kind == DATE:
        brief_dates(ax.xaxis)
    return moments_of(column)[figures.position - 1], short_name(getattr(times, "name", None) or "")


def _as_column(times: Any) -> Array:
    """Times, with a time zone too, as one column."""
    if getattr(getattr(times, "dtype", None), "tz", None) is not None:
        times = times.dt.tz_convert("UTC").dt.tz_localize(None)
    return np.asarray(times)[:, None]
