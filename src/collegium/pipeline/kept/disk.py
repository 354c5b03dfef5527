"""Rows on disk, in a row store."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, cast
from weakref import WeakKeyDictionary

import numpy as np

from ...answers.predictors import LocalPredictor, Predictor, predictor
from ...errors.tuning import TUNING as ERRORS
from ...messages.committee import Committee
from ...numerics.records import record
from ...rows.ids import ChunkIds, Id, id_of_parts
from ...rows.metric import Metric
from ...rows.partition import evenly_spaced
from ...rows.rows import Rows
from ...rows.scaling import Scaling
from ...rows.store.distance import Distance
from ...rows.store.records import LARGEST
from ...rows.store.segment import StoredCell
from ...rows.store.store import Store
from ...transforms.warping import Warping
from ..tuning import TUNING
from .kept import Swap
from .memory import InMemory, runs
from .pool import StoredPool

Array = np.ndarray
#: Id, first row number and number of rows of chunks whose rows lie anywhere in a store.
Runs = tuple[tuple[Any, int, int], ...]
NO_ROWS = np.empty(0, np.int64)
#: Numbers of rows that a call forgets when it ends, by what its model knows of the store.
_forgetting = cast("WeakKeyDictionary[Stored, Array]", WeakKeyDictionary())


@record("pipeline.stored/1")
@dataclass(frozen=True, eq=False)
class Stored:
    """Names the folder and the rows in it that a model has learnt from."""

    path: str
    next_row: int  # above the numbers of all of its rows
    segments: int  # that the model was fitted to: chunk c is cell c of these
    metric: Metric  # in which rows are near
    runs: Runs = ()  # later chunks, and those whose ids were given
    mark: str = ""  # of the store, by which it is told from others
    first_cell: int = 0  # id of the first cell: others follow, as in the store
    token: str = ""  # of the last addition; two that end at one number differ in it

    @classmethod
    def of(cls, store: Store, metric: Metric, given: Runs = ()) -> Stored:
        """Take all rows that a store has now; `given`: runs that keep the ids they came with."""
        own = str(store.path), store.next_row, store.n_segments, metric
        return cls(*own, given, store.mark, first_free(given, store.n_cells), store.token)

    def open(self) -> Store:
        """Open the store; rows that came after this model are masked."""
        store = self.latest()
        if self in _forgetting:
            store = store.without(_forgetting[self])
        return store if store.next_row == self.next_row else store.without(from_row=self.next_row)

    def seen(self, sees: Any) -> OnDisk:
        """Give the rows as a model sees them, whose targets `sees` makes of those stored."""
        return OnDisk(self.open(), sees, self.metric, self)

    def own(self) -> Store:
        """Open the store to change it: no other model has added to it."""
        store = self.latest()
        if store.before_tentative == (self.next_row, self.token):
            store.undo()  # a call that has not ended: if it is still at work, `confirm` refuses it
        if store.next_row != self.next_row:
            raise ValueError(
                f"{self.path} has rows that this model has not learnt from: another model has "
                "added to it. Go on with that one, or fit again"
            )
        return store

    def add(self, rows: Rows, later: Stored) -> None:
        """Write the rows that `later` has in addition, as they came, inputs transformed.

        They can be undone until it is confirmed.
        """
        block = (*rows.fields(), self.next_row)
        self.own().add([block], keep=self.segments, tentative=later.token)

    def forget(self, chunks: Sequence[Any]) -> Stored:
        """Drop chunks; their rows are forgotten in the store when this is confirmed."""
        later = self.without({id_of_parts(chunk.id) for chunk in chunks})
        numbers = [chunk.numbers() for chunk in chunks]
        _forgetting[later] = np.concatenate([_forgetting.get(self, NO_ROWS), *numbers])
        return later

    def differs(self, earlier: Stored | None) -> bool:
        """Whether rows were added or forgotten since an earlier state, and not confirmed yet."""
        added = self.token and self.token != ("" if earlier is None else earlier.token)
        return bool(added) or self in _forgetting

    def confirm(self) -> None:
        """Note in the store which rows are those of a model, before that is kept."""
        store = Store.open(self.path)
        if (store.next_row, store.token) != (self.next_row, self.token):
            raise ValueError(
                f"another model has added rows to {self.path} during this call, which was undone. "
                "Go on with that one, or fit again"
            )
        if self in _forgetting:
            store.forget(_forgetting.pop(self))
        store.confirm()

    def given(self) -> Runs:
        """List the runs whose ids were given by users."""
        return tuple(run for run in self.runs if isinstance(run[0], tuple))

    def latest(self) -> Store:
        """Open the store with all that is in it by now."""
        try:
            store = Store.open(self.path)
        except FileNotFoundError as error:
            said = "the row store of this model is not there: put it back, or fit again"
            raise FileNotFoundError(error.errno, said, self.path) from error
        other = store.next_row == self.next_row and store.token != self.token
        if other or store.next_row < self.next_row or (self.mark and store.mark != self.mark):
            raise ValueError(
                f"{self.path} is not the row store of this model, which has rows up to number "
                f"{self.next_row - 1}, or another model's rows have taken their place: put that "
                "store back, or fit again"
            )
        return store

    def after(self, chunks: Sequence[Any]) -> Stored:
        """Add the rows of more chunks, numbered in their order, under a new token."""
        runs, first = list(self.runs), self.next_row
        for chunk in chunks:
            runs.append((chunk.id, first, chunk.n))
            first += chunk.n
        token = secrets.token_hex(8) if first > self.next_row else self.token
        later = replace(self, next_row=first, runs=tuple(runs), token=token)
        if self in _forgetting:
            _forgetting[later] = _forgetting[self]
        return later

    def without(self, ids: Collection[Id]) -> Stored:
        """Drop later chunks of these ids."""
        runs = tuple(run for run in self.runs if id_of_parts(run[0]) not in ids)
        return replace(self, runs=runs)


def first_free(given: Runs, cells: int) -> int:
    """Find the first of so many consecutive numbers that are ids of no run: 0, if it can be."""
    taken = [id_of_parts(run[0]) for run in given]
    numbers = [id for id in taken if isinstance(id, int)]
    return 1 + max(numbers) if any(0 <= id < cells for id in numbers) else 0


@dataclass(frozen=True, eq=False)
class ScaledTargets:
    """y -> (T(y) − centre)/scale: the targets of a store as a model with Gaussian noise sees them.

    Inputs were transformed before they were stored.
    """

    scaling: Scaling
    warping: Warping | None = None

    def __call__(self, y: Array) -> Array:
        return self.scaling.forward(y if self.warping is None else self.warping.forward(y))


def rows_seen(loaded: tuple[Array, Array, Array], sees: Any) -> Rows:
    """Make rows of what a store has, targets as a model sees them."""
    X, y, w = (np.asarray(part, np.float64) for part in loaded)
    return Rows(X, sees(y), w)


@dataclass(frozen=True, eq=False)
class SeenCell:
    """A chunk on disk as a model sees it."""

    own: StoredCell
    sees: Any
    first: int = field(default=0, kw_only=True)  # id of the first cell

    @property
    def id(self) -> int:
        return self.first + self.own.number

    @property
    def n(self) -> int:
        return self.own.n

    def load(self) -> tuple[Array, Array, Array]:
        return rows_seen(self.own.load(), self.sees).fields()

    def numbers(self) -> Array:
        """List the numbers of its rows."""
        return self.own.ids


@dataclass(frozen=True, eq=False)
class SeenRun:
    """A chunk that came later, whose rows lie anywhere in the store, as a model sees it."""

    id: Any
    store: Store
    positions: Array
    sees: Any

    @property
    def n(self) -> int:
        return self.positions.size

    def load(self) -> tuple[Array, Array, Array]:
        return rows_seen(self.store.take(self.positions), self.sees).fields()

    def numbers(self) -> Array:
        return self.store.ids(self.positions)


@dataclass(frozen=True, eq=False)
class OnDisk:
    """Rows of a store by their positions, as a model sees them."""

    store: Store
    sees: Any  # y of the store -> targets
    metric: Metric  # in which rows are near
    stored: Stored | None = None  # those of a fitted model
    first: Rows | None = None  # a sample of them, where a model is being fitted
    positions: Array | None = None  # of the sample
    given: Runs = ()  # runs that keep ids, where a model is fitted

    in_memory: ClassVar[bool] = False

    def __len__(self) -> int:
        return len(self.store)

    @property
    def cell_rows(self) -> int:
        return self.store.cell_rows

    def take(self, positions: Array) -> Rows:
        return rows_seen(self.store.take(positions), self.sees)

    def nearest(self, Xs: Array, k: int) -> Array:
        most = TUNING.disk.most_cells if Xs.shape[1] > TUNING.disk.many_columns else None
        queries = np.clip(Xs, -LARGEST, LARGEST)
        distance = Distance.of(self.metric)
        found, _ = self.store.nearest(queries, k, distance, most_cells=most)
        lost = (found < 0).any(axis=1)
        if lost.any():  # forgotten rows left too few in the cells that were visited
            found[lost] = self.store.nearest(queries[lost], k, distance)[0]
        return found

    def sample(self, k: int) -> Array:
        return np.sort(self.store.sample(k))

    @property
    def n_chunks(self) -> int:
        return len(self.cells())

    def cells(self) -> list[Any]:
        """List the cells without the rows of runs, then the runs that a model is fitted to."""
        runs = self.given if self.stored is None else self.stored.runs
        own = self.stored
        first = first_free(runs, self.store.n_cells) if own is None else own.first_cell
        numbers = [np.arange(a, a + n) for _, a, n in runs]
        rest = self.store.without(np.concatenate(numbers)) if runs else self.store
        cells: list[Any] = [SeenCell(cell, self.sees, first=first) for cell in rest.chunks()]
        return cells + self._runs(self.given)

    def _runs(self, runs: Runs) -> list[SeenRun]:
        found = ((id, self.store.positions(first, first + n)) for id, first, n in runs)
        return [SeenRun(id, self.store, at, self.sees) for id, at in found if at.size]

    def chunk_ids(self) -> ChunkIds:
        ids = [chunk.id for chunk in self.cells()]
        cells = (id for id in ids if not isinstance(id, tuple))
        return ChunkIds.of(map(id_of_parts, ids), given=bool(self.given), counted=cells)

    def pool(self, rows: Rows) -> StoredPool:
        assert self.positions is not None
        return StoredPool(self, self.positions, rows)

    def total_weight(self) -> float:
        return self.store.total_weight()

    def weight(self, chunk: Any) -> float:
        return float(chunk.load()[2].sum())

    def held_out(self, number: int, rng: np.random.Generator) -> tuple[Rows, Array, OnDisk] | None:
        """Hold out `number` rows of the sample, at most a tenth of all."""
        if len(self) < 2:
            return None
        assert self.first is not None and self.positions is not None
        held = evenly_spaced(self.positions.size, min(number, max(1, len(self) // 10)))
        without = self.store.without(self.store.ids(self.positions[held]))
        rows = self.first.take(held)
        return rows, np.arange(rows.w.size), replace(self, store=without)

    def held_out_of_few(self, number: int, chunks: int, rng: np.random.Generator) -> Swap:
        cells = self.cells()
        some = [cells[i] for i in runs(len(cells), chunks)]
        own = self.few(chunks)
        held = own.held_out(number, rng)[1]
        numbers = np.concatenate([cell.numbers() for cell in some])[held]
        others = replace(self, store=self.store.without(numbers))
        ids = {cell.id for cell in some}
        rest = [cell for cell in others.cells() if cell.id in ids]
        rows = own.rows.take(held)
        return Swap(rows, np.arange(held.size), others, some, rest)

    def few(self, chunks: int) -> InMemory:
        cells = self.cells()
        loaded = [cells[i].load() for i in runs(len(cells), chunks)]
        ends = np.cumsum([0, *(w.size for _, _, w in loaded)])
        groups = tuple(np.arange(a, b) for a, b in zip(ends, ends[1:]))
        X, y, w = (np.concatenate(parts) for parts in zip(*loaded))
        return InMemory(Rows(X, y, w), groups, tuple(range(len(groups))))

    def some(self) -> Rows:
        assert self.first is not None
        return self.first

    def rows_in_chunks(self, most: int) -> Rows:
        return self.take(self.sample(most))

    def some_cells(self, *, near: bool) -> list[SeenCell]:
        cells = self.cells()
        return [
            cells[i]
            for i in evenly_spaced(len(cells), TUNING.checking.cells if near else len(cells))
        ]

    def local(self, committee: Committee, k: int) -> Predictor:
        if not k or not len(self):
            return predictor(committee, 0)
        near = self
        if self.first is not None:  # the kernel may be another one than when rows were last near
            near = replace(self, metric=Metric.of(committee.basis.kernel, self.first.X))
        return LocalPredictor(committee, near, near, min(k, len(self)), lasting=False)

    def neighbours(self, metric: Metric) -> NeighboursOnDisk:
        return NeighboursOnDisk(replace(self, metric=metric))

    def append(self, rows: Rows, chunks: Sequence[Any]) -> Stored:
        """Keep rows as a segment of their own."""
        assert self.stored is not None
        later = self.stored.after(chunks)
        self.stored.add(rows, later)
        return later

    def chunks_of(self, ids: Collection[Id]) -> list[Any]:
        own = self.stored
        assert own is not None
        own.own()
        last = own.first_cell + self.store.cells_of(own.segments)
        found: list[Any] = [one for one in self.cells() if one.id < last and one.id in ids]
        found += self._runs(tuple(run for run in own.runs if id_of_parts(run[0]) in ids))
        told = {id_of_parts(one.id) for one in found}
        if lost := [id for id in ids if id not in told]:
            raise ValueError(
                f"rows of the chunks {lost[:5]} are in {own.path} no more: another model has "
                "forgotten them. Go on with that one, or fit again"
            )
        return found

    def without(self, chunks: Sequence[Any], sum: Any, engine: Any) -> tuple[Any, Stored]:
        """Subtract messages, and mark the rows when the call ends: they are never found again."""
        assert self.stored is not None
        left = sum.without(chunks, engine)
        return left, self.stored.forget(chunks)

    def inputs(self, most: int) -> Array:
        return self.take(self.store.sample(most)).X


@dataclass(frozen=True, eq=False)
class NeighboursOnDisk:
    """Errors of the rows nearest to a query, as `errors.features.Neighbours` has them."""

    kept: OnDisk

    @cached_property
    def mean_weight(self) -> float:
        return self.kept.total_weight() / max(1, len(self.kept))

    def log_error(self, place: Array, mean: Array, own: Array | None = None) -> Array:
        """q = log(mean of (yⱼ − m)² over the nearest rows + least)  (n, p)."""
        if not len(self.kept):
            return np.full(
                mean.shape, np.log(1.0 + ERRORS.basis.least_error)
            )  # as of a standardised y
        nearest, least = ERRORS.basis.nearest, ERRORS.basis.least_error
        k = min(nearest + (own is not None), len(self.kept))
        index = self.kept.nearest(self.kept.metric.backward(place), k)
        rows = self.kept.take(index.ravel())
        y, w = rows.y.reshape(*index.shape, -1), rows.w.reshape(index.shape) / self.mean_weight
        if own is not None:
            w = np.where(index == own[:, None], 0.0, w)  # query i is row own[i], which is held out
        share = np.clip(nearest - (np.cumsum(w, axis=1) - w), 0.0, w)[:, :, None]
        squares = (share * (y - mean[:, None, :]) ** 2).sum(axis=1)
        return np.log(squares / np.maximum(share.sum(axis=1), 1e-300) + least)
