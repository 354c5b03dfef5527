"""Ids of chunks: numbers in the order of arrival, or numbers and names given by users.

A stream without given ids needs one range of numbers, however long it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..numerics.records import record
from ..numerics.tree import place
from .chunk import Chunk, rows_of

Array = np.ndarray
Id = int | str


def digest(chunks: Iterable[Chunk]) -> str:
    """sha256 of rows cut into chunks; equal if they are equal to the last bit."""
    found = hashlib.sha256()
    for chunk in chunks:
        rows = rows_of(chunk)
        known = () if rows.extra is None else (rows.extra,)
        found.update(repr((rows.X.shape, rows.y.shape)).encode())
        for values in (*rows.fields(), *known):
            found.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
    return found.hexdigest()


def id_of_parts(chunk_id: Any) -> Id:
    """Take the id that all parts of a chunk share."""
    return chunk_id[0] if isinstance(chunk_id, tuple) else chunk_id


@record("rows.receipt/1")
@dataclass(frozen=True)
class Receipt:
    """A record of a chunk whose rows were not kept."""

    id: Id
    digest: str  # of its rows, targets scaled
    anchors: int  # number of anchors when it was added


@record("rows.chunk_ids/1")
@dataclass(frozen=True)
class ChunkIds:
    """The ids of all chunks of a model; receipts of those given by users and not kept."""

    ranges: tuple[tuple[int, int], ...] = ()  # [first, last), ascending, with gaps between
    names: tuple[str, ...] = ()  # ascending
    receipts: tuple[Receipt, ...] = ()
    given: bool = False  # whether some were given by the user
    counted: tuple[tuple[int, int], ...] = ()  # ranges of numbers that were not given by the user

    @classmethod
    def of(cls, ids: Iterable[Id], *, given: bool = True, counted: Iterable[Id] = ()) -> ChunkIds:
        """List ids; `counted`: those that were not given by the user."""
        numbers, names = set[int](), set[str]()
        for id in ids:
            names.add(id) if isinstance(id, str) else numbers.add(id)
        ours = numbers.intersection(counted)
        return cls(_singles(numbers), tuple(sorted(names)), given=given, counted=_singles(ours))

    @classmethod
    def of_owners(cls, owners: Owners) -> ChunkIds:
        """List the ids that rows came with."""
        return cls.of(map(id_of_parts, owners.ids), counted=owners.counted)

    @classmethod
    def numbered(cls, count: int) -> ChunkIds:
        ranges = _ranges([(0, count)])
        return cls(ranges, counted=ranges)

    @property
    def next(self) -> int:
        """Smallest number above all ids."""
        return self.ranges[-1][1] if self.ranges else 0

    def __contains__(self, id: Id) -> bool:
        if isinstance(id, str):
            return id in self.names
        return any(first <= id < last for first, last in self.ranges)

    def listed(self) -> list[Id]:
        """List numbers, then names, ascending."""
        numbers = [k for first, last in self.ranges for k in range(first, last)]
        return [*numbers, *self.names]

    def named(self) -> ChunkIds:
        """Keep those that were given by the user: rows that a person can mean."""
        return self.without(ChunkIds(self.counted).listed()) if self.counted else self

    def more(self, count: int) -> ChunkIds:
        """Append so many further numbers."""
        new = self.next, self.next + count
        return replace(
            self, ranges=_ranges([*self.ranges, new]), counted=_ranges([*self.counted, new])
        )

    def without(self, ids: Collection[Id]) -> ChunkIds:
        """Remove ids that it contains."""
        gone = ChunkIds.of(ids)
        names = tuple(name for name in self.names if name not in gone.names)
        receipts = tuple(one for one in self.receipts if one.id not in gone)
        ranges, counted = (_less(own, gone.ranges) for own in (self.ranges, self.counted))
        return ChunkIds(ranges, names, receipts, self.given, counted)

    def common(self, other: ChunkIds) -> list[Id]:
        """List the ids that both contain."""
        pairs = [(a, b) for a in self.ranges for b in other.ranges]
        both = [(max(a[0], b[0]), min(a[1], b[1])) for a, b in pairs]
        names = tuple(name for name in self.names if name in set(other.names))
        return ChunkIds(_ranges(both), names).listed()

    def __add__(self, other: ChunkIds) -> ChunkIds:
        names = tuple(sorted({*self.names, *other.names}))
        receipts = sorted((*self.receipts, *other.receipts), key=lambda one: place(one.id))
        ranges = _ranges([*self.ranges, *other.ranges])
        counted = _ranges([*self.counted, *other.counted])
        return ChunkIds(ranges, names, tuple(receipts), self.given or other.given, counted)

    def with_receipts(self, chunks: Iterable[Chunk], anchors: int) -> ChunkIds:
        """Add receipts for those chunks whose ids were given by users."""
        parts = dict[Id, list[Chunk]]()
        for chunk in chunks:
            if isinstance(chunk.id, tuple):
                parts.setdefault(chunk.id[0], []).append(chunk)
        new = [Receipt(id, digest(own), anchors) for id, own in parts.items()]
        return replace(self, receipts=(*self.receipts, *new))

    def without_receipts(self) -> ChunkIds:
        """Drop all receipts: after the basis has changed no earlier message can be subtracted."""
        return replace(self, receipts=())

    def receipt(self, id: Id | None) -> Receipt | None:
        return next((one for one in self.receipts if one.id == id), None)


def _singles(numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Join numbers to ranges."""
    return _ranges([(k, k + 1) for k in numbers])


