"""Columns of answers written to a file part by part; the file appears once it is complete."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, Protocol

import numpy as np

from ..numerics.durable import replacing
from .arrow import has_pyarrow, pyarrow

Array = np.ndarray
#: Takes columns by name, of equal lengths.
Write = Callable[[Mapping[str, Array]], None]


class ColumnWriter(Protocol):
    """Writes the rows of a file part by part."""

    def write(self, columns: Mapping[str, Array]) -> None: ...

    def close(self) -> None: ...


class ArrowWriter:
    """Writes tables of pyarrow; `make(schema, file)` opens its writer."""

    def __init__(self, make: Callable[[Any, BinaryIO], Any], file: BinaryIO) -> None:
        self.make, self.file, self.pa = make, file, pyarrow()
        self.own: Any = None

    def write(self, columns: Mapping[str, Array]) -> None:
        table = self.pa.table({name: self.pa.array(values) for name, values in columns.items()})
        if self.own is None:
            self.own = self.make(table.schema, self.file)
        self.own.write_table(table)

    def close(self) -> None:
        if self.own is not None:
            self.own.close()


class PlainCsvWriter:
    """Writes CSV by the standard library: numbers with as many digits as tell them apart."""

    def __init__(self, file: BinaryIO) -> None:
        self.text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        self.own = csv.writer(self.text, lineterminator="\n")
        self.begun = False

    def write(self, columns: Mapping[str, Array]) -> None:
        if not self.begun:
            self.own.writerow(columns)
            self.begun = True
        self.own.writerows(zip(*(map(_written, values.tolist()) for values in columns.values())))

    def close(self) -> None:
        self.text.detach()


def _written(value: Any) -> Any:
    """A value as text that is read as the same value; missing numbers are empty."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value != value else value


class NpyWriter:
    """Writes a structured array, one field per column: `np.load(path)["mean"]`. No pyarrow."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.n = file, 0
        self.dtype: Any = None  # of a row, defined by the first part

    def write(self, columns: Mapping[str, Array]) -> None:
        if self.dtype is None:
            kinds = {name: np.asarray(values).dtype for name, values in columns.items()}
            other = [name for name, kind in kinds.items() if kind.hasobject]
            if other:
                raise ValueError(
                    f"{other[0]} is a column of objects, which .npy cannot have: give a path that "
                    "ends with .parquet"
                )
            self.dtype = np.dtype(list(kinds.items()))
            self._header()
        rows = np.empty(len(next(iter(columns.values()))), self.dtype)
        for name, values in columns.items():
            rows[name] = values
        self.file.write(rows.tobytes())
        self.n += rows.size

    def _header(self) -> None:
        """Write the header; NumPy leaves room in it for a larger number of rows."""
        said = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False}
        np.lib.format.write_array_header_2_0(self.file, {**said, "shape": (self.n,)})

    def close(self) -> None:
        self.file.seek(0)
        self._header()


def _parquet(schema: Any, file: BinaryIO) -> Any:
    return pyarrow("parquet").ParquetWriter(file, schema, write_page_checksum=True)


def _ipc(schema: Any, file: BinaryIO) -> Any:
    return pyarrow("ipc").new_file(file, schema)


def _csv(schema: Any, file: BinaryIO) -> Any:
    return pyarrow("csv").CSVWriter(file, schema)


ARROW = {".parquet": _parquet, ".pq": _parquet, ".arrow": _ipc, ".feather": _ipc, ".csv": _csv}
NPY = ".npy"


def check_writable(path: str | os.PathLike[str] | BinaryIO) -> str | BinaryIO:
    """Check that a path has a known ending and an existing folder; open files pass."""
    if not isinstance(path, (str, os.PathLike)):
        return path
    found = os.fspath(path)
    if os.path.splitext(found)[1] not in (*ARROW, NPY):
        raise ValueError(f"{found}: give a path that ends with one of {', '.join((*ARROW, NPY))}")
    folder = os.path.dirname(os.path.abspath(found))
    if not os.path.isdir(folder):
        raise FileNotFoundError(2, "no such folder: make it first", folder)
    return found


@contextmanager
def columns_to(path: str | os.PathLike[str] | BinaryIO) -> Iterator[Write]:
    """Write columns to a file, which replaces `path` when the block ends without error, or as CSV
    to an open file.

    The first part defines the columns.
    """
    path = check_writable(path)
    if not isinstance(path, str):
        with _parts_to(path, ".csv") as write:
            yield write
        return
    with replacing(path) as file, _parts_to(file, os.path.splitext(path)[1]) as write:
        yield write


def _writer(file: BinaryIO, ending: str) -> ColumnWriter:
    if ending == NPY:
        return NpyWriter(file)
    if ending == ".csv" and not has_pyarrow():
        return PlainCsvWriter(file)
    return ArrowWriter(ARROW[ending], file)


@contextmanager
def _parts_to(file: BinaryIO, ending: str) -> Iterator[Write]:
    """Write columns part by part to an open file."""
    writer, written = _writer(file, ending), False

    def write(columns: Mapping[str, Array]) -> None:
        nonlocal written
        writer.write(columns)
        written = True

    try:
        yield write
        if not written:
            raise ValueError("there are no rows to write")
    except BaseException:
        with suppress(Exception):
            writer.close()
        raise
    writer.close()
