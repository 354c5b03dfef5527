"""The protocol of rows that a model is fitted to and answers from, wherever they are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from ...answers.predictors import Predictor
from ...learning.pool import Pool
from ...messages.committee import Committee
from ...rows.ids import ChunkIds, Id
from ...rows.metric import Metric
from ...rows.rows import Rows

Array = np.ndarray


class Swap(NamedTuple):
    """Rows held out of a few chunks, and these chunks with them and without."""

    rows: Rows
    held: Array  # numbers of those held out of `rows`
    others: Any  # all rows but these
    chunks: Sequence[Any]  # the few as they were
    rest: Sequence[Any]  # the few without the rows held out, under their ids


class Kept(Protocol):
    """Rows by their positions, as a model sees them: targets transformed and scaled."""

    #: Whether committees keep these rows themselves.
    in_memory: ClassVar[bool]

    @property
    def cell_rows(self) -> int:
        """Rows of a chunk, at most, where rows are cut already; 0: they are not."""

    @property
    def n_chunks(self) -> int: ...

    def __len__(self) -> int: ...

    def take(self, positions: Array) -> Rows:
        """Read the rows at these positions."""

    def nearest(self, Xs: Array, k: int) -> Array:
        """Find the positions of the k rows nearest to each query, nearest first  (q, k)."""

    def sample(self, k: int) -> Array:
        """Choose the positions of at most k rows, ascending."""

    def cells(self) -> Sequence[Any]:
        """List the chunks, each with `id`, `n` and `load() -> X, y, w`."""

    def chunk_ids(self) -> ChunkIds:
        """List the ids of the chunks."""

    def pool(self, rows: Rows) -> Pool:
        """Learn from these rows: all, or a sample that stands for all."""

    def total_weight(self) -> float:
        """Sum the weights of all rows."""

    def weight(self, chunk: Any) -> float:
        """Sum the weights of the rows of a chunk."""

    def held_out(self, number: int, rng: np.random.Generator) -> tuple[Rows, Array, Any] | None:
        """Hold out at most `number` rows: rows, numbers of those held out of them, the others."""

    def held_out_of_few(self, number: int, chunks: int, rng: np.random.Generator) -> Swap | None:
        """Hold out at most `number` rows of so many chunks; None where these cannot be told."""

    def few(self, chunks: int) -> Any:
        """Take some chunks alone, in memory: neighbours of each other, from a few places."""

    def some(self) -> Rows:
        """Give all rows where they are in memory, or a random sample of them."""

    def rows_in_chunks(self, most: int) -> Rows:
        """Read rows of the chunks, evenly spaced where there are more than `most`."""

    def some_cells(self, *, near: bool) -> Sequence[Any]:
        """Choose chunks whose messages check a model; `near`: whether it also asks near rows."""

    def local(self, committee: Committee, k: int) -> Predictor:
        """Make the predictor from anchors and the k rows nearest to a query."""

    def neighbours(self, metric: Metric) -> Any:
        """Find near rows for the scale of errors; None where there are no rows."""

    def append(self, rows: Rows, chunks: Sequence[Any]) -> Any:
        """Keep rows that came later, in the order of their chunks; return where rows now are."""

    def chunks_of(self, ids: Collection[Id]) -> list[Any]:
        """List the chunks of these ids."""

    def without(self, chunks: Sequence[Any], sum: Any, engine: Any) -> tuple[Any, Any]:
        """Forget these chunks: the sum of messages without theirs, and where rows now are."""

    def inputs(self, most: int) -> Array:
        """Read the inputs of rows: all where they are in memory, else at most so many."""
