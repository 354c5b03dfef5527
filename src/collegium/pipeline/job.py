"""A job: rows, the ids they came with, where they are, and settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..interface.checks.rows import generator
from ..interface.frames.encoded import columns_of
from ..interface.words.progress import Progress
from ..kernels import Kernel
from ..rows.chunk import Chunk, cut_rows
from ..rows.ids import ChunkIds, Id, Owners, id_of_parts
from ..rows.metric import Metric
from ..rows.order import sorted_rows
from ..rows.partition import by_label, chunk_groups
from ..rows.rows import Rows
from ..rows.scaling import Scaling, merged, merged_apart
from ..rows.store.store import Store
from ..transforms.warping import Warping
from .kept.disk import OnDisk, Runs, ScaledTargets
from .kept.kept import Kept
from .kept.memory import InMemory
from .settings import Settings
from .tuning import TUNING

Array = np.ndarray


class Choose(Protocol):
    """Choose transforms for rows in the units of the user."""

    def __call__(
        self, rows: Rows, settings: Settings, say: Progress, stop: Callable[[], bool], *, more: bool
    ) -> Warping:
        """`more`: whether further rows will come. Once `stop()` is true, no more are tried."""


@dataclass(frozen=True, eq=False)
class Sampled:
    """Rows of a store, and the positions of those that stand for all."""

    store: Store
    positions: Array
    given: Runs = ()  # that keep the ids they came with


@dataclass(frozen=True, eq=False)
class Job:
    """Rows to fit or to add, and how."""

    rows: Rows  # in the units of the user or transformed, equal ones merged
    labels: Owners | None  # the ids of the rows' chunks, where these are given
    settings: Settings
    rng: np.random.Generator
    say: Progress
    streaming: bool = False
    earlier: Any = None  # the model of the same stream, some rows ago
    chunk_id: Id | None = None  # of all rows, where it is given
    owners: Owners | None = None  # the ids that rows of a waiting stream came with
    warping: Warping | None = None  # by which rows were transformed; None: they were not
    came: Rows | None = None  # the rows before they were transformed
    on_disk: Sampled | None = None  # all rows, where `rows` are a sample

    @property
    def chunk_size(self) -> int:
        return self.settings.chunk_rows(self.rows.X.shape[0], streaming=self.streaming)

    @property
    def n(self) -> int:
        """Rows to fit or to add, in memory or not."""
        return self.rows.w.size if self.on_disk is None else len(self.on_disk.store)

    def kept(self, scaled: Rows, scaling: Scaling) -> Kept:
        """Where all rows are, as a model with this scaling sees them."""
        if self.on_disk is None:
            return InMemory(scaled)
        metric = Metric(scaled.X.mean(axis=0), np.ones(scaled.X.shape[1]))
        own, sees = self.on_disk, ScaledTargets(scaling, self.warping)
        return OnDisk(
            own.store, sees, metric, first=scaled, positions=own.positions, given=own.given
        )

    def cut(self, kept: Any, kernel: Kernel) -> Any:
        """Cut rows in memory into chunks; those of a store are cells already."""
        if self.on_disk is not None:
            return kept
        groups, ids = self.chunks(kernel)
        return replace(kept, groups=tuple(groups), ids=tuple(ids))

    def whole(self, rows: Rows, kept: Any) -> InMemory:
        """Take all rows as one chunk."""
        id = 0 if self.labels is None else kept.ids[0]
        return InMemory(rows, (np.arange(rows.w.size),), (id,))

    def groups(self, kernel: Kernel) -> list[Array]:
        """The rows of each chunk, cut in the metric of a kernel."""
        return self.chunks(kernel)[0]

    def chunks(self, kernel: Kernel) -> tuple[list[Array], list[Any]]:
        """The rows of each chunk, and its id; rows of different owners are kept apart."""
        X, rule = self.rows.X, self.settings.chunks.rule
        if self.labels is not None:
            own = self.labels
            groups = by_label(own.of_row)
            ids = [own.ids[own.of_row[group[0]]] for group in groups]
            return groups, [id if id in own.counted else part_of(id) for id in ids]
        if self.owners is None:
            points = Metric.of(kernel, X).forward(X)
            rng = self.rng if self.chunk_id is None else named_rng()
            groups = chunk_groups(points, rule, self.chunk_size, rng)
            return groups, list(range(len(groups)))
        groups, ids = [], list[Any]()
        for k, id in enumerate(self.owners.ids):
            at = np.flatnonzero(self.owners.of_row == k)
            if not self.settings.chunks.in_order:  # as if they had come alone
                more = [one[at] for one in (self.rows.group, self.rows.extra) if one is not None]
                at = at[sorted_rows(X[at], self.rows.y[at], *more)]
            points = Metric.of(kernel, X[at]).forward(X[at])
            size = self.settings.chunk_rows(at.size, streaming=self.streaming)
            parts = chunk_groups(points, rule, size, named_rng())
            groups += [at[part] for part in parts]
            ids += [(id, i) for i in range(len(parts))]
        return groups, ids

    def ids(self, chunks: Sequence[Any]) -> ChunkIds:
        """The ids of a model of these rows in chunks with these ids."""
        if self.owners is not None:
            return ChunkIds.of_owners(self.owners)
        if self.labels is None:
            return ChunkIds.numbered(len(chunks))
        return ChunkIds.of(map(id_of_parts, chunks), counted=self.labels.counted)

    def more_chunks(
        self, groups: list[Array], rows: Rows, ids: ChunkIds, receipt_of: int | None
    ) -> tuple[list[Chunk], ChunkIds]:
        """Chunks of these rows, in other units, for a model that has ids; and all ids after them.

        `receipt_of`: the number of anchors, where rows are not kept.
        """
        if self.chunk_id is None:
            names = range(ids.next, ids.next + len(groups))
            return cut_rows(rows, groups, names), ids.more(len(groups))
        chunks = cut_rows(rows, groups, [(self.chunk_id, i) for i in range(len(groups))])
        ids = ids + ChunkIds.of([self.chunk_id])
        return chunks, ids if receipt_of is None else ids.with_receipts(chunks, receipt_of)

    def seen_by(self, model: Any) -> Job:
        """Transform rows as those of the model were."""
        if model.warping is None:
            return self
        return replace(
            self, rows=model.warping.rows(self.rows), warping=model.warping, came=self.rows
        )

    def alone(self, kept: Any) -> bool:
        """Whether all rows are one chunk that is kept: the exact GP, which needs no anchors."""
        s, n = self.settings, self.rows.X.shape[0]
        if self.on_disk is not None:
            return False
        if self.streaming and n < s.enough():
            return True
        one = len(kept.groups) == 1 if self.owners is None else n <= self.chunk_size
        return one and s.answers.keeps_rows and s.enough() > 0


def standing_for(n: int, rows: Rows) -> Rows:
    """Scale weights up, so that a sample stands for all n rows."""
    return replace(rows, w=rows.w * (n / rows.w.size))


def part_of(id: Any) -> tuple[Id, int]:
    """The id of the first part of a chunk whose id was given, or of the part that it is."""
    return id if isinstance(id, tuple) else (id, 0)


def named_rng() -> np.random.Generator:
    """Seed for rows with an id: they are cut alike whenever and wherever they come."""
    return np.random.default_rng(0)


def fit_job(
    estimator: Any, settings: Settings, rows: Rows, labels: Owners | None = None, *,
    streaming: bool = False, earlier: Any = None, owners: Owners | None = None,
) -> Job:  # fmt: skip
    """Prepare a fit of rows in memory; with owners there are no labels."""
    settings = settings.for_columns(columns_of(estimator))
    rows, own = merged_apart(rows, owners or labels, in_order=settings.chunks.in_order)
    labels, owners = (own, None) if owners is None else (None, own)
    rng = generator(estimator.random_state)
    return Job(rows, labels, settings, rng, estimator._say(), streaming, earlier, owners=owners)


def disk_job(
    estimator: Any, settings: Settings, store: Store, say: Progress,
    warping: Warping | None = None, given: Runs = (),
) -> Job:  # fmt: skip
    """Prepare a fit of the rows of a store, whose inputs are transformed already; `given`: runs
    that keep the ids they came with."""
    positions = store.sample(TUNING.disk.sample)
    X, y, w = (np.asarray(part, np.float64) for part in store.take(positions))
    sample = Rows(X, y if warping is None else warping.forward(y), w)
    if warping is not None:
        settings = settings.placed(warping.places)
    rng = generator(estimator.random_state)
    own = Sampled(store, positions, given)
    return Job(sample, None, settings, rng, say, warping=warping, on_disk=own)


def stream_job(estimator: Any, settings: Settings, rows: Rows, chunk_id: Id | None = None) -> Job:
    """Prepare to add rows to a model."""
    rows, _ = merged(rows, None, in_order=settings.chunks.in_order)
    rng = generator(estimator.random_state)
    return Job(rows, None, settings, rng, estimator._say(), streaming=True, chunk_id=chunk_id)
