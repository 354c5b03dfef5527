"""Rows with Gaussian sites, in memory or on disk, behind one protocol."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...laplace.calibration import without_own_site
from ...laplace.committee import LaplaceCommittee, latent_predictors, predict_latents
from ...laplace.learning import Problem
from ...members.folds import CHECKS, folds_of
from ...rows.ids import Id, id_of_parts
from ...rows.rows import Prediction, Rows, SiteRows
from ..job import Job
from ..tuning import TUNING
from .disk import by_known_sites, settle_on_disk
from .files import values_of
from .sites import StoredSiteRows, StoredSites, with_part
from .sums import SweptSum, dropped_chunks

Array = np.ndarray


def to_check_with(X: Array) -> Array:
    """Which rows check a model, and so are kept from learning its kernel: else a kernel of many
    columns, which has seen them, would look better there than it is  (n,). None of few rows."""
    n, t = X.shape[0], TUNING.sweeps
    return folds_of(X, t.folds, CHECKS) == 0 if n >= t.apart else np.zeros(n, dtype=bool)


class HeldOutSites(NamedTuple):
    """Some rows, each held out in turn."""

    y: list[Array]  # targets of each problem
    w: Array  # weights
    latents: list[Prediction]  # latent values given all other rows
    sites: list[SiteRows]


@dataclass(frozen=True, eq=False)
class SitesInMemory:
    """The chunks that generalised committees keep, with the site of each row."""

    committees: tuple[LaplaceCommittee, ...]

    in_memory: ClassVar[bool] = True

    def __len__(self) -> int:
        return sum(state.chunk.n for state in self.committees[0].states)

    def inputs(self, most: int) -> Array:
        return np.concatenate([s.chunk.load()[0] for s in self.committees[0].states])

    def rows(self, k: int = 0) -> Rows:
        """All rows, targets as the k-th likelihood sees them."""
        parts = [state.chunk.load() for state in self.committees[k].states]
        return Rows(*(np.concatenate(values) for values in zip(*parts)))

    def weight(self, chunk: Any) -> float:
        return float(chunk.load()[2].sum())

    def chunks_of(self, ids: Collection[Id]) -> list[Any]:
        states = self.committees[0].states
        return [state.chunk for state in states if id_of_parts(state.id) in ids]

    def without(self, chunks: Sequence[Any], sum: SweptSum, engine: Any) -> tuple[SweptSum, None]:
        return sum.without(chunks, engine), None

    def append(
        self, grown: Sequence[LaplaceCommittee], chunks: Sequence[Any], rows: Rows
    ) -> tuple[tuple[LaplaceCommittee, ...], None]:
        """Keep chunks that came later; the committees have them already."""
        return tuple(replace(one) for one in grown), None

    def predictors(self, k: int) -> tuple[Any, ...]:
        """Predict each latent function from anchors and the k rows nearest to a query."""
        return latent_predictors(self.latents(), k)

    def latents(self) -> list[Any]:
        """List all latent functions, with the sites of the rows kept."""
        each = ((one, j) for one in self.committees for j in range(one.likelihood.latents))
        return [one.latent(j) for one, j in each]

    def held_out(self, job: Job, problems: Sequence[Problem], near: int) -> HeldOutSites:
        """Hold out some rows in turn, answered from anchors and the nearest `near` rows."""
        latents = self.latents()
        rows = [latent.rows() for latent in latents]
        apart = to_check_with(rows[0].X)
        own = job.rng.permutation(np.flatnonzero(apart) if apart.any() else apart.size)
        some = np.sort(own[: TUNING.sweeps.checked])
        each = [self.rows(k).take(some) for k in range(len(self.committees))]
        answers = latent_predictors(latents, near)
        known = predict_latents(answers, rows[0].X[some], job.settings.engine)
        return _held_out(
            [one.y for one in each], each[0].w, known, [own.take(some) for own in rows]
        )


@dataclass(frozen=True, eq=False)
class SitesOnDisk:
    """Rows of a store, and files of their sites."""

    committees: tuple[LaplaceCommittee, ...]
    stored: StoredSites

    in_memory: ClassVar[bool] = False

    def __len__(self) -> int:
        return len(self.stored.open())

    def inputs(self, most: int) -> Array:
        store = self.stored.open()
        return np.asarray(store.inputs(store.sample(most)), np.float64)

    def weight(self, chunk: Any) -> float:
        _, y, w = chunk.load()
        return float(self.stored.sees.weigh(y, w).sum())

    def chunks_of(self, ids: Collection[Id]) -> list[Any]:
        self.stored.rows.own()
        return [one for one in self._chunks() if id_of_parts(one.id) in ids]

    def _chunks(self) -> list[Any]:
        return self.stored.chunks(self.stored.open())

    def without(
        self, chunks: Sequence[Any], sum: SweptSum, engine: Any
    ) -> tuple[SweptSum, StoredSites]:
        """Sweep over the other chunks, and mark the rows when the call ends."""
        own, gone = self.stored, {chunk.id for chunk in chunks}
        left = [chunk for chunk in self._chunks() if chunk.id not in gone]
        if not left:
            raise ValueError("no rows would be left: call fit with others")
        starts = by_known_sites(self.committees, own, left, engine)
        starts = [replace(one, change=np.inf) for one in starts]
        found, stored = settle_on_disk(starts, own, left, engine, sum.sweeping)
        sum.sweeping.check(found)
        return replace(sum, committees=found), replace(stored, rows=stored.rows.forget(chunks))

    def append(
        self, grown: Sequence[LaplaceCommittee], chunks: Sequence[Any], rows: Rows
    ) -> tuple[tuple[LaplaceCommittee, ...], StoredSites]:
        """Write rows (as they came, in the order of their chunks) and their sites to disk."""
        own, values = self.stored, []
        own.open()  # refuses rows that were sorted again
        for one in grown:
            known: dict[Any, Any] = {state.id: state.sites for state in one.states}
            values.append(np.concatenate([values_of(known[chunk.id]) for chunk in chunks]))
        stored = with_part(replace(own, rows=own.rows.after(chunks)), values)
        try:
            own.rows.add(rows, stored.rows)
        except BaseException:
            stored.parts[-1].discard()
            raise
        return tuple(map(dropped_chunks, grown)), stored

    def predictors(self, k: int) -> tuple[Any, ...]:
        if not k:
            return SitesInMemory(self.committees).predictors(0)
        return self.stored.predictors(self.committees, k)

    def held_out(self, job: Job, problems: Sequence[Problem], near: int) -> HeldOutSites:
        """Hold out some of the sample in turn."""
        assert job.on_disk is not None
        some = np.sort(job.rng.permutation(job.on_disk.positions.size)[: TUNING.sweeps.checked])
        at, rows, each = job.on_disk.positions[some], job.rows.take(some), self.predictors(near)
        known, sites = predict_latents(each, rows.X, job.settings.engine), []
        for one in each:
            assert isinstance(one.rows, StoredSiteRows)
            sites.append(one.rows.take(at))
        return _held_out([problem.y[some] for problem in problems], rows.w, known, sites)


def _held_out(
    y: list[Array], w: Array, known: list[Prediction], sites: list[SiteRows]
) -> HeldOutSites:
    """Take the own site of each row out of what is known of it."""
    return HeldOutSites(y, w, [without_own_site(one, own) for one, own in zip(known, sites)], sites)
