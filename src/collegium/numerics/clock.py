"""Limits on wall time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Clock:
    """`limit` seconds of wall time from `start` on."""

    limit: float = float("inf")
    start: float = field(default_factory=time.perf_counter)

    def spent(self) -> float:
        return time.perf_counter() - self.start

    def left(self) -> float:
        return self.limit - self.spent()

    def out(self) -> bool:
        return self.left() <= 0.0

    def share(self, share: float) -> Clock:
        """Make a clock for a part of the work, which may use this share of the time left."""
        return Clock(self.spent() + share * max(self.left(), 0.0), self.start)
