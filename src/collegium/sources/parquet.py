"""Parquet files: pieces of row groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..tables.reading import Found
from .arrow import columns, pyarrow, take, type_of
from .pieces import Type, piece_spans, unique
from .stamps import Stamp

Array = np.ndarray
#: Rows decoded at a time; bytes of a column read at a time.
BATCH, BUFFER = 16_384, 1 << 18


@dataclass(frozen=True, eq=False)
class ParquetPiece:
    """Rows of one row group."""

    file: str
    group: int
    offset: int
    n: int
    end: int  # rows of the group

    def read(self, names: Sequence[str]) -> Array:
        return self._take(names)

    def columns(self, names: Sequence[str]) -> list[Found]:
        return self._take(names, columns)

    def _take(self, names: Sequence[str], *make: Any) -> Any:
        rows = self.offset, self.n, self.end
        return take(self.file, self.group, names, rows, lambda: self._batches(names), *make)

    def _batches(self, names: Sequence[str]) -> Iterable[Any]:
        file = pyarrow("parquet").ParquetFile(
            self.file, pre_buffer=False, buffer_size=BUFFER, page_checksum_verification=True
        )
        return file.iter_batches(BATCH, [self.group], list(names), use_threads=False)


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """A Parquet file: its schema and the rows of each of its row groups."""

    file: str
    types: dict[str, Type]
    groups: tuple[int, ...]
    target: tuple[str, ...] = ()
    stamps: tuple[Stamp, ...] = ()

    @classmethod
    def of(cls, path: str) -> ParquetTable:
        module = pyarrow("parquet")
        try:
            with module.ParquetFile(path, pre_buffer=False) as file:
                schema, meta = file.schema_arrow, file.metadata
                groups = tuple(meta.row_group(g).num_rows for g in range(meta.num_row_groups))
        except (ValueError, OSError) as error:
            raise ValueError(
                f"{path} is not a complete Parquet file ({error}): it was cut short or is still "
                "being written; write it again, or leave it out"
            ) from error
        unique(path, schema.names)
        return cls(path, {field.name: type_of(field.type) for field in schema}, groups)

    def pieces(self, most: int) -> Iterator[ParquetPiece]:
        for group, rows in enumerate(self.groups):
            for offset, n in piece_spans(rows, most):
                yield ParquetPiece(self.file, group, offset, n, rows)
