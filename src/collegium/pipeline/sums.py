"""Models that are sums of messages: put together, taken apart, begun anew on the same basis."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Self

import numpy as np

from ..errors.checked import Checked
from ..likelihoods.units import Units
from ..messages.basis import Anchors
from ..messages.committee import Committee
from ..numerics.fingerprint import fingerprint
from ..rows.chunk import Chunk, chunk_of, rows_of
from ..rows.ids import ChunkIds, Id, Owners, digest
from ..transforms.warping import Warping

Array = np.ndarray


def basis_id(prior: tuple[Any, ...], Z: Array) -> str:
    """A chain of hashes, one anchor at a time: that of the first anchors is on the way to it."""
    found = fingerprint(*prior)
    for z in Z:
        found = fingerprint(found, z)
    return found


def unlike(a: Anchors, b: Anchors) -> list[str]:
    """What keeps messages about the anchors of one, the first of the other, from being added.

    Anchors that were appended have another factor, in its last digits, than if all had been there
    at once. Models without anchors send no messages, and are like each other alone.
    """
    m = min(a.m, b.m)
    if not np.array_equal(a.Z[:m], b.Z[:m]) or (m == 0 and a.m != b.m):
        return ["anchors"]
    same = np.array_equal(a.factor[:m, :m], b.factor[:m, :m])
    return [] if same else ["factor of the anchors' covariance"]


def unlike_priors(model: Any, other: Any) -> list[str]:
    """What differs between two models, but for their anchors, by the words of users."""
    if type(model) is not type(other):
        return ["kind of model"]
    own, theirs = model._prior(), other._prior()
    return [
        name
        for name in {**own, **theirs}
        if fingerprint(own.get(name)) != fingerprint(theirs.get(name))
    ]


def of_id(chunk_id: Any) -> Id:
    """The id of all parts of a chunk."""
    return chunk_id[0] if isinstance(chunk_id, tuple) else chunk_id


def owners_with(model: Any, n: int, chunk_id: Id | None, more: int) -> Owners | None:
    """The ids of n rows that a model kept (none: a new stream), and of more that came; None where
    no ids were ever given."""
    ids = ChunkIds() if model is None else model.ids
    if chunk_id is None and not ids.given:
        return None
    own = Owners.of([]) if model is None else model.kept_owners()
    assert own.of_row.size == n
    return own + Owners.of([(ids.next if chunk_id is None else chunk_id, more)])


class Additive:
    """A model of one committee of Gaussian messages."""

    committee: Committee
    units: Units
    ids: ChunkIds
    n_chunks: int
    total_weight: float
    owners: Owners | None = None
    targets: Array | None = None
    places: Array | None = None
    warping: Warping | None = None
    checked: Checked | None = None

    @property
    def alone(self) -> bool:
        """Whether all rows are one exact GP, which sends no messages."""
        return False

    def given_owners(self) -> Owners | None:
        """The ids of the rows that were kept, where some were given."""
        return self.kept_owners() if self.ids.given else None

    def kept_owners(self) -> Owners:
        """The ids of the rows that were kept."""
        if self.owners is not None:
            return self.owners
        return Owners.of((of_id(chunk.id), chunk.n) for chunk in self.committee.chunks())

    def not_kept(self, ids: Collection[Id]) -> list[Id]:
        """Those of the ids whose rows were not kept."""
        kept = {of_id(id) for id, _ in self.committee.arrived}
        return [] if self.alone else [id for id in ids if id not in kept]

    @property
    def sizes(self) -> Sequence[int]:
        """Of the chunks whose rows were kept."""
        return self.committee.sizes

    @property
    def shares_rows(self) -> bool:
        """Whether all chunks share rows: then none can be taken out, and none put together."""
        return False

    def _as_summed(self) -> dict[str, Any]:
        """Fields of what was computed from all rows, for a model with others."""
        return {}

    def _at_rest(self) -> dict[str, Any]:
        """Fields of a model whose anchors do not follow a stream."""
        return {}

    def _prior(self) -> dict[str, Any]:
        """All that messages of one basis agree on, but for the anchors; by the words of users."""
        c, scaling = self.committee, self.units.scaling
        own = {
            "kernel": c.basis.kernel,
            "noise": c.noise,
            "kind of expert": type(c.expert).__name__,
            "scaling of y": scaling,
        }
        return own if self.warping is None else {**own, "transform of X or y": self.warping}

    @property
    def chunk_ids(self) -> list[Id]:
        return self.ids.listed()

    @property
    def basis_id(self) -> str:
        return basis_id(tuple(self._prior().values()), self.committee.basis.Z)

    def differences(self, other: Any) -> list[str]:
        """What keeps the messages of two models from being added."""
        return unlike_priors(self, other) or unlike(self.committee.basis, other.committee.basis)

    def blank(self) -> Self:
        """The prior alone, on the same basis, whose anchors stay as they are."""
        return self._after(self.committee.blank(), ChunkIds(), 0, 0.0, **self._at_rest())

    def merged(self, other: Self, engine: Any) -> Self:
        """The model of the chunks of both."""
        more = other if other.committee.basis.m > self.committee.basis.m else self
        known = any(getattr(one, "known_noise", False) for one in (self, other))
        return more._after(
            self.committee + other.committee, self.ids + other.ids,
            self.n_chunks + other.n_chunks, self.total_weight + other.total_weight,
            **({"known_noise": True} if known else {}),
        )  # fmt: skip

    def without(self, ids: Collection[Id], engine: Any) -> Self:
        """The model without chunks whose rows were kept."""
        if self.alone:
            return self._without_rows_of(ids, engine)
        gone = [chunk for chunk in self.committee.chunks() if of_id(chunk.id) in ids]
        return self._less(gone, ids, self.committee.without(gone, engine))

    def without_chunks(self, id: Id, chunks: Sequence[Chunk], engine: Any) -> Self:
        """The model without a chunk whose rows were not kept, but are known to be these."""
        receipt = self.ids.receipt(id)
        if receipt is None:
            raise ValueError(
                f"chunk {id!r} cannot be forgotten: it came without chunk_id, or before the basis "
                "changed, and nothing is known of its rows. Call fit without them"
            )
        if receipt.digest != digest(chunks):
            known = getattr(self, "known_noise", False)
            raise ValueError(
                f"X, y and sample_weight are not the rows of chunk {id!r}: give them as they came, "
                "to an estimator with the same arguments"
                + " (rows with noise_variance are forgotten only where they were kept)"
                * known
            )
        known = self.committee.known(receipt.anchors).add(chunks, engine, keep=False)
        return self._less(chunks, [id], self.committee.less(known.messages))

    def _less(self, gone: Sequence[Chunk], ids: Collection[Id], committee: Committee) -> Self:
        weight = sum(float(chunk.load()[2].sum()) for chunk in gone)
        left, more = self.ids.without(ids), {}
        if self.checked is not None:
            rows = [rows_of(chunk) for chunk in gone]
            more["checked"] = reduce(Checked.without, rows, self.checked)
        return self._after(
            committee, left, self.n_chunks - len(gone), self.total_weight - weight, **more
        )

    def _without_rows_of(self, ids: Collection[Id], engine: Any) -> Self:
        """The exact GP of the other rows, under the same prior."""
        stay = np.zeros(0, dtype=bool) if self.owners is None else self.owners.others(ids)
        if self.owners is None or not stay.any():
            raise ValueError("no rows would be left: call fit with others")
        rows = self.committee.rows().take(stay)
        committee = self.committee.blank().add([chunk_of(0, rows)], engine, keep=True)
        return self._after(
            committee, self.ids.without(ids), 1, float(rows.w.sum()),
            owners=self.owners.take(stay),
            targets=None if self.targets is None else self.targets[stay],
            places=None if self.places is None else self.places[stay],
        )  # fmt: skip

    def _after(
        self, committee: Committee, ids: ChunkIds, n_chunks: int, total_weight: float, **more: Any
    ) -> Self:
        return replace(  # type: ignore[type-var]
            self, committee=committee, ids=ids, n_chunks=n_chunks, total_weight=total_weight,
            **{**self._as_summed(), **more},
        )  # fmt: skip
