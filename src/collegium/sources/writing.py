"""Columns of numbers written to a file part by part; the file appears once it is complete."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from ..numerics.durable import replacing
from .arrow import pyarrow

Array = np.ndarray
#: Takes columns by name, of equal lengths.
Write = Callable[[Mapping[str, Array]], None]


def _parquet(schema: Any, file: Any) -> Any:
    return pyarrow("parquet").ParquetWriter(file, schema, write_page_checksum=True)


def _ipc(schema: Any, file: Any) -> Any:
    return pyarrow("ipc").new_file(file, schema)


def _csv(schema: Any, file: Any) -> Any:
    return pyarrow("csv").CSVWriter(file, schema)


WRITERS = {".parquet": _parquet, ".pq": _parquet, ".arrow": _ipc, ".feather": _ipc, ".csv": _csv}


def check_writable(path: str | os.PathLike[str]) -> str:
    """Check that a path has a known ending and an existing folder."""
    found = os.fspath(path)
    if os.path.splitext(found)[1] not in WRITERS:
        raise ValueError(f"{found}: give a path that ends with one of {', '.join(WRITERS)}")
    folder = os.path.dirname(os.path.abspath(found))
    if not os.path.isdir(folder):
        raise FileNotFoundError(2, "no such folder: make it first", folder)
    return found


@contextmanager
def columns_to(path: str | os.PathLike[str]) -> Iterator[Write]:
    """Write columns to a file, which replaces `path` when the block ends without error.

    The first part defines the columns.
    """
    path = check_writable(path)
    make, pa, writer = WRITERS[os.path.splitext(path)[1]], pyarrow(), None

    def write(columns: Mapping[str, Array]) -> None:
        nonlocal writer
        table = pa.table({name: pa.array(values) for name, values in columns.items()})
        if writer is None:
            writer = make(table.schema, file)
        writer.write_table(table)

    with replacing(path) as file:
        try:
            yield write
        except BaseException:
            with suppress(Exception):
                if writer is not None:
                    writer.close()
            raise
        if writer is None:
            raise ValueError("there are no rows to write")
        writer.close()
