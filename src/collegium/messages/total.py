"""Sums of messages with the same bits in any order (`numerics.exact`).

A sum depends on its messages alone, not on how they arrived: another order, several workers, two
merged models, or a message added and subtracted again all give the same bits. Only the lower
triangle of Λ is held, row by row: anchors that are appended later come after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ..numerics.exact import ExactSum, TooLarge
from ..numerics.records import record
from .message import Message

Array = np.ndarray


@record("messages.total/1")
@dataclass(frozen=True, eq=False)
class Total:
    """Σ messages about m coordinates, of p outputs."""

    m: int
    p: int
    precision: ExactSum  # the lower triangle of Λ  (m(m + 1)/2)
    shift: ExactSum  # h, row by row  (m·p)
    log_scale: ExactSum  # c  (p)

    @classmethod
    def zero(cls, m: int, p: int = 1) -> Total:
        return cls(m, p, ExactSum.zero(m * (m + 1) // 2), ExactSum.zero(m * p), ExactSum.zero(p))

    @classmethod
    def of(cls, message: Message) -> Total:
        """Make the sum of one message."""
        return cls.zero(*message.shift.shape).plus([message])

    def plus(self, messages: Iterable[Message]) -> Total:
        """Add messages; raise TooLarge if an entry is not below 2¹²⁶."""
        grown = Total(
            self.m, self.p, self.precision.copy(), self.shift.copy(), self.log_scale.copy()
        )
        for message in messages:
            grown.precision.include(by_rows(message.precision))
            grown.shift.include(message.shift.ravel())
            grown.log_scale.include(message.log_scale)
        return grown

    def minus(self, messages: Iterable[Message]) -> Total:
        """Subtract messages that it contains: bitwise as if they had never been added."""
        return self - Total.zero(self.m, self.p).plus(messages)

    def __add__(self, other: Total) -> Total:
        return self._with(other.precision, other.shift, other.log_scale)

    def __sub__(self, other: Total) -> Total:
        return self._with(-other.precision, -other.shift, -other.log_scale)

    def _with(self, precision: ExactSum, shift: ExactSum, log_scale: ExactSum) -> Total:
        return Total(
            self.m, self.p, self.precision + precision, self.shift + shift,
            self.log_scale + log_scale,
        )  # fmt: skip

    def padded(self, m: int) -> Total:
        """Extend the sum to m coordinates, the new ones last."""
        precision, shift = self.precision.padded(m * (m + 1) // 2), self.shift.padded(m * self.p)
        return Total(m, self.p, precision, shift, self.log_scale)

    def message(self) -> Message:
        """Return the sum as a message, each entry rounded once."""
        shift = self.shift.value().reshape(self.m, self.p)
        return Message(self.precision.symmetric(self.m), shift, self.log_scale.value())


def by_rows(symmetric: Array) -> Array:
    """Make the rows of a symmetric matrix contiguous: if its columns are, they are its rows."""
    return symmetric if symmetric.flags.c_contiguous else symmetric.T


@contextmanager
def in_range(noise: float) -> Iterator[None]:
    """Raise an error with a remedy if messages are too large to add."""
    try:
        yield
    except TooLarge:
        raise ValueError(
            f"messages reach 2**126 with a noise variance of {noise:.3g} (where y has variance "
            "one): give a larger noise (noise=), or smaller weights (sample_weight)"
        ) from None
