"""Draw a regression of one input with its error bars."""

from numbers import Real

import numpy as np

from .axes import DOTS, LINE, TRUTH, check_ends, grid, new_axes, one_column

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
    width=1.96,
    legend=True,
):
    """Draw a regression of one input: mean, error bars as nested bands, data.

    Parameters
    ----------
    model : fitted regressor
        With `predict(X, return_std=True, level=...)`.
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
    width : float, default=1.96
        Half the height of a band, in standard deviations.
    legend : bool, default=True

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
    if not (isinstance(width, Real) and np.isfinite(width) and width > 0):
        raise ValueError(f"width={width!r}: give a positive number of standard deviations")
    if (X is None) != (y is None):
        raise ValueError("give X and y, or neither")
    if truth is not None and not callable(truth):
        raise ValueError(f"truth={truth!r}: give a function of X")
    data = None if X is None else (one_column(X, "X")[:, 0], np.asarray(y, dtype=float))
    if getattr(model, "n_features_in_", 1) != 1:
        raise ValueError(f"model has {model.n_features_in_} inputs: only one can be drawn")
    x = grid(*check_ends(*_around(low, high, data)))
    said = [model.predict(x, return_std=True, level=level) for level in levels]
    if np.ndim(said[0][0]) != 1:
        raise ValueError("model has several outputs: draw them one at a time")
    ax = new_axes(ax)
    for level, (mean, std), shade in reversed(list(zip(levels, said, SHADES[len(levels)]))):
        label = f"±{width:g} sd {BANDS.get(level, level)}"
        ends = mean - width * std, mean + width * std
        if level == "model" and hasattr(model, "density_"):
            # a projection means nothing where no input was expected
            known = model.density_.covers(x)
            ends = tuple(np.where(known, end, np.nan) for end in ends)
        ax.fill_between(x[:, 0], *ends, fc=(LINE, shade), ec="white", lw=0.7, label=label)
    ax.plot(x[:, 0], said[-1][0], color=LINE, lw=1.5, label="mean")
    if truth is not None:
        ax.plot(x[:, 0], truth(x), color=TRUTH, lw=1.2, ls="--", label="truth")
    if data is not None:
        ax.plot(*data, ".", color=DOTS, ms=4, label="data")
    ax.set(xlim=(x[0, 0], x[-1, 0]), xlabel="x", ylabel="y")
    if legend:
        ax.legend(fontsize="small")
    return ax


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
