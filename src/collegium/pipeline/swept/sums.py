"""Committees of latent functions, put together and taken apart; their chunks must be kept.

A chunk's message depends on what the others said. So where chunks come or go, those that are kept
are approximated anew until their messages rest: then the order does not matter, to `tol`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Self

import numpy as np

from ...interface.stream import Waiting
from ...laplace.committee import LaplaceCommittee, in_order, settle_together
from ...laplace.stack import Totals
from ...likelihoods.units import Units
from ...rows.chunk import Chunk
from ...rows.ids import ChunkIds, Id, Owners
from ...rows.store.store import Store
from ..sums import basis_id, of_id, unlike, unlike_priors
from ..kept.disk import refuse_to_merge
from .sites import StoredSites
from .disk import by_known_sites, settle_on_disk
from .targets import weight_of
from .sweeping import Sweeping

Array = np.ndarray


class LatentAdditive:
    """A model of one or several generalised committees of the same chunks."""

    committees: tuple[LaplaceCommittee, ...]
    shares_rows = False
    units: Units
    ids: ChunkIds
    n_chunks: int
    total_weight: float
    waiting: Waiting | None
    owners: Owners | None
    sweeping: Sweeping
    stored: StoredSites | None

    @property
    def alone(self) -> bool:
        """Whether all rows are one chunk, without anchors."""
        return self.waiting is not None

    def given_owners(self) -> Owners | None:
        """The ids of the rows that were kept, where some were given."""
        return self.kept_owners() if self.ids.given else None

    def kept_owners(self) -> Owners:
        """The ids of the rows that were kept."""
        if self.owners is not None:
            return self.owners
        if self.waiting is not None:
            return Owners.of([(0, self.waiting.rows.w.size)])
        states = self.committees[0].states
        return Owners.of((of_id(state.id), state.chunk.n) for state in states)

    def not_kept(self, ids: Collection[Id]) -> list[Id]:
        """Those of the ids whose rows were not kept."""
        kept = {of_id(state.id) for state in self.committees[0].states}
        return [] if self.alone or self.stored is not None else [id for id in ids if id not in kept]

    def _prior(self) -> dict[str, Any]:
        first = self.committees[0]
        return {
            "kernel": first.basis.kernel,
            "likelihood": tuple(
                (type(one.likelihood).__name__, one.likelihood.theta) for one in self.committees
            ),
            "kind of expert": type(first.expert).__name__,
            "scaling of y": replace(self.units, exposed=False),
        }

    @property
    def chunk_ids(self) -> list[Id]:
        return self.ids.listed()

    @property
    def basis_id(self) -> str:
        return basis_id(tuple(self._prior().values()), self.committees[0].basis.Z)

    def differences(self, other: Any) -> list[str]:
        """What keeps the messages of two models from being added."""
        if found := unlike_priors(self, other):
            return found
        mine, yours = self.committees[0].basis, other.committees[0].basis
        return unlike(mine, yours) if mine.m == yours.m else ["anchors"]

    def blank(self) -> Self:
        """The prior alone, on the same basis, whose anchors stay as they are."""
        none = tuple(
            replace(
                one, past=Totals.zero(one.basis.m, one.likelihood.latents), states=(),
                past_found=True, sweeps=0, change=0.0,
            )
            for one in self.committees
        )  # fmt: skip
        return self._after(none, ChunkIds(), 0, 0.0, following=None, steady=True, stored=None)

    def merged(self, other: Self, engine: Any) -> Self:
        """The model of the chunks of both."""
        if self.stored is not None or other.stored is not None:
            refuse_to_merge()
        both = [
            replace(
                a, past=a.past + b.past, states=in_order((*a.states, *b.states)),
                past_found=a.past_found and b.past_found,
            )
            for a, b in zip(self.committees, other.committees)
        ]  # fmt: skip
        return self._after(
            self._at_rest(both, engine), self.ids + other.ids, self.n_chunks + other.n_chunks,
            self.total_weight + other.total_weight,
        )  # fmt: skip

    def without(self, ids: Collection[Id], engine: Any) -> Self:
        """The model without chunks whose rows were kept."""
        if self.alone:
            return self._without_rows_of(ids, engine)
        if self.stored is not None:
            return self._without_stored(ids, engine)
        first = self.committees[0].states
        gone = [state.chunk for state in first if of_id(state.id) in ids]
        left = [
            replace(one, states=tuple(s for s in one.states if of_id(s.id) not in ids))
            for one in self.committees
        ]
        weight = sum(float(chunk.load()[2].sum()) for chunk in gone)
        return self._after(
            self._at_rest(left, engine), self.ids.without(ids), self.n_chunks - len(gone),
            self.total_weight - weight,
        )  # fmt: skip

    def _without_stored(self, ids: Collection[Id], engine: Any) -> Self:
        """Without chunks of its store, whose rows are never found again."""
        assert self.stored is not None
        own, gone, left = self.stored, list[Any](), list[Any]()
        for chunk in own.chunks(own.open()):
            (gone if of_id(chunk.id) in ids else left).append(chunk)
        if not left:
            raise ValueError("no rows would be left: call fit with others")
        weight = sum(weight_of(chunk, own.sees) for chunk in gone)
        starts = by_known_sites([replace(one) for one in self.committees], own, left, engine)
        starts = [replace(one, change=np.inf) for one in starts]
        found, stored = settle_on_disk(starts, own, left, engine, self.sweeping)
        self.sweeping.check(found)
        numbers = [np.empty(0, np.int64), *(chunk.numbers() for chunk in gone)]
        Store.open(own.path).forget(np.concatenate(numbers))
        return self._after(
            found, self.ids.without(ids), len(left), self.total_weight - weight,
            stored=stored.without(ids),
        )  # fmt: skip

    def keep_files(self) -> None:
        """Before a copy is made: files on disk stay for it."""
        if self.stored is not None:
            self.stored.keep_files()

    def without_chunks(self, id: Id, chunks: Any, engine: Any) -> Self:
        raise ValueError(
            f"chunk {id!r} cannot be forgotten: with this likelihood a message depends on those "
            "before it, and rows were not kept. Give n_local > 0"
        )

    def _without_rows_of(self, ids: Collection[Id], engine: Any) -> Self:
        stay = np.zeros(0, dtype=bool) if self.owners is None else self.owners.others(ids)
        if self.owners is None or self.waiting is None or not stay.any():
            raise ValueError("no rows would be left: call fit with others")
        chunks = [[value[stay] for value in one.states[0].chunk.load()] for one in self.committees]
        none = [replace(one, states=(), sweeps=0) for one in self.committees]
        starts = [one.join([Chunk(0, *chunk)]) for one, chunk in zip(none, chunks)]
        return self._after(
            self._at_rest(starts, engine, most=1), self.ids.without(ids), 1,
            float(chunks[0][2].sum()), owners=self.owners.take(stay),
            waiting=replace(self.waiting, rows=self.waiting.rows.take(stay)),
        )  # fmt: skip

    def _at_rest(
        self, committees: list[LaplaceCommittee], engine: Any, most: int | None = None
    ) -> tuple[LaplaceCommittee, ...]:
        """Sweep until no message moves, where chunks were kept."""
        s = self.sweeping
        if not committees[0].states:
            return tuple(committees)
        found = settle_together(
            [replace(one, change=np.inf) for one in committees], engine, sequential=s.sequential,
            tolerance=s.tolerance, max_sweeps=most or s.most,
        )  # fmt: skip
        if most is None:
            s.check(found)
        return tuple(replace(one) for one in found)  # what it caches is not stored

    def _after(
        self, committees: tuple[LaplaceCommittee, ...], ids: ChunkIds, n_chunks: int,
        total_weight: float, **more: Any,
    ) -> Self:  # fmt: skip
        return replace(  # type: ignore[type-var]
            self, committees=committees, ids=ids, n_chunks=n_chunks, total_weight=total_weight,
            **more,
        )  # fmt: skip
