"""A map as an `xarray.Dataset`; xarray is imported when one is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..numerics.libraries import library
from .grid import Grid

Array = np.ndarray
#: What the numbers of a map are, for people and for other programs.
MEANINGS = {
    "mean": "mean", "sd": "standard deviation", "lower": "lower end of the interval",
    "upper": "upper end of the interval", "outside": "whether it is an extrapolation",
    "probability": "probability of the class",
}  # fmt: skip
#: Numbers in the units of y.
IN_UNITS = ("mean", "sd", "lower", "upper")


def xarray_library() -> Any:
    """Import xarray, or say how to install it: before any work is done."""
    return library("xarray", "geo", "a map as a Dataset")


def as_dataset(
    grid: Grid, found: Mapping[str, Array], attrs: Mapping[str, Any], classes: Any = None
) -> Any:
    """Arrays of a grid with coordinates named as its columns; `classes`: those of the first
    dimension of the arrays, before that of the grid."""
    xarray = xarray_library()
    dims = [side.name for side in grid.axes]
    first = {} if classes is None else {"class": classes}
    coordinates = {**first, **{side.name: side.coordinates for side in grid.axes}}
    units = {"units": attrs["units"]} if "units" in attrs else {}
    data = {
        name: ([*first, *dims], values,
               {"long_name": MEANINGS[name], **(units if name in IN_UNITS else {})})
        for name, values in found.items()
    }  # fmt: skip
    return xarray.Dataset(data, coordinates, dict(attrs))


def refuse_names(names: list[str]) -> None:
    """Refuse columns whose names are those of the numbers of a map."""
    for name in names:
        if name in MEANINGS or name == "class":
            raise ValueError(
                f"a column is called {name!r}, as one of the results of a map is: rename it before "
                "fit"
            )
