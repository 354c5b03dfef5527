"""Draw one explained prediction: from the base to the prediction, column by column."""

from numbers import Integral

import numpy as np

from ..explain.explanation import Explanation, largest
from .axes import DOTS, LINE, TRUTH, new_axes

#: Half of the height of a bar, and columns that have one of their own, at most.
HALF, MOST = 0.36, 10


def waterfall(explanation, row=0, ax=None, *, most=MOST):
    """Draw one prediction from the base to its value: a bar for each column.

    The first line is the mean prediction of the background rows. Each bar takes on where the one
    above it ends; those to the right are vermilion, those to the left blue. Whiskers are one
    standard deviation: of a contribution by the posterior (and by sampling), of the prediction
    its error bar. Columns that add least are one bar together.

    Parameters
    ----------
    explanation : Explanation
        From `model.explain(X)`.
    row : int, default=0
        Which of the rows explained; negative numbers count from the end.
    ax : matplotlib Axes, default=None
        None: a new figure.
    most : int, default=10
        Bars, at most.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import CommitteeRegressor
    >>> from collegium.plots import waterfall
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
    >>> model = CommitteeRegressor(random_state=0).fit(X, X[:, 0] - X[:, 1] ** 2)
    >>> ax = waterfall(model.explain(X[:1]))
    """
    if not isinstance(explanation, Explanation):
        raise ValueError(
            f"explanation is a {type(explanation).__name__}: give what model.explain(X) returns"
        )
    n = len(explanation)
    if not isinstance(row, Integral) or not -n <= row < n:
        raise ValueError(f"row={row!r}: the explanation has rows 0 … {n - 1}")
    if not isinstance(most, Integral) or most < 1:
        raise ValueError(f"most={most!r}: give a positive whole number")
    names, values, error = largest(explanation, int(row), int(most))
    ends = explanation.base + np.cumsum(values)
    starts = np.concatenate([[explanation.base], ends[:-1]])
    last, prediction = len(values) + 1, explanation.prediction[row]
    if ax is None:
        ax = new_axes(None)
        ax.figure.set_size_inches(6.4, 1.2 + 0.36 * (last + 1))
    places = np.arange(1, last)
    colours = [TRUTH if value >= 0 else LINE for value in values]
    ax.barh(places, values, 2 * HALF, left=starts, color=colours)
    known = np.where(np.isfinite(error), error, 0.0)
    ax.errorbar(ends, places, xerr=known, fmt="none", ecolor=DOTS, elinewidth=1.2, capsize=3)
    joints = np.concatenate([[explanation.base], ends])
    ax.vlines(joints, np.arange(last) - HALF, np.arange(last) + 1 + HALF, color=DOTS, lw=0.6)
    ax.plot([explanation.base], [0], "o", color=DOTS, ms=5)
    ax.errorbar(
        [prediction], [last], xerr=[explanation.sd[row]], fmt="D", color=DOTS, ms=5, capsize=4
    )
    _write_values(ax, starts, ends, values, known)
    ax.set_yticks(range(last + 1), ["base", *map(shortened_label, names), explanation.words])
    ax.get_yticklabels()[-1].set_fontweight("bold")
    ax.set(ylim=(last + 0.6, -0.6), xlabel=explanation.words)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax


def _write_values(ax, starts, ends, values, error):
    """Write contributions beside their bars, beyond the whiskers, and make room for them."""
    right = np.maximum(np.maximum(starts, ends), ends + error)
    for place, (at, value) in enumerate(zip(right, values), start=1):
        ax.annotate(
            f"{value:+.3g}", (at, place), (5, 0), textcoords="offset points", va="center",
            fontsize="small", color=DOTS,
        )  # fmt: skip
    ax.use_sticky_edges = False
    ax.margins(x=0.12)


def shortened_label(label, longest=32):
    """Shorten a label that would leave no room for the picture, the name before the value."""
    name, sign, value = label.rpartition(" = ")
    room = longest - len(sign) - len(value)
    if len(label) <= longest:
        return label
    return f"{name[: room - 1]}…{sign}{value}" if room >= 8 else f"{label[: longest - 1]}…"
