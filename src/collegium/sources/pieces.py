"""The interface of formats: a table of typed columns that is cut into pieces."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..numerics.durable import at_once, is_plain_file
from ..tables.reading import Found
from .stamps import Stamp

Array = np.ndarray
BOOLEAN, WHOLE, NUMBER, DECIMAL = "boolean", "whole number", "number", "decimal"
#: A number written as text: whether it is whole depends on the row.
NUMERAL = "numeral"
TEXT, DATE, SPAN, OTHER = "text", "date or time", "span of time", "other"
#: Arrow's type of a column whose values are all missing; it agrees with every type.
NULL = "null"
NUMERIC = (BOOLEAN, WHOLE, NUMBER, DECIMAL, NUMERAL)
#: Kinds by `dtype.kind` of NumPy and pandas.
NUMPY_KINDS = {"b": BOOLEAN, "i": WHOLE, "u": WHOLE, "f": NUMBER, "M": DATE, "m": SPAN}


@dataclass(frozen=True)
class Type:
    """The type of a column: its kind, and its name in the file."""

    kind: str
    name: str

    def agrees(self, other: Type) -> bool:
        """Say whether columns of both types can be joined; widths do not matter (float64)."""
        if NULL in (self.name, other.name):
            return True
        if NUMERAL in (self.kind, other.kind):
            return {self.kind, other.kind} <= {NUMERAL, WHOLE, NUMBER, DECIMAL}
        return self.kind == other.kind


class Piece(Protocol):
    """A run of rows in one row group. It can be pickled, and is small if the rows are in a file."""

    @property
    def file(self) -> str: ...
    @property
    def group(self) -> int | None: ...
    @property
    def offset(self) -> int: ...
    @property
    def n(self) -> int: ...
    def read(self, names: Sequence[str]) -> Array:
        """Read columns in float64; missing values are NaN  (n, k)."""
        ...

    def columns(self, names: Sequence[str]) -> list[Found]:
        """Read columns as they are: numbers, dates and levels, with missing values."""
        ...


class Table(Protocol):
    """One file or frame whose schema is known."""

    @property
    def file(self) -> str: ...
    @property
    def types(self) -> Mapping[str, Type]: ...
    @property
    def target(self) -> tuple[str, ...]:
        """Columns that are targets unless others are named."""
        ...

    @property
    def stamps(self) -> tuple[Stamp, ...]:
        """Stamps of its files, taken before anything was read of them."""
        ...

    def pieces(self, most: int) -> Iterator[Piece]:
        """Cut all rows, in order, into pieces of at most `most` rows."""
        ...


class BadValueError(ValueError):
    """A value cannot be used. Rows are counted from 0 in their file or row group."""

    def __init__(self, row: int, column: str | None, value: str | None, why: str) -> None:
        self.row, self.column, self.value, self.why = row, column, value, why
        named = "" if column is None else f"column {column!r}, "
        super().__init__(f"{named}row {row}: {why}")

    def __reduce__(self) -> tuple:
        """Errors travel from workers by pickle, which gives the constructor its message alone."""
        return type(self), (self.row, self.column, self.value, self.why)


class BadChunkError(ValueError):
    """A chunk cannot be used; the message says where it is, why, and what can be done."""

    #: The file and row group that it is in, the reason alone, and the first bad value or the line
    #: (from 1) of a text file, where these are known.
    file: str = ""
    group: int | None = None
    why: str = ""
    at: BadValueError | None = None
    line: int | None = None


def piece_spans(rows: int, most: int) -> Iterator[tuple[int, int]]:
    """(offset, n) of pieces of at most `most` rows."""
    return ((k, min(most, rows - k)) for k in range(0, rows, most))


def unique(file: str, names: Sequence[str]) -> None:
    """Refuse a table with several columns of one name."""
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise ValueError(f"{file} has several columns named {twice[0]!r}: rename them")


def readable(path: str) -> None:
    """Raise an OSError or a ValueError with a remedy if a file cannot be read or is empty."""
    try:
        with open(path, "rb", opener=at_once) as file:
            if not is_plain_file(file.fileno()):
                raise ValueError(
                    f"{path} is a pipe or a device, which can be read only once: write its rows to "
                    "a file"
                )
            first = file.read(1)
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, "no such file: check the path", path) from None
    except PermissionError as error:
        why = "no permission to read it: change its mode or owner, or leave it out"
        raise PermissionError(error.errno, why, path) from None
    except IsADirectoryError as error:
        inside = os.path.join(path, "*.parquet")
        why = f"a folder: name the files in it, such as {inside!r}"
        raise IsADirectoryError(error.errno, why, path) from None
    if not first:
        raise ValueError(f"{path} is empty (0 bytes): write it again, or leave it out")
