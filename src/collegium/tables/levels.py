"""Levels: the keys that tell them apart, and columns of levels as codes of keys."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from decimal import Decimal
from numbers import Integral, Real
from typing import Any
from zlib import crc32

import numpy as np

Array = np.ndarray
#: The kind of a level and its text: 1 and "1" are two levels.
Key = tuple[str, str]
SECOND = np.timedelta64(1, "s")
#: The code of a missing level; the codes of unknown levels are below the second number.
GAP, UNKNOWN = -2.0, -10.0
#: Whole numbers up to this differ as floats.
EXACT = 2**53


class NoLevel(ValueError, TypeError):
    """A value of a type that no column can have."""


def unknown_code(key: Key) -> float:
    """−(10 + a hash): equal unknown levels match each other and nothing else, in every process."""
    return UNKNOWN - float(crc32(f"{key[0]} {key[1]}".encode("utf-8", "surrogatepass")))


def level_key(value: Any) -> Key | None:
    """Key by which levels are told apart and sorted; None for a missing value."""
    if type(value) is str:  # the usual case
        return "text", value
    if value is None or is_gap_type(type(value)):
        return None
    if isinstance(value, (bool, np.bool_)):
        return "boolean", str(bool(value))
    if isinstance(value, Integral) and abs(int(value)) > EXACT:
        return "number", repr(int(value))
    if isinstance(value, (Real, Decimal)):
        return None if value != value else number_key(float(value))
    if isinstance(value, str):
        return "text", str(value)
    if isinstance(value, bytes):
        return "text", value.decode("utf-8", "backslashreplace")
    if isinstance(value, (datetime.date, np.datetime64)):
        return "date", repr(date_seconds(value))
    if isinstance(value, (datetime.timedelta, datetime.time, np.timedelta64)):
        return number_key(span_seconds(value))
    if type(value).__name__ == "Interval":  # of pandas, as `cut` makes them
        return "interval", str(value)
    raise NoLevel(
        f"{value!r} of type {type(value).__name__} is not a level: the argument must be a string, "
        "a number, a boolean or a date"
    )


def number_key(value: float) -> Key:
    return "number", repr(value + 0.0)  # −0.0 is 0.0


def is_gap_type(own: type) -> bool:
    """Say whether all values of a type are missing ones: None, and pandas' NA and NaT."""
    return own is type(None) or own.__name__ in ("NAType", "NaTType")


def date_seconds(value: Any) -> float:
    """Seconds since 1970 (UTC)."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    return float(seconds(np.array([value], "M8[us]"))[0])


def span_seconds(value: Any) -> float:
    if isinstance(value, datetime.time):
        value = datetime.datetime.combine(datetime.date.min, value) - datetime.datetime.min
    return float(seconds(np.array([value], "m8[us]"))[0])


def seconds(values: Array) -> Array:
    """Convert NumPy's dates or spans to seconds, to whole microseconds; NaT is NaN."""
    gone = np.isnat(values)
    kind = values.dtype.kind
    found = values.astype(f"{kind}8[us]").astype(np.int64) * 1e-6
    found[gone] = np.nan
    return found


def coded(values: Iterable[Any]) -> tuple[Array, list[Key]]:
    """Code objects: the code of each (−1: missing), and the keys of the codes.

    Python's functions run once per distinct value, not once per row.
    """
    own = list(values)
    alike = len(set(map(type, own))) == 1  # else 1 and True would be one key of a dictionary
    each = own if alike else list(zip(map(type, own), own))
    try:
        known = {value: k for k, value in enumerate(dict.fromkeys(each))}
    except TypeError as error:
        raise NoLevel(
            f"{error}: that is not a level; the argument must be a string, a number, a boolean or "
            "a date"
        ) from error
    codes = np.fromiter(map(known.__getitem__, each), np.int64, len(own))
    return recoded(codes, known if alike else [value for _, value in known])


def recoded(codes: Array, values: Iterable[Any]) -> tuple[Array, list[Key]]:
    """Code values given as codes of possibly repeated values; negative codes are missing."""
    keys: dict[Key, int] = {}
    place = [-1 if (key := level_key(v)) is None else keys.setdefault(key, len(keys))
             for v in values]  # fmt: skip
    return np.array([*place, -1], np.int64)[codes], list(keys)
