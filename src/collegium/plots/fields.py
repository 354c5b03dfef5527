"""Draw a mean and its standard deviation over two columns, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .axes import DEVIATIONS, DOTS, FAINT, VALUES, brief_dates, dress, short_name, thousands, turned

Array = np.ndarray
#: Two parts side by side that share both axes.
BESIDE = {"nrows": 1, "ncols": 2, "sharex": True, "sharey": True}
#: Cells of a picture along a side, at most.
CELLS = 1_200
#: Cells along a side up to which each is seen as a rectangle.
LARGE = 300


def draw_fields(
    axes: Sequence[Any], x: Array, y: Array, mean: Array, sd: Array, outside: Array,
    names: Sequence[str], titles: Sequence[str], words: str, *, aspect: str = "auto",
) -> None:  # fmt: skip
    """Draw mean and sd (rows: y, columns: x); hatched where `outside` or where nothing is known."""
    fields = ((mean, VALUES, words), (sd, DEVIATIONS, "standard deviation"))
    for ax, title, (values, colours, label) in zip(axes, titles, fields):
        _draw_field(ax, x, y, np.asarray(values, dtype=float), outside, colours, label)
        dress(ax, title, names[0], names[1])
        ax.set_aspect(aspect)
    axes[1].set_ylabel("")
    if not _aligned(axes):
        axes[1].set_ylabel(names[1])


def _aligned(axes: Sequence[Any]) -> bool:
    """Whether the parts share their y axis."""
    return axes[0].get_shared_y_axes().joined(*axes)


def _draw_field(
    ax: Any, x: Array, y: Array, values: Array, outside: Array, colours: str, label: str
) -> None:
    x, y, values, outside = _coarser(x, y, values, outside)
    ends = _edges(_positions(x)), _edges(_positions(y))
    gone = ~np.isfinite(values)
    known = values[~(gone | outside)]
    low, high = np.quantile(known if known.size else values[~gone], [0.002, 0.998])
    drawn = ax.pcolormesh(
        *ends, np.ma.masked_array(values, gone), cmap=colours, vmin=low, vmax=high, rasterized=True
    )
    _hatch(ax, ends, gone | outside)
    _name_levels(ax, x, y)
    for axis, own in ((ax.xaxis, x), (ax.yaxis, y)):
        if own.dtype.kind == "M":
            brief_dates(axis)
    bar = ax.figure.colorbar(drawn, ax=ax, label=label, pad=0.02, extend=_extend(values, low, high))
    bar.outline.set_edgecolor(FAINT)
    thousands(bar.ax.yaxis)


def _hatch(ax: Any, ends: tuple[Array, Array], unsure: Array) -> None:
    """Pale and hatch cells that are not to be relied on; by their corners, where they are large."""
    if not unsure.any():
        return
    if max(unsure.shape) <= LARGE:
        x, y = (np.repeat(one, 2)[1:-1] for one in ends)
        unsure = unsure.repeat(2, axis=0).repeat(2, axis=1)
    else:
        x, y = (one[:-1] for one in ends)
    found = ax.contourf(
        x, y, unsure.astype(float), levels=[0.5, 1.5], colors=[(1.0, 1.0, 1.0, 0.5)],
        hatches=["////"],
    )  # fmt: skip
    found.set(edgecolor=DOTS, linewidth=0.0)


def _extend(values: Array, low: float, high: float) -> str:
    known = values[np.isfinite(values)]
    below, above = bool((known < low).any()), bool((known > high).any())
    return {(False, False): "neither", (True, False): "min", (False, True): "max"}.get(
        (below, above), "both"
    )


def _positions(x: Array) -> Array:
    """Numbers and dates as they are, levels as 0, 1, …"""
    x = np.asarray(x)
    return np.arange(x.size, dtype=float) if x.dtype == object else x


def _edges(x: Array) -> Array:
    """Ends of the cells around points  (k + 1,)."""
    if x.size == 1:
        half: Any = np.timedelta64(12, "h") if x.dtype.kind == "M" else 0.5
        return np.array([x[0] - half, x[0] + half])
    step = np.diff(x) / 2
    return np.concatenate([[x[0] - step[0]], x[:-1] + step, [x[-1] + step[-1]]])


def _name_levels(ax: Any, x: Array, y: Array) -> None:
    if np.asarray(x).dtype == object:
        turned(ax, [short_name(one) for one in x])
    if np.asarray(y).dtype == object:
        ax.set_yticks(np.arange(len(y)), [short_name(one) for one in y])


def _coarser(x: Array, y: Array, values: Array, outside: Array) -> tuple[Array, ...]:
    """Take evenly spaced cells where there are more than can be seen."""
    rows, columns = (max(1, -(-k // CELLS)) for k in values.shape)
    if rows == columns == 1:
        return x, y, values, outside
    y, x = y[rows // 2 :: rows], x[columns // 2 :: columns]
    some = slice(rows // 2, None, rows), slice(columns // 2, None, columns)
    return x, y, values[some], outside[some]
