"""Sweeps over chunks on disk: sites are read from one file of a committee and written to another.

A message is not kept: it follows from the sites of its chunk, and so is computed again where the
chunk's cavity is wanted. While steps are short the sites of a chunk move by them, not its message;
where nothing moves any more the two are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ...laplace.committee import (
    ChunkDesign,
    ChunkState,
    LaplaceCommittee,
    mode_tolerance,
    settle,
)
from ...laplace.mode import Sites
from ...laplace.stack import Stack, Totals
from ...messages.adding import added
from ...numerics.threads import single_threaded
from ...rows.chunk import Chunk
from .files import SiteFile, SiteReader, sites_of, values_of, write_sites
from .sites import StoredSites
from .sweeping import Sweeping
from .targets import Targets

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class SweptTerm:
    """Messages of a chunk after a sweep, one entry per committee."""

    messages: tuple[Stack, ...]
    changes: tuple[float, ...]
    found: tuple[bool, ...]  # whether Newton's method converged


@dataclass(frozen=True, eq=False)
class SweptSums:
    """Sums of messages, the largest change, and whether all modes were found, one per committee."""

    totals: tuple[Totals, ...]
    changes: tuple[float, ...]
    found: tuple[bool, ...]

    @classmethod
    def none(cls, sizes: Sequence[tuple[int, int]]) -> SweptSums:
        """Start with no messages, for committees of so many anchors and latent functions."""
        totals = tuple(Totals.zero(m, K) for m, K in sizes)
        return cls(totals, (0.0,) * len(totals), (True,) * len(totals))

    def plus(self, terms: Iterable[SweptTerm]) -> SweptSums:
        totals, changes, found = list(self.totals), list(self.changes), list(self.found)
        for term in terms:
            for k, message in enumerate(term.messages):
                totals[k] = totals[k].plus([message])
                changes[k] = max(changes[k], term.changes[k])
                found[k] = found[k] and term.found[k]
        return SweptSums(tuple(totals), tuple(changes), tuple(found))

    def __add__(self, other: SweptSums) -> SweptSums:
        return SweptSums(
            tuple(a + b for a, b in zip(self.totals, other.totals)),
            tuple(map(max, self.changes, other.changes)),
            tuple(a and b for a, b in zip(self.found, other.found)),
        )


@dataclass(frozen=True, eq=False)
class Said:
    """Computes the messages of a chunk from the sites that are known."""

    committees: tuple[LaplaceCommittee, ...]
    own: tuple[int, ...]  # which of the targets are theirs
    sees: Targets
    known: tuple[SiteReader | None, ...]  # None: nothing yet

    def __call__(self, cell: Any) -> SweptTerm:
        said = tuple(state.messages for state in self.states(cell)[1])
        return SweptTerm(said, (0.0,) * len(said), (True,) * len(said))

    def states(self, cell: Any) -> tuple[ChunkDesign, list[ChunkState]]:
        """Read a chunk: its design, and for each committee its sites and messages."""
        X, y, w = cell.load()
        w, targets = self.sees.weigh(y, w), self.sees(y)
        design, found = self.committees[0].design(Chunk(cell.id, X, y, w)), []
        for one, k, reader in zip(self.committees, self.own, self.known):
            chunk = Chunk(cell.id, X, targets[k], w)
            if reader is None:
                found.append(ChunkState(chunk, Stack.zero(one.basis.m, one.likelihood.latents)))
            else:
                found.append(sent(design, chunk, known_sites(one, chunk, cell, reader)))
        return design, found

    def sizes(self) -> list[tuple[int, int]]:
        """Anchors and latent functions of each committee."""
        return [(one.basis.m, one.likelihood.latents) for one in self.committees]


@dataclass(frozen=True, eq=False)
class Approximate(Said):
    """Approximates a chunk again in each committee, against its cavity; writes the sites.

    `past` of the committees are the sums of all messages.
    """

    steps: tuple[float, ...]
    paths: tuple[str, ...]  # of new files
    renew: bool = False  # write curvatures in place of bounds, at the modes that are known

    def __call__(self, cell: Any) -> SweptTerm:
        return self.against(cell, [one.past for one in self.committees])[0]

    def in_turn(self, cell: Any, totals: list[Totals]) -> tuple[SweptTerm, list[Totals]]:
        """Against these sums of all messages; and what they are afterwards."""
        term, before = self.against(cell, totals)
        old_and_new = zip(totals, before, term.messages)
        return term, [total.minus(old.messages).plus([new]) for total, old, new in old_and_new]

    def against(self, cell: Any, totals: list[Totals]) -> tuple[SweptTerm, list[ChunkState]]:
        """The chunk after this sweep, and what it was before."""
        design, before = self.states(cell)
        messages, changes, found = [], [], []
        for k, (one, total, old) in enumerate(zip(self.committees, totals, before)):
            if self.renew:
                new = self._renewed(k, design, old)
            else:
                cavity = total.minus(old.messages).with_prior(one.basis)
                new = self._moved(k, design, old, cavity)
            assert new.sites is not None
            write_cell(self.paths[k], cell, values_of(new.sites))
            messages.append(new.messages)
            changes.append(new.messages.change(old.messages, one.total) / self.steps[k])
            found.append(new.mode_found)
        return SweptTerm(tuple(messages), tuple(changes), tuple(found)), before

    def _renewed(self, k: int, design: ChunkDesign, old: ChunkState) -> ChunkState:
        assert old.sites is not None
        return sent(design, old.chunk, curvatures(self.committees[k], old.chunk, old.sites))

    def _moved(self, k: int, design: ChunkDesign, old: ChunkState, cavity: Stack) -> ChunkState:
        """At the mode, or on the way there; its sites are those of its message."""
        one, (_, y, w) = self.committees[k], old.chunk.load()
        new = one.approximate(design, old, cavity, mode_tolerance(one.change))
        assert new.sites is not None
        sites = one.as_sent(new.sites, y, w)
        if old.sites is None or self.steps[k] == 1.0:
            return replace(new, sites=sites)
        log_p = log_density_of(one, old.chunk)
        return sent(design, old.chunk, towards(sites, old.sites, self.steps[k], log_p))


def sent(design: ChunkDesign, chunk: Chunk, sites: Sites) -> ChunkState:
    """A chunk with the message of these sites."""
    return ChunkState(chunk, Stack(sites.message(design.V, design.Q)), sites)


def towards(new: Sites, old: Sites, step: float, log_p: Any) -> Sites:
    """old + step · (new − old), of f̂ and of the natural parameters g + Wf̂ and W."""

    def between(a: Array, b: Array) -> Array:
        return b + step * (a - b)

    f, W = between(new.f, old.f), between(new.W, old.W)
    h = between(new.g + new.W * new.f, old.g + old.W * old.f)
    return Sites(f, h - W * f, W, log_p(f), new.converged)


def log_density_of(one: LaplaceCommittee, chunk: Chunk) -> Any:
    """f̂ -> Σ w log p(y | f̂)."""

    def at(f: Array) -> float:
        with np.errstate(over="ignore"):
            own = f[:, 0] if one.likelihood.latents == 1 else f
            return float(chunk.w @ one.likelihood.log_density(chunk.y, own))

    return at


def known_sites(one: LaplaceCommittee, chunk: Chunk, cell: Any, reader: SiteReader) -> Sites:
    values = reader.span(*cell.span)[cell.alive]
    sites = sites_of(values, 0.0)
    return replace(sites, log_density=log_density_of(one, chunk)(sites.f))


def curvatures(one: LaplaceCommittee, chunk: Chunk, sites: Sites) -> Sites:
    """At the same modes, with gradients and curvatures of the likelihood."""
    f = sites.f[:, 0] if one.likelihood.latents == 1 else sites.f
    first = one.likelihood.derivatives(chunk.y, f)[0].reshape(sites.f.shape)
    W = one.likelihood.curvature(chunk.y, f)[0].reshape(sites.f.shape)
    return replace(sites, g=chunk.w[:, None] * first, W=chunk.w[:, None] * W)


def write_cell(path: str, cell: Any, values: Array) -> None:
    start, stop = cell.span
    if values.shape[0] < stop - start:  # rows that are forgotten have zeros
        whole = np.zeros((stop - start, *values.shape[1:]))
        whole[cell.alive] = values
        values = whole
    write_sites(path, start, values)


class StoredSweeps:
    """Goes through chunks on disk again and again; new files take the place of old ones."""

    def __init__(
        self, stored: StoredSites, cells: Sequence[Any], engine: Any, sequential: bool
    ) -> None:
        self.stored, self.cells, self.engine, self.sequential = stored, cells, engine, sequential
        self.files: dict[int, SiteFile] = {}  # of committees that were swept

    def sweep(
        self, moving: list[int], some: list[LaplaceCommittee], steps: list[float],
        *, renew: bool = False,
    ) -> list[LaplaceCommittee]:  # fmt: skip
        stored = self.stored
        new = [SiteFile.create(stored.path, stored.size, one.likelihood.latents) for one in some]
        try:
            work = Approximate(
                tuple(some), tuple(moving), stored.sees, tuple(map(self._known, moving)),
                tuple(steps), tuple(file.path for file in new), renew,
            )  # fmt: skip
            swept = self._in_sequence(work) if self.sequential else self._at_once(work)
        except BaseException:
            for file in new:
                file.discard()
            raise
        for k, file in zip(moving, new):
            if k in self.files:
                self.files[k].discard()
            self.files[k] = file
        return [
            replace(one, past=total, past_found=found, sweeps=one.sweeps + 1, change=change)
            for one, total, change, found in zip(some, swept.totals, swept.changes, swept.found)
        ]

    def renew(self, k: int, one: LaplaceCommittee) -> LaplaceCommittee:
        """With curvatures instead of bounds."""
        (new,) = self.sweep([k], [one], [1.0], renew=True)
        return replace(one, past=new.past, bounded=False)

    def discard(self) -> None:
        for file in self.files.values():
            file.discard()

    def _known(self, k: int) -> SiteReader | None:
        if k in self.files:
            return self.stored.with_files([self.files[k]]).reader(0)
        return self.stored.reader(k)

    def _at_once(self, work: Approximate) -> SweptSums:
        return summed(self.engine, work, self.cells)

    def _in_sequence(self, work: Approximate) -> SweptSums:
        totals, swept = [one.past for one in work.committees], SweptSums.none(work.sizes())
        with single_threaded():
            for cell in self.cells:
                term, totals = work.in_turn(cell, totals)
                swept = swept.plus([term])
        return swept


def summed(engine: Any, work: Said, cells: Sequence[Any]) -> SweptSums:
    blank = partial(SweptSums.none, work.sizes())
    return added(engine, work, cells, blank(), blank)


def by_known_sites(
    committees: Sequence[LaplaceCommittee], stored: StoredSites, cells: Sequence[Any], engine: Any
) -> list[LaplaceCommittee]:
    """The committees of these chunks alone, whose sites are known."""
    own = tuple(range(len(committees)))
    work = Said(tuple(committees), own, stored.sees, tuple(map(stored.reader, own)))
    swept = summed(engine, work, cells)
    return [replace(one, past=total) for one, total in zip(committees, swept.totals)]


def settle_on_disk(
    committees: Sequence[LaplaceCommittee], stored: StoredSites, cells: Sequence[Any],
    engine: Any, sweeping: Sweeping,
) -> tuple[tuple[LaplaceCommittee, ...], StoredSites]:  # fmt: skip
    """The committees after their messages came to rest, and where their sites are.

    Messages start from the sites that are known, whose sums `past` are; none: from nothing.
    """
    work = StoredSweeps(stored, cells, engine, sweeping.sequential)
    try:
        found = settle(committees, work.sweep, work.renew, sweeping.tolerance, sweeping.most)
        files = [work.files[k].settled() for k in range(len(committees))]
    except BaseException:
        work.discard()
        raise
    return tuple(found), stored.with_files(files)
