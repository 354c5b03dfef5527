"""A reproducible sum, one term at a time: its order depends on the number of terms alone.

Floating-point addition is not associative. Here sums of 2ᵏ terms are added in pairs, like the
carries of a binary counter. So the same terms in the same order give the same bits from a stream,
from one thread or many, and only log₂ n partial sums are held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .records import record


def place(id: Any) -> tuple[bool, Any, int]:
    """Sort key of a chunk id: numbers before names, then the parts of one id."""
    name, part = id if isinstance(id, tuple) else (id, 0)
    return isinstance(name, str), name, part


@record("numerics.tree/1")
@dataclass(frozen=True, eq=False)
class Tree:
    """Partial sums of 2ᵏ terms each, largest first."""

    counts: tuple[int, ...] = ()
    sums: tuple[Any, ...] = ()

    def push(self, term: Any) -> Tree:
        """Add one more term."""
        counts, sums, count = list(self.counts), list(self.sums), 1
        while counts and counts[-1] == count:
            term = sums.pop() + term
            count += counts.pop()
        return Tree((*counts, count), (*sums, term))

    def total(self, zero: Any) -> Any:
        """zero + Σ terms."""
        if not self.sums:
            return zero
        total = self.sums[-1]
        for partial in reversed(self.sums[:-1]):
            total = partial + total
        return zero + total
