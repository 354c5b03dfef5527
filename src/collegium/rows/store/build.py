"""Rows sorted into a segment in bounded memory.

A hash sample gives median planes, one pass routes rows into bucket files, and each bucket is
bisected alone. The files depend on rows and their numbers only, not on blocks.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from ...numerics.durable import replacing, sync, sync_folder
from ...numerics.fingerprint import splitmix64
from ..partition import first_of_equals
from .cells import Planes, bisect, median_planes, spreads
from .checksums import cell_checksums, checksum, words
from .folder import ROUTED
from .records import Block, Schema, gathered, pack_blocks
from .sample import HashSample
from .segment import CELLS, COLUMNS
from .tuning import TUNING

Array = np.ndarray


class Incoming:
    """New rows and their hash sample: read once for the sample, and again for routing.

    Blocks that can be read only once (a generator) are kept in a file of records in between.
    """

    def __init__(self, blocks: Iterable[Block], work: Path, schema: Schema | None = None) -> None:
        self._blocks = blocks
        self._spool = work / "spool" if iter(blocks) is blocks else None
        self._spooled = Piled()
        self.sample: HashSample | None = None
        self.schema = schema
        self.first: int | None = None  # the least row number
        self.next = 0  # one above the largest row number
        kept = open(self._spool, "wb") if self._spool else None
        try:
            for one in gathered(self._spooling(pack_blocks(blocks, schema), kept)):
                self._take(one)
        finally:
            if kept:
                kept.close()

    def _spooling(self, records: Iterator[Array], kept: Any) -> Iterator[Array]:
        """Keep records that can be read only once."""
        for one in records:
            if kept:
                self._spooled = self._spooled.plus(one)
                write_bytes(kept, one)
            yield one

    def _take(self, records: Array) -> None:
        if self.sample is None:
            self.schema = self.schema or schema_of(records)
            self.sample = sample_for(self.schema)
        self.sample.add(records)
        if len(records):
            low = int(records["id"].min())
            self.first = low if self.first is None else min(self.first, low)
            self.next = max(self.next, int(records["id"].max()) + 1)

    def records(self) -> Iterator[Array]:
        """Read all rows again."""
        if self._spool is None:
            yield from pack_blocks(self._blocks, self.schema)
        else:
            assert self.schema is not None
            found = Piled()
            for one in _pieces(self._spool, self.schema.dtype):
                found = found.plus(one)
                yield one
            found.check(self._spooled, self._spool)


def sample_for(schema: Schema) -> HashSample:
    """Start the sample that places the planes."""
    most = TUNING.sample_bytes // schema.dtype.itemsize
    return HashSample(min(TUNING.sample_rows, max(256, most)))


def schema_of(records: Array) -> Schema:
    return Schema.of(records["X"], records["y"], records["w"])


def _pieces(path: Path, dtype: np.dtype) -> Iterator[Array]:
    step = max(1, TUNING.bucket_bytes // 4 // dtype.itemsize)
    with open(path, "rb") as file:
        while len(found := np.fromfile(file, dtype, step)):
            yield found


def write_bytes(file: Any, values: Array) -> None:
    """Write the bytes of an array; a full disk is an OSError, not a signal."""
    file.write(np.ascontiguousarray(values).reshape(-1).view(np.uint8))


@dataclass(frozen=True)
class Piled:
    """Number and checksum of the records that were written to a file, or read from it."""

    rows: int = 0
    sum: int = 0

    def plus(self, records: Array) -> Piled:
        own = words(np.ascontiguousarray(records))
        first = self.rows * (own.size // max(1, len(records)))
        sum = (self.sum + int(checksum(own, first))) % 2**64
        return Piled(self.rows + len(records), sum)

    def check(self, written: Piled, path: Path) -> None:
        """Refuse a file from which other records are read than were written."""
        if self != written:
            raise ValueError(
                f"{path} is damaged: {written.rows} rows were written, and {self.rows} or others "
                "are read. Check the disk, and start again"
            )


@dataclass(frozen=True, eq=False)
class Routed:
    """Rows in bucket files, and all that is needed to sort them."""

    schema: Schema
    n: int
    next_row: int  # above all row numbers
    spread: Array  # (d,)
    planes: Planes
    merge: bool  # whether equal rows become one
    buckets: tuple[Piled, ...]

    def save(self, work: Path, token: str) -> None:
        """Record that all rows are in their buckets; `token` identifies the rows and the order."""
        own = asdict(self.schema) | {"n": self.n, "next_row": self.next_row, "merge": self.merge}
        said = json.dumps({"token": token, "known": own})
        parts = {"spread": self.spread, **vars(self.planes)}
        parts["rows"] = np.array([one.rows for one in self.buckets])
        parts["sums"] = np.array([one.sum for one in self.buckets], np.uint64)
        sync_folder(work)
        with replacing(work / ROUTED) as file:
            np.savez(file, said=np.array(said), **parts)

    @classmethod
    def found(cls, work: Path, token: str) -> Routed | None:
        """Load what an earlier process left of the same work; None if it is not there or not all
        of it."""
        try:
            with np.load(work / ROUTED) as parts:
                said = json.loads(str(parts["said"]))
                planes = Planes(*(parts[name] for name in ("axis", "value", "id")))
                known, spread = said["known"], parts["spread"]
                buckets = tuple(map(Piled, parts["rows"].tolist(), parts["sums"].tolist()))
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return None
        if not token or said["token"] != token:
            return None
        schema = Schema(**{name: known[name] for name in ("d", "p", "X", "y", "w")})
        found = cls(schema, known["n"], known["next_row"], spread, planes, known["merge"], buckets)
        return found if found._is_there(work) else None

    def _is_there(self, work: Path) -> bool:
        size = self.schema.dtype.itemsize
        return sum(one.rows for one in self.buckets) == self.n and all(
            not one.rows or _size(_bucket(work, k)) == one.rows * size
            for k, one in enumerate(self.buckets)
        )

    def intact(self, work: Path) -> bool:
        """Say whether all buckets hold what was written to them."""
        try:
            for k in range(len(self.buckets)):
                self.bucket(work, k)
        except (OSError, ValueError):
            return False
        return True

    def bucket(self, work: Path, k: int) -> Array:
        """Read the rows of a bucket; an error if they are not those that were put there."""
        path, written = _bucket(work, k), self.buckets[k]
        if not written.rows:
            return np.empty(0, self.schema.dtype)
        found = np.fromfile(path, self.schema.dtype)
        Piled().plus(found).check(written, path)
        return found


def route_rows(
    work: Path, schema: Schema, sample: HashSample, source: Callable[[], Iterable[Array]],
    next_row: int, *, merge: bool = False,
) -> Routed:  # fmt: skip
    """Put the rows of `source`, which `sample` has seen, into bucket files.

    With `merge` equal rows share a bucket, where they become one.
    """
    tie = values_hash if merge else numbers
    chosen = sample.records()
    chosen = chosen[np.argsort(tie(chosen), kind="stable")]
    n, size = sample.seen, schema.dtype.itemsize
    levels = max(0, int(np.ceil(np.log2(n * size / TUNING.bucket_bytes))))
    levels = min(levels, int(np.log2(max(1, len(chosen) // TUNING.rows_per_plane))))
    spread = spreads(chosen["X"])
    planes = median_planes(chosen["X"], tie(chosen), spread, levels)
    buckets = _route(source(), planes, work, tie)
    if sum(one.rows for one in buckets) != n:
        raise ValueError("blocks gave other rows when read again: give a generator, or a list")
    return Routed(schema, n, next_row, spread, planes, merge, buckets)


def write_segment(work: Path, routed: Routed, cell_rows: int) -> dict[str, Any]:
    """Sort the rows of all buckets into work/segment; return its entry in the manifest."""
    folder, planes = work / "segment", routed.planes
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    cells, n = _sort_buckets(work, folder, routed, cell_rows)
    sync_folder(folder)
    files = {one.name: one.stat().st_size for one in sorted(folder.iterdir())}
    listed = [planes.axis.tolist(), planes.value.tolist(), planes.id.tolist()]
    sha256 = hashlib.sha256((folder / CELLS).read_bytes()).hexdigest()
    return {"rows": n, "cells": cells, "files": files, "planes": listed, "sha256": sha256}


def numbers(records: Array) -> Array:
    """Row numbers, by which ties are broken."""
    return records["id"]


def values_hash(records: Array) -> Array:
    """Hash X and y of each row  (n,)."""
    found = np.zeros(len(records), np.uint64)
    for name in ("X", "y"):
        for column in np.asarray(records[name], np.float64).T:
            found = splitmix64(found ^ (column + 0.0).view(np.uint64))  # −0 is 0
    return found.view(np.int64)


def merge_equal(records: Array) -> Array:
    """Merge equal rows into one, with their total weight and smallest number."""
    table = np.column_stack([records["X"], records["y"]]).astype(np.float64)
    first, number = first_of_equals(table)
    found = records[first]
    found["w"] = np.bincount(number, records["w"])
    return found[np.argsort(found["id"])]


def _route(
    source: Iterable[Array], planes: Planes, work: Path, tie: Callable[[Array], Array]
) -> tuple[Piled, ...]:
    """Append every row to the file of its bucket; when it returns, all are on the disk."""
    found = [Piled()] * (planes.axis.size + 1)
    for records in gathered(source):
        bucket = planes.buckets(records["X"], tie(records))
        order = np.argsort(bucket, kind="stable")
        records, bucket = records[order], bucket[order]
        starts = np.flatnonzero(np.diff(bucket, prepend=-1))
        for a, b in zip(starts, [*starts[1:], len(records)]):
            k = bucket[a]
            with open(_bucket(work, k), "ab") as file:
                write_bytes(file, records[a:b])
            found[k] = found[k].plus(records[a:b])
    for k, one in enumerate(found):
        if one.rows:
            with open(_bucket(work, k), "ab") as file:
                sync(file)
    return tuple(found)


def _bucket(work: Path, k: int) -> Path:
    return work / f"bucket-{k:05d}"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


@dataclass
class _Cells:
    start: list[Array]
    low: list[Array]
    high: list[Array]
    sums: list[Array]  # (4, cells)


def _sort_buckets(work: Path, folder: Path, routed: Routed, cell_rows: int) -> tuple[int, int]:
    """Write the rows of all buckets cell by cell; return the numbers of cells and of rows."""
    schema, n, cut = routed.schema, routed.n, (routed.spread, cell_rows)
    shapes = dict(zip(COLUMNS, ((n, schema.d), (n, schema.p), (n,), (n,))))
    files = {name: open(folder / f"{name}.npy", "wb") for name in shapes}
    cells, done = _Cells([], [], [], []), 0
    try:
        for name, shape in shapes.items():
            _write_header(files[name], schema.dtype[name].base, shape)
        for k in range(len(routed.buckets)):
            records = routed.bucket(work, k)
            if len(records):
                records = records[np.argsort(records["id"], kind="stable")]
                records = merge_equal(records) if routed.merge else records
                done += _sort_bucket(records, done, cells, files, cut)
        for name, file in files.items():
            if done < n:
                length = _write_header(file, schema.dtype[name].base, shapes[name])
                shape = done, *shapes[name][1:]
                assert _write_header(file, schema.dtype[name].base, shape) == length
            sync(file)
    finally:
        for file in files.values():
            file.close()
    low, high = np.concatenate(cells.low), np.concatenate(cells.high)
    start = np.concatenate([*cells.start, [done]])
    sums = np.concatenate(cells.sums, axis=1)
    with open(folder / CELLS, "wb") as boxes:
        np.savez(boxes, start=start, low=low, high=high, sums=sums)
        sync(boxes)
    return start.size - 1, done


def _sort_bucket(
    records: Array, done: int, cells: _Cells, files: dict[str, Any], cut: tuple[Array, int]
) -> int:
    """Append one bucket, rows by number, to the files cell by cell; return its number of rows."""
    found = bisect(np.ascontiguousarray(records["X"]), *cut)
    starts = np.cumsum([0, *(len(rows) for rows in found[:-1])])
    records = records[np.concatenate(found)]
    ends, sums = np.append(starts, len(records)), []
    for name in COLUMNS:
        values = np.ascontiguousarray(records[name])
        write_bytes(files[name], values)
        own = words(values)
        sums.append(cell_checksums(own, ends, own.size // len(records)))
    cells.sums.append(np.array(sums))
    cells.start.append(done + starts)
    cells.low.append(np.minimum.reduceat(records["X"], starts, axis=0))
    cells.high.append(np.maximum.reduceat(records["X"], starts, axis=0))
    return len(records)


def _write_header(file: Any, dtype: np.dtype, shape: tuple[int, ...]) -> int:
    """Write a header and return its length, which padding makes independent of the digits of n."""
    file.seek(0)
    descr = np.lib.format.dtype_to_descr(dtype)
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.tell()
