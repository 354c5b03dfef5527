"""Sums of messages, the first layer of a model: put together, and taken apart."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from ..errors.checked import Checked
from ..interface.streams.waiting import Waiting
from ..kernels import Kernel
from ..learning.seasons.search import FoundSeasons
from ..likelihoods.base import Observation
from ..likelihoods.gaussian import Gaussian
from ..likelihoods.targets.units import Units
from ..messages.basis import Anchors
from ..messages.committee import Committee
from ..numerics.fingerprint import fingerprint
from ..numerics.records import record
from ..rows.chunk import Chunk, chunk_of, rows_of
from ..rows.ids import ChunkIds, Id, Owners, Receipt, digest, id_of_parts
from ..transforms.warping import Warping
from .layers import Stream

Array = np.ndarray


@record("pipeline.chunks/1")
@dataclass(frozen=True, eq=False)
class ChunkBook:
    """The chunks that a model has learnt from."""

    ids: ChunkIds
    n: int  # chunks
    weight: float  # of all rows
    owners: Owners | None = None  # of the rows of an exact GP, where ids were given
    waiting: Waiting | None = None  # all rows as they came, where they are one exact GP

    def plus(self, ids: ChunkIds, chunks: Sequence[Any], weight: float) -> ChunkBook:
        """Add chunks; `ids`: those of all chunks afterwards."""
        return replace(self, ids=ids, n=self.n + len(chunks), weight=self.weight + weight)

    def without(self, ids: Collection[Id], n: int, weight: float) -> ChunkBook:
        """Drop n chunks of these ids and their weight."""
        return replace(self, ids=self.ids.without(ids), n=self.n - n, weight=self.weight - weight)

    def __add__(self, other: ChunkBook) -> ChunkBook:
        return ChunkBook(self.ids + other.ids, self.n + other.n, self.weight + other.weight)


class MessageSum(Protocol):
    """Messages of chunks about one basis."""

    @property
    def basis(self) -> Anchors: ...

    @property
    def likelihoods(self) -> tuple[Observation, ...]: ...

    def prior(self) -> dict[str, Any]:
        """Name all that messages agree on, but for anchors and the scaling of y."""

    def arrived(self) -> list[tuple[Any, int]]:
        """List id and number of rows of each chunk whose rows are kept in memory, by id."""

    def log_evidence(self) -> Array | float: ...

    def blank(self) -> Any:
        """Drop all messages."""

    def plus(self, other: Any, engine: Any) -> Any:
        """Add the messages of another sum."""

    def without(self, gone: Sequence[Any], engine: Any) -> Any:
        """Remove the messages of these chunks."""

    def of_rows(self, stay: Array, engine: Any) -> tuple[Any, float]:
        """Make the sum of some rows of an exact GP, under the same prior; and their weight."""

    def less(self, receipt: Receipt | None, id: Id, chunks: Sequence[Chunk], engine: Any) -> Any:
        """Remove the messages of a chunk whose rows were not kept."""

    def unlike(self, other: Any) -> list[str]:
        """Name what differs in the anchors."""


@record("pipeline.gaussian_sum/1")
@dataclass(frozen=True, eq=False)
class GaussianSum:
    """Gaussian noise: each message is sent once, and their sum is exact."""

    committee: Committee
    dof: float = 0.0  # effective degrees of freedom of the rows; 0: not estimated
    known_noise: bool = False  # whether rows came with noise variances of their own
    seasons: FoundSeasons | None = None  # beside the kernel learnt; None: none was found

    sweeps: ClassVar[int] = 1
    change: ClassVar[float] = 0.0

    @property
    def basis(self) -> Anchors:
        return self.committee.basis

    @property
    def noise(self) -> float:
        return self.committee.noise

    @property
    def likelihoods(self) -> tuple[Gaussian, ...]:
        return (Gaussian(self.noise),) * self.committee.messages.p

    def prior(self) -> dict[str, Any]:
        c = self.committee
        return {
            "kernel": c.basis.kernel, "noise": c.noise, "kind of expert": type(c.expert).__name__,
        }  # fmt: skip

    def arrived(self) -> list[tuple[Any, int]]:
        return list(zip(self.committee.ids(), self.committee.sizes))

    def log_evidence(self) -> Array:
        return self.committee.log_evidence()

    def blank(self) -> GaussianSum:
        return replace(self, committee=self.committee.blank())

    def plus(self, other: GaussianSum, engine: Any) -> GaussianSum:
        own = other if other.basis.m > self.basis.m else self
        known = self.known_noise or other.known_noise
        return replace(own, committee=self.committee + other.committee, known_noise=known)

    def without(self, gone: Sequence[Any], engine: Any) -> GaussianSum:
        return replace(self, committee=self.committee.without(gone, engine))

    def of_rows(self, stay: Array, engine: Any) -> tuple[GaussianSum, float]:
        rows = self.committee.rows().take(stay)
        own = self.committee.blank().add([chunk_of(0, rows)], engine, keep=True)
        return replace(self, committee=own), float(rows.w.sum())

    def less(
        self, receipt: Receipt | None, id: Id, chunks: Sequence[Chunk], engine: Any
    ) -> GaussianSum:
        if receipt is None:
            raise ValueError(
                f"chunk {id!r} cannot be forgotten: it came without chunk_id, or before the basis "
                "changed, and nothing is known of its rows. Call fit without them"
            )
        if receipt.digest != digest(chunks):
            raise ValueError(
                f"X, y and sample_weight are not the rows of chunk {id!r}: give them as they came, "
                "to an estimator with the same arguments"
                + " (rows with noise_variance are forgotten only where they were kept)"
                * self.known_noise
            )
        known = self.committee.known(receipt.anchors).add(chunks, engine, keep=False)
        return replace(self, committee=self.committee.less(known.messages))

    def unlike(self, other: GaussianSum) -> list[str]:
        return unlike(self.basis, other.basis)


def basis_id(prior: tuple[Any, ...], Z: Array) -> str:
    """Chain hashes, one anchor at a time: that of the first anchors is on the way to it."""
    found = fingerprint(*prior)
    for z in Z:
        found = fingerprint(found, z)
    return found


def unlike(a: Anchors, b: Anchors) -> list[str]:
    """Name what keeps messages about the anchors of one, the first of the other, apart.

    Anchors that were appended have another factor, in its last digits, than if all had been there
    at once. Models without anchors send no messages, and are like each other alone.
    """
    m = min(a.m, b.m)
    if not np.array_equal(a.Z[:m], b.Z[:m]) or (m == 0 and a.m != b.m):
        return ["anchors"]
    same = np.array_equal(a.factor[:m, :m], b.factor[:m, :m])
    return [] if same else ["factor of the anchors' covariance"]


def owners_with(model: Any, n: int, chunk_id: Id | None, more: int) -> Owners | None:
    """Name the ids of n rows that a model kept (none: a new stream) and of more that came; None
    where no ids were ever given."""
    ids = ChunkIds() if model is None else model.chunks.ids
    if chunk_id is None and not ids.given:
        return None
    own = Owners.of([]) if model is None else model.kept_owners()
    assert own.of_row.size == n
    if chunk_id is not None:
        return own + Owners.of([(chunk_id, more)])
    return own + Owners.of([(ids.next, more)], ids.more(1))


class Additive:
    """A model that is a sum of messages."""

    sum: Any  # a MessageSum
    units: Units
    chunks: ChunkBook
    stream: Stream
    warping: Warping | None = None
    stored: Any = None  # where rows are, if these are not in memory

    @property
    def kernel(self) -> Kernel:
        return self.sum.basis.kernel

    @property
    def likelihoods(self) -> tuple[Any, ...]:
        return self.sum.likelihoods

    @property
    def total_weight(self) -> float:
        return self.chunks.weight

    def log_evidence(self) -> Array | float:
        return self.sum.log_evidence()

    @property
    def kept(self) -> Any:
        """The rows that answers are made of."""
        raise TypeError("abstract model")

    @property
    def waiting(self) -> Waiting | None:
        """All rows as they came, where they are one exact GP."""
        return self.chunks.waiting

    @property
    def alone(self) -> bool:
        """Whether all rows are one exact GP, which sends no messages."""
        return self.waiting is not None

    @property
    def shares_rows(self) -> bool:
        """Whether all chunks share rows: then none can be taken out, and none put together."""
        return False

    @property
    def known_noise(self) -> bool:
        return self.sum.known_noise

    @property
    def chunk_ids(self) -> list[Id]:
        return self.chunks.ids.listed()

    def given_owners(self) -> Owners | None:
        """Name the ids of the rows that were kept, where some were given."""
        return self.kept_owners() if self.chunks.ids.given else None

    def kept_owners(self) -> Owners:
        """Name the ids of the rows that were kept."""
        if self.chunks.owners is not None:
            return self.chunks.owners
        return Owners.of(((id_of_parts(id), n) for id, n in self.sum.arrived()), self.chunks.ids)

    def confirm_rows(self, earlier: Any) -> None:
        """Note on disk which rows were added and forgotten since an earlier model, or None."""
        own, before = (getattr(one, "stored", None) for one in (self, earlier))
        own, before = (getattr(one, "rows", one) for one in (own, before))
        if own is not None and own.differs(before):
            own.confirm()

    def not_kept(self, ids: Collection[Id]) -> list[Id]:
        """List those of the ids whose rows were not kept."""
        if self.alone or self.stored is not None:
            return []
        kept = {id_of_parts(id) for id, _ in self.sum.arrived()}
        return [id for id in ids if id not in kept]

    def _prior(self) -> dict[str, Any]:
        """Name all that messages of one basis agree on, but for the anchors."""
        own = {**self.sum.prior(), "scaling of y": self._units_of_sums()}
        return own if self.warping is None else {**own, "transform of X or y": self.warping}

    def _units_of_sums(self) -> Any:
        return self.units.scaling

    @property
    def basis_id(self) -> str:
        return basis_id(tuple(self._prior().values()), self.sum.basis.Z)

    def differences(self, other: Any) -> list[str]:
        """Name what keeps the messages of two models from being added."""
        if type(self) is not type(other) or type(self.sum) is not type(other.sum):
            return ["kind of model"]
        own, theirs = self._prior(), other._prior()
        found = [
            name
            for name in {**own, **theirs}
            if fingerprint(own.get(name)) != fingerprint(theirs.get(name))
        ]
        return found or self.sum.unlike(other.sum)

    def blank(self) -> Self:
        """Keep the prior alone, on the same basis, whose anchors stay as they are."""
        return replace(  # type: ignore[type-var]
            self._as_summed(), sum=self.sum.blank(), chunks=ChunkBook(ChunkIds(), 0, 0.0),
            stream=self.stream.at_rest(), **({} if self.stored is None else {"stored": None}),
        )  # fmt: skip

    def merged(self, other: Self, engine: Any) -> Self:
        """Add the chunks of both."""
        if self.stored is not None or other.stored is not None:
            raise ValueError(
                "rows of a store are not moved into another: put together models that keep no "
                "rows (n_local=0), or partial_fit one with the rows of the other"
            )
        more = other if other.sum.basis.m > self.sum.basis.m else self
        both = self.sum.plus(other.sum, engine)
        return replace(  # type: ignore[type-var]
            more._as_summed(), sum=both, chunks=self.chunks + other.chunks
        )

    def without(self, ids: Collection[Id], engine: Any) -> Self:
        """Remove chunks whose rows were kept."""
        if self.alone:
            return self._without_rows_of(ids, engine)
        kept = self.kept
        gone = kept.chunks_of(ids)
        weight = sum(map(kept.weight, gone))
        own, stored = kept.without(gone, self.sum, engine)
        left = self._less(ids, gone, weight, own)
        return left if self.stored is None else replace(left, stored=stored)  # type: ignore[type-var]

    def without_chunks(self, id: Id, chunks: Sequence[Chunk], engine: Any) -> Self:
        """Remove a chunk whose rows were not kept, but are known to be these."""
        if self.stored is not None:
            raise ValueError(f"rows of chunk {id!r} are in the store: leave out X and y")
        sum_left = self.sum.less(self.chunks.ids.receipt(id), id, chunks, engine)
        weight = sum(float(chunk.w.sum()) for chunk in chunks)
        left = self._less([id], chunks, weight, sum_left)
        stream = left.stream.without_chunks(chunks)
        return replace(left, stream=stream)  # type: ignore[type-var]

    def _less(self, ids: Collection[Id], gone: Sequence[Any], weight: float, left: Any) -> Self:
        stream = self.stream
        if stream.checked is not None:
            rows = [rows_of(chunk) for chunk in gone]
            stream = replace(stream, checked=reduce(Checked.without, rows, stream.checked))
        return replace(  # type: ignore[type-var]
            self._as_summed(), sum=left, chunks=self.chunks.without(ids, len(gone), weight),
            stream=stream,
        )  # fmt: skip

    def _without_rows_of(self, ids: Collection[Id], engine: Any) -> Self:
        """Make the exact GP of the other rows, under the same prior."""
        own, waits = self.chunks.owners, self.waiting
        stay = np.zeros(0, dtype=bool) if own is None else own.others(ids)
        if own is None or waits is None or not stay.any():
            raise ValueError("no rows would be left: call fit with others")
        left, weight = self.sum.of_rows(stay, engine)
        rows = replace(waits, rows=waits.rows.take(stay))
        book = ChunkBook(self.chunks.ids.without(ids), 1, weight, own.take(stay), rows)
        return replace(self._as_summed(), sum=left, chunks=book)  # type: ignore[type-var]

    def _as_summed(self) -> Self:
        """Drop what was computed from all rows: others are to be added or removed."""
        return self
