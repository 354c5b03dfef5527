"""Models of some rows of a ledger: in memory where they are few, else from the store beside it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..messages.total import Total
from ..numerics.tree import place
from ..pipeline.kept.lent import View
from ..pipeline.stream.assembling import CountedRows
from ..rows.ids import Id
from ..rows.store.segment import DamagedRows
from .state import RunningTotal, State
from .storage.beside import Held, HeldChunk, ReadChunk, RowsBeside, RowSum, chunk_key
from .storage.chunks import ChunkEntry, ChunkTable
from .table import GivenRows
from .template import Template
from .tuning import TUNING

Array = np.ndarray
#: Positions of rows by key of chunk; None: all of them.
Group = dict[int, list[int] | None]


@dataclass(frozen=True)
class Picked:
    """A chunk, or some of its rows."""

    entry: ChunkEntry
    at: Array | None = None  # positions, ascending; None: all

    @property
    def n(self) -> int:
        return self.entry.n if self.at is None else self.at.size

    def rows(self, table: ChunkTable) -> GivenRows:
        rows = table.rows(self.entry)
        return rows if self.at is None else rows.take(self.at)


def all_of(entries: Iterable[ChunkEntry]) -> list[Picked]:
    """Pick whole chunks, in the order of ids."""
    return [Picked(one) for one in sorted(entries, key=lambda one: place(one.id))]


@dataclass(frozen=True)
class Divided:
    """The chunks that count, divided by a group of their rows."""

    whole: list[Picked]  # chunks that have rows of the group
    inside: list[Picked]  # rows of the group
    outside: list[Picked]  # other rows of these chunks
    others: list[Picked]  # chunks without rows of the group

    @classmethod
    def by(cls, state: State, group: Group) -> Divided:
        found = cls([], [], [], [])
        for one in state.ordered():
            at = group.get(one.key, [])
            if at == []:
                found.others.append(Picked(one))
                continue
            found.whole.append(Picked(one))
            if at is None or len(at) == one.n:
                found.inside.append(Picked(one))
                continue
            some = np.zeros(one.n, dtype=bool)
            some[at] = True
            found.inside.append(Picked(one, np.flatnonzero(some)))
            found.outside.append(Picked(one, np.flatnonzero(~some)))
        return found

    @property
    def rest(self) -> list[Picked]:
        """All rows but those of the group, in the order of ids."""
        return sorted(self.others + self.outside, key=lambda one: place(one.entry.id))


@dataclass(frozen=True)
class Models:
    """Makes models of rows of a ledger as it is seen now."""

    template: Template
    state: State
    table: ChunkTable
    beside: RowsBeside

    def parts(self, picked: Iterable[Picked]) -> Iterator[tuple[Id, GivenRows]]:
        """Read rows, one chunk after the other."""
        return ((one.entry.id, one.rows(self.table)) for one in picked)

    def in_memory(self, n: int) -> bool:
        """Whether so many rows are read into memory."""
        return n <= TUNING.rows_in_memory or not self.template.exact

    def total(self, picked: Iterable[Picked]) -> Total | None:
        """Σ messages of these rows alone."""
        return RunningTotal(self.template, None).all(self.parts(picked)).result()

    def total_changed(self, gone: Iterable[Picked], new: Iterable[Picked]) -> Total | None:
        """Σ messages of all rows that count, without some and with others."""
        found = RunningTotal(self.template, self.state.total)
        found.all(self.parts(gone), lost=True)
        return found.all(self.parts(new)).result()

    def total_without(self, group: Divided) -> Total | None:
        """Σ messages of all rows that count but those of a group."""
        return self.total_changed(group.whole, group.outside)

    def of(self, picked: list[Picked], total: Total | None) -> Any:
        """Make the model of these rows, in the order of their ids, whose messages have this sum."""
        if self.in_memory(sum(one.n for one in picked)):
            return self.template.model([*self.parts(picked)], total)
        if self.template.keeps_rows:
            return self._of_store(picked, total)
        named = [self.template.counted(*one) for one in self.parts(picked)]
        return self.template.of_store(named, total, None)

    def _of_store(self, picked: list[Picked], total: Total | None) -> Any:
        by_key = {chunk_key(one.entry.id, one.entry.sha256): one for one in picked}
        try:
            return self._lent(by_key, total)
        except DamagedRows:
            self.beside.remove()
            return self._lent(by_key, total)

    def _lent(self, picked: dict[str, Picked], total: Total | None) -> Any:
        """Make a model of rows of the store, which is brought up to date before."""

        entries = {key: one.entry for key, one in picked.items()}
        for one in self.state.entries.values():  # parts of them are asked for next, or all
            entries[chunk_key(one.id, one.sha256)] = one

        def read(keys: Collection[str]) -> Iterator[ReadChunk]:
            for key in keys:
                entry = entries[key]
                yield self.template.read(key, entry.id, self.table.rows(entry))

        sizes = {key: one.n for key, one in entries.items()}
        held = self.beside.with_chunks(self.template.id, sizes, read)
        hidden = [_numbers(one) for key, one in held.chunks.items() if key not in picked]
        named, changed = list[CountedRows](), list[tuple[Array, Array]]()
        for key, part in picked.items():
            own = held.chunks[key]
            if part.at is None:
                named.append(CountedRows(part.entry.id, own.parts, own.weight))
                continue
            rows, rest = self.table.rows(part.entry), part.rows(self.table)
            left = self.template.left(rows, rest)
            hidden.append(_numbers(own)[left == 0.0])
            changed.append((_numbers(own)[left > 0.0], left[left > 0.0]))
            named.append(self.template.counted(part.entry.id, rest))
        view = View(held.store, held.mark, _sorted(hidden), *_by_number(changed))
        return self.template.of_store(named, total, view)

    def check_beside(self) -> str:
        """Compare the rows of the store with those of the ledger; others are removed."""
        if not self.beside.path.exists():
            return "none"
        held = self.beside.held(self.template.id)
        if held is not None and self._right(held):
            return "whole"
        self.beside.remove()
        return "damaged, and removed: the next model builds it again"

    def _right(self, held: Held) -> bool:
        """Whether a store has the rows of the ledger, as they are in it."""
        own = {chunk_key(one.id, one.sha256): one for one in self.table.entries()}
        if not held.chunks.keys() <= own.keys():
            return False
        wanted = RowSum()
        for key, chunk in held.chunks.items():
            read = self.template.read(key, own[key].id, self.table.rows(own[key]))
            wanted = wanted.plus(*read.rows.fields(), np.arange(read.rows.w.size) + chunk.first)
        found = RowSum()
        try:
            for one in held.store.records():
                found = found.plus(one["X"], one["y"], one["w"], one["id"])
        except DamagedRows:
            return False
        return found == wanted


def _numbers(one: HeldChunk) -> Array:
    return np.arange(one.first, one.first + one.n, dtype=np.int64)


def _sorted(parts: list[Array]) -> Array:
    return np.sort(np.concatenate([np.empty(0, np.int64), *parts]))


def _by_number(changed: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    numbers = np.concatenate([np.empty(0, np.int64), *(one for one, _ in changed)])
    weights = np.concatenate([np.empty(0), *(w for _, w in changed)])
    order = np.argsort(numbers)
    return numbers[order], weights[order]


def known_keys(entries: Iterable[ChunkEntry]) -> set[str]:
    """Hash all versions of chunks, as the store beside a ledger names them."""
    return {chunk_key(one.id, one.sha256) for one in entries}
