"""Fitting a committee to rows on disk: a sample is scaled and chooses anchors, cells are chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...interface.progress import Progress
from ...interface.validation import generator
from ...learning.dof import degrees_of_freedom
from ...numerics.fingerprint import fingerprint
from ...numerics.threads import single_threaded
from ...rows.ids import ChunkIds
from ...rows.metric import Metric
from ...rows.rows import Rows
from ...rows.scaling import merged
from ...rows.store.folder import MANIFEST
from ...rows.store.records import Block, pack_blocks
from ...rows.store.sample import HashSample
from ...rows.store.store import Store
from ...transforms.choosing import choose
from ...transforms.inputs import InputTransform
from ...transforms.targets import check_positive
from ...transforms.warping import Warping
from ..settings import Settings
from ..checking import held_out_rows
from ..errors import with_errors
from ..fitting import (
    Draft,
    GaussianSystem,
    anchors_for,
    blank_model,
    check_error_bars,
    checks_bars,
    fit_model,
)
from ..job import Job
from ..model import CommitteeModel
from .checking import StoredLeftOut
from .pool import StoredPool
from .disk import OnDisk, Stored

Array = np.ndarray
#: Rows that stand for all where y is scaled, a transform or anchors are chosen, and from which
#: clusters and held-out rows are taken.
SAMPLE = 20_000


@dataclass(frozen=True)
class StoredSystem(GaussianSystem):
    """Gaussian noise, rows in a store. The job has a sample of them."""

    store: Store
    positions: Array  # of the sample

    def n_rows(self, job: Job) -> int:
        return len(self.store)

    def scale(self, job: Job) -> Draft:
        draft = super().scale(job)
        kept = OnDisk(self.store, draft.units.scaling, job.warping, _unit_metric(draft.rows.X))
        return replace(draft, pool=StoredPool(kept, self.positions, draft.rows), kept=kept)

    def choose(self, job: Job, draft: Draft) -> Draft:
        s, n = job.settings, len(self.store)
        rows = draft.rows
        for_all = replace(rows, w=rows.w * (n / rows.w.size))  # each row stands for so many
        dof = degrees_of_freedom(draft.kernel, draft.noise, for_all)
        job.say(f"about {dof:.0f} effective degrees of freedom")
        assert draft.plan is not None
        most = min(n, draft.plan.most_anchors, rows.w.size)
        m = min(s.anchor_count(n, dof), most)
        selection = anchors_for(job, replace(draft, rows=for_all), m)
        cells = draft.kept.cells()
        draft = replace(draft, selection=selection, dof=dof, cells=tuple(cells))
        job.say(f"{n} rows in {len(cells)} cells on disk, {len(draft.Z)} anchors")
        return replace(draft, left=self._rows_to_check(job, draft))

    def _rows_to_check(self, job: Job, draft: Draft) -> StoredLeftOut | None:
        assert draft.plan is not None
        if not (checks_bars(job, draft) or job.settings.scale_wanted) or len(self.store) < 2:
            return None
        number = draft.plan.held_out(held_out_rows(draft.rows.y))
        if not number:
            job.say("no time to check the error bars on held-out rows")
            return None
        return StoredLeftOut.of_store(draft.kept, self.positions, draft.rows, job.settings, number)

    def add_up(self, job: Job, draft: Draft) -> CommitteeModel:
        ids = ChunkIds.of((cell.id for cell in draft.cells), given=False)
        model = blank_model(job, draft, self.store.total_weight(), ids)
        model = replace(model, n_chunks=len(draft.cells), chunk_size=self.store.cell_rows)
        if draft.left is not None:
            model = check_error_bars(job, draft, model, draft.left)
        committee = model.committee.add(draft.cells, job.settings.engine, keep=False)
        job.say("messages added up")
        metric = Metric.of(model.kernel, draft.rows.X)
        store = self.store
        stored = Stored(str(store.path), store.next_row, store.n_segments, metric, mark=store.mark)
        return replace(model, committee=committee, stored=stored, dof=draft.dof)

    def finish(self, job: Job, draft: Draft, model: CommitteeModel) -> CommitteeModel:
        if draft.left is None:
            return model
        return with_errors(job, model, draft.left.rows, draft.left)


def store_and_fit(
    estimator: Any, settings: Settings, blocks: Iterable[Block], n: int, origin: str, say: Progress
) -> CommitteeModel:
    """The model of n rows in blocks, which are sorted into a store first.

    Blocks are read again and again. `origin` tells them from others; "": nothing does.
    """
    warping = None
    if settings.target_transform is not None or settings.input_transform is not None:
        warping = chosen_transforms(settings, blocks, say)
    places = None if warping is None else warping.inputs
    if places is not None:
        origin = origin and fingerprint(origin, places)
        blocks = Placed(blocks, places)
    store = filled_store(settings, blocks, n, origin, say)
    return fit_stored(estimator, settings, store, warping, say)


def fit_stored(
    estimator: Any, settings: Settings, store: Store, warping: Warping | None, say: Progress
) -> CommitteeModel:
    """The model of the rows of a store, whose inputs are transformed already."""
    positions = store.sample(SAMPLE)
    X, y, w = (np.asarray(part, np.float64) for part in store.take(positions))
    sample = Rows(X, y if warping is None else warping.forward(y), w)
    if warping is not None and settings.anchors is not None:
        settings = replace(settings, anchors=warping.places(settings.anchors))
    rng = generator(estimator.random_state)
    job = Job(sample, None, settings, rng, say, warping=warping)
    with single_threaded():
        return fit_model(StoredSystem(store, positions), job)


def chosen_transforms(settings: Settings, blocks: Iterable[Block], say: Progress) -> Warping | None:
    """Transforms by a sample of the rows; None: they stay as they are."""
    say.task = "choosing transforms"
    sample = HashSample(SAMPLE)
    for records in pack_blocks(blocks):
        if settings.target_transform == "log":
            check_positive(records["y"])  # of all rows, before they are sorted
        sample.add(records)
    found = sample.records()
    rows = Rows(*(np.asarray(found[name], np.float64) for name in "Xyw"))
    rows, _ = merged(rows, None, in_order=False)
    warping = choose(
        rows, settings.target_transform, settings.input_transform, settings.engine, say, more=True,
        levels=settings.levels,
    )  # fmt: skip
    return warping if warping.any else None


@dataclass(frozen=True, eq=False)
class Placed:
    """Blocks whose inputs are transformed."""

    blocks: Iterable[Block]
    inputs: InputTransform

    def __iter__(self) -> Iterator[Block]:
        for X, y, w, first in self.blocks:
            yield self.inputs.forward(np.asarray(X, np.float64)), y, w, first


def filled_store(
    settings: Settings, blocks: Iterable[Block], n: int, origin: str, say: Progress
) -> Store:
    """The store that settings name, with the rows of these blocks.

    Rows that an earlier call has sorted already are used as they are.
    """
    path = Path(settings.store or "")
    if (path / MANIFEST).exists():
        store = Store.open(path)
        changed = store.n_segments > 1 or store.n_forgotten
        if not origin or store.origin != origin or changed:
            raise ValueError(
                f"store={str(path)!r} holds other rows than these, or some were added or "
                "forgotten since: give another path, or delete that folder first"
            )
        say(f"{len(store)} rows are in {path} already")
        return store
    say.task = "sorting rows into cells"
    size = settings.chunk_rows(n, streaming=True)  # also where a stream has few
    return Store.build(path, blocks, cell_rows=size, origin=origin, merge=True)


def add_stored_rows(model: CommitteeModel, job: Job) -> CommitteeModel:
    """The model after more rows, which the store takes up; messages are of chunks of their own."""
    assert model.stored is not None
    own, targets = model.stored, job.rows.y
    job = job.seen_by(model)
    scaled = Rows(job.rows.X, model.scaling.forward(job.rows.y), job.rows.w)
    groups = job.groups(model.kernel)
    order = np.concatenate(groups)
    chunks, ids = job.more_chunks(groups, scaled, model.ids, None)
    store = own.own()
    committee = model.committee.add(chunks, job.settings.engine, keep=False)
    rows = job.rows.take(order)
    store.add([(rows.X, targets[order], rows.w, own.next_row)], keep=own.segments)
    return replace(
        model, committee=committee, ids=ids, n_chunks=model.n_chunks + len(chunks),
        total_weight=model.total_weight + float(rows.w.sum()),
        stored=own.after(chunks),
    )  # fmt: skip


def _unit_metric(X: Array) -> Metric:
    return Metric(X.mean(axis=0), np.ones(X.shape[1]))
