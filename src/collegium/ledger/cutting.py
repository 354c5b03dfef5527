"""Rows of chunks as the model uses them, kept so that the next model need not read them again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..pipeline.stream.assembling import NamedRows
from ..rows.ids import Id
from .storage.chunks import ChunkEntry, ChunkTable
from .template import Template

Key = tuple[int, Id, str]


def _key(entry: ChunkEntry) -> Key:
    return entry.key, entry.id, entry.sha256


class CutRows:
    """Rows by version of chunk, cut on one basis; a model shares them."""

    def __init__(self) -> None:
        self._basis: tuple[str, tuple[str, ...] | None] | None = None
        self._own: dict[Key, NamedRows] = {}

    def _begin(self, template: Template) -> None:
        basis = template.id, template.names
        if self._basis != basis:
            self._basis, self._own = basis, {}

    def note(self, template: Template, entry: ChunkEntry, named: NamedRows | None) -> None:
        """Keep the rows of a new chunk."""
        if named is not None:
            self._begin(template)
            self._own[_key(entry)] = named

    def of(
        self, template: Template, table: ChunkTable, entries: Sequence[ChunkEntry]
    ) -> list[NamedRows]:
        """Return the rows of chunks, in their order; others than these are kept no longer."""
        self._begin(template)
        known, found = self._own, {}
        for one in entries:
            key = _key(one)
            found[key] = known[key] if key in known else template.named(one.id, table.rows(one))
        self._own = found
        return list(found.values())

    def keep_only(self, entries: Iterable[ChunkEntry]) -> None:
        """Drop the rows of chunks that count no more."""
        keys = {_key(one) for one in entries}
        self._own = {key: one for key, one in self._own.items() if key in keys}
