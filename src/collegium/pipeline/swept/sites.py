"""Rows of a store with their Gaussian sites, both on disk, and the chunks that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...answers.predictors import LocalPredictor
from ...laplace.committee import LaplaceCommittee
from ...numerics.records import record
from ...numerics.tree import place
from ...rows.rows import SiteRows
from ...rows.store.store import Store
from ..kept.disk import OnDisk, SeenCell, SeenRun, Stored
from ..tuning import TUNING
from .files import SiteFile, SitePart, SiteReader, site_rows, write_sites
from .targets import Targets

Array = np.ndarray


@record("pipeline.stored_sites/1")
@dataclass(frozen=True, eq=False)
class StoredSites:
    """Names the rows of a model of latent functions in a store, and the files of their sites.

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
        """Start with all rows of a store, before anything is known of them."""
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
        """Open the store, with the rows that this model has."""
        store = self.rows.open()
        if store.segment_names[: len(self.segments)] != self.segments:
            raise ValueError(
                f"the rows in {self.path} were sorted again for another model: go on with that "
                "one, or fit again"
            )
        return store

    def with_files(self, files: Sequence[SiteFile]) -> StoredSites:
        """Put all that is known into new files."""
        return replace(self, parts=(SitePart(0, self.size, tuple(files)),))

    def reader(self, k: int) -> SiteReader | None:
        """Read the sites of the k-th committee; None where nothing is known yet."""
        return SiteReader.of(self.parts, k) if self.parts else None

    def keep_files(self) -> None:
        for part in self.parts:
            for file in part.files:
                file.keep()

    def chunks(self, store: Store) -> list[Any]:
        """List the cells that the model was fitted to, and later chunks, in order."""
        found: list[Any] = []
        offsets = store.offsets()
        for cell in store.chunks():
            if offsets[cell.id[0]] < self.n:
                found.append(SiteCell(cell, as_stored, offsets[cell.id[0]]))
        if self.rows.runs:
            later = store.positions(self.first, self.rows.next_row)
            numbers = store.ids(later)
            for id, first, n in self.rows.runs:
                a, b = np.searchsorted(numbers, [first, first + n])
                if b > a:
                    start, own = self.n + first - self.first, (store, later[a:b], as_stored)
                    found.append(SiteRun(id, *own, numbers[a:b] - first, (start, start + n)))
        return sorted(found, key=lambda one: place(one.id))

    def predictors(
        self, committees: Sequence[LaplaceCommittee], k: int
    ) -> tuple[LocalPredictor, ...]:
        """Predict each latent function from anchors and the k rows nearest to a query."""
        store = self.open()
        near = OnDisk(store, as_stored, self.rows.metric)
        most, found = min(k, len(store)), []
        for k, one in enumerate(committees):
            for j in range(one.likelihood.latents):
                rows = StoredSiteRows(store, SiteReader.of(self.parts, k), j, self.n, self.first)
                found.append(LocalPredictor(one.latent(j), rows, near, most, lasting=False))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class StoredSiteRows:
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


def as_stored(y: Array) -> Array:
    """Targets of a store as they are: each committee sees its own."""
    return y


@dataclass(frozen=True, eq=False)
class SiteCell(SeenCell):
    """A cell of a store, and where the sites of its rows are."""

    offset: int  # position of the first row of its segment

    @cached_property
    def span(self) -> tuple[int, int]:
        """Rows of the files, forgotten ones too."""
        start, c = self.own.segment.start, self.own.id[1]
        return self.offset + int(start[c]), self.offset + int(start[c + 1])

    @property
    def alive(self) -> slice | Array:
        """Rows of the span that are not forgotten."""
        own = self.own.segment.cell(self.own.id[1])
        return slice(None) if isinstance(own, slice) else own - (self.span[0] - self.offset)


@dataclass(frozen=True, eq=False)
class SiteRun(SeenRun):
    """A chunk that came later; its sites lie side by side."""

    alive: Array  # of the span
    span: tuple[int, int]


def with_part(stored: StoredSites, values: Sequence[Array]) -> StoredSites:
    """Add sites of later rows  (n, 3, K) of each committee, up to the last row.

    Files at the end that are less than twice as large become one, so that there are few.
    """
    n, kept = values[0].shape[0], list(stored.parts)
    start = stored.size - n
    while kept and kept[-1].stop - kept[-1].start < 2 * (stored.size - start):
        start = kept.pop().start
    files = [SiteFile.create(stored.path, stored.size - start, one.shape[2]) for one in values]
    grown = SitePart(start, stored.size, tuple(files))
    try:
        for k, (file, new) in enumerate(zip(files, values)):
            for part in stored.parts[len(kept) :]:
                reader = SiteReader.of([part], k)
                for a in range(part.start, part.stop, TUNING.sweeps.copied):
                    b = min(a + TUNING.sweeps.copied, part.stop)
                    write_sites(file.path, a - start, reader.span(a, b))
            write_sites(file.path, stored.size - n - start, new)
            file.settled()
    except BaseException:
        grown.discard()
        raise
    return replace(stored, parts=(*kept, grown))
