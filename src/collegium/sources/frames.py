"""Frames in memory (pandas, polars, Arrow): pieces are slices, pickled without other rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..tables.arrow import is_arrow
from ..tables.reading import Found, read_columns
from .arrow import floats, type_of
from .pieces import NUMPY_KINDS, TEXT, Type, piece_spans, unique
from .stamps import Stamp

Array = np.ndarray


def library_of(value: Any) -> str:
    """Name of the library that a value's class comes from."""
    return type(value).__module__.partition(".")[0]


@dataclass(frozen=True, eq=False)
class PandasPiece:
    """A slice of rows of a pandas frame."""

    file: str
    group: None
    offset: int
    n: int
    rows: Any

    def read(self, names: Sequence[str]) -> Array:
        columns = [self.rows[name].to_numpy(np.float64, na_value=np.nan) for name in names]
        return np.column_stack(columns) if columns else np.empty((self.n, 0))

    def columns(self, names: Sequence[str]) -> list[Found]:
        return read_columns(self.rows[list(names)])


@dataclass(frozen=True, eq=False)
class PolarsPiece:
    """A slice of rows of a polars frame."""

    file: str
    group: None
    offset: int
    n: int
    rows: Any

    def read(self, names: Sequence[str]) -> Array:
        found = self.rows.select(list(names)).to_arrow()
        return floats(found.to_batches(), names, self.n)

    def columns(self, names: Sequence[str]) -> list[Found]:
        return read_columns(self.rows.select(list(names)))


@dataclass(frozen=True, eq=False)
class ArrowPiece:
    """A slice of rows of an Arrow table, pickled without the other rows."""

    file: str
    group: None
    offset: int
    n: int
    rows: Any

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "rows": self.rows.take(list(range(self.n)))}

    def read(self, names: Sequence[str]) -> Array:
        return floats(self.rows.select(list(names)).to_batches(), names, self.n)

    def columns(self, names: Sequence[str]) -> list[Found]:
        return read_columns(self.rows.select(list(names)))


@dataclass(frozen=True, eq=False)
class FrameTable:
    """A frame in memory and the types of its columns."""

    file: str
    types: dict[str, Type]
    frame: Any
    target: tuple[str, ...] = ()
    stamps: tuple[Stamp, ...] = ()  # none: the rows are in memory

    @classmethod
    def of(cls, frame: Any, file: str) -> FrameTable:
        if library_of(frame) == "polars":
            if not hasattr(frame, "to_arrow"):
                raise ValueError(f"{file} is a {type(frame).__name__}: call its collect() first")
            schema = frame.head(0).to_arrow().schema
            return cls(file, {field.name: type_of(field.type) for field in schema}, frame)
        if is_arrow(frame):
            if not hasattr(frame, "schema") or not hasattr(frame, "to_batches"):
                raise ValueError(f"{file} is a {type(frame).__name__}: give a Table")
            unique(file, frame.schema.names)
            return cls(file, {one.name: type_of(one.type) for one in frame.schema}, frame)
        if not hasattr(frame, "columns"):
            raise ValueError(f"{file} is a {type(frame).__name__}: give a DataFrame")
        unique(file, list(frame.columns))
        types = {name: pandas_type(kind) for name, kind in frame.dtypes.items()}
        return cls(file, types, frame)

    def pieces(self, most: int) -> Iterator[PandasPiece | PolarsPiece | ArrowPiece]:
        pandas = library_of(self.frame) == "pandas"
        make = ArrowPiece if is_arrow(self.frame) else PandasPiece if pandas else PolarsPiece
        for offset, n in piece_spans(len(self.frame), most):
            own = slice(offset, offset + n)
            rows = self.frame.iloc[own] if pandas else self.frame.slice(offset, n)
            yield make(self.file, None, offset, n, rows)


def taken_out(frame: Any, name: str, argument: str) -> tuple[Any, list[Any]]:
    """Split a frame into the other columns and the values of one that an argument names."""
    names = list(frame.column_names if is_arrow(frame) else frame.columns)
    if name not in names:
        raise ValueError(f"{argument}={name!r} is no column of X: it has {names}")
    if is_arrow(frame):
        return frame.drop_columns([name]), frame.column(name).to_pylist()
    if library_of(frame) == "polars":
        return frame.drop(name), frame.get_column(name).to_list()
    return frame.drop(columns=name), frame[name].tolist()


def pandas_type(dtype: Any) -> Type:
    """Type of a column; strings, categories and objects (kind "O") are decided by their values."""
    return Type(NUMPY_KINDS.get(getattr(dtype, "kind", "O"), TEXT), str(dtype))
