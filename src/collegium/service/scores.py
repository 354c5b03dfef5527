"""Running scores: some rows are predicted before they are learnt, and compared with what came."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .given import Row, as_numbers
from .serving import AnswerOptions, Batcher, ServedModel

Array = np.ndarray
#: Rows a second that are scored at most, rows of one request, and rows of running averages.
RATE, EACH, LAST = 5.0, 4, 2_000
#: The interval whose coverage is counted.
PROMISED = 0.9


@dataclass(frozen=True, eq=False)
class ScoredRow:
    """One row that was predicted before it was learnt."""

    row: Row
    y: Any
    inside: bool  # of the interval; of labels: the most probable one was right
    log_density: float


class RunningScores:
    """Coverage and log density of the last rows that were predicted before they were learnt."""

    def __init__(self, batcher: Batcher) -> None:
        self.batcher, self.last = batcher, deque[ScoredRow](maxlen=LAST)
        self.count, self._room, self._at = 0, RATE, time.monotonic()

    def sample(self, n: int) -> int:
        """How many of n rows there is time to score."""
        now = time.monotonic()
        self._room = min(self._room + (now - self._at) * RATE, RATE)
        self._at = now
        some = min(n, EACH, int(self._room))
        self._room -= some
        return some

    async def score(self, rows: Sequence[Row], y: Sequence[Any]) -> tuple[list[ScoredRow], int]:
        """Predict rows by the present model; and the event up to which that has learnt."""
        served = self.batcher.present()
        if getattr(served.model, "y_ndim_", 1) > 1 or served.exposed:
            return [], served.lsn
        inside, density = await self.batcher.later(partial(scored_rows, served, rows, np.array(y)))
        each = zip(rows, y, inside.tolist(), density.tolist())
        return [ScoredRow(*one) for one in each], served.lsn

    def note(self, found: Sequence[ScoredRow]) -> None:
        """Count rows that have been learnt now."""
        self.last.extend(found)
        self.count += len(found)

    def clear(self) -> None:
        """Forget the rows themselves: some may have been forgotten."""
        self.last.clear()

    @property
    def coverage(self) -> float | None:
        return float(np.mean([one.inside for one in self.last])) if self.last else None

    @property
    def log_density(self) -> float | None:
        return float(np.mean([one.log_density for one in self.last])) if self.last else None


def scored_rows(served: ServedModel, rows: Sequence[Row], y: Array) -> tuple[Array, Array]:
    """Whether each y was in its interval, and log p(y); of labels whether the most probable one
    was right, and its log probability."""
    X = as_numbers(served.model, rows)
    found = served.answers(X, AnswerOptions(interval=None if served.labels else PROMISED))
    if served.labels:
        p, classes = found["probability"], served.model.classes_
        at = np.array([[one == label for label in classes] for one in y])
        own = (p * at).sum(axis=1)
        return at[np.arange(len(y)), p.argmax(axis=1)], np.log(np.maximum(own, 1e-300))
    y = y.astype(float)
    return (found["lower"] <= y) & (y <= found["upper"]), served.model.log_density(X, y)
