"""Draw what columns do to answers: curves, surfaces, and which columns matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..diagnostics.numbers import as_percent
from ..explain.effects import KINDS, PARTIAL, Effect, effect, effect2
from ..interface.checks.arguments import whole_number
from ..interface.words.summary import column_names
from .axes import (
    BAND,
    DOTS,
    FAINT,
    LINE,
    SMALL,
    TRUTH,
    brief_dates,
    dress,
    legend,
    new_axes,
    short_name,
    turned,
    two_axes,
)
from .fields import BESIDE, draw_fields
from .judged import check_model, read_column

Array = np.ndarray
#: Standard deviations of a band of 95 %.
WIDTH = 1.96
#: Marks that stand for the rows along an axis, at most.
MARKS = 200
#: How each kind is drawn.
STYLES = {"partial": (LINE, "-", "o"), "accumulated": (TRUTH, "--", "s")}
WORDS = {
    "partial": "all rows set to x (partial dependence)",
    "accumulated": "rows near x moved (accumulated local effects)",
}


def plot_effect(model, X=None, column=None, *, kinds=KINDS, ax=None, **options):
    """Draw what one column does to answers on average, with 95 % bars and the rows.

    Partial dependence is the mean answer with the column set to x in all rows; accumulated local
    effects add up what small steps do to the rows that are near them, here from the mean answer on.
    Where columns go together the two differ, and the second is the one that asks about no rows
    unlike those of X. Bars are of this average, by the posterior; answers to single rows scatter
    more.

    Parameters
    ----------
    model : fitted regressor or classifier, an `Effect` that was computed before, or several
    X : array-like or frame of shape (n, d)
        Rows to average over. Ticks at the bottom are its rows, 200 evenly spaced ones of more.
    column : str or int
    kinds : sequence of "partial" and "accumulated", default=both
    ax : matplotlib Axes, default=None
        None: a new figure.
    options : `grid`, `level`, `output`, `n_rows`, `random_state`
        As in `collegium.explain.effects.effect`.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import CommitteeRegressor, plots
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(100, 2))
    >>> model = CommitteeRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> ax = plots.effect(model, X, 0)
    """
    found = _effects(model, X, column, kinds, options)
    ax = new_axes(ax)
    first = found[0]
    if _are_levels(first.grid):
        levels = sorted({one for own in found for one in own.grid}, key=lambda one: str(one))
        for k, one in enumerate(found):
            _draw_levels(ax, one, levels, 0.12 * (2 * k - len(found) + 1))
        share = dict(zip(first.grid, first.share))
        turned(
            ax, [f"{short_name(_level(x), 16)}\n{as_percent(share.get(x, 0.0))}" for x in levels]
        )
    else:
        for one in found:
            _draw_curve(ax, one)
        if np.asarray(first.grid).dtype.kind == "M":
            brief_dates(ax.xaxis)
        _draw_missing(ax, first)
        if X is not None and not isinstance(model, Effect):
            _draw_rows(ax, X, first.column)
    words = short_name(first.words, 60)
    title = f"What {short_name(first.column)} does to the {words}, on average"
    dress(ax, title, short_name(first.column), f"mean {words}")
    legend(ax, ncols=1, bbox_to_anchor=(0.5, -0.2))
    return ax


def _effects(model: Any, X: Any, column: Any, kinds: Any, options: dict) -> list[Effect]:
    """Effects that were computed before, or new ones."""
    given = [model] if isinstance(model, Effect) else model
    if isinstance(given, Sequence) and given and all(isinstance(one, Effect) for one in given):
        names = {one.column for one in given}
        if len(names) > 1 or not isinstance(given[0].column, str):
            raise ValueError(f"effects are of {names}: give those of one column")
        return list(given)
    check_model(model)
    if X is None or column is None:
        raise ValueError("give X and column with a model, or effects that were computed before")
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if not kinds or not set(kinds) <= set(KINDS):
        raise ValueError(f"kinds={kinds!r}: give some of {KINDS}")
    found = [effect(model, X, column, PARTIAL, **options)] if PARTIAL in kinds else []
    if "accumulated" in kinds and not (found and len(found[0].grid) < 2):
        found.append(effect(model, X, column, "accumulated", **options))
    return found


def _level_of(one: Effect) -> Array:
    """The curve in the units of answers; accumulated effects begin at the mean answer."""
    return one.mean + (0.0 if one.kind == PARTIAL else one.base)


def _are_levels(grid: Any) -> bool:
    return np.asarray(grid).dtype == object


def _level(x: Any) -> str:
    return "missing" if x is None else str(x)


def _draw_curve(ax: Any, one: Effect) -> None:
    colour, dash, _ = STYLES[one.kind]
    mean, half = _level_of(one), WIDTH * one.sd
    order = np.argsort(one.grid, kind="stable")
    x = np.asarray(one.grid)[order]
    ends = (mean - half)[order], (mean + half)[order]
    ax.fill_between(x, *ends, color=colour, alpha=BAND, lw=0)
    if one.kind != PARTIAL:  # its ends are seen in grey too
        ax.plot(x, np.transpose(ends), color=colour, lw=0.6, ls=":")
    ax.plot(x, mean[order], color=colour, ls=dash, lw=1.8, label=WORDS[one.kind])


def _draw_levels(ax: Any, one: Effect, levels: Sequence[Any], shift: float) -> None:
    colour, _, mark = STYLES[one.kind]
    at = np.array([levels.index(x) for x in one.grid]) + shift
    ax.errorbar(
        at, _level_of(one), WIDTH * one.sd, fmt=mark, color=colour, ms=5, lw=1.4, capsize=3,
        label=WORDS[one.kind],
    )  # fmt: skip


def _draw_missing(ax: Any, one: Effect) -> None:
    """Draw the answer to rows without a value, to the right of all values."""
    if one.missing is None:
        return
    mean, sd, share = one.missing
    low, high = ax.get_xlim()
    ax.set_xlim(low, high + 0.09 * (high - low))
    ax.axvline(high, color=FAINT, lw=0.8, ls=":")
    ax.errorbar(
        0.96, mean, WIDTH * sd, fmt="D", color=DOTS, ms=5, capsize=3,
        transform=ax.get_yaxis_transform(), label=f"missing ({as_percent(share)} of rows)",
    )  # fmt: skip


def _draw_rows(ax: Any, X: Any, column: str) -> None:
    """Draw ticks at evenly spaced ranks of the rows."""
    found = read_column(X, column)
    values = np.sort(found.values[~found.gone])
    if not values.size:
        return
    some = values[np.unique(np.linspace(0, values.size - 1, MARKS).astype(int))]
    x = (some * 1e6).astype(np.int64).astype("M8[us]") if found.kind == "date" else some
    low, high = ax.get_xlim()
    ax.plot(
        x, np.full(len(x), 0.012), "|", color=DOTS, ms=7, alpha=0.5, mew=0.8,
        transform=ax.get_xaxis_transform(),
    )  # fmt: skip
    ax.set_xlim(low, high)


def plot_effect2(model, X=None, columns=None, *, ax=None, **options):
    """Draw what two columns together do to answers on average, and how sure that is.

    Parameters
    ----------
    model : fitted regressor or classifier, or an `Effect` of two columns
    X : array-like or frame of shape (n, d)
    columns : pair of str or int
    ax : pair of matplotlib Axes, default=None
        For the mean and the standard deviation. None: a new figure.
    options : as in `collegium.explain.effects.effect2`

    Returns
    -------
    pair of matplotlib Axes
        Hatched: no row of X is near.

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import CommitteeRegressor, plots
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(100, 2))
    >>> model = CommitteeRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> mean, deviation = plots.effect2(model, X, (0, 1), grid=4)
    """
    found = model
    if not isinstance(model, Effect):
        check_model(model)
        if X is None or columns is None:
            raise ValueError("give X and columns with a model, or an effect of two columns")
        found = effect2(model, X, columns, **options)
    if isinstance(found.column, str):
        raise ValueError(
            "this is an effect of one column: give one of effect2, or call plots.effect"
        )
    axes = two_axes(ax, 10.0, 4.2, **BESIDE)
    names = tuple(short_name(one) for one in found.column)
    grids = [np.asarray(one) for one in found.grid]
    words = f"mean {short_name(found.words, 60)}"
    titles = (f"M{words[1:]}", "Its standard deviation")
    draw_fields(
        axes, grids[0], grids[1], found.mean.T, found.sd.T, (found.share == 0).T, names, titles,
        words,
    )  # fmt: skip
    return axes


def plot_importance(model, *, most=15, ax=None):
    """Draw which columns matter: shares of the variance of the function.

    Parameters
    ----------
    model : fitted estimator with `feature_importances_`, or a mapping of names to shares
    most : int, default=15
        Columns that are drawn; the others are added up.
    ax : matplotlib Axes, default=None

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from collegium import plots
    >>> ax = plots.importance({"size": 0.7, "age": 0.3})
    """
    whole_number(most, "most")
    shares = model if isinstance(model, Mapping) else _importances(model)
    if not shares:
        raise ValueError("model: there are no columns, give at least one")
    order = sorted(shares, key=lambda name: -shares[name])
    words, values = [short_name(name) for name in order[:most]], [shares[k] for k in order[:most]]
    if rest := order[most:]:
        words.append(f"{len(rest)} others")
        values.append(sum(shares[name] for name in rest))
    ax = new_axes(ax, height=1.4 + 0.27 * len(words))
    at = np.arange(len(words))
    bars = ax.barh(at, 100.0 * np.asarray(values, dtype=float), color=LINE, height=0.7)
    if rest:
        bars[-1].set(color=FAINT, hatch="///", ec="white")
    ax.bar_label(bars, [as_percent(value) for value in values], padding=3, fontsize=SMALL)
    ax.set_yticks(at, words)
    ax.invert_yaxis()
    ax.margins(x=0.12)
    title = f"{words[0]} matters most: {as_percent(values[0])} of the function's variance"
    return dress(ax, title, "share of the function's variance, with interactions (%)")


def _importances(model: Any) -> dict[str, float]:
    check_model(model)
    if not hasattr(model, "feature_importances_"):
        raise ValueError(
            f"model: a {type(model).__name__} has no feature_importances_; give a mapping of names "
            "to shares"
        )
    values = model.feature_importances_
    return dict(zip(column_names(model)[: len(values)], map(float, values)))
