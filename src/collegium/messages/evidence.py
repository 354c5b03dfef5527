"""Log evidence and its gradient: a sum of messages, then a sum of replies.

With anchors this is the committee's own evidence (PITC for `Block`). Without anchors the chunks
are independent and it is Σᵢ log p(yᵢ | Xᵢ, θ), computed in one pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..rows.chunk import Chunk
from .basis import Anchors, Basis, Gradient
from .experts.base import Expert
from .experts.block import Block
from .message import Message, normalise

Array = np.ndarray


def evidence(
    basis: Basis, expert: Expert, chunks: Sequence[Chunk], engine: Any
) -> tuple[float, Array]:
    """log p(y), summed over outputs, and its gradient in (θ, log σ²)."""
    p = chunks[0].load()[1].shape[1]
    send = partial(expert.send, basis)
    belief = normalise(engine.sum(send, chunks, basis.prior(p)))
    reply = partial(expert.reply, basis, belief=belief)
    gradient = engine.sum(reply, chunks, basis.no_gradient())
    return float(belief.log_evidence.sum()), np.append(basis.finish(gradient), gradient.noise)


def anchored(
    kernel: Kernel, noise: float, Z: Array, chunks: Sequence[Chunk], engine: Any,
    expert: type[Expert] = Block,
) -> tuple[float, Array]:  # fmt: skip
    """Log evidence of the committee with anchors Z, and its gradient; PITC for `Block`."""
    return evidence(Anchors.at(kernel, Z), expert(noise), chunks, engine)


def factorised(
    kernel: Kernel, noise: float, chunks: Sequence[Chunk], engine: Any
) -> tuple[float, Array]:
    """Σᵢ log p(yᵢ | Xᵢ, θ) of independent chunks, and its gradient, one factorisation per chunk."""
    d = chunks[0].load()[0].shape[1]
    basis = Anchors.at(kernel, np.empty((0, d)))
    nothing = Evidence(0.0, basis.no_gradient())
    total = engine.sum(partial(_chunk_evidence, basis, Block(noise)), chunks, nothing)
    return total.value, np.append(total.gradient.theta, total.gradient.noise)


@dataclass(frozen=True, eq=False)
class Evidence:
    """A log evidence with its gradient, as a term of a sum."""

    value: float
    gradient: Gradient

    def __add__(self, other: Evidence) -> Evidence:
        return Evidence(self.value + other.value, self.gradient + other.gradient)


def _chunk_evidence(basis: Anchors, expert: Expert, chunk: Chunk) -> Evidence:
    """log p(y) of one chunk without anchors, and its gradient."""
    given = expert.condition(basis, chunk)
    message = given.message()
    belief = normalise(Message.standard_normal(0, message.log_scale.size))
    gradient = expert.gradient(basis, given, belief)
    return Evidence(float(message.log_scale.sum()), gradient)
