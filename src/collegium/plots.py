"""Pictures of functions of one input: priors, bases, fits with their error bars; local experts.

matplotlib is needed, and imported when something is drawn.
"""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from .kernels import as_kernel
from .priors import sample_prior

__all__ = ["plot_basis", "plot_experts", "plot_fit", "plot_prior"]

#: Blue, vermilion and grey: safe for the colour-blind.
LINE, TRUTH, DOTS = "#0072B2", "#D55E00", "#444444"
#: Of the bands, innermost first, where there is one, two or three of them.
SHADES = {1: (0.25,), 2: (0.38, 0.16), 3: (0.5, 0.28, 0.12)}
BANDS = {"model": "of its model", "function": "of the function", "observation": "of observations"}
GRID = 400


def plot_prior(kernel, X=None, n_samples=5, ax=None, random_state=0):
    """Draw functions from a prior.

    Parameters
    ----------
    kernel : kernel of collegium or scikit-learn
    X : array-like of shape (n, 1), default=None
        Where; None: 400 points from −4 to 4.
    n_samples : int, default=5
    ax : matplotlib Axes, default=None
        Where to draw; None: a new figure.
    random_state : int, RandomState, Generator or None, default=0

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from collegium.kernels import RBF
    >>> from collegium.plots import plot_prior
    >>> ax = plot_prior(RBF(variance=1.0, length_scale=0.5))
    """
    x = _grid(-4.0, 4.0) if X is None else np.sort(_one_column(X, "X"), axis=0)
    samples = sample_prior(as_kernel(kernel), x, n_samples, random_state)
    ax = _axes(ax)
    ax.plot(x[:, 0], samples, lw=1)
    ax.set(xlim=(x[0, 0], x[-1, 0]), xlabel="x", ylabel="f")
    return ax


def plot_basis(basis, low, high, ax=None):
    """Draw the functions of a basis from low to high.

    Parameters
    ----------
    basis : callable
        X (n, 1) -> Φ (n, m), such as the objects of `collegium.filter`.
    low, high : float
    ax : matplotlib Axes, default=None

    Returns
    -------
    matplotlib Axes
    """
    if not callable(basis):
        raise ValueError(f"basis={basis!r}: give a function of X")
    x = _grid(*_ends(low, high), 2 * GRID + 1)
    Phi = np.asarray(basis(x), dtype=float)
    if Phi.ndim != 2 or Phi.shape[0] != x.shape[0]:
        raise ValueError(f"basis gave an array of shape {Phi.shape} for {x.shape[0]} rows")
    ax = _axes(ax)
    ax.plot(x[:, 0], Phi, lw=1)
    ax.set(xlim=(x[0, 0], x[-1, 0]), xlabel="x", ylabel="φ")
    return ax


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
        Where the curve begins and ends; None: a little beyond the data.
    ax : matplotlib Axes, default=None
        Where to draw; None: a new figure.
    levels : sequence of str, default=None
        The bars, innermost first; None: of all the levels that the model has.
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
    data = None if X is None else (_one_column(X, "X")[:, 0], np.asarray(y, dtype=float))
    if getattr(model, "n_features_in_", 1) != 1:
        raise ValueError(f"model has {model.n_features_in_} inputs: pictures are of one")
    x = _grid(*_ends(*_around(low, high, data)))
    said = [model.predict(x, return_std=True, level=level) for level in levels]
    if np.ndim(said[0][0]) != 1:
        raise ValueError("model has several outputs: draw them one at a time")
    ax = _axes(ax)
    for level, (mean, std), shade in reversed(list(zip(levels, said, SHADES[len(levels)]))):
        label = f"±{width:g} sd {BANDS.get(level, level)}"
        ends = mean - width * std, mean + width * std
        if level == "model" and hasattr(
            model, "density_"
        ):  # a projection means nothing where no input was expected
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


