"""CPU seconds, wall seconds and memory."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable


class Meter:
    """CPU and wall seconds of a block."""

    def __enter__(self) -> Meter:
        self._cpu, self._wall = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_) -> None:
        self.cpu = time.process_time() - self._cpu
        self.wall = time.perf_counter() - self._wall


def least(
    f: Callable[[], object], repeats: int, clock: Callable[[], float] = time.process_time
) -> float:
    """The least seconds of some runs, after one that does not count."""
    f()
    times = []
    for _ in range(repeats):
        start = clock()
        f()
        times.append(clock() - start)
    return min(times)


def peak_gigabytes() -> float:
    """The largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
