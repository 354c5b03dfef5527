"""The committee: a basis, the sum of messages about it, and the rows that were kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..numerics.tree import Tree
from ..rows.chunk import Chunk
from ..rows.rows import Rows
from .basis import Anchors
from .experts.base import Expert
from .experts.block import Block
from .message import Belief, normalise

Array = np.ndarray


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

    def rows(self) -> Rows:
        """The kept rows of all chunks."""
        d, p = self.basis.Z.shape[1], self.belief.mean.shape[1]
        return self.kept.total(Rows(np.empty((0, d)), np.empty((0, p)), np.empty(0)))

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
