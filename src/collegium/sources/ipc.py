"""Arrow IPC files (feather): pieces of record batches."""

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


@dataclass(frozen=True, eq=False)
class IpcPiece:
    """Rows of one record batch."""

    file: str
    group: int
    offset: int
    n: int
    end: int  # rows of the batch

    def read(self, names: Sequence[str]) -> Array:
        return self._take(names)

    def columns(self, names: Sequence[str]) -> list[Found]:
        return self._take(names, columns)

    def _take(self, names: Sequence[str], *make: Any) -> Any:
        rows = self.offset, self.n, self.end
        return take(self.file, self.group, names, rows, lambda: self._batches(names), *make)

    def _batches(self, names: Sequence[str]) -> Iterable[Any]:
        """Map the batch; compressed columns are unpacked here as a whole."""
        pa, ipc = pyarrow(), pyarrow("ipc")
        mapped = pa.memory_map(self.file)
        at = [ipc.open_file(mapped).schema.get_field_index(name) for name in names]
        options = ipc.IpcReadOptions(included_fields=sorted(at), use_threads=False)
        return [ipc.open_file(mapped, options=options).get_batch(self.group)]


@dataclass(frozen=True, eq=False)
class IpcTable:
    """An Arrow IPC file: its schema and the rows of each of its record batches."""

    file: str
    types: dict[str, Type]
    groups: tuple[int, ...]
    target: tuple[str, ...] = ()
    stamps: tuple[Stamp, ...] = ()

    @classmethod
    def of(cls, path: str) -> IpcTable:
        pa, ipc = pyarrow(), pyarrow("ipc")
        try:
            # any one column tells the number of rows of a batch
            options = ipc.IpcReadOptions(included_fields=[0], use_threads=False)
            with pa.memory_map(path) as mapped:
                schema = ipc.open_file(mapped).schema
                file = ipc.open_file(mapped, options=options)
                groups = tuple(file.get_batch(g).num_rows for g in range(file.num_record_batches))
        except (ValueError, OSError) as error:
            raise ValueError(
                f"{path} is not a complete Arrow IPC file ({error}): it was cut short, is still "
                "being written or is a stream; write it with pyarrow.feather.write_feather, or "
                "leave it out"
            ) from error
        unique(path, schema.names)
        return cls(path, {field.name: type_of(field.type) for field in schema}, groups)

    def pieces(self, most: int) -> Iterator[IpcPiece]:
        for group, rows in enumerate(self.groups):
            for offset, n in piece_spans(rows, most):
                yield IpcPiece(self.file, group, offset, n, rows)
