"""Arrow columns as numbers, dates or levels."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .levels import seconds

Array = np.ndarray


def is_arrow(table: Any) -> bool:
    return type(table).__module__.partition(".")[0] == "pyarrow"


def in_arrow(values: Any) -> Any:
    """Return the Arrow array behind an array of pandas."""
    return sys.modules["pyarrow"].array(values)


def arrow_parts(name: str, column: Any) -> tuple[str, Array, list[Any]]:
    """Return "boolean", "number", "date" or "levels", values (n,), and the meanings of codes.

    Numbers and dates are float64 with NaN for missing values, codes are integers with −1 for them.
    Row groups with different dictionaries get the codes of one dictionary.
    """
    pa = sys.modules["pyarrow"]  # whose column this is
    types, own = pa.types, column.type
    if types.is_dictionary(own) or _is_text(types, own):
        return "levels", *_dictionary(pa, column)
    if types.is_date(own) or types.is_timestamp(own):
        return "date", seconds(_times(pa, column, "M")), []
    if types.is_duration(own) or types.is_time(own):
        return "number", seconds(_times(pa, column, "m")), []
    if types.is_boolean(own):
        return "boolean", arrow_numbers(column), []
    if (
        types.is_integer(own)
        or types.is_floating(own)
        or types.is_decimal(own)
        or str(own) == "null"
    ):
        return "number", arrow_numbers(column), []
    raise ValueError(
        f"column {name!r} holds {own}: give numbers, booleans, texts or dates, or leave it out"
    )


def _is_text(types: Any, own: Any) -> bool:
    return types.is_string(own) or types.is_large_string(own) or str(own) == "string_view"


def arrow_numbers(column: Any) -> Array:
    """Convert numbers or booleans to float64; missing values are NaN  (n,)."""
    pa = sys.modules["pyarrow"]
    if pa.types.is_decimal(column.type):  # the cast to float64 does not round to the nearest
        column = column.cast(pa.string())
    return _flat(pa, column.cast(pa.float64(), safe=False), np.float64, np.nan)


def _dictionary(pa: Any, column: Any) -> tuple[Array, list[Any]]:
    if not pa.types.is_dictionary(column.type):
        if str(column.type) == "string_view":
            column = column.cast(pa.string())
        column = column.dictionary_encode()
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # no rows
            return np.empty(0, np.int64), []
    codes = _flat(pa, column.indices.cast(pa.int64()), np.int64, -1)
    return codes, column.dictionary.to_pylist()


def _times(pa: Any, column: Any, kind: str) -> Array:
    """Convert to NumPy's dates or spans, in the unit of the column  (n,)."""
    own = column.type
    if str(own) == "date32[day]":
        column, unit = column.cast(pa.int32()), "D"
    elif str(own) == "date64[ms]":
        unit = "ms"
    else:
        column, unit = (column.cast(pa.int32()) if own.bit_width == 32 else column), own.unit
    whole = _flat(pa, column.cast(pa.int64()), np.int64, np.iinfo(np.int64).min)  # NaT
    return whole.view(f"{kind}8[{unit}]")


def _flat(pa: Any, column: Any, dtype: Any, gap: Any) -> Array:
    """Copy a column whose type has the bytes of NumPy's.

    `to_numpy` would import pandas if it is installed: a second, and 50 MB.
    """
    parts = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    values, at = np.empty(len(column), dtype), 0
    for part in parts:
        if part.null_count:
            part = part.fill_null(gap)
        if len(part):
            start = part.offset * values.itemsize
            values[at : at + len(part)] = np.frombuffer(part.buffers()[1], dtype, len(part), start)
        at += len(part)
    return values