def _less(
    ranges: Iterable[tuple[int, int]], gone: Iterable[tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    """Take ranges out of others."""
    left = list(ranges)
    for start, stop in gone:
        left = [
            part
            for first, last in left
            for part in ((first, min(last, start)), (max(first, stop), last))
        ]
    return _ranges(left)


def _ranges(parts: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Sort ranges, join those that touch, drop empty ones."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(part for part in parts if part[0] < part[1]):
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return tuple(found)


@record("rows.owners/1")
@dataclass(frozen=True, eq=False)
class Owners:
    """The chunk id that each of some rows came with."""

    ids: tuple[Id, ...]  # ascending
    of_row: Array  # positions among the ids  (n,)
    counted: tuple[int, ...] = ()  # those of the ids that were not given by the user

    @classmethod
    def of(cls, runs: Iterable[tuple[Id, int]], known: ChunkIds | None = None) -> Owners:
        """Make the owners of runs of rows: an id and the number of its rows; `known`: ids of a
        model, which tell those that were not given by the user."""
        runs = list(runs)
        ids = sorted({id for id, _ in runs}, key=place)
        at = {id: k for k, id in enumerate(ids)}
        of_row = np.repeat(np.array([at[id] for id, _ in runs], dtype=int), [n for _, n in runs])
        ours = ChunkIds() if known is None else ChunkIds(known.counted)
        counted = {id for id in map(id_of_parts, ids) if isinstance(id, int) and id in ours}
        return cls(tuple(ids), of_row, tuple(sorted(counted)))

    @classmethod
    def labelled(cls, ids: Sequence[Id], number: Array) -> Owners:
        """Make the owners of rows whose ids are ids[number]."""
        order = sorted(range(len(ids)), key=lambda k: place(ids[k]))
        return cls(tuple(ids[k] for k in order), np.argsort(order)[number])

    def __add__(self, other: Owners) -> Owners:
        """Append the owners of further rows."""
        ids = tuple(sorted({*self.ids, *other.ids}, key=place))
        moved = [
            np.array([ids.index(id) for id in one.ids], dtype=int)[one.of_row]
            for one in (self, other)
        ]
        counted = tuple(sorted({*self.counted, *other.counted}))
        return Owners(ids, np.concatenate(moved), counted)

    def others(self, ids: Collection[Id]) -> Array:
        """Whether each row has none of these ids  (n,)."""
        gone = np.array([id in ids for id in self.ids], dtype=bool)
        return ~gone[self.of_row]

    def take(self, index: Array) -> Owners:
        """Select rows; ids without rows are dropped."""
        used, of_row = np.unique(self.of_row[index], return_inverse=True)
        ids = tuple(self.ids[i] for i in used)
        return Owners(ids, of_row, tuple(id for id in self.counted if id in ids))