def plot_experts(model, X=None, y=None, *, most=60, ax=None):
    """Draw the local experts of an `RVCRegressor` of one or two inputs.

    One input: each expert's line as far as it reaches, and below how far that is. Two inputs: the
    region of each expert, coloured by its noise.

    Parameters
    ----------
    model : fitted RVCRegressor with one output
    X, y : array-like of shape (n, d) and (n,), default=None
        Rows to draw as dots, both or neither.
    most : int, default=60
        Of more experts than this, every so manieth is drawn (one input).
    ax : matplotlib Axes, default=None
        Where to draw, for one input the lines alone; None: a new figure.

    Returns
    -------
    matplotlib Axes; two of them (lines, reach) for one input where `ax` is not given

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
        return _regions(experts, X, _axes(ax))
    if d != 1:
        raise ValueError(f"model has {d} inputs: pictures are of one or two")
    lines, reach = _two_axes() if ax is None else (ax, None)
    data = None if X is None else (_one_column(X, "X")[:, 0], np.asarray(y, dtype=float))
    if data is not None:
        lines.plot(*data, ".", color=DOTS, ms=3)
    order = np.argsort(experts["centre"][:, 0])
    centre, length = experts["centre"][order, 0], experts["reach"][order, 0]
    value, slope = experts["value"][order], experts["slope"][order, 0]
    for k in range(0, order.size, max(1, -(-order.size // most))):
        ends = np.array([-1.0, 1.0]) * length[k]
        lines.plot(centre[k] + ends, value[k] + slope[k] * ends, color=LINE, lw=1.5)
        lines.plot(centre[k], value[k], "o", color=TRUTH, ms=3)
    lines.set(ylabel="y")
    if reach is None:
        return lines
    reach.plot(centre, length, "o-", color=LINE, ms=3, lw=1)
    reach.set(xlabel="x", ylabel="reach", ylim=(0.0, None))
    return lines, reach


def _regions(experts, X, ax):
    from matplotlib.collections import EllipseCollection

    if X is not None:
        X = check_array(X, dtype=np.float64, input_name="X")
        ax.plot(*X.T, ".", color=DOTS, ms=2, alpha=0.5)
    centre, length = experts["centre"], experts["reach"]
    regions = EllipseCollection(
        *(2.0 * length.T), np.zeros(len(centre)), units="xy", offsets=centre,
        offset_transform=ax.transData, array=experts["noise"], cmap="viridis", alpha=0.5,
        ec="black", lw=0.5,
    )  # fmt: skip
    ax.add_collection(regions)
    ax.plot(*centre.T, "+", color=TRUTH, ms=5)
    ax.autoscale_view()
    ax.set(xlabel="x₁", ylabel="x₂")
    ax.figure.colorbar(regions, ax=ax, label="noise (sd)")
    return ax


def _two_axes():
    return _pyplot().subplots(2, 1, sharex=True, layout="constrained", height_ratios=(3, 1))[1]


def _levels(model, levels):
    """Those asked for; else all that the model has, innermost first."""
    if levels is None:
        known = getattr(model, "levels", ("observation", "function"))
        levels = [level for level in BANDS if level in known]
    levels = (levels,) if isinstance(levels, str) else tuple(levels)
    if len(levels) not in SHADES:
        raise ValueError(f"levels={levels!r}: give one, two or three")
    return levels


def _axes(ax):
    return _pyplot().subplots(layout="constrained")[1] if ax is None else ax


def _pyplot():
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "collegium[plot]"') from error
    return plt


def _grid(low, high, n=GRID):
    return np.linspace(low, high, n)[:, None]


def _one_column(X, name):
    X = check_array(X, dtype=np.float64, input_name=name)
    if X.shape[1] != 1:
        raise ValueError(f"{name} has {X.shape[1]} columns: pictures are of one input")
    return X


def _around(low, high, data):
    """The ends asked for; else those of the data and a twentieth of their range."""
    if data is None:
        return low, high
    margin = 0.05 * np.ptp(data[0])
    return (
        data[0].min() - margin if low is None else low,
        data[0].max() + margin if high is None else high,
    )


def _ends(low, high):
    for name, value in (("low", low), ("high", high)):
        if not (isinstance(value, Real) and np.isfinite(value)):
            raise ValueError(f"{name}={value!r}: give a number, where the curve begins and ends")
    if not low < high:
        raise ValueError(f"low={low!r} must be below high={high!r}")
    return float(low), float(high)
