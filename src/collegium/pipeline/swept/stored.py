"""Fitting latent functions to rows on disk, whose sites are on disk too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ...interface.progress import Progress
from ...interface.validation import generator
from ...laplace.calibration import left_out
from ...laplace.committee import LaplaceCommittee, predict_latents
from ...laplace.learning import LearntLatent, learn_from
from ...laplace.mode import Sites
from ...likelihoods.base import Scalar
from ...likelihoods.units import exposed
from ...messages.basis import Anchors
from ...numerics.threads import single_threaded
from ...rows.chunk import Chunk
from ...rows.ids import ChunkIds
from ...rows.metric import Metric
from ...rows.rows import Rows
from ...rows.scaling import Scaling, for_learning
from ...rows.store.store import Store
from ..settings import Settings
from ..job import Job
from .settings import sweeps_asked
from .system import CHECKED, HeldOut, LatentDraft, LatentSystem, fit_regression
from .model import LatentModel
from ..plan import LEARNING_AT_MOST
from .files import SiteFile, SitePart, SiteReader, values_of, write_sites
from ..kept.filling import SAMPLE
from ..kept.pool import StoredPool
from ..kept.disk import Stored
from .sites import SitesOnDisk, StoredSites
from .disk import settle_on_disk
from .targets import Targets, TargetsOnDisk, weight_of
from .sweeping import check_modes

Array = np.ndarray
#: Rows of a file that are copied at a time.
COPIED = 100_000


@dataclass(frozen=True, eq=False)
class StoredLatentSystem(LatentSystem):
    """Latent functions of rows in a store. The job has a sample of these."""

    store: Store = field(kw_only=True)
    positions: Array = field(kw_only=True)  # of the sample
    sees: Targets = field(kw_only=True)

    def n_rows(self, job: Job) -> int:
        return len(self.store)

    def _learnt(self, job: Job, kernel: Any) -> LearntLatent:
        s, plain = job.settings, self._rows(job)
        sample = Rows(plain.X, np.hstack([one.y for one in self.problems]), plain.w)
        metric = Metric(plain.X.mean(axis=0), np.ones(plain.X.shape[1]))
        kept = TargetsOnDisk(self.store, Scaling.none(), None, metric, self.sees)
        pool = StoredPool(kept, self.positions, sample, weigh=lambda w: w)
        return learn_from(
            pool, self.problems, kernel, job.rng, s.engine,
            clock=s.clock.share(LEARNING_AT_MOST), say=job.say, levels=s.levels,
            trend=s.trend if kernel is None else None,
            weigh=partial(for_learning, noisy=self._noisy),
        )  # fmt: skip

    def choose(self, job: Job, draft: LatentDraft) -> LatentDraft:
        rows, n = job.rows, len(self.store)
        for_all = replace(rows, w=rows.w * (n / rows.w.size))  # each row stands for so many
        Z = self._anchors(replace(job, rows=for_all), draft)
        job.say(f"{n} distinct rows on disk: {self.store.n_cells} cells, {Z.shape[0]} anchors")
        return replace(draft, Z=Z)

    def add_up(self, job: Job, draft: LatentDraft) -> LatentModel:
        assert draft.kernel is not None and draft.Z is not None
        store = self.store
        metric = Metric.of(draft.kernel, job.rows.X)
        path = str(store.path)
        rows = Stored(path, store.next_row, store.n_segments, metric, mark=store.mark)
        stored = StoredSites.begin(rows, self.sees, store)
        cells = stored.chunks(store)
        basis = Anchors.at(draft.kernel, draft.Z)
        starts = [LaplaceCommittee.of(basis, one) for one in draft.likelihoods]
        committees, stored = settle_on_disk(
            starts, stored, cells, job.settings.engine, self.sweeping
        )
        model = self._model(
            job, draft, committees, chunk_size=store.cell_rows, n_chunks=len(cells),
            total_weight=self._weight(cells), ids=ChunkIds.numbered(store.n_cells),
            waiting=None, stored=stored,
        )  # fmt: skip
        self._say_how(job, model)
        return model

    def finish(self, job: Job, draft: LatentDraft, model: LatentModel) -> LatentModel:
        return self._checked(job, draft, model)

    def _weight(self, cells: Sequence[Any]) -> float:
        if not self.sees.classes:
            return self.store.total_weight()
        return sum(weight_of(cell, self.sees) for cell in cells)

    def _held_out(self, model: LatentModel, job: Job) -> HeldOut:
        """Some of the sample. Where own sites were in the answers they are taken out again."""
        stored = model.stored
        assert stored is not None
        some = np.sort(job.rng.permutation(self.positions.size)[:CHECKED])
        at, rows = self.positions[some], job.rows.take(some)
        fresh = [replace(one) for one in model.committees]
        each = stored.predictors(fresh, max(model.n_local, 1))  # a row is next to itself
        known = predict_latents(each, rows.X, job.settings.engine)
        sites = []
        for one in each:
            assert isinstance(one.rows, SitesOnDisk)
            sites.append(one.rows.take(at))
        y = [problem.y[some] for problem in self.problems]
        return y, rows.w, [left_out(one, own) for one, own in zip(known, sites)], sites


def sample_job(
    estimator: Any, settings: Settings, store: Store, say: Progress
) -> tuple[Job, Array]:
    """To fit a model to the rows of a store: a sample of them, and its positions."""
    positions = store.sample(SAMPLE)
    rows = Rows(*(np.asarray(part, np.float64) for part in store.take(positions)))
    return Job(rows, None, settings, generator(estimator.random_state), say), positions


def fit_stored_regression(
    estimator: Any, settings: Settings, likelihood: Scalar, store: Store, say: Progress, *,
    uneven: bool,
) -> LatentModel:  # fmt: skip
    """The model of a regressor whose likelihood is not Gaussian; `uneven`: some row has another
    exposure than one."""
    job, positions = sample_job(estimator, settings, store, say)

    def system(problems: Any, units: Any, sweeping: Any, **more: Any) -> StoredLatentSystem:
        units = replace(units, exposed=uneven)
        return StoredLatentSystem(
            problems, units, sweeping, store=store, positions=positions, sees=Targets(units), **more
        )

    with single_threaded():
        return fit_regression(job, likelihood, sweeps_asked(estimator.sweeps), system)


def add_stored_sites(model: LatentModel, job: Job) -> LatentModel:
    """The model after more rows, y as the store has it, in chunks that are approximated once."""
    own = model.stored
    assert own is not None
    own.open()
    store, rows, groups = own.rows.own(), job.rows, job.groups(model.kernel)
    order, w = np.concatenate(groups), own.sees.weigh(rows.y, rows.w)
    committees, values, ids = list[LaplaceCommittee](), list[Array](), model.ids
    chunks = list[Chunk]()
    for one, y in zip(model.committees, own.sees(rows.y)):
        chunks, ids = job.more_chunks(groups, Rows(rows.X, y, w), model.ids, None)
        grown = replace(one).add(chunks)
        known = {state.id: state.sites for state in grown.states}
        values.append(np.concatenate([_values(known[chunk.id]) for chunk in chunks]))
        found = grown.modes_found
        committees.append(replace(grown, past=grown.totals, states=(), past_found=found))
    check_modes(committees)
    stored = with_part(replace(own, rows=own.rows.after(chunks)), values)
    try:
        store.add([(*rows.take(order).fields(), own.next_row)], keep=own.rows.segments)
    except BaseException:
        stored.parts[-1].discard()
        raise
    units = replace(model.units, exposed=model.units.exposed or exposed(rows.y))
    return replace(
        model, committees=tuple(committees), ids=ids, n_chunks=model.n_chunks + len(chunks),
        total_weight=model.total_weight + float(w.sum()), stored=stored, units=units,
    )  # fmt: skip


def _values(sites: Sites | None) -> Array:
    assert sites is not None
    return values_of(sites)


def with_part(stored: StoredSites, values: Sequence[Array]) -> StoredSites:
    """With sites of later rows  (n, 3, K) of each committee, up to the last row.

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
                for a in range(part.start, part.stop, COPIED):
                    b = min(a + COPIED, part.stop)
                    write_sites(file.path, a - start, reader.span(a, b))
            write_sites(file.path, stored.size - n - start, new)
            file.settled()
    except BaseException:
        grown.discard()
        raise
    return replace(stored, parts=(*kept, grown))
