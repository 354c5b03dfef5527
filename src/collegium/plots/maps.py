"""Draw a model of two columns as a map: means, and how sure they are, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..diagnostics.numbers import three_digits
from ..interface.checks.arguments import whole_number
from ..interface.checks.rows import check_queries
from ..interface.frames.encoded import KnownColumns
from ..interface.words.summary import column_names
from ..maps.grid import Grid, Side, on_grid
from .axes import short_name, two_axes
from .fields import BESIDE, draw_fields
from .judged import check_model

Array = np.ndarray
#: Names of variables of a dataset, the first that is there.
MEANS, DEVIATIONS = ("mean", "prediction"), ("sd", "std")
#: Columns on the globe begin with one of these.
LONGITUDE, LATITUDE = ("lon", "lng"), ("lat",)
#: Ranges that differ by no more than this factor are taken for lengths in the same units.
ALIKE = 5.0


def plot_map(
    model, X=None, *, cells=120, aspect=None, rows=False, name=None, ax=None
):  # fmt: skip
    """Draw means and standard deviations of a model of two columns; hatched: little is known there.

    Parameters
    ----------
    model : fitted regressor of two columns, or an xarray.Dataset of `predict_grid`
        A dataset has `mean`, `sd` and perhaps `outside`, over two dimensions (y, x).
    X : array-like or frame of shape (n, 2)
        Rows, whose range is drawn.
    cells : int, default=120
        Along the longer side.
    aspect : "equal", "auto" or float, default=None
        None: "equal" where both ranges are alike; of longitudes and latitudes as in their middle.
    rows : bool, default=False
        Draw rows as dots, 2,000 evenly spaced ones of more.
    name : str, default=None
        What is drawn, for the words of the picture; None: prediction.
    ax : pair of matplotlib Axes, default=None
        None: a new figure.

    Returns
    -------
    pair of matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from collegium import CommitteeRegressor, plots
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(100, 2))
    >>> model = CommitteeRegressor(random_state=0).fit(X, np.sin(X[:, 0]) * X[:, 1])
    >>> mean, deviation = plots.map(model, X, cells=10)
    """
    whole_number(cells, "cells", least=2)
    dots = None
    if hasattr(model, "data_vars"):
        names, x, y, fields = _of_dataset(model)
    else:
        names, x, y, fields, dots = _of_model(model, X, cells)
    wide = aspect_of(names, x, y) if aspect is None else aspect
    axes = two_axes(ax, 10.0, _height(x, y, wide), **BESIDE)
    words = "prediction" if name is None else short_name(name)
    typical = three_digits(_typical(fields))
    titles = (f"{words[:1].upper()}{words[1:]}", f"Standard deviation, median {typical}")
    labels = tuple(short_name(one) for one in names)
    draw_fields(axes, x, y, *fields, labels, titles, words, aspect=wide)
    if rows and dots is not None:
        some = dots[:: -(-len(dots) // 2_000)]
        for one in axes:
            one.plot(*some.T, ".", color="black", ms=1.5, alpha=0.5, mew=0)
    return axes


def _typical(fields: Sequence[Array]) -> float:
    """Median standard deviation where something is known."""
    _, sd, outside = fields
    known = np.isfinite(sd) & ~outside
    return float(np.median(sd[known] if known.any() else sd[np.isfinite(sd)]))


def _of_model(model: Any, X: Any, cells: int) -> tuple[Any, ...]:
    """Ask a model on a grid over the range of its rows, tile by tile."""
    check_model(model)
    if X is None:
        raise ValueError("X is None: give rows, whose range is drawn, or a dataset of predict_grid")
    dots = np.asarray(check_queries(model, X))
    encoding = getattr(model, "encoding_", None)
    if dots.shape[1] != 2 or model.n_features_in_ != 2 or (encoding and not encoding.plain):
        raise ValueError(
            f"model has {model.n_features_in_} columns: a map is of two columns of numbers without "
            "gaps. Draw two of several by plots.effect2, or give a dataset of predict_grid"
        )
    low, high = dots.min(axis=0), dots.max(axis=0)
    side = (high - low) / max(float((high - low).max()), 1e-300)
    counts = np.maximum(np.where(side > 0.1, cells * side, cells), 2).astype(int)
    x, y = (np.linspace(low[k], high[k], counts[k]) for k in range(2))
    names = column_names(model)
    grid = Grid((Side(names[1], 1, y), Side(names[0], 0, x)), held=np.zeros(2))

    def ask(rows: Array) -> dict[str, Array]:
        known = rows.view(KnownColumns)
        mean, sd = model.predict(known, return_std=True, level="function")
        if mean.ndim != 1:
            raise ValueError("model has several outputs: draw them one at a time")
        tells = hasattr(model, "outside")
        outside = model.outside(known) if tells else np.zeros(mean.shape, bool)
        return {"mean": mean, "sd": sd, "outside": outside}

    found = on_grid(grid, ask)
    return names[:2], x, y, (found["mean"], found["sd"], found["outside"]), dots


def _of_dataset(data: Any) -> tuple[Any, ...]:
    """Read mean, sd and outside over (y, x)."""
    each = [
        next((one for one in names if one in data.data_vars), None) for names in (MEANS, DEVIATIONS)
    ]
    if None in each:
        raise ValueError(
            f"model is a dataset of {sorted(map(str, data.data_vars))}: give one with mean and sd"
        )
    mean, sd = (data[one] for one in each)
    if len(mean.dims) != 2:
        raise ValueError(
            f"model is a dataset over {tuple(mean.dims)}: choose a slice with two dimensions, "
            "data.isel(…)"
        )
    y, x = (np.asarray(data[dim].values) for dim in mean.dims)
    values = np.asarray(mean.values, dtype=float)
    outside = np.zeros(values.shape, dtype=bool)
    if "outside" in data.data_vars:
        outside = np.asarray(data["outside"].values).astype(bool)
    fields = values, np.asarray(sd.values, dtype=float), outside
    return tuple(map(str, mean.dims[::-1])), x, y, fields


def aspect_of(names: Sequence[str], x: Array, y: Array) -> Any:
    """Length of a unit of y over one of x: 1/cos φ of degrees, 1 of like units, else anything."""
    if x.dtype.kind not in "iuf" or y.dtype.kind not in "iuf":
        return "auto"
    low = [name.lower() for name in names]
    if low[0].startswith(LONGITUDE) and low[1].startswith(LATITUDE):
        return float(1.0 / max(np.cos(np.radians(np.mean([y.min(), y.max()]))), 0.1))
    ratio = (np.ptp(x) or 1.0) / (np.ptp(y) or 1.0)
    return "equal" if 1.0 / ALIKE <= ratio <= ALIKE else "auto"


def _height(x: Array, y: Array, aspect: Any) -> float:
    """Height of a figure whose parts are about 4 inches wide."""
    if aspect == "auto":
        return 4.2
    ratio = (1.0 if aspect == "equal" else float(aspect)) * float(np.ptp(y) / (np.ptp(x) or 1.0))
    return float(np.clip(3.9 * ratio + 0.8, 2.4, 7.0))
