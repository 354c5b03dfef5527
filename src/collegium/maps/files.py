"""A map written to a file: NumPy, netCDF (by scipy), GeoTIFF (by rasterio) or a picture.

A file is there once all of it is written, and stays as it was where that fails.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..numerics.durable import replacing
from ..numerics.libraries import library
from .dataset import IN_UNITS, MEANINGS
from .grid import Grid, Side
from .picture import picture_of

Array = np.ndarray
#: Endings of files.
GEOTIFF = (".tif", ".tiff")
ENDINGS = (".npz", ".nc", *GEOTIFF, ".png")
#: Coordinates of a GeoTIFF lie on a line up to this share of a step.
UNEVEN = 1e-6
LONGITUDES = ("lon", "longitude", "lng", "long")
LATITUDES = ("lat", "latitude")


@dataclass(frozen=True, eq=False)
class Map:
    """Arrays (y, x) of one grid, by the name that each has in a file, and attributes of all."""

    grid: Grid
    bands: Mapping[str, Array]
    attrs: Mapping[str, Any]

    @property
    def sides(self) -> tuple[Side, Side]:
        """y and x."""
        y, x = self.grid.axes
        return y, x


def check_map_path(path: str | os.PathLike[str], crs: str | None = None) -> str:
    """Refuse a path that no map can be written to, before any is made."""
    path = os.fspath(path)
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"{path}: give a path that ends with {', '.join(ENDINGS)}")
    if ending in GEOTIFF:
        known_crs(crs)
    return path


def known_crs(crs: str | None) -> Any:
    """The coordinate reference system of a name such as "EPSG:32618"; None: none was given."""
    rasterio = library("rasterio", "geo", "a GeoTIFF")
    if crs is None:
        return None
    try:
        return rasterio.crs.CRS.from_user_input(crs)
    except (rasterio.errors.CRSError, ValueError) as error:
        raise ValueError(f"crs={crs!r}: give a name such as EPSG:32618 ({error})") from error


def write_map(found: Map, path: str | os.PathLike[str]) -> None:
    """Write a map to a file, in the format that the ending names."""
    path = check_map_path(path, found.attrs.get("crs"))
    ending = Path(path).suffix.lower()
    write = {".npz": to_npz, ".nc": to_netcdf, ".png": to_picture}.get(ending, to_geotiff)
    if write is to_geotiff:
        for side in found.sides:
            even_step(side)
    with replacing(path) as file:
        write(found, file)


def to_npz(found: Map, file: BinaryIO) -> None:
    """Arrays by their names; coordinates are "x" and "y", their columns "names"."""
    y, x = found.sides
    arrays: dict[str, Any] = {
        "x": x.coordinates, "y": y.coordinates, "names": np.array([x.name, y.name]),
        **found.attrs, **found.bands,
    }  # fmt: skip
    np.savez_compressed(file, **arrays)


def to_netcdf(found: Map, file: BinaryIO) -> None:
    """Format netCDF 3 with 64-bit offsets; coordinates are named as their columns."""
    from scipy.io import netcdf_file

    with netcdf_file(os.fdopen(os.dup(file.fileno()), "wb"), "w", version=2) as out:
        out.Conventions = "CF-1.8"
        for name, value in found.attrs.items():
            setattr(out, name, value)
        for side, letter in zip(found.sides, "YX"):
            out.createDimension(side.name, len(side))
            own = out.createVariable(side.name, "d", (side.name,))
            own[:], units = _plain_times(side.coordinates)
            own.axis = letter
            units = _degrees(side.name) if units is None else units
            if units is not None:
                own.units = units
        for name, values in found.bands.items():
            kind = "b" if values.dtype == np.bool_ else "d"
            one = out.createVariable(name, kind, tuple(side.name for side in found.sides))
            one[:] = values
            one.long_name = MEANINGS.get(name, name)
            if name in IN_UNITS and "units" in found.attrs:
                one.units = found.attrs["units"]


def _plain_times(values: Array) -> tuple[Array, str | None]:
    """Dates as numbers, and their units; numbers as they are."""
    if values.dtype.kind != "M":
        return values, None
    return values.astype("M8[us]").astype(np.int64) * 1e-6, "seconds since 1970-01-01"


def _degrees(name: str) -> str | None:
    if name.lower() in LONGITUDES:
        return "degrees_east"
    return "degrees_north" if name.lower() in LATITUDES else None


def to_geotiff(found: Map, file: BinaryIO) -> None:
    """Bands of doubles, north up; coordinates are those of the centres of pixels."""
    rasterio = library("rasterio", "geo", "a GeoTIFF")
    y, x = found.sides
    dx, dy = even_step(x), even_step(y)
    east, north = slice(None, None, 1 if dx > 0 else -1), slice(None, None, -1 if dy > 0 else 1)
    corner = x.values.min() - abs(dx) / 2.0, y.values.max() + abs(dy) / 2.0
    profile = {
        "driver": "GTiff", "dtype": "float64", "count": len(found.bands), "height": len(y),
        "width": len(x), "nodata": np.nan, "compress": "deflate", "predictor": 3,
        "transform": rasterio.transform.from_origin(*corner, abs(dx), abs(dy)),
        "crs": known_crs(found.attrs.get("crs")),
    }  # fmt: skip
    with rasterio.io.MemoryFile() as memory:
        with memory.open(**profile) as out:
            for k, (name, values) in enumerate(found.bands.items(), start=1):
                out.write(np.asarray(values[north, east], dtype=np.float64), k)
                out.set_band_description(k, name)
            out.update_tags(**{name: str(value) for name, value in found.attrs.items()})
        file.write(memory.getbuffer())


def even_step(side: Side) -> float:
    """The step between coordinates; a ValueError where they are not even."""
    if len(side) < 2:
        raise ValueError(f"a GeoTIFF needs two coordinates of {side.name!r}: give a smaller step")
    gaps = np.diff(side.values)
    step = (side.values[-1] - side.values[0]) / gaps.size
    if np.abs(gaps - step).max() > UNEVEN * abs(step):
        raise ValueError(f"a GeoTIFF needs even steps, and those of {side.name!r} are not: write "
                         ".nc or .npz")  # fmt: skip
    return float(step)


def to_picture(found: Map, file: BinaryIO) -> None:
    """All numbers of a map side by side, high values of y above."""
    y, x = found.sides
    up = slice(None, None, -1 if y.values[0] < y.values[-1] else 1)
    right = slice(None, None, 1 if x.values[0] <= x.values[-1] else -1)
    bands = {name: values[up, right] for name, values in found.bands.items()}
    file.write(picture_of(bands))
