"""Helpers for Parquet, Arrow IPC, CSV and polars: pyarrow, its types, batches of any length."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from ..numerics.libraries import library
from ..tables.arrow import arrow_numbers
from ..tables.reading import Found, read_columns
from .pieces import BOOLEAN, DATE, DECIMAL, NUMBER, OTHER, SPAN, TEXT, WHOLE, Type

Array = np.ndarray
_kept = threading.local()


def pyarrow(module: str = "") -> Any:
    """Import pyarrow, or a module of it, when a file needs it."""
    return library(".".join(filter(None, ("pyarrow", module))), "files", "this kind of file")


def has_pyarrow() -> bool:
    """Whether pyarrow is installed."""
    try:
        pyarrow()
    except ImportError:
        return False
    return True


def keep_signals() -> None:
    """Let Python handle signals while pyarrow works: pyarrow takes them over, and may lose one."""
    if has_pyarrow():
        pyarrow().enable_signal_handlers(False)


def type_of(found: Any) -> Type:
    """Type of an Arrow column; a column of missing values alone counts as numbers."""
    types = pyarrow().types
    tests = {
        BOOLEAN: (types.is_boolean,),
        WHOLE: (types.is_integer,),
        NUMBER: (types.is_floating, types.is_null),
        DECIMAL: (types.is_decimal,),
        TEXT: (types.is_string, types.is_large_string, types.is_dictionary, _is_view),
        SPAN: (types.is_duration, types.is_time),
        DATE: (types.is_temporal,),
    }
    for kind, several in tests.items():
        if any(test(found) for test in several):
            return Type(kind, str(found))
    return Type(OTHER, str(found))


def _is_view(found: Any) -> bool:
    return str(found) == "string_view"


def floats(batches: Iterable[Any], names: Sequence[str], n: int) -> Array:
    """Columns of record batches of n rows in total, in float64; NaN: missing  (n, k)."""
    values, at = np.empty((len(names), n)).T, 0  # columns are written one by one
    for batch in batches:
        rows = slice(at, at + batch.num_rows)
        at = rows.stop
        if at > n:
            break
        for k, name in enumerate(names):
            values[rows, k] = arrow_numbers(batch.column(name))
    _check_rows(at, n)
    return values


def columns(batches: Iterable[Any], names: Sequence[str], n: int) -> list[Found]:
    """Columns of record batches with n rows in total, as they are."""
    own = list(batches)
    _check_rows(sum(batch.num_rows for batch in own), n)
    return read_columns(pyarrow().Table.from_batches(own).select(list(names)))


def _check_rows(found: int, n: int) -> None:
    if found != n:
        raise ValueError(f"{found} rows instead of {n}: the file has changed, open it again")


class Cursor:
    """Batches of one row group, read in order and cut to any length."""

    def __init__(self, key: Hashable, batches: Iterable[Any]) -> None:
        self.key, self.at = key, 0
        self._batches = iter(batches)
        self._pending: Any = None

    def _next(self, most: int) -> Any:
        """Read at most so many further rows; None at the end."""
        while self._pending is None or not self._pending.num_rows:
            self._pending = next(self._batches, None)
            if self._pending is None:
                return None
        part = self._pending.slice(0, most)
        self._pending = self._pending.slice(part.num_rows)
        self.at += part.num_rows
        return part

    def take(self, offset: int, n: int) -> list[Any]:
        """Read batches with rows [offset, offset + n), fewer at the end; offset ≥ `at`."""
        while self.at < offset and self._next(offset - self.at) is not None:
            pass
        found, stop = [], offset + n
        while self.at < stop and (part := self._next(stop - self.at)) is not None:
            found.append(part)
        return found


def take(
    path: str, group: int, names: Sequence[str], rows: tuple[int, int, int],
    batches: Callable[[], Iterable[Any]], make: Callable[..., Any] = floats,
) -> Any:  # fmt: skip
    """Read rows (offset, n, rows of the group) and convert them by `make`, to float64 by default.

    Pages are decoded from the start of a group. Each thread remembers where it stopped, so that
    the next piece of the same group goes on from there, in the memory of a few batches.
    """
    offset, n, end = rows
    stat = os.stat(path)
    key = (os.getpid(), path, stat.st_size, stat.st_mtime_ns, group, tuple(names))
    cursor = getattr(_kept, "cursor", None)
    _kept.cursor = None  # none is kept after an error
    if cursor is None or cursor.key != key or cursor.at > offset:
        cursor = Cursor(key, batches())
    values = make(cursor.take(offset, n), names, n)
    if cursor.at < end:
        _kept.cursor = cursor
    return values
