"""The committee: a basis, the sum of messages about it, and the rows that were kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..numerics.records import record
from ..numerics.tree import Tree
from ..rows.chunk import Chunk
from ..rows.rows import Rows
from .basis import Anchors
from .experts.base import Expert
from .experts.block import Block
from .growing import appended, carried, dropped, marginal, padded, spread_out
from .message import Belief, Message, normalise

Array = np.ndarray


@record("messages.committee/1")
@dataclass(frozen=True, eq=False)
class Committee:
    """Prior + messages = belief. Without anchors the chunks are independent: one chunk is the
    exact GP."""

    basis: Anchors
    expert: Expert  # computes messages, with the noise σ²
    messages: Tree  # of Message, one per chunk
    belief: Belief
    kept: Tree  # of Rows, one per chunk; empty if no rows are kept
    sizes: tuple[int, ...]  # rows of each kept chunk

    @classmethod
    def start(
        cls, kernel: Kernel, noise: float, Z: Array, p: int, expert: type[Expert] = Block
    ) -> Committee:
        """The prior alone, before any chunk."""
        basis = Anchors.at(kernel, Z)
        return cls(basis, expert(noise), Tree(), normalise(basis.prior(p)), Tree(), ())

    @property
    def noise(self) -> float:
        return self.expert.noise

    @property
    def no_anchors(self) -> bool:
        return self.basis.m == 0

    def add(self, chunks: Sequence[Chunk], engine: Any, *, keep: bool) -> Committee:
        """Add the messages of more chunks; keep their rows if asked to."""
        messages, belief = self.messages, self.belief
        if not self.no_anchors:
            send = partial(self.expert.send, self.basis)
            messages = engine.grow(send, chunks, messages)
            belief = normalise(messages.total(self.basis.prior(belief.mean.shape[1])))
        kept, sizes = self.kept, self.sizes
        if keep:
            for chunk in sorted(chunks, key=lambda chunk: chunk.id):
                X, y, w = chunk.load()
                kept = kept.push(Rows(X, y, w))
                sizes = (*sizes, X.shape[0])
        return replace(self, messages=messages, belief=belief, kept=kept, sizes=sizes)

    def with_anchors(self, Z: Array) -> Committee:
        """Append anchors: every message so far is one about the old coordinates alone."""
        basis = appended(self.basis, Z)
        messages = self.messages.map(lambda message: padded(message, basis.m))
        return self._on(basis, messages)

    def of_at_most(self, m: int) -> Committee:
        """Drop all but m anchors, those that say least first: an approximation (`dropped`)."""
        if self.basis.m <= m:
            return self
        basis, messages = dropped(self.basis, [self._total()], m)
        return self._on(basis, Tree().push(messages[0]))

    def spread_over(self, Z: Array, m: int) -> Committee:
        """Append anchors, then keep m that are spread out over all of them: an approximation."""
        grown = self.with_anchors(Z) if Z.size else self
        if grown.basis.m <= m:
            return grown
        stay = spread_out(grown.basis, m)
        basis, messages = marginal(grown.basis, [grown._total()], stay)
        return grown._on(basis, Tree().push(messages[0]))

    def with_prior(self, kernel: Kernel, noise: float) -> Committee:
        """Take another kernel and noise: messages about f(Z) stay, but for the scale of the
        noise; an approximation (`carried`)."""
        nothing = Message.zero(self.basis.m, self.belief.mean.shape[1])
        total = self.messages.total(nothing)
        basis, message = carried(total, self.basis, kernel, self.noise / noise)
        return replace(self._on(basis, Tree().push(message)), expert=type(self.expert)(noise))

    def _total(self) -> Message:
        """The prior and all messages."""
        return self.messages.total(self.basis.prior(self.belief.mean.shape[1]))

    def _on(self, basis: Anchors, messages: Tree) -> Committee:
        belief = normalise(messages.total(basis.prior(self.belief.mean.shape[1])))
        return replace(self, basis=basis, messages=messages, belief=belief)

    def rows(self) -> Rows:
        """The kept rows of all chunks."""
        d, p = self.basis.Z.shape[1], self.belief.mean.shape[1]
        return self.kept.total(Rows(np.empty((0, d)), np.empty((0, p)), np.empty(0)))

    def of_last_rows(self, n: int) -> Committee:
        """The same belief with no more than the last n rows kept."""
        last = None
        for part in reversed(self.kept.sums):
            last = part if last is None else part + last
            if last.w.size >= n:
                break
        if last is None:
            return self
        last = last.take(slice(-n, None))
        return replace(self, kept=Tree().push(last), sizes=(last.w.size,))

    def chunks(self) -> list[Chunk]:
        """The kept rows, one `Chunk` per chunk."""
        rows, ends = self.rows(), np.cumsum(self.sizes)[:-1]
        fields = [np.split(values, ends) for values in (rows.X, rows.y, rows.w)]
        return [Chunk(i, X, y, w) for i, (X, y, w) in enumerate(zip(*fields))]

    def parts(self) -> list[Rows]:
        """The kept rows, one `Rows` per chunk."""
        return [Rows(*chunk.load()) for chunk in self.chunks()]

    def log_evidence(self) -> Array:
        """log p(y), one number per output  (p,); without anchors the sum over chunks."""
        if not self.no_anchors:
            return self.belief.log_evidence
        send = partial(self.expert.send, self.basis)
        return np.sum([send(chunk).log_scale for chunk in self.chunks()], axis=0)
