"""Rows in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...answers.predictors import LocalPredictor, Predictor, predictor
from ...errors.errors import neighbours
from ...learning.pool import Pool
from ...messages.committee import Committee
from ...rows.chunk import Chunk, cut_rows
from ...rows.groups import whole_groups
from ...rows.ids import ChunkIds, Id, id_of_parts
from ...rows.metric import Metric
from ...rows.nearest import Nearby
from ...rows.partition import evenly_spaced
from ...rows.rows import Rows
from ...rows.scaling import for_learning
from ..tuning import TUNING
from .kept import Swap

Array = np.ndarray


def runs(n: int, number: int) -> Array:
    """Choose `number` of n chunks in runs of neighbours, from places that are evenly spaced.

    Chunks that follow each other are near each other, where rows were cut by place.
    """
    if number >= n:
        return np.arange(n)
    places = min(TUNING.checking.places, number)
    starts = np.linspace(0, n, places, endpoint=False).astype(int)
    ends = [*starts[1:], n]
    lengths = np.diff(np.linspace(0, number, places + 1).astype(int))
    return np.concatenate([
        np.arange(a, min(a + length, end)) for a, length, end in zip(starts, lengths, ends)
    ])  # fmt: skip


@dataclass(frozen=True, eq=False)
class InMemory:
    """Rows in memory, in chunks that committees keep."""

    rows: Rows
    groups: tuple[Array, ...] = ()  # positions of the rows of each chunk
    ids: tuple[Any, ...] = ()  # of each chunk

    in_memory: ClassVar[bool] = True
    cell_rows: ClassVar[int] = 0

    def __len__(self) -> int:
        return self.rows.w.size

    @cached_property
    def metric(self) -> Metric:
        return Metric(self.rows.X.mean(axis=0), np.ones(self.rows.X.shape[1]))

    def take(self, positions: Array) -> Rows:
        return self.rows.take(positions)

    def nearest(self, Xs: Array, k: int) -> Array:
        return Nearby.of(self.metric, self.rows.X).nearest(Xs, min(k, len(self)))

    def sample(self, k: int) -> Array:
        return evenly_spaced(len(self), k)

    @property
    def n_chunks(self) -> int:
        return len(self.groups)

    def cells(self) -> Sequence[Chunk]:
        return cut_rows(self.rows, self.groups, self.ids)

    def chunk_ids(self) -> ChunkIds:
        return ChunkIds.numbered(len(self.groups))

    def pool(self, rows: Rows) -> Pool:
        return Pool(for_learning(rows))

    def total_weight(self) -> float:
        return float(self.rows.w.sum())

    def weight(self, chunk: Any) -> float:
        return float(chunk.load()[2].sum())

    def held_out(self, number: int, rng: np.random.Generator) -> tuple[Rows, Array, InMemory]:
        """Draw `number` of the chunks' rows at random, not above a tenth of them; whole groups of
        rows where they came in groups (`whole_groups`)."""
        each = np.sort(np.concatenate(self.groups))
        if self.rows.group is not None:
            held = each[whole_groups(self.rows.group[each], number, rng)]
            return self.rows, held, self.but(held)
        held = np.sort(rng.choice(each, min(number, max(1, each.size // 10)), replace=False))
        return self.rows, held, self.but(held)

    def few(self, chunks: int) -> InMemory:
        groups = [self.groups[i] for i in runs(len(self.groups), chunks)]
        return InMemory(self.rows, tuple(groups), tuple(range(len(groups))))

    def held_out_of_few(self, number: int, chunks: int, rng: np.random.Generator) -> Swap | None:
        if self.rows.group is not None:  # other chunks have rows of the same groups
            return None
        some = runs(len(self.groups), chunks)
        few = replace(
            self, groups=tuple(self.groups[i] for i in some), ids=tuple(self.ids[i] for i in some)
        )
        held = few.held_out(number, rng)[1]
        rest = [(group, id) for group, id in zip(few._less(held), few.ids) if group.size]
        left = cut_rows(self.rows, [group for group, _ in rest], [id for _, id in rest])
        return Swap(self.rows, held, self.but(held), few.cells(), left)

    def but(self, held: Array) -> InMemory:
        """Drop rows from the chunks, and number the chunks from 0."""
        rest = tuple(group for group in self._less(held) if group.size)
        return InMemory(self.rows, rest, tuple(range(len(rest))))

    def _less(self, held: Array) -> list[Array]:
        """Drop rows from the chunks, some of which may have none left."""
        out = np.zeros(len(self), dtype=bool)
        out[held] = True
        return [group[~out[group]] for group in self.groups]

    def some(self) -> Rows:
        return self.rows.take(np.concatenate(self.groups))

    def rows_in_chunks(self, most: int) -> Rows:
        own = np.sort(np.concatenate(self.groups))
        return self.rows.take(own[evenly_spaced(own.size, most)])

    def some_cells(self, *, near: bool) -> Sequence[Chunk]:
        if not near:
            return self.cells()
        some = evenly_spaced(len(self.groups), TUNING.checking.cells)
        return cut_rows(self.rows, [self.groups[i] for i in some], [self.ids[i] for i in some])

    def local(self, committee: Committee, k: int) -> Predictor:
        if committee.arrived or not (k and self.groups):
            return predictor(committee, k)
        rows = self.some()  # of a committee that keeps none
        near = Nearby.of(Metric.of(committee.basis.kernel, rows.X), rows.X)
        return LocalPredictor(committee, rows, near, min(k, rows.w.size))

    def neighbours(self, metric: Metric) -> Any:
        return neighbours(metric, self.some()) if self.groups else None

    def append(self, rows: Rows, chunks: Sequence[Chunk]) -> None:
        """Do nothing: the committee keeps the rows."""

    def chunks_of(self, ids: Collection[Id]) -> list[Chunk]:
        return [chunk for chunk in self.cells() if id_of_parts(chunk.id) in ids]

    def without(self, chunks: Sequence[Chunk], sum: Any, engine: Any) -> tuple[Any, None]:
        return sum.without(chunks, engine), None

    def inputs(self, most: int) -> Array:
        return self.rows.X


class CommitteeRows(InMemory):
    """The rows that a committee keeps; they are put together when they are first asked for."""

    def __init__(self, committee: Committee) -> None:
        vars(self)["committee"] = committee

    committee: Committee

    def __len__(self) -> int:
        return sum(self.committee.sizes)

    @cached_property
    def rows(self) -> Rows:
        return self.committee.rows()

    @cached_property
    def groups(self) -> tuple[Array, ...]:
        ends = np.cumsum([0, *self.committee.sizes])
        return tuple(np.arange(a, b) for a, b in zip(ends, ends[1:]))

    @cached_property
    def ids(self) -> tuple[Any, ...]:
        return tuple(self.committee.ids())
