"""The state of a ledger: the chunks that count, and the exact sum of their messages."""

from __future__ import annotations

import hashlib
from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..messages.total import Total
from ..numerics.fingerprint import fingerprint
from ..numerics.tree import place
from ..rows.ids import Id
from .storage.chunks import ChunkEntry
from .table import GivenRows
from .tuning import TUNING

Line = tuple[tuple[bool, Any, int], str]


@dataclass(frozen=True, eq=False)
class State:
    """Chunks that count, and Σ messages about the basis."""

    basis: str  # its id; "": there is none
    total: Total | None  # None: messages do not add up, and are found anew
    entries: dict[Id, ChunkEntry]
    lines: tuple[Line, ...]  # place and text of each chunk, in the order of ids
    lsn: int = 0  # of the last event
    head: str = ""  # hash of the last event
    at: str = ""  # time of the last event

    @classmethod
    def of(cls, basis: str, total: Total | None, entries: Iterable[ChunkEntry]) -> State:
        own = {one.id: one for one in entries}
        lines = sorted((place(id), _line(one)) for id, one in own.items())
        return cls(basis, total, own, tuple(lines))

    @cached_property
    def hash(self) -> str:
        """sha256 of basis, sum and chunks: the same for the same rows, however they came."""
        found = hashlib.sha256(fingerprint(self.basis, self.total).encode())
        found.update("".join(text for _, text in self.lines).encode("utf-8", "surrogatepass"))
        return found.hexdigest()

    @cached_property
    def n(self) -> int:
        """Rows of all chunks."""
        return sum(one.n for one in self.entries.values())

    def ordered(self) -> list[ChunkEntry]:
        """List the chunks in the order of their ids."""
        return [self.entries[key[1]] for key, _ in self.lines]

    def plus(self, total: Total | None, *new: ChunkEntry) -> State:
        """Add chunks."""
        lines = list(self.lines)
        for one in new:
            insort(lines, (place(one.id), _line(one)))
        entries = {**self.entries, **{one.id: one for one in new}}
        return replace(self, total=total, entries=entries, lines=tuple(lines))

    def changed(
        self, total: Total | None, gone: Sequence[Id] = (), new: Sequence[ChunkEntry] = ()
    ) -> State:
        """Drop chunks, and add or replace others."""
        left = {id: one for id, one in self.entries.items() if id not in set(gone)}
        own = State.of(self.basis, total, (left | {one.id: one for one in new}).values())
        return replace(own, lsn=self.lsn, head=self.head, at=self.at)


def _line(one: ChunkEntry) -> str:
    return f"{one.id!r} {one.sha256}\n"


class RunningTotal:
    """total + Σ messages that were heard − Σ messages that were lost, where messages add up.

    They are added a batch of rows at a time, so that memory is bounded.
    """

    def __init__(self, template: Any, total: Total | None) -> None:
        self.template, self.total = template, total
        self._waiting: dict[bool, list[tuple[Id, GivenRows]]] = {False: [], True: []}
        self._n = 0

    def hear(self, id: Id, rows: GivenRows, *, lost: bool = False) -> None:
        """Add the messages of rows, or subtract them."""
        if self.template.exact:
            self._waiting[lost].append((id, rows))
            self._n += rows.n
            if self._n >= TUNING.batch:
                self._settle()

    def all(self, parts: Iterable[tuple[Id, GivenRows]], *, lost: bool = False) -> RunningTotal:
        """Add or subtract the messages of all parts."""
        if self.template.exact:
            for id, rows in parts:
                self.hear(id, rows, lost=lost)
        return self

    def _settle(self) -> None:
        new, gone = self._waiting[False], self._waiting[True]
        if gone:
            self.total = self.template.minus(self.total, gone)
        if new or self.total is None:
            self.total = self.template.plus(self.total, new)
        self._waiting, self._n = {False: [], True: []}, 0

    def result(self) -> Total | None:
        """Return the sum; None where messages do not add up."""
        if not self.template.exact:
            return None
        self._settle()
        return self.total
