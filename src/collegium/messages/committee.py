"""The committee: a basis, the sum of messages about it, and the rows that were kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..numerics.records import record
from ..numerics.tree import Tree, place
from ..rows.chunk import Chunk, chunk_of, rows_of
from ..rows.rows import Rows
from .adding import add_up
from .basis import Anchors
from .experts.base import Expert
from .experts.block import Block
from .growing import appended, carried, dropped, marginal, spread_out
from .message import Belief, Message, normalise
from .total import Total, in_range

Array = np.ndarray


@record("messages.committee/1")
@dataclass(frozen=True, eq=False)
class Committee:
    """Prior + messages = belief. Without anchors chunks are independent; one is the exact GP."""

    basis: Anchors
    expert: Expert  # computes messages, with the noise σ²
    messages: Total  # Σ messages, one per chunk, without the prior
    belief: Belief
    kept: Tree  # of Rows, one per chunk, in the order of arrival; empty if no rows are kept
    arrived: tuple[tuple[Any, int], ...]  # id and rows of each kept chunk

    @classmethod
    def start(
        cls, kernel: Kernel, noise: float, Z: Array, p: int, expert: type[Expert] = Block
    ) -> Committee:
        """Start with the prior alone, before any chunk."""
        basis = Anchors.at(kernel, Z)
        nothing = Total.zero(basis.m, p)
        belief = normalise(basis.prior(p))
        return cls(basis, expert(noise), nothing, belief, Tree(), ())

    @property
    def noise(self) -> float:
        return self.expert.noise

    @property
    def no_anchors(self) -> bool:
        return self.basis.m == 0

    def add(self, chunks: Sequence[Chunk], engine: Any, *, keep: bool) -> Committee:
        """Add the messages of more chunks; keep their rows if asked to."""
        grown, kept, arrived = self, self.kept, self.arrived
        if not self.no_anchors:
            send = partial(self.expert.send, self.basis)
            with in_range(self.noise):
                grown = self._on(self.basis, add_up(engine, send, chunks, self.messages))
        if keep:
            for chunk in sorted(chunks, key=lambda chunk: place(chunk.id)):
                rows = rows_of(chunk)
                kept = kept.push(rows)
                arrived = (*arrived, (chunk.id, rows.w.size))
        return replace(grown, kept=kept, arrived=arrived)

    def holding(self, chunks: Sequence[Chunk], messages: Total) -> Committee:
        """Replace messages and rows, by chunks to keep and a sum that is known."""
        kept, arrived = Tree(), []
        for chunk in sorted(chunks, key=lambda chunk: place(chunk.id)):
            kept = kept.push(rows_of(chunk))
            arrived.append((chunk.id, chunk.n))
        return replace(self._on(self.basis, messages), kept=kept, arrived=tuple(arrived))

    def without(self, chunks: Sequence[Chunk], engine: Any) -> Committee:
        """Subtract the messages of chunks: bitwise as if they had never been added.

        Their rows are dropped if they were kept.
        """
        left, gone = self, {chunk.id for chunk in chunks}
        if not self.no_anchors:
            send = partial(self.expert.send, self.basis)
            heard = add_up(engine, send, chunks, Total.zero(self.basis.m, self.messages.p))
            left = self._on(self.basis, self.messages - heard)
        kept, arrived = Tree(), []
        for chunk in self.chunks() if self.arrived else ():
            if chunk.id not in gone:
                kept = kept.push(rows_of(chunk))
                arrived.append((chunk.id, chunk.n))
        return replace(left, kept=kept, arrived=tuple(arrived))

    def less(self, messages: Total) -> Committee:
        """Subtract messages about its first anchors."""
        return self._on(self.basis, self.messages - messages.padded(self.basis.m))

    def __add__(self, other: Committee) -> Committee:
        """Merge the chunks of both; the basis of one begins with that of the other."""
        grown, small = (self, other) if self.basis.m >= other.basis.m else (other, self)
        kept, arrived = self.kept, (*self.arrived, *other.arrived)
        for part in other.kept.sums:
            kept = kept.push(part)
        with in_range(self.noise):
            both = grown._on(grown.basis, grown.messages + small.messages.padded(grown.basis.m))
            return replace(both, kept=kept, arrived=arrived)

    def blank(self) -> Committee:
        """Return to the prior, on the same basis."""
        return self.without_rows()._on(self.basis, Total.zero(self.basis.m, self.messages.p))

    def known(self, m: int) -> Committee:
        """Return to the prior of the first m coordinates, the basis of earlier chunks."""
        own = self.basis
        factor, Z = np.ascontiguousarray(own.factor[:m, :m]), own.Z[: max(m - own.first, 0)]
        return replace(self, basis=Anchors(own.kernel, Z, factor, own.jitter)).blank()

    def with_anchors(self, Z: Array) -> Committee:
        """Append anchors: all messages so far are about the old coordinates alone."""
        basis = appended(self.basis, Z)
        return self._on(basis, self.messages.padded(basis.m))

    def of_at_most(self, m: int) -> Committee:
        """Drop all but m anchors, the least informative first: an approximation (`dropped`)."""
        if self.basis.m <= m:
            return self
        basis, messages = dropped(self.basis, [self._total()], m)
        return self._on(basis, Total.of(messages[0]))

    def spread_over(self, Z: Array, m: int) -> Committee:
        """Append anchors, then keep m that are spread over all of them: an approximation."""
        grown = self.with_anchors(Z) if Z.size else self
        if grown.basis.m <= m:
            return grown
        stay = spread_out(grown.basis, m - grown.basis.first)
        basis, messages = marginal(grown.basis, [grown._total()], stay)
        return grown._on(basis, Total.of(messages[0]))

    def with_prior(self, kernel: Kernel, noise: float, known: float = 0.0) -> Committee:
        """Change kernel and noise: messages about f(Z) stay, up to the scale of the noise; an
        approximation (`carried`). `known`: typical known noise variance of rows, added to σ²."""
        said = self.messages.message()
        basis, message = carried(said, self.basis, kernel, (self.noise + known) / (noise + known))
        with in_range(noise):
            return replace(self._on(basis, Total.of(message)), expert=type(self.expert)(noise))

    def _total(self) -> Message:
        """Sum of the prior and all messages."""
        return self.basis.prior(self.messages.p) + self.messages.message()

    def _on(self, basis: Anchors, messages: Total) -> Committee:
        belief = normalise(basis.prior(messages.p) + messages.message())
        return replace(self, basis=basis, messages=messages, belief=belief)

    def _order(self) -> Array:
        """Positions of the kept chunks in the order of their ids."""
        places = [place(id) for id, _ in self.arrived]
        return np.array(sorted(range(len(places)), key=places.__getitem__), dtype=int)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of each kept chunk, in the order of ids."""
        return tuple(self.arrived[i][1] for i in self._order())

    def rows(self) -> Rows:
        """Kept rows of all chunks, in the order of ids."""
        d, p = self.basis.Z.shape[1], self.belief.mean.shape[1]
        rows = self.kept.total(Rows(np.empty((0, d)), np.empty((0, p)), np.empty(0)))
        order = self._order()
        if (np.diff(order) >= 0).all():
            return rows
        starts = np.cumsum([0, *(size for _, size in self.arrived)])
        index = [np.arange(starts[i], starts[i + 1]) for i in order]
        return rows.take(np.concatenate(index))

    def of_last_rows(self, n: int) -> Committee:
        """Keep no more than the last n rows; the belief stays."""
        last = None
        for part in reversed(self.kept.sums):
            last = part if last is None else part + last
            if last.w.size >= n:
                break
        if last is None:
            return self
        last = last.take(slice(-n, None))
        return replace(self, kept=Tree().push(last), arrived=((0, last.w.size),))

    def without_rows(self) -> Committee:
        """Keep messages alone."""
        return replace(self, kept=Tree(), arrived=())

    def ids(self) -> list[Any]:
        """List the ids of the kept chunks, in order."""
        return [self.arrived[i][0] for i in self._order()]

    def chunks(self) -> list[Chunk]:
        """Kept rows, one `Chunk` per chunk, in the order of ids."""
        rows, ends = self.rows(), np.cumsum([0, *self.sizes])
        parts = [slice(a, b) for a, b in zip(ends, ends[1:])]
        return [chunk_of(id, rows.take(part)) for id, part in zip(self.ids(), parts)]

    def parts(self) -> list[Rows]:
        """Kept rows, one `Rows` per chunk."""
        return [rows_of(chunk) for chunk in self.chunks()]

    def log_evidence(self) -> Array:
        """log p(y) per output  (p,); without anchors the sum over chunks."""
        if not self.no_anchors:
            return self.belief.log_evidence
        send = partial(self.expert.send, self.basis)
        return np.sum([send(chunk).log_scale for chunk in self.chunks()], axis=0)
