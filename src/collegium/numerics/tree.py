"""A sum whose shape depends on the number of terms alone, one term at a time.

Floating-point addition is not associative. A binary counter adds equal halves as soon as both
are there; so the same numbered terms give the same bits whether they come from a stream, one
thread or many, and only log₂ n partial sums are held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Tree:
    """Partial sums of 2ᵏ terms each, largest first."""

    counts: tuple[int, ...] = ()
    sums: tuple[Any, ...] = ()

    def push(self, term: Any) -> Tree:
        counts, sums, count = list(self.counts), list(self.sums), 1
        while counts and counts[-1] == count:
            term = sums.pop() + term
            count += counts.pop()
        return Tree((*counts, count), (*sums, term))

    def total(self, zero: Any) -> Any:
        """zero + (all terms)."""
        if not self.sums:
            return zero
        total = self.sums[-1]
        for partial in reversed(self.sums[:-1]):
            total = partial + total
        return zero + total

    @property
    def n_terms(self) -> int:
        return sum(self.counts)
