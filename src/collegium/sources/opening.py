"""`collegium.open`: from paths and frames to a source."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import index
from typing import Any

from ..tables.arrow import is_arrow
from .arrow import has_pyarrow
from .csv import CsvTable
from .dask import DaskTable
from .frames import FrameTable, library_of
from .ipc import IpcTable
from .npy import NpyTable
from .parquet import ParquetTable
from .pieces import Table, Type, readable
from .plain import PlainCsvTable
from .source import Skipped, Source, check_columns, check_numbers
from .stamps import Stamp

#: Names of inputs, targets and weights.
Roles = tuple[tuple[str, ...], tuple[str, ...], str | None]
FORMATS: dict[str, Callable[[str], Table]] = {
    ".parquet": ParquetTable.of,
    ".pq": ParquetTable.of,
    ".arrow": IpcTable.of,
    ".feather": IpcTable.of,
    ".ipc": IpcTable.of,
    ".csv": lambda path: (CsvTable if has_pyarrow() else PlainCsvTable).of(path),
    ".npy": lambda path: NpyTable.of((path,)),
}


def open(
    data: Any, target: str | Sequence[str] | None = None, columns: Sequence[str] | None = None,
    weight: str | None = None, chunk_rows: int = 65_536, on_bad_chunk: str = "raise",
    missing: str = "indicator",
) -> Source:  # fmt: skip
    """Open rows in files or frames as a source. Only schemas are read.

    Parameters
    ----------
    data : path, glob, frame, or a list of these
        Parquet (.parquet, .pq), Arrow IPC (.arrow, .feather, .ipc), CSV with a header (.csv) and
        arrays (.npy); frames of pandas, polars and Dask, tables of Arrow. A tuple ("X.npy",
        "y.npy") or ("X.npy", "y.npy", "w.npy") is one table with columns x0, x1, …, y (or y0, y1,
        …) and w. Parquet and Arrow IPC need pyarrow: pip install 'collegium[files]'. CSV is read
        faster with it.
    target : str or list of str, default=None
        Columns of y. None: those of y.npy, else none.
    columns : list of str, default=None
        Columns of X, in this order. None: all others, as the first file has them.
    weight : str, default=None
        The column of weights. None: w.npy if it is given, else every weight is 1.
    chunk_rows : int, default=65536
        Maximum number of rows of a chunk. Row groups are cut, never joined.
    on_bad_chunk : {"raise", "skip"}, default="raise"
        Whether files and chunks that cannot be used are errors, or left out and listed in
        `skipped`.
    missing : {"indicator", "raise"}, default="indicator"
        Missing values in X: "indicator": replaced by the median, with a further column that
        indicates them, as in a frame. "raise": chunks with missing values are bad. Missing values
        in y and in weights always are.

    Returns
    -------
    source : Source
        `columns`, `n_rows`, `chunks`, `batches(columns)`, `rows()`, `head(n)`, `skipped`.

    Raises
    ------
    ValueError, OSError
        Names the file, row, column and value that cannot be used, and what can be done.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import collegium
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = tuple(os.path.join(folder, name) for name in ("X.npy", "y.npy"))
    ...     np.save(paths[0], np.arange(10.0).reshape(5, 2))
    ...     np.save(paths[1], np.arange(5.0))
    ...     source = collegium.open(paths, chunk_rows=3)
    ...     print(source.columns, source.n_rows, [chunk.n for chunk in source.chunks])
    ...     X, y, w = source.chunks[1].load()
    ('x0', 'x1') 5 [3, 2]
    >>> y.ravel()
    array([3., 4.])
    """
    if on_bad_chunk not in ("raise", "skip"):
        raise ValueError(f'on_bad_chunk={on_bad_chunk!r}: give "raise" or "skip"')
    if missing not in ("indicator", "raise"):
        raise ValueError(f'missing={missing!r}: give "indicator" or "raise"')
    if isinstance(chunk_rows, bool) or index(chunk_rows) < 1:
        raise ValueError(f"chunk_rows={chunk_rows!r}: give a whole number of at least 1")
    tables, skipped = list[Table](), list[Skipped]()
    named = None if target is None else _several(target), columns, weight
    roles: Roles = (), (), None
    for name, make in _found(data):
        try:
            table = make()
            own = roles if tables else _roles(table, *named)
            first = tables[0] if tables else None
            check_columns(table, own[0], first)
            check_numbers(table, (*own[1], *(() if own[2] is None else (own[2],))), first)
        except (ValueError, OSError) as error:
            if on_bad_chunk == "raise":
                raise
            skipped.append(Skipped(None, name, None, str(error)))
            continue
        tables.append(table)
        roles = own
    if not tables:
        reasons = "; ".join(one.reason for one in skipped)
        raise ValueError(f"none of the files can be used: {reasons}")
    return Source(tuple(tables), *roles, index(chunk_rows), on_bad_chunk, skipped, missing)


def types_of(data: Any) -> Mapping[str, Type]:
    """Names and types of the columns of the first file or frame."""
    for _, make in _found(data):
        return make().types
    raise ValueError("there is no file: name at least one")


def _several(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, (str, int)) else tuple(names)  # names of pandas may be int


def _roles(
    table: Table, target: tuple[str, ...] | None, columns: Sequence[str] | None, weight: str | None
) -> Roles:
    """Names of inputs, targets and weights; taken from the first table if they are not given."""
    target = table.target if target is None else target
    if weight is None and table.target and "w" in table.types and "w" not in (columns or ()):
        weight = "w"  # from (X.npy, y.npy, w.npy)
    apart = (*target, weight)
    own = [one for one in table.types if one not in apart and one not in table.target]
    inputs = tuple(own) if columns is None else _several(columns)
    if not inputs:
        raise ValueError(f"{table.file} has no columns for X: name at least one in `columns`")
    roles = [*inputs, *target, *(() if weight is None else (weight,))]
    for name in roles:
        if roles.count(name) > 1:
            raise ValueError(
                f"column {name!r} is named twice in columns={list(inputs)}, target={list(target)} "
                f"and weight={weight!r}: name it once"
            )
    return inputs, target, weight


def _found(data: Any) -> Iterator[tuple[str, Callable[[], Table]]]:
    """Yield a name for messages and a function that opens it, for each file or frame."""
    if isinstance(data, (str, os.PathLike)):
        for path in _paths(os.fspath(data)):
            yield path, partial(_open_file, path)
    elif hasattr(data, "pieces") and hasattr(data, "types"):
        yield data.file, lambda: data
    elif isinstance(data, tuple) and data and all(str(one).endswith(".npy") for one in data):
        paths = tuple(os.fspath(one) for one in data)
        yield " and ".join(paths), partial(NpyTable.of, paths)
    elif library_of(data) in ("pandas", "polars"):
        name = f"the {library_of(data)} frame"
        yield name, partial(FrameTable.of, data, name)
    elif is_arrow(data):
        yield "the Arrow table", partial(FrameTable.of, data, "the Arrow table")
    elif library_of(data) == "dask":
        yield "the dask frame", partial(DaskTable.of, data, "the dask frame")
    elif library_of(data) == "pyspark":
        raise TypeError(
            "a Spark frame cannot be read chunk by chunk: write it with "
            "frame.write.parquet('folder') and open 'folder/*.parquet'"
        )
    elif isinstance(data, (list, tuple)):
        if not data:
            raise ValueError("the list of files is empty: name at least one")
        for one in data:
            yield from _found(one)
    else:
        raise TypeError(f"cannot open a {type(data).__name__}: give paths, or frames")


def _paths(pattern: str) -> list[str]:
    if not glob.has_magic(pattern) or os.path.exists(pattern):
        return [pattern]
    paths = sorted(glob.glob(pattern, recursive=True))
    if not paths:
        raise FileNotFoundError(f"no file matches {pattern!r}: check folder and pattern")
    return paths


def _open_file(path: str) -> Table:
    readable(path)
    ending = os.path.splitext(path)[1].lower()
    if ending not in FORMATS:
        raise ValueError(f"{path}: unknown kind of file {ending!r}: one of {', '.join(FORMATS)}")
    stamp = Stamp.of(path)
    table = FORMATS[ending](path)
    return table if table.stamps else replace(table, stamps=(stamp,))  # type: ignore[type-var]
