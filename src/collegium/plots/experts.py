"""Draw the local experts of an `RVCRegressor`."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_array

from ..interface.checks.arguments import check_is_fitted
from .axes import ABOVE, DOTS, LINE, TRUTH, VALUES, dress, new_axes, one_column, two_axes


def plot_experts(model, X=None, y=None, *, most=60, ax=None):
    """Draw the local experts of an `RVCRegressor` of one or two inputs.

    One input: the line of each expert within its reach, and below the reach itself. Two inputs: the
    region of each expert, coloured by its noise.

    Parameters
    ----------
    model : fitted RVCRegressor with one output
    X, y : array-like of shape (n, d) and (n,), default=None
        Rows to draw as dots, both or neither.
    most : int, default=60
        Number of experts drawn; of more, evenly spaced ones (one input).
    ax : matplotlib Axes, default=None
        For one input the lines alone are drawn in it; None: a new figure.

    Returns
    -------
    matplotlib Axes; two of them (lines, reach) for one input without `ax`

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import RVCRegressor
    >>> from collegium.plots import plot_experts
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(300, 1))
    >>> model = RVCRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> lines, reach = plot_experts(model)
    """
    check_is_fitted(model)
    if not (isinstance(most, Integral) and most >= 1):
        raise ValueError(f"most={most!r}: give a positive whole number")
    experts = getattr(model, "experts_", None)
    if not isinstance(experts, dict):
        raise ValueError("model: give a fitted RVCRegressor with one output")
    if (X is None) != (y is None):
        raise ValueError("give X and y, or neither")
    d = experts["centre"].shape[1]
    if d == 2:
        return _regions(experts, X, new_axes(ax))
    if d != 1:
        raise ValueError(f"model has {d} inputs: only one or two can be drawn")
    lines, reach = two_axes(**ABOVE) if ax is None else (new_axes(ax), None)
    data = None if X is None else (one_column(X, "X")[:, 0], np.asarray(y, dtype=float))
    if data is not None:
        lines.plot(*data, ".", color=DOTS, ms=3)
    order = np.argsort(experts["centre"][:, 0])
    centre, length = experts["centre"][order, 0], experts["reach"][order, 0]
    value, slope = experts["value"][order], experts["slope"][order, 0]
    for k in range(0, order.size, max(1, -(-order.size // most))):
        ends = np.array([-1.0, 1.0]) * length[k]
        lines.plot(centre[k] + ends, value[k] + slope[k] * ends, color=LINE, lw=1.5)
        lines.plot(centre[k], value[k], "o", color=TRUTH, ms=3)
    dress(lines, ylabel="y")
    if reach is None:
        return lines
    reach.plot(centre, length, "o-", color=LINE, ms=3, lw=1)
    dress(reach, xlabel="x", ylabel="reach").set(ylim=(0.0, None))
    return lines, reach


def _regions(experts, X, ax):
    from matplotlib.collections import EllipseCollection

    if X is not None:
        X = check_array(X, dtype=np.float64, input_name="X")
        ax.plot(*X.T, ".", color=DOTS, ms=2, alpha=0.5)
    centre, length = experts["centre"], experts["reach"]
    regions = EllipseCollection(
        *(2.0 * length.T), np.zeros(len(centre)), units="xy", offsets=centre,
        offset_transform=ax.transData, array=experts["noise"], cmap=VALUES, alpha=0.5,
        ec="black", lw=0.5,
    )  # fmt: skip
    ax.add_collection(regions)
    ax.plot(*centre.T, "+", color=TRUTH, ms=5)
    ax.autoscale_view()
    ax.set(xlabel="x₁", ylabel="x₂")
    ax.figure.colorbar(regions, ax=ax, label="noise (sd)")
    return ax
