"""A map over two columns: predictions and how well they are known, as pictures of pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...diagnostics.numbers import digits, ticks
from ...maps.grid import Grid, Side, on_grid
from ...tables.reading import NUMBER
from ..charts import Frame, axes, cut_words, figure, gallery, raster
from ..markup import Safe, element, paragraph, put_together
from ..material import Material
from ..pixels import map_picture, scale_picture

Array = np.ndarray
#: Pixels along x and y; cells in which rows are looked for.
WIDE, HIGH = 96, 72
CELLS = 24
#: Names of columns that are places on the earth.
EAST = ("lon", "long", "longitude", "lng", "east", "easting", "x")
NORTH = ("lat", "latitude", "north", "northing", "y")


@dataclass(frozen=True, eq=False)
class MapOfTwo:
    """Means and standard deviations over two columns  (HIGH, WIDE)."""

    columns: tuple[int, int]
    x: tuple[float, float]
    y: tuple[float, float]
    mean: Array
    sd: Array
    masked: bool


def columns_of_map(own: Material) -> tuple[int, int] | None:
    """Both columns of two; longitude and latitude; else the two numbers that matter most."""
    some = [j for j in own.numeric if own.asked.columns[j].kind == NUMBER]
    some = [j for j in some if len(np.unique(own.X[:, j])) > 4]
    words = {own.names[j].strip().lower(): j for j in some}
    east = next((words[name] for name in EAST if name in words), None)
    north = next((words[name] for name in NORTH if name in words), None)
    if east is not None and north is not None:
        return east, north
    if len(own.names) == 2 and len(some) == 2:
        return 0, 1
    some = [j for j in some if own.importance[j] >= 0.02]
    return (some[0], some[1]) if len(some) >= 2 else None


def find_map(own: Material) -> MapOfTwo | None:
    """Ask the model on a grid of two columns; others are held at the row nearest to medians."""
    found = columns_of_map(own)
    if found is None:
        return None
    i, j = found
    (a, b), (c, d) = (_ends(own.X[:, k]) for k in found)
    wide, high = WIDE // own.budget.coarse, HIGH // own.budget.coarse
    x, y = np.linspace(a, b, wide), np.linspace(c, d, high)
    grid = Grid((Side("y", j, y), Side("x", i, x)), middle_row(own, found))

    def ask(X: Array) -> dict[str, Array]:
        mean, sd = own.asked.moments(X)
        return {"mean": mean, "sd": sd}

    told = on_grid(grid, ask, points=4_096)
    masked = own.X.shape[1] > 2
    if masked:
        empty = ~beside_rows(own.X[:, i], own.X[:, j], (a, b), (c, d), (high, wide))
        told = {name: np.where(empty, np.nan, one) for name, one in told.items()}
    return MapOfTwo(found, (a, b), (c, d), told["mean"], told["sd"], masked)


def _ends(x: Array) -> tuple[float, float]:
    low, high = np.quantile(x, [0.002, 0.998])
    return (float(low), float(high)) if high > low else (float(x.min()), float(x.max()))


def middle_row(own: Material, shown: tuple[int, int]) -> Array:
    """The row whose other columns are nearest to their medians, in units of their spread."""
    X = own.X
    others = [k for k in own.numeric if k not in shown]
    sd = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    away = ((X - np.median(X, axis=0)) / sd) ** 2
    usual = np.zeros(len(X))
    for k in own.levelled:
        codes, at, counts = np.unique(X[:, k], return_inverse=True, return_counts=True)
        usual += counts[at] < counts.max()
    return X[int(np.argmin(away[:, others].sum(axis=1) + usual))]


def beside_rows(
    x: Array, y: Array, a: tuple[float, float], b: tuple[float, float], shape: tuple[int, int]
) -> Array:
    """Whether pixels are in a cell with a row, or beside one  (high, wide)."""
    count = np.histogram2d(y, x, (CELLS, CELLS), (b, a))[0] > 0
    wide = np.pad(count, 1)
    near = sum(
        wide[1 + i : 1 + i + CELLS, 1 + k : 1 + k + CELLS] for i in (-1, 0, 1) for k in (-1, 0, 1)
    )
    rows, columns = (np.arange(k) * CELLS // k for k in shape)
    return np.asarray(near > 0)[np.ix_(rows, columns)]


def map_section(own: Material, found: MapOfTwo) -> Safe:
    i, j = found.columns
    held = [k for k in own.by_importance if k not in found.columns]
    said = f"{own.asked.words.capitalize()} over {own.names[i]} and {own.names[j]}."
    if held:
        row = middle_row(own, found.columns)[None]
        words = [f"{own.names[k]} = {own.cell(k, 0, row)}" for k in held[:6]]
        more = f" and {len(held) - 6} more" if len(held) > 6 else ""
        said += f" The other columns are held at one usual row: {', '.join(words)}{more}."
    if found.masked:
        said += " Grey: no row is near."
    mean = picture(own, found, found.mean, own.target if own.classes is None else "probability")
    sd = picture(own, found, found.sd, "standard deviation, without noise")
    return put_together([paragraph(said), gallery([mean, sd])])


def picture(own: Material, found: MapOfTwo, values: Array, what: str) -> Safe:
    """One map with its scale."""
    known = values[np.isfinite(values)]
    low, high = np.quantile(known, [0.005, 0.995]) if known.size else (0.0, 1.0)
    if not high > low:
        low, high = low - 0.5, low + 0.5
    frame = Frame(found.x, found.y, height=270, right=62)
    names = [own.names[k] for k in found.columns]
    parts = [*axes(frame, *names), raster(frame, map_picture(values, low, high))]
    scale = Frame((0.0, 1.0), (float(low), float(high)), height=270, left=288, right=40)
    parts.append(raster(scale, scale_picture()))
    for at in ticks(float(low), float(high), 5):
        parts.append(
            element("text", digits(at, 3, brief=True), x="303", y=f"{scale.up(at) + 4:.1f}")
        )
    words = f"{cut_words(what, 40)}: from {digits(low)} to {digits(high)}."
    if not known.size:
        return figure(frame, parts, words, words)
    where = np.unravel_index(int(np.nanargmax(values)), values.shape)
    high, wide = values.shape
    x = found.x[0] + where[1] / (wide - 1) * (found.x[1] - found.x[0])
    y = found.y[0] + where[0] / (high - 1) * (found.y[1] - found.y[0])
    words += f" It is highest near {names[0]} = {digits(x, brief=True)}, "
    words += f"{names[1]} = {digits(y, brief=True)}."
    return figure(frame, parts, words, f"Map of {what}. {words}")
