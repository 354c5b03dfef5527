"""Models of chunks that are stored elsewhere: sums of their messages, and models of some of them.

A blank model is a basis without rows. The messages of chunks about it add up in any order, so that
a sum can be kept beside the rows, and a model put together from both when it is asked for. With
other likelihoods messages depend on each other: those of all chunks are found together, from zero,
so that the model depends on the chunks alone and not on how they came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...messages.adding import add_up
from ...messages.total import Total, in_range
from ...numerics.threads import single_threaded
from ...rows.chunk import Chunk
from ...rows.ids import ChunkIds, Id
from ...rows.metric import Metric
from ...rows.partition import chunk_groups, first_of_equals
from ...rows.rows import Rows
from ..job import named_rng, stream_job
from ..kept.lent import Lent, View
from ..model import CommitteeModel
from ..settings import Settings
from ..sums import ChunkBook
from ..swept.adding import swept_chunks
from ..swept.model import SweptModel
from .adding import chunks_of

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class NamedRows:
    """Rows with an id, cut into the chunks that `partial_fit` with this id cuts them into."""

    id: Id
    chunks: tuple[tuple[Chunk, ...], ...]  # for each committee of the model
    weight: float

    @classmethod
    def of(cls, estimator: Any, settings: Settings, rows: Rows, id: Id) -> NamedRows:
        """Cut checked rows on the basis of a fitted model."""
        job, model = stream_job(estimator, settings, rows, id), estimator.model_
        with single_threaded():
            if isinstance(model, SweptModel):
                cut = swept_chunks(model, job)
            else:
                cut = [chunks_of(job, model)]
        weight = sum(float(chunk.w.sum()) for chunk in cut[0]) if cut else 0.0
        return cls(id, tuple(tuple(one) for one in cut), weight)


def adds_exactly(estimator: Any) -> bool:
    """Whether the messages of a fitted model add up in any order: its noise is Gaussian."""
    return isinstance(estimator.model_, CommitteeModel)


def heard(estimator: Any, named: Sequence[NamedRows], start: Total | None = None) -> Total:
    """start + Σ messages of rows about the basis of a fitted model with Gaussian noise."""
    committee, chunks = estimator.model_.committee, [c for one in named for c in one.chunks[0]]
    send = partial(committee.expert.send, committee.basis)
    if start is None:
        start = Total.zero(committee.basis.m, committee.messages.p)
    with single_threaded(), in_range(committee.noise):
        return add_up(estimator._engine(), send, chunks, start)


def assembled(
    estimator: Any, settings: Settings, named: Sequence[NamedRows], total: Total | None
) -> Any:
    """Put a blank model and rows together; `total`: the sum of their messages, where it is exact.

    Bitwise the model that `partial_fit` of these rows makes of the blank one with Gaussian noise,
    but for the scale of errors, which stays as it is here.
    """
    model = estimator.model_
    book = ChunkBook(
        ChunkIds.of([one.id for one in named]), sum(len(one.chunks[0]) for one in named),
        float(sum(one.weight for one in named)),
    )  # fmt: skip
    with single_threaded():
        if isinstance(model, SweptModel):
            each = [[c for one in named for c in one.chunks[k]] for k in range(model.sum.count)]
            own: Any = model.sum.of_chunks(each, estimator._engine())
        else:
            keep = settings.answers.keeps_rows
            chunks = [c for one in named for c in one.chunks[0]] if keep else []
            committee = model.committee.holding(chunks, total)
            own = replace(model.sum, committee=committee)
        return replace(model, sum=own, chunks=book)


@dataclass(frozen=True)
class CountedRows:
    """A chunk whose rows are in a store: its id, parts and total weight."""

    id: Id
    parts: int
    weight: float


def lent_model(
    estimator: Any, named: Sequence[CountedRows], total: Total, view: View | None
) -> Any:
    """Put a blank model with Gaussian noise and rows of a store together; None: it keeps no rows.

    The model that `assembled` makes of these rows, up to rounding.
    """
    model = estimator.model_
    book = ChunkBook(
        ChunkIds.of([one.id for one in named]), sum(one.parts for one in named),
        float(sum(one.weight for one in named)),
    )  # fmt: skip
    with single_threaded():
        own = replace(model.sum, committee=model.committee.holding([], total))
        lent = None if view is None else Lent.of(view, model.kernel, book.weight)
    return replace(model, sum=own, chunks=book, stored=lent)


def rows_of_part(estimator: Any, settings: Settings, rows: Rows) -> Rows:
    """Checked rows as a model with Gaussian noise sees them, in one order: equal ones are one."""
    model = estimator.model_
    return model.scaling.rows(stream_job(estimator, settings, rows).seen_by(model).rows)


def weights_left(estimator: Any, settings: Settings, rows: Rows, rest: Rows) -> Array:
    """Weights that the rows of `rows_of_part` have when but `rest` of them are left; 0: none."""
    own, left = (stream_job(estimator, settings, one).rows for one in (rows, rest))
    table = np.column_stack([np.concatenate(pair) for pair in ((own.X, left.X), (own.y, left.y))])
    number = first_of_equals(table)[1]
    weights = np.zeros(number.max() + 1)
    weights[number[own.w.size :]] = left.w
    return weights[number[: own.w.size]]


def near_groups(estimator: Any, settings: Settings, rows: Rows) -> list[Array]:
    """Deal rows to chunks of neighbours: positions of the rows of each."""
    model = estimator.model_
    X = rows.X if model.warping is None else model.warping.places(rows.X)
    points, size = Metric.of(model.kernel, X).forward(X), model.sizes.chunk_size
    return chunk_groups(points, settings.chunks.rule, size, named_rng())
