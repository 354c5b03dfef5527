"""From rows in arrays, files or a store to a model; from a model and more rows to the next one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..interface.frames.encoded import columns_of
from ..interface.frames.sources import (
    Blocks,
    encoded_source,
    fits_memory,
    origin_of_rows,
    refuse_beyond_memory,
)
from ..interface.streams.waiting import grow
from ..interface.streams.watching import StreamCheck
from ..numerics.threads import single_threaded
from ..rows.ids import Id, Owners
from ..rows.rows import Rows
from ..rows.store.store import Store
from ..sources.source import Source
from ..transforms.warping import Warping
from .job import disk_job, fit_job, stream_job
from .kept.disk import Runs, Stored
from .kept.filling import fill
from .settings import Settings
from .stream.adding import chunks_of
from .sums import owners_with


def model_of_rows(
    estimator: Any, system: Any, settings: Settings, rows: Rows, labels: Any = None, **stream: Any
) -> Any:
    """Fit rows in memory; many of them go to the store that settings name."""
    if settings.store is not None:
        n, streaming = rows.w.size, stream.get("streaming", False)
        if n >= settings.enough() if streaming else n > settings.chunk_rows(n):
            return _stored_rows(estimator, system, settings, rows)
        settings = replace(settings, store=None)
    job = fit_job(estimator, settings, rows, labels, **stream)
    with single_threaded():
        return system.fit(job)


def _stored_rows(estimator: Any, system: Any, settings: Settings, rows: Rows) -> Any:
    rows = system.counting(rows.take(rows.w > 0))
    settings = settings.for_columns(columns_of(estimator))
    say, origin = estimator._say(), origin_of_rows(estimator, rows)
    blocks = [(*rows.fields(), 0)]
    store, warping = fill(settings, blocks, rows.w.size, origin, say, system.choose)
    return model_of_store(estimator, system.knowing(rows), settings, store, warping, say)


def model_of_store(
    estimator: Any, system: Any, settings: Settings, store: Store, warping: Warping | None,
    say: Any, given: Runs = (),
) -> Any:  # fmt: skip
    """Fit the rows of a store; `given`: runs that keep the ids they came with."""
    job = disk_job(estimator, settings, store, say, warping, given)
    with single_threaded():
        return system.fit(job)


def model_of_source(estimator: Any, system: Any, settings: Settings, source: Source) -> Any:
    """Fit the rows of a source, which go to the store where they are many; None: the estimator has
    to read them into memory."""
    n = source.n_rows
    small = n <= settings.chunk_rows(n)
    if settings.store is None or small:
        if not (small or fits_memory(source, settings.memory_limit)):
            refuse_beyond_memory(source, settings.memory_limit, "give store='some.rows'")
        return None
    say, source = estimator._say(), encoded_source(estimator, source)
    settings = settings.for_columns(columns_of(estimator))
    read = Blocks(source, say)
    system, blocks, origin = system.blocks(estimator, read)
    store, warping = fill(settings, blocks, n, origin, say, system.choose)
    model = model_of_store(estimator, system, settings, store, warping, say)
    read.find_skipped()
    return model


def fitted_again(estimator: Any, system: Any, settings: Settings) -> Any:
    """Fit the rows that a model kept once more."""
    model = estimator.model_
    system = system.again(model)
    if model.stored is not None:
        store = getattr(model.stored, "rows", model.stored).own()
        settings = replace(settings, store=str(store.path)).for_columns(columns_of(estimator))
        say = estimator._say()
        given = model.stored.given() if isinstance(model.stored, Stored) else ()
        return model_of_store(estimator, system, settings, store, model.warping, say, given)
    chunks = model.sum.arrived()
    if not chunks:
        raise ValueError(
            "no rows were kept (n_local=0): relearn needs a model fitted with n_local > 0"
        )
    labels = Owners.of(chunks, model.chunks.ids) if settings.chunks.rule == "label" else None
    owners = model.given_owners() if labels is None else None
    return model_of_rows(estimator, system, settings, system.rows_of(model), labels, owners=owners)


def begun(
    estimator: Any, system: Any, settings: Settings, rows: Rows, more: int, chunk_id: Id | None,
    earlier: Any = None, *, owned_by: Any = None,
) -> Any:  # fmt: skip
    """Fit all rows of a stream that waits, of which `more` came last; `owned_by`: the model of the
    others."""
    owners = owners_with(owned_by, rows.w.size - more, chunk_id, more)
    return model_of_rows(
        estimator, system, settings, rows, streaming=True, earlier=earlier, owners=owners
    )


def after(
    estimator: Any, system: Any, settings: Settings, rows: Rows, chunk_id: Id | None,
    check: StreamCheck, *, fresh: bool = False,
) -> Any:  # fmt: skip
    """Add rows to the model of a stream, or fit all rows again while it waits for enough of them;
    `fresh`: hyperparameters are relearnt then."""
    model, more = getattr(estimator, "model_", None), rows.w.size

    def begin(rows: Rows, earlier: Any) -> Any:
        own = None if fresh else earlier
        return begun(estimator, system, settings, rows, more, chunk_id, own, owned_by=earlier)

    def absorb(model: Any, rows: Rows) -> Any:
        return system.add(model, stream_job(estimator, settings, rows, chunk_id), check)

    with single_threaded():
        return grow(model, rows, begin, absorb)


def chunks_again(estimator: Any, settings: Settings, rows: Rows, id: Id) -> Any:
    """Cut rows into the chunks that they were when they came."""
    return chunks_of(stream_job(estimator, settings, rows, id), estimator.model_)
