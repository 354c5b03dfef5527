"""The rows of a model that are in a row store, not in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..answers.predictors import Global, Local, Predictor
from ..errors.tuning import TUNING
from ..messages.committee import Committee
from ..numerics.records import record
from ..rows.chunk import Chunk
from ..rows.ids import Id
from ..rows.metric import Metric
from ..rows.rows import Rows
from ..rows.scaling import Scaling
from ..rows.store.distance import Distance
from ..rows.store.records import LARGEST
from ..rows.store.segment import Cell
from ..rows.store.store import Store
from ..transforms.warping import Warping
from .additive_model import of_id

Array = np.ndarray
NEAREST, LEAST = TUNING.basis.nearest, TUNING.basis.least_error
#: With more columns than MANY an exact search would visit most cells: it ends after CELLS of each
#: segment, the most promising first.
MANY, CELLS = 10, 200


@record("committee.stored/1")
@dataclass(frozen=True, eq=False)
class Stored:
    """Which rows of which folder a model has learnt from."""

    path: str
    next_row: int  # above the numbers of all of its rows
    segments: int  # that the model was fitted to: chunk c is cell c of these
    metric: Metric  # in which rows are near
    runs: tuple[tuple[Any, int, int], ...] = ()  # id, first row number and rows of later chunks
    mark: str = ""  # of the store, by which it is told from others

    def open(self) -> Store:
        """The store; rows that came after this model are masked."""
        store = self.latest()
        return store if store.next_row == self.next_row else store.without(from_row=self.next_row)

    def own(self) -> Store:
        """The store, to be changed: no other model has added to it."""
        store = self.latest()
        if store.next_row != self.next_row:
            raise ValueError(
                f"{self.path} has rows that this model has not learnt from: another model has "
                "added to it. Go on with that one, or fit again"
            )
        return store

    def latest(self) -> Store:
        """The store with all that is in it by now."""
        try:
            store = Store.open(self.path)
        except FileNotFoundError as error:
            said = "the row store of this model is not there: put it back, or fit again"
            raise FileNotFoundError(error.errno, said, self.path) from error
        if store.next_row < self.next_row or (self.mark and store.mark != self.mark):
            raise ValueError(
                f"{self.path} is not the row store of this model, which has rows up to number "
                f"{self.next_row - 1}: put that back, or fit again"
            )
        return store

    def after(self, chunks: Sequence[Chunk]) -> Stored:
        """With the rows of more chunks, numbered in their order."""
        runs, first = list(self.runs), self.next_row
        for chunk in chunks:
            runs.append((chunk.id, first, chunk.n))
            first += chunk.n
        return replace(self, next_row=first, runs=tuple(runs))


@dataclass(frozen=True, eq=False)
class Seen:
    """A chunk on disk as a model sees it: targets transformed and scaled."""

    own: Cell
    scaling: Scaling
    warping: Warping | None

    @property
    def id(self) -> int:
        return self.own.number

    @property
    def n(self) -> int:
        return self.own.n

    def load(self) -> tuple[Array, Array, Array]:
        return seen(*self.own.load(), self.scaling, self.warping).fields()


def seen(X: Array, y: Array, w: Array, scaling: Scaling, warping: Warping | None) -> Rows:
    """Rows of a store as a model sees them: inputs were transformed before they were stored."""
    X, y, w = (np.asarray(part, np.float64) for part in (X, y, w))
    return Rows(X, scaling.forward(y if warping is None else warping.forward(y)), w)


@dataclass(frozen=True, eq=False)
class OnDisk:
    """Rows of a store by their positions, as a model sees them, and which are near."""

    store: Store
    scaling: Scaling
    warping: Warping | None
    metric: Metric  # in which rows are near

    def __len__(self) -> int:
        return len(self.store)

    def take(self, positions: Array) -> Rows:
        return seen(*self.store.take(positions), self.scaling, self.warping)

    def nearest(self, Xs: Array, k: int) -> Array:
        """Positions of the k rows nearest to each query, nearest first  (n, k)."""
        most = CELLS if Xs.shape[1] > MANY else None
        queries = np.clip(Xs, -LARGEST, LARGEST)
        distance = Distance.of(self.metric)
        found, _ = self.store.nearest(queries, k, distance, most_cells=most)
        lost = (found < 0).any(axis=1)
        if lost.any():  # forgotten rows left too few in the cells that were visited
            found[lost] = self.store.nearest(queries[lost], k, distance)[0]
        return found

    def cells(self) -> list[Seen]:
        """Chunks of all rows."""
        return [Seen(cell, self.scaling, self.warping) for cell in self.store.chunks()]

    def local(self, committee: Committee, k: int) -> Predictor:
        """Who answers from anchors and the k rows nearest to a query."""
        if not len(self.store):
            return Global(committee)
        return Local(committee, self, self, min(k, len(self.store)), lasting=False)

    @cached_property
    def mean_weight(self) -> float:
        return self.store.total_weight() / max(1, len(self.store))

    def log_error(self, place: Array, mean: Array, own: Array | None = None) -> Array:
        """q = log(mean of (yⱼ − m)² over the NEAREST rows + LEAST)  (n, p); see `Neighbours`."""
        if not len(self.store):
            return np.full(mean.shape, np.log(1.0 + LEAST))  # as of a standardised y
        k = min(NEAREST + (own is not None), len(self.store))
        index = self.nearest(self.metric.backward(place), k)
        rows = self.take(index.ravel())
        y, w = rows.y.reshape(*index.shape, -1), rows.w.reshape(index.shape) / self.mean_weight
        if own is not None:
            w = np.where(index == own[:, None], 0.0, w)  # query i is row own[i], which is left out
        share = np.clip(NEAREST - (np.cumsum(w, axis=1) - w), 0.0, w)[:, :, None]
        squares = (share * (y - mean[:, None, :]) ** 2).sum(axis=1)
        return np.log(squares / np.maximum(share.sum(axis=1), 1e-300) + LEAST)


def refuse_to_merge() -> None:
    raise ValueError(
        "rows of a store are not moved into another: put together models that keep no rows "
        "(n_local=0), or partial_fit one with the rows of the other"
    )


def without_stored(model: Any, ids: Collection[Id], engine: Any) -> Any:
    """The model without chunks of its store, whose rows are never found again."""
    stored, kept = model.stored, model.on_disk()
    store = stored.own()
    fitted = [one for one in kept.cells() if one.id < kept.store.cells_of(stored.segments)]
    fitted = [one for one in fitted if one.id in ids]
    numbers, gone = [one.own.ids for one in fitted], list[Any](fitted)
    later = [run for run in stored.runs if of_id(run[0]) in ids]
    for id, first, n in later:
        rows = kept.take(kept.store.positions(first, first + n))
        gone.append(Chunk(id, *rows.fields()))
        numbers.append(np.arange(first, first + n))
    told = {one.id for one in fitted} | {of_id(run[0]) for run in later}
    if lost := [id for id in ids if id not in told]:
        raise ValueError(
            f"rows of the chunks {lost[:5]} are in {stored.path} no more: another model has "
            "forgotten them. Go on with that one, or fit again"
        )
    left = model._less(gone, ids, model.committee.without(gone, engine))
    runs = tuple(run for run in stored.runs if run not in later)
    store.forget(np.concatenate([np.empty(0, np.int64), *numbers]))
    return replace(left, stored=replace(stored, runs=runs))
