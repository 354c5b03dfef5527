"""Dask frames: pieces are parts of partitions, computed where they are read."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from ..tables.reading import Found, read_columns
from .frames import pandas_type
from .pieces import Type, piece_spans, unique
from .stamps import Stamp

Array = np.ndarray
_kept = threading.local()


@dataclass(frozen=True, eq=False)
class DaskPiece:
    """Rows of one partition, which is the `group`."""

    file: str
    group: int
    offset: int
    n: int
    key: Any  # of the partition in its graph; it identifies the data too
    graph: dict[Any, Any]  # the part of the graph that this partition needs

    def read(self, names: Sequence[str]) -> Array:
        rows = self._own_rows()
        columns = [rows[name].to_numpy(np.float64, na_value=np.nan) for name in names]
        return np.column_stack(columns) if columns else np.empty((self.n, 0))

    def columns(self, names: Sequence[str]) -> list[Found]:
        return read_columns(self._own_rows()[list(names)])

    def _own_rows(self) -> Any:
        rows = self._rows().iloc[self.offset : self.offset + self.n]
        if len(rows) != self.n:
            raise ValueError(f"partition {self.group} has changed: open the frame again")
        return rows

    def _rows(self) -> Any:
        """Compute the partition as a pandas frame; each thread keeps the last one."""
        if getattr(_kept, "key", None) != self.key:
            _kept.key = _kept.rows = None  # one partition in memory at a time
            _kept.rows = import_module("dask").get(self.graph, self.key)
            _kept.key = self.key
        return _kept.rows


@dataclass(frozen=True, eq=False)
class DaskTable:
    """A Dask frame and the types of its columns."""

    file: str
    types: dict[str, Type]
    frame: Any
    target: tuple[str, ...] = ()
    stamps: tuple[Stamp, ...] = ()  # none: only Dask knows its files

    @classmethod
    def of(cls, frame: Any, file: str) -> DaskTable:
        if not hasattr(frame, "partitions") or not hasattr(frame, "columns"):
            raise ValueError(
                f"{file} is not a frame: give a dask.dataframe (for an array X, "
                "dask.dataframe.from_dask_array(X, columns=[…]))"
            )
        if _held(frame):
            raise ValueError(
                f"{file} is persisted on workers, where it may be lost: give the frame as it was "
                "before persist(), or write it (to_parquet) and open the files"
            )
        unique(file, list(frame.columns))
        types = {name: pandas_type(kind) for name, kind in frame.dtypes.items()}
        return cls(file, types, frame)

    def pieces(self, most: int) -> Iterator[DaskPiece]:
        """Cut partitions, whose rows are counted where Dask computes: on its workers, if any."""
        dask, delayed = import_module("dask"), import_module("dask.delayed")
        own = self.frame.optimize()
        graph, keys = own.__dask_graph__(), own.__dask_keys__()
        graphs = [dict(import_module("dask.optimization").cull(graph, [key])[0]) for key in keys]
        counts = dask.compute(
            *(dask.delayed(len)(delayed.Delayed(*one)) for one in zip(keys, graphs))
        )
        for k, (key, needed, count) in enumerate(zip(keys, graphs, counts)):
            for offset, n in piece_spans(count, most):
                yield DaskPiece(self.file, k, offset, n, key, needed)


def _held(frame: Any) -> bool:
    """Say whether workers hold parts of a frame as results."""
    try:
        return bool(import_module("distributed").futures_of(frame))
    except ImportError:
        return False
