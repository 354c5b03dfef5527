"""Draw a regression of one input with its error bars."""

import numpy as np

from ..diagnostics.numbers import as_percent
from ..interface.checks.arguments import check_coverage
from ..rows.partition import evenly_spaced
from .axes import DOTS, LINE, TRUTH, check_ends, dress, grid, new_axes, one_column, short_name
from .judged import check_height, target_name

#: Rows that are drawn as dots, at most.
DRAWN = 5_000
#: Opacity of the bands, innermost first, where there are one, two or three of them.
SHADES = {1: (0.25,), 2: (0.38, 0.16), 3: (0.5, 0.28, 0.12)}
BANDS = {"model": "of its model", "function": "of the function", "observation": "of observations"}


def plot_fit(
    model,
    X=None,
    y=None,
    *,
    truth=None,
    low=None,
    high=None,
    ax=None,
    levels=None,
    coverage=0.95,
    width=None,
    legend=True,
):
    """Draw a regression of one input: mean, the model's intervals as nested bands, data.

    Parameters
    ----------
    model : fitted regressor
        With `predict(X, level=...)` and `predict_interval(X, coverage, level=...)`.
    X : array-like of shape (n, 1), default=None
    y : array-like of shape (n,), default=None
        Rows to draw as dots, both or neither.
    truth : callable X (n, 1) -> (n,), default=None
        The true function, drawn as a dashed line.
    low, high : float, default=None
        Ends of the curve; None: a little beyond the data.
    ax : matplotlib Axes, default=None
        None: a new figure.
    levels : sequence of str, default=None
        Levels of the bands, innermost first; None: all levels of the model.
    coverage : float, default=0.95
        The probability that the bands hold: the model's own intervals, whose ends also know of
        heavy tails and skewness.
    width : float, default=None
        Half the height of a band in standard deviations, in place of `coverage`, as books draw it;
        the model then needs `predict(X, return_std=True, level=...)` alone.
    legend : bool, default=True
        Add a legend inside the picture.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import CommitteeRegressor
    >>> from collegium.plots import plot_fit
    >>> X = np.linspace(0, 5, 40)[:, None]
    >>> y = np.sin(2 * X[:, 0])
    >>> model = CommitteeRegressor(random_state=0).fit(X, y)
    >>> ax = plot_fit(model, X, y)
    """
    levels = _levels(model, levels)
    check_coverage(coverage)
    if width is not None:
        check_height(width, "width")
    elif not hasattr(model, "predict_interval"):
        raise ValueError(
            f"model: a {type(model).__name__} has no predict_interval; give width=1.96 to draw "
            "standard deviations"
        )
    if (X is None) != (y is None):
        raise ValueError("give X and y, or neither")
    if truth is not None and not callable(truth):
        raise ValueError(f"truth={truth!r}: give a function of X")
    data = None if X is None else (one_column(X, "X")[:, 0], np.asarray(y, dtype=float))
    if getattr(model, "n_features_in_", 1) != 1:
        raise ValueError(f"model has {model.n_features_in_} inputs: only one can be drawn")
    x = grid(*check_ends(*_around(low, high, data)))
    asked = _named_as_fitted(model, x)
    said = [_band(model, asked, level, coverage, width) for level in levels]
    if np.ndim(said[0][0]) != 1:
        raise ValueError("model has several outputs: draw them one at a time")
    ax = new_axes(ax)
    wide = f"{as_percent(coverage)} interval" if width is None else f"±{width:g} sd"
    for level, (_, *ends), shade in reversed(list(zip(levels, said, SHADES[len(levels)]))):
        label = f"{wide} {BANDS.get(level, level)}"
        if level == "model" and hasattr(model, "density_"):
            # a projection means nothing where no input was expected
            known = model.density_.covers(x)
            ends = [np.where(known, end, np.nan) for end in ends]
        ax.fill_between(x[:, 0], *ends, fc=(LINE, shade), ec="white", lw=0.7, label=label)
    ax.plot(x[:, 0], said[-1][0], color=LINE, lw=1.5, label="mean")
    if truth is not None:
        ax.plot(x[:, 0], truth(x), color=TRUTH, lw=1.2, ls="--", label="truth")
    if data is not None:
        _dots(ax, *data)
    name = getattr(model, "feature_names_in_", ["x"])[0]
    dress(ax, "", short_name(name), short_name(target_name(y))).set(xlim=(x[0, 0], x[-1, 0]))
    if legend:
        ax.legend(fontsize="small")
    return ax


def _band(model, x, level, coverage, width):
    """Return the mean, and the ends of the model's interval or mean ∓ width·sd."""
    if width is None:
        mean = model.predict(x, level=level)
        return mean, *model.predict_interval(x, coverage, level=level)
    mean, std = model.predict(x, return_std=True, level=level)
    return mean, mean - width * std, mean + width * std


def _named_as_fitted(model, x):
    """Give the inputs the name that the model knows its column by."""
    names = getattr(model, "feature_names_in_", None)
    return x if names is None else [{names[0]: float(value)} for value in x[:, 0]]


def _dots(ax, x, y):
    """Draw rows as dots; of very many, evenly spaced ones."""
    some = evenly_spaced(x.size, DRAWN)
    ax.plot(x[some], y[some], ".", color=DOTS, ms=4, label="data")


def _levels(model, levels):
    """Return the given levels; else all levels of the model, innermost first."""
    if levels is None:
        known = getattr(model, "levels", ("observation", "function"))
        levels = [level for level in BANDS if level in known]
    levels = (levels,) if isinstance(levels, str) else tuple(levels)
    if len(levels) not in SHADES:
        raise ValueError(f"levels={levels!r}: give one, two or three")
    return levels


def _around(low, high, data):
    """Return the given ends; else those of the data, and a twentieth of their range beyond."""
    if data is None:
        return low, high
    margin = 0.05 * np.ptp(data[0])
    return (
        data[0].min() - margin if low is None else low,
        data[0].max() + margin if high is None else high,
    )
