"""Messages of several latent functions side by side, and their exact sums."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..messages.basis import Anchors
from ..messages.message import Belief, Message, normalise
from ..messages.total import Total
from ..numerics.records import record


@record("laplace.stack/1")
@dataclass(frozen=True, eq=False)
class Stack:
    """Messages side by side, one per latent function."""

    parts: tuple[Message, ...]

    @classmethod
    def zero(cls, m: int, K: int) -> Stack:
        return cls(tuple(Message.zero(m) for _ in range(K)))

    def __add__(self, other: Stack) -> Stack:
        return Stack(tuple(a + b for a, b in zip(self.parts, other.parts)))

    def __sub__(self, other: Stack) -> Stack:
        return Stack(tuple(a - b for a, b in zip(self.parts, other.parts)))

    def __mul__(self, power: float) -> Stack:
        return Stack(tuple(power * part for part in self.parts))

    __rmul__ = __mul__

    def beliefs(self) -> tuple[Belief, ...]:
        return tuple(normalise(part) for part in self.parts)

    def towards(self, old: Stack, step: float) -> Stack:
        """old + step · (new − old)."""
        return self if step == 1.0 else old + step * (self - old)

    def change(self, old: Stack, total: Stack) -> float:
        """Largest change of a natural parameter from `old`, relative to those of `total`."""
        sizes = [0.0]
        for a, b, c in zip(self.parts, old.parts, total.parts):
            for name in ("precision", "shift"):
                moved = np.abs(getattr(a, name) - getattr(b, name)).max(initial=0.0)
                sizes.append(moved / (1.0 + np.abs(getattr(c, name)).max(initial=0.0)))
        return float(max(sizes))


@record("laplace.totals/1")
@dataclass(frozen=True, eq=False)
class Totals:
    """Σ stacks: one exact sum per latent function."""

    parts: tuple[Total, ...]

    @classmethod
    def zero(cls, m: int, K: int) -> Totals:
        return cls(tuple(Total.zero(m) for _ in range(K)))

    @classmethod
    def of(cls, messages: Iterable[Message]) -> Totals:
        """Start each sum from one message."""
        return cls(tuple(Total.of(message) for message in messages))

    def plus(self, stacks: Iterable[Stack]) -> Totals:
        columns = zip(*(stack.parts for stack in stacks))
        more = list(columns) or [()] * len(self.parts)
        return Totals(tuple(own.plus(new) for own, new in zip(self.parts, more)))

    def minus(self, stack: Stack) -> Totals:
        """Subtract a stack that it contains."""
        return Totals(tuple(own.minus([old]) for own, old in zip(self.parts, stack.parts)))

    def __add__(self, other: Totals) -> Totals:
        return Totals(tuple(a + b for a, b in zip(self.parts, other.parts)))

    def padded(self, m: int) -> Totals:
        return Totals(tuple(part.padded(m) for part in self.parts))

    def messages(self) -> list[Message]:
        """Sums without the prior, one per latent function."""
        return [part.message() for part in self.parts]

    def with_prior(self, basis: Anchors) -> Stack:
        return Stack(tuple(basis.prior() + message for message in self.messages()))
