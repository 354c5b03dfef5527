"""Columns of frames and arrays, read as numbers, dates or levels."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from .arrow import arrow_parts, in_arrow, is_arrow
from .levels import EXACT, Key, coded, date_seconds, is_gap_type, number_key, recoded, seconds
from .levels import span_seconds as span_of

Array = np.ndarray
NUMBER, DATE, LEVELS = "number", "date", "levels"


@dataclass(frozen=True, eq=False)
class Found:
    """A column as it was read."""

    name: str
    kind: str  # NUMBER, DATE or LEVELS
    values: Array  # float64, NaN: missing, dates in seconds since 1970 (UTC); of levels, codes
    keys: tuple[Key, ...] = ()  # of levels: the meaning of the codes 0, 1, …; −1 is missing
    boolean: bool = False  # whether the numbers 0 and 1 were false and true
    objects: Array | None = None  # the originals of numbers and dates

    @property
    def gone(self) -> Array:
        """Whether each value is missing  (n,)."""
        return self.values < 0 if self.kind == LEVELS else np.isnan(self.values)

    def take(self, rows: Array) -> Found:
        """Keep some of the rows; a level that none of them has stays listed."""
        objects = None if self.objects is None else self.objects[rows]
        return replace(self, values=self.values[rows], objects=objects)


@dataclass(frozen=True, eq=False)
class ReadTable:
    """A table whose columns were read already, from files."""

    columns: list[Found]

    @classmethod
    def joined(cls, parts: Sequence[Sequence[Found]]) -> ReadTable:
        """Put tables with the same columns below each other."""
        return cls([_below(own) for own in zip(*parts, strict=True)])


def _below(parts: Sequence[Found]) -> Found:
    """Join parts of one column; levels get common codes."""
    first = parts[0]
    if len({one.kind for one in parts}) > 1:
        kinds = " and ".join(sorted({one.kind for one in parts}))
        raise ValueError(f"column {first.name!r} has {kinds} values in different parts: use one")
    values, objects = [one.values for one in parts], None
    keys = tuple(dict.fromkeys(key for one in parts for key in one.keys))
    if first.kind == LEVELS:
        place = {key: k for k, key in enumerate(keys)}
        codes = [np.array([*(place[key] for key in one.keys), -1]) for one in parts]
        values = [own[one.astype(np.int64)] for own, one in zip(codes, values)]
    if any(one.objects is not None for one in parts):
        each = (one.values if one.objects is None else one.objects for one in parts)
        objects = np.concatenate([one.astype(object) for one in each])
    boolean = all(one.boolean for one in parts)
    return Found(first.name, first.kind, np.concatenate(values), keys, boolean, objects)


def read_columns(table: Any) -> list[Found]:
    """Read all columns of a pandas, polars or Arrow frame, or of a two-dimensional array."""
    if isinstance(table, ReadTable):
        return table.columns
    library = type(table).__module__.partition(".")[0]
    if library == "polars":
        return [_polars(series) for series in table.get_columns()]
    if library == "pandas":
        return [_pandas(str(name), series) for name, series in table.items()]
    if is_arrow(table):
        return [_arrow(name, table.column(k)) for k, name in enumerate(table.schema.names)]
    values = np.asarray(table)
    if values.ndim != 2:
        raise ValueError(f"X has shape {values.shape}: give rows and columns, (n, d)")
    return [array_column(f"x{k}", column) for k, column in enumerate(values.T)]


def names_of(table: Any) -> list[str] | None:
    """Names of the columns; None if they have none."""
    if is_arrow(table):
        return list(table.schema.names)
    names = getattr(table, "columns", None)
    return None if names is None else [str(name) for name in names]


def _pandas(name: str, series: Any) -> Found:
    dtype = series.dtype
    kind, text = getattr(dtype, "kind", "O"), str(dtype)
    if text == "category":
        codes = np.asarray(series.cat.codes, np.int64)
        return _levels(name, codes, series.cat.categories.astype(object))
    if type(dtype).__name__ == "ArrowDtype":
        return _arrow(name, in_arrow(series.array))
    if kind in "biuf":
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return _numbers(name, values, kind, lambda: series.to_numpy(dtype=object))
    if text.startswith("period"):
        series, kind = series.dt.to_timestamp(), "M"
    if kind in "mM":
        if getattr(series.dtype, "tz", None) is not None:
            series = series.dt.tz_convert("UTC").dt.tz_localize(None)
        return Found(name, DATE if kind == "M" else NUMBER, seconds(series.to_numpy()))
    if text.startswith("str"):
        return _levels(name, *series.factorize())
    return objects_column(name, np.asarray(series.astype(object)))


def _polars(series: Any) -> Found:
    polars = sys.modules["polars"]  # whose frame this is
    name, dtype = series.name, series.dtype
    if dtype == polars.Boolean or dtype.is_numeric() or dtype == polars.Null:
        values = np.array(series.cast(polars.Float64).to_numpy(), dtype=np.float64)
        kind = "b" if dtype == polars.Boolean else "i" if dtype.is_integer() else "f"
        whole = lambda: np.fromiter(series.to_list(), object, len(series))  # noqa: E731
        return _numbers(name, values, kind, whole)
    if dtype == polars.Time:
        physical = series.to_physical().cast(polars.Float64).to_numpy()
        return Found(name, NUMBER, np.floor(physical * 1e-3) * 1e-6)
    if dtype.is_temporal():
        kind = NUMBER if dtype == polars.Duration else DATE
        if dtype == polars.Datetime and dtype.time_zone is not None:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return Found(name, kind, seconds(series.to_numpy()))
    if dtype in (polars.String, polars.Categorical, polars.Enum):
        words = series.cast(polars.String)
        known = words.drop_nulls().unique()
        codes = words.cast(polars.Enum(known)).to_physical().cast(polars.Int64)
        return _levels(name, codes.fill_null(-1).to_numpy(), known.to_list())
    return objects_column(name, np.fromiter(series.to_list(), object, len(series)))


def _arrow(name: str, column: Any) -> Found:
    kind, values, keys = arrow_parts(name, column)
    if kind == LEVELS:
        return _levels(name, values, keys)
    if kind == NUMBER and (np.abs(values) > EXACT).any() and "int" in str(column.type):
        return _numbers(name, values, "i", lambda: np.array(column.to_pylist(), dtype=object))
    return Found(name, NUMBER if kind == "boolean" else kind, values, boolean=kind == "boolean")


def array_column(name: str, column: Array) -> Found:
    kind = column.dtype.kind
    if kind in "biuf":
        return _numbers(name, column.astype(np.float64), kind, lambda: column.astype(object))
    if kind in "mM":
        return Found(name, DATE if kind == "M" else NUMBER, seconds(column))
    return objects_column(name, column.astype(object))


def _numbers(name: str, values: Array, kind: str, whole: Callable[[], Array]) -> Found:
    """Make a column of numbers; `whole()` gives the originals, for integers beyond floats."""
    large = kind in "iu" and bool((np.abs(values) > EXACT).any())
    return Found(name, NUMBER, values, boolean=kind == "b", objects=whole() if large else None)


def _levels(name: str, codes: Array, values: Any) -> Found:
    codes, keys = recoded(np.asarray(codes, np.int64), values)
    return Found(name, LEVELS, codes, tuple(keys))


def objects_column(name: str, values: Array) -> Found:
    """Read Python objects: dates, numbers, spans of time, or levels of any kind."""
    gone = _gaps(values)
    there = values[~gone]
    classes = {_class_of(own) for own in set(map(type, there))}
    if classes <= {NUMBER}:
        return _filled(name, NUMBER, values, gone, there.astype(np.float64))
    if classes == {DATE}:
        return _filled(name, DATE, values, gone, _by_value(there, date_seconds))
    if classes == {"span"}:
        return _filled(name, NUMBER, values, gone, _by_value(there, span_of))
    codes, keys = coded(values)
    return Found(name, LEVELS, codes, tuple(keys))


def _filled(name: str, kind: str, values: Array, gone: Array, there: Array) -> Found:
    numbers = np.full(values.size, np.nan)
    numbers[~gone] = there
    return Found(name, kind, numbers, objects=values)


def _by_value(there: Array, convert: Callable[[Any], float]) -> Array:
    """Apply a function to objects, once per distinct object."""
    known = {one: convert(one) for one in dict.fromkeys(there)}
    return np.fromiter(map(known.__getitem__, there), np.float64, there.size)


def _gaps(values: Array) -> Array:
    """Whether each object is None, NA or NaT, or not equal to itself."""
    types = list(map(type, values))
    known = set(types)
    none = {own for own in known if is_gap_type(own)}
    gone = np.fromiter(map(none.__contains__, types), bool, values.size)
    odd = (float, np.floating, Decimal, np.datetime64, np.timedelta64)
    maybe = {own for own in known if issubclass(own, odd)}
    if maybe:
        at = np.flatnonzero(np.fromiter(map(maybe.__contains__, types), bool, values.size))
        gone[at] = values[at] != values[at]
    return gone


def _class_of(own: type) -> str:
    if issubclass(own, (Real, Decimal, np.bool_)):
        return NUMBER
    if issubclass(own, (datetime.date, np.datetime64)):
        return DATE
    spans = datetime.timedelta, datetime.time, np.timedelta64
    return "span" if issubclass(own, spans) else LEVELS


def as_levels(found: Found) -> Found:
    """Turn numbers or dates into levels; missing values stay missing."""
    if found.kind == LEVELS:
        return found
    if found.objects is not None:
        codes, keys = coded(found.objects)
        return Found(found.name, LEVELS, codes, tuple(keys))
    gone = found.gone
    known, at = np.unique(found.values[~gone] + 0.0, return_inverse=True)
    codes = np.full(found.values.size, -1)
    codes[~gone] = at
    return replace(found, kind=LEVELS, values=codes, keys=tuple(_number_keys(found, known)))


def _number_keys(found: Found, known: Array) -> list[Key]:
    if found.boolean:
        return [("boolean", str(one != 0.0)) for one in known.tolist()]
    if found.kind == DATE:
        return [("date", repr(one)) for one in known.tolist()]
    return [number_key(one) for one in known.tolist()]
