"""Columns of frames and arrays, by what they hold: numbers, dates or levels."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

Array = np.ndarray
NUMBER, DATE, LEVELS = "number", "date", "levels"
#: What stands for a gap among levels.
MISSING = None


@dataclass(frozen=True, eq=False)
class Found:
    """A column as it came."""

    name: str
    kind: str  # NUMBER, DATE or LEVELS
    values: Array  # float64 with NaN for gaps, dates in seconds since 1970 (UTC); or objects


def columns_of(table: Any) -> list[Found]:
    """All columns of a frame of pandas or polars, or of an array of two dimensions."""
    library = type(table).__module__.partition(".")[0]
    if library == "polars":
        return [_polars(series) for series in table.get_columns()]
    if library == "pandas":
        return [_pandas(str(name), table.iloc[:, k]) for k, name in enumerate(table.columns)]
    values = np.asarray(table)
    if values.ndim != 2:
        raise ValueError(f"X has the shape {values.shape}: give rows and columns, (n, d)")
    return [_array(f"x{k}", column) for k, column in enumerate(values.T)]


def _pandas(name: str, series: Any) -> Found:
    dtype = series.dtype
    kind = getattr(dtype, "kind", "O")
    if str(dtype) == "category":
        gone = np.asarray(series.isna())
        return _levels(name, np.asarray(series.astype(object)), gone)
    if kind in "biuf":
        return Found(name, NUMBER, series.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind == "M":
        if getattr(dtype, "tz", None) is not None:
            series = series.dt.tz_convert("UTC").dt.tz_localize(None)
        return Found(name, DATE, _seconds(series.to_numpy()))
    if kind == "m":
        return Found(name, NUMBER, _seconds(series.to_numpy()))
    return _objects(name, np.asarray(series.astype(object)), np.asarray(series.isna()))


def _polars(series: Any) -> Found:
    polars = sys.modules["polars"]  # whose frame this is
    name, dtype = series.name, series.dtype
    if dtype == polars.Boolean or dtype.is_numeric():
        values = series.cast(polars.Float64).to_numpy()
        return Found(name, NUMBER, np.array(values, dtype=np.float64))
    if dtype.is_temporal():
        kind = NUMBER if dtype in (polars.Duration, polars.Time) else DATE
        unit = 1e-9 if dtype == polars.Time else 1e-6
        if dtype == polars.Date:
            series = series.cast(polars.Datetime("us"))
        elif dtype != polars.Time:
            series = series.dt.cast_time_unit("us")
        physical = series.to_physical().cast(polars.Float64).to_numpy()
        return Found(name, kind, np.array(physical) * unit)
    gone = series.is_null().to_numpy()
    return _objects(name, np.array(series.to_list(), dtype=object), gone)


def _array(name: str, column: Array) -> Found:
    if column.dtype.kind in "biuf":
        return Found(name, NUMBER, column.astype(np.float64))
    if column.dtype.kind in "mM":
        return Found(name, DATE if column.dtype.kind == "M" else NUMBER, _seconds(column))
    own = column.astype(object)
    gone = np.array([one is None or (isinstance(one, float) and one != one) for one in own], bool)
    return _objects(name, own, gone)


def _seconds(values: Array) -> Array:
    """Dates or spans of NumPy in seconds; NaT is NaN."""
    gone = np.isnat(values)
    whole = values.astype(
        values.dtype.str[:2] + "8[us]" if values.dtype.str[1] in "mM" else "M8[us]"
    )
    found = whole.astype(np.int64) * 1e-6
    found[gone] = np.nan
    return found


def _objects(name: str, values: Array, gone: Array) -> Found:
    """Python's objects: dates, numbers, or levels of any kind."""
    there = values[~gone]
    if there.size and all(isinstance(one, (datetime.date, np.datetime64)) for one in there):
        dates = np.full(values.size, np.datetime64("NaT"), dtype="M8[us]")
        dates[~gone] = [_in_utc(one) for one in there]
        return Found(name, DATE, _seconds(dates))
    if there.size and all(isinstance(one, (datetime.timedelta, np.timedelta64)) for one in there):
        spans = np.full(values.size, np.timedelta64("NaT"), dtype="m8[us]")
        spans[~gone] = [np.timedelta64(one) for one in there]
        return Found(name, NUMBER, _seconds(spans))
    if all(isinstance(one, (Real, np.bool_)) for one in there):
        numbers = np.full(values.size, np.nan)
        numbers[~gone] = [float(one) for one in there]
        return Found(name, NUMBER, numbers)
    return _levels(name, values, gone)


def _in_utc(one: Any) -> Any:
    if isinstance(one, datetime.datetime) and one.tzinfo is not None:
        return np.datetime64(one.astimezone(datetime.UTC).replace(tzinfo=None))
    return np.datetime64(one)


def _levels(name: str, values: Array, gone: Array) -> Found:
    found = values.copy()
    found[gone] = MISSING
    return Found(name, LEVELS, found)


def level_key(value: Any) -> tuple[str, str]:
    """By which levels are told apart and sorted: 1 and "1" are two of them."""
    if isinstance(value, (bool, np.bool_)):
        return "boolean", str(bool(value))
    if isinstance(value, Real):
        return "number", repr(float(value))
    if isinstance(value, str):
        return "text", value
    raise ValueError(
        f"{value!r} of type {type(value).__name__} is no level: give texts, numbers or booleans"
    )


def as_levels(found: Found) -> Found:
    """A column of numbers as levels; gaps stay gaps."""
    if found.kind == LEVELS:
        return found
    gone = np.isnan(found.values)
    return _levels(found.name, found.values.astype(object), gone)


def keys_of(values: Iterable[Any]) -> list[tuple[str, str] | None]:
    """The keys of levels; None for gaps."""
    known: dict[Any, tuple[str, str] | None] = {}
    keys = []
    for value in values:
        own = (type(value), value)
        if own not in known:
            known[own] = None if value is MISSING else level_key(value)
        keys.append(known[own])
    return keys
