"""A line now and then about long work."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..engines import Serial

#: Seconds between two pictures of the same bar; shorter work shows none.
PAUSE = 2.0
WIDTH = 30


class Progress:
    """Says what is being done, with the seconds since the start; silent at verbose = 0."""

    def __init__(self, verbose: int):
        self.verbose = verbose
        self.start = time.perf_counter()

    def __call__(self, text: str) -> None:
        if self.verbose:
            elapsed = time.perf_counter() - self.start
            print(f"[collegium {elapsed:7.1f} s] {text}", file=sys.stdout, flush=True)

    def watch(self, engine: Any) -> Any:
        """The engine, with a bar for every sum or map that takes long; engines of others as is."""
        return Watched(engine, self) if self.verbose and isinstance(engine, Serial) else engine

    def counting(self, f: Callable, total: int) -> Callable:
        """f, which draws how many of its calls are done."""
        lock, done, last = threading.Lock(), [0], [time.perf_counter()]

        def counted(item: Any) -> Any:
            found = f(item)
            with lock:
                done[0] += 1
                if time.perf_counter() - last[0] > PAUSE:
                    last[0] = time.perf_counter()
                    filled = WIDTH * done[0] // total
                    bar = "#" * filled + "." * (WIDTH - filled)
                    self(f"[{bar}] {done[0]} of {total}")
            return found

        return counted


@dataclass(frozen=True)
class Watched:
    """An engine of this machine whose long sums and maps show how far they are."""

    engine: Serial
    progress: Progress

    @property
    def n_jobs(self) -> int:
        return self.engine.n_jobs

    def map(self, f: Callable, items: Iterable) -> list[Any]:
        items = list(items)
        return self.engine.map(self.progress.counting(f, len(items)), items)

    def sum(self, f: Callable, chunks: Sequence, zero: Any) -> Any:
        return self.engine.sum(self.progress.counting(f, len(chunks)), chunks, zero)

    def grow(self, f: Callable, chunks: Sequence, tree: Any = None) -> Any:
        return self.engine.grow(self.progress.counting(f, len(chunks)), chunks, tree)
