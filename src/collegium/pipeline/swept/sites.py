"""Rows of a store with their Gaussian sites, both on disk, and the chunks that they make."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...answers.predictors import Local
from ...laplace.committee import LaplaceCommittee
from ...numerics.records import record
from ...numerics.tree import place
from ...rows.ids import Id
from ...rows.rows import SiteRows
from ...rows.scaling import Scaling
from ...rows.store.segment import StoredCell
from ...rows.store.store import Store
from ..sums import of_id
from .files import SiteFile, SitePart, SiteReader, site_rows
from ..kept.disk import OnDisk, Stored
from .targets import Targets

Array = np.ndarray


@record("committee.stored_sites/1")
@dataclass(frozen=True, eq=False)
class StoredSites:
    """Where the rows of a model of latent functions are, and what it knows of each.

    Rows that it was fitted to are known by their positions, which stay; later ones by their
    numbers: row number r is at n + r − first.
    """

    rows: Stored
    sees: Targets
    segments: tuple[str, ...]  # that it was fitted to
    n: int  # rows of these, forgotten ones too
    first: int  # the least number of later rows
    parts: tuple[SitePart, ...] = ()

    @classmethod
    def begin(cls, rows: Stored, sees: Targets, store: Store) -> StoredSites:
        """Of all rows of a store, before anything is known of them."""
        return cls(rows, sees, store.segment_names, store.n_positions, rows.next_row)

    @property
    def path(self) -> str:
        return self.rows.path

    @property
    def next_row(self) -> int:
        return self.rows.next_row

    @property
    def size(self) -> int:
        """Rows of all files."""
        return self.n + self.rows.next_row - self.first

    def open(self) -> Store:
        """The store, with the rows that this model has."""
        store = self.rows.open()
        if store.segment_names[: len(self.segments)] != self.segments:
            raise ValueError(
                f"the rows in {self.path} were sorted anew for another model: go on with that "
                "one, or fit again"
            )
        return store

    def with_files(self, files: Sequence[SiteFile]) -> StoredSites:
        """All that is known, in new files."""
        return replace(self, parts=(SitePart(0, self.size, tuple(files)),))

    def without(self, ids: Collection[Id]) -> StoredSites:
        """Without later chunks of these ids."""
        runs = tuple(run for run in self.rows.runs if of_id(run[0]) not in ids)
        return replace(self, rows=replace(self.rows, runs=runs))

    def readers(self, count: int) -> list[SiteReader]:
        """Of each of the committees."""
        return [SiteReader.of(self.parts, k) for k in range(count)]

    def keep_files(self) -> None:
        for part in self.parts:
            for file in part.files:
                file.keep()

    def on_disk(self, store: Store | None = None) -> OnDisk:
        """Who finds the nearest rows."""
        return OnDisk(store or self.open(), Scaling.none(), None, self.rows.metric)

    def chunks(self, store: Store) -> list[Any]:
        """Cells of the rows that the model was fitted to, and later chunks, in order."""
        found: list[Any] = []
        offsets = store.offsets()
        for cell in store.chunks():
            if offsets[cell.id[0]] < self.n:
                found.append(SiteCell(cell, offsets[cell.id[0]]))
        if self.rows.runs:
            later = store.positions(self.first, self.rows.next_row)
            numbers = store.ids(later)
            for id, first, n in self.rows.runs:
                a, b = np.searchsorted(numbers, [first, first + n])
                if b > a:
                    start = self.n + first - self.first
                    alive = numbers[a:b] - first
                    found.append(SiteRun(id, store, later[a:b], alive, start, start + n))
        return sorted(found, key=lambda one: place(one.id))

    def predictors(self, committees: Sequence[LaplaceCommittee], k: int) -> tuple[Local, ...]:
        """Who answers for each latent function from anchors and the k rows nearest to a query."""
        store = self.open()
        near = self.on_disk(store)
        most, found = min(k, len(store)), []
        for reader, one in zip(self.readers(len(committees)), committees):
            for j in range(one.likelihood.latents):
                rows = SitesOnDisk(store, reader, j, self.n, self.first)
                found.append(Local(one.latent(j), rows, near, most, lasting=False))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class SitesOnDisk:
    """Rows of a store by their positions, with the sites of one latent function."""

    store: Store
    reader: SiteReader
    k: int
    n: int  # see `StoredSites`
    first: int

    def take(self, positions: Array) -> SiteRows:
        X = np.asarray(self.store.inputs(positions), np.float64)
        return site_rows(X, self.reader.take(self._index(positions)), self.k)

    def _index(self, positions: Array) -> Array:
        index, later = np.array(positions, np.int64), positions >= self.n
        if later.any():
            numbers = self.store.ids(positions[later])
            index[later] = self.n + numbers - self.first
        return index


@dataclass(frozen=True, eq=False)
class SiteCell:
    """A cell of a store, and where the sites of its rows are."""

    own: StoredCell
    offset: int  # position of the first row of its segment

    @property
    def id(self) -> int:
        return self.own.number

    @property
    def n(self) -> int:
        return self.own.n

    @cached_property
    def span(self) -> tuple[int, int]:
        """Rows of the files, forgotten ones too."""
        start, c = self.own.segment.start, self.own.id[1]
        return self.offset + int(start[c]), self.offset + int(start[c + 1])

    @property
    def alive(self) -> slice | Array:
        """Those of the span that are not forgotten."""
        own = self.own.segment.cell(self.own.id[1])
        return slice(None) if isinstance(own, slice) else own - (self.span[0] - self.offset)

    def load(self) -> tuple[Array, Array, Array]:
        X, y, w = (np.asarray(part, np.float64) for part in self.own.load())
        return X, y, w

    def numbers(self) -> Array:
        return self.own.ids


@dataclass(frozen=True, eq=False)
class SiteRun:
    """A chunk that came later; its rows lie anywhere in the store, its sites side by side."""

    id: Any
    store: Store
    positions: Array
    alive: Array  # of the span
    start: int
    stop: int

    @property
    def n(self) -> int:
        return self.positions.size

    @property
    def span(self) -> tuple[int, int]:
        return self.start, self.stop

    def load(self) -> tuple[Array, Array, Array]:
        X, y, w = (np.asarray(part, np.float64) for part in self.store.take(self.positions))
        return X, y, w

    def numbers(self) -> Array:
        return self.store.ids(self.positions)
