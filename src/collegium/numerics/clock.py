"""Limits on wall time, and the pace at which work gets done within them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

#: Weight of all steps before the last one; seconds that count as done as expected at the start;
#: the least factor: estimates are good to a factor of two, so that less says little.
FADE, FIRST, LEAST = 0.3, 1e-3, 0.25


@dataclass
class Pace:
    """Seconds that steps were expected to take, and took: the last ones count most."""

    expected: float = FIRST
    took: float = FIRST

    def note(self, expected: float, took: float) -> None:
        """Count one more step."""
        if expected > 0.0:
            self.expected = FADE * self.expected + expected
            self.took = FADE * self.took + took

    @property
    def factor(self) -> float:
        """Seconds that a second of expected work takes here and now."""
        return max(self.took / self.expected, LEAST)


@dataclass(frozen=True)
class Clock:
    """`limit` seconds of wall time from `start` on, as `now` tells them."""

    limit: float = float("inf")
    start: float | None = None  # None: now
    now: Callable[[], float] = time.perf_counter
    pace: Pace = field(default_factory=Pace)  # shared by the clocks of all parts of the work

    def __post_init__(self) -> None:
        if self.start is None:
            object.__setattr__(self, "start", self.now())

    def spent(self) -> float:
        assert self.start is not None
        return self.now() - self.start

    def left(self) -> float:
        """Seconds that are left, never below zero."""
        return max(self.limit - self.spent(), 0.0)

    def out(self) -> bool:
        return self.left() <= 0.0

    @property
    def limited(self) -> bool:
        return self.limit < float("inf")

    def needs(self, expected: float) -> float:
        """Seconds that work is going to take at the present pace; `expected`: where it is idle."""
        return self.pace.factor * expected

    def fits(self, expected: float) -> bool:
        """Whether there is time for work, which always is without a limit."""
        return not self.limited or self.needs(expected) <= self.left()

    @contextmanager
    def step(self, expected: float) -> Iterator[None]:
        """Time a step of the work, from which the pace is learnt."""
        began = self.now()
        yield
        self.pace.note(expected, self.now() - began)

    def share(self, share: float, rest: float = 0.0) -> Clock:
        """Make a clock for a part of the work, which may use this share of the time left.

        `rest`: seconds expected for what has to be done after it; some time is left for the part
        in any case.
        """
        left = self.left()
        own = max(min(share * left, left - self.needs(rest)), 0.1 * share * left)
        return replace(self, limit=self.spent() + own) if self.limited else self
