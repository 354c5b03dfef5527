"""Lines about long work, through the logger "collegium"."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from ...engines import Serial

LOGGER = logging.getLogger("collegium")
#: Seconds between two pictures of the same bar; shorter work shows none.
PAUSE = 2.0
WIDTH = 30


class _Stdout(logging.StreamHandler):
    """Writes to what is the standard output at the time."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:
        return sys.stdout


class Progress:
    """Says what is being done, with the seconds since the start; silent at verbose = 0.

    Lines go to the logger "collegium" at the level INFO. Where logging is not set up to show
    them they are written to the standard output.
    """

    def __init__(self, verbose: int, task: str = "working"):
        self.verbose = verbose
        self.task = task  # the name of bars
        self.start = time.perf_counter()

    def __call__(self, text: str) -> None:
        if self.verbose:
            _make_audible()
            elapsed = time.perf_counter() - self.start
            LOGGER.info("[collegium %7.1f s] %s", elapsed, text)

    def watch(self, engine: Any) -> Any:
        """The engine, with a bar for every sum or map that takes long; engines of others as is."""
        return Watched(engine, self) if self.verbose and isinstance(engine, Serial) else engine

    def each(self, items: Iterable) -> Iterator[Any]:
        """The items, with a bar where what is done with them takes long, if they are several."""
        items = list(items)
        done = self.counting(lambda item: item, len(items)) if len(items) > 1 else id
        for item in items:
            yield item
            done(item)

    def counting(self, f: Callable, total: int) -> Callable:
        """f, which draws how many of its calls are done, and the last of them if any."""
        lock, done, last = threading.Lock(), [0], [time.perf_counter()]
        task, shown = self.task, [False]

        def counted(item: Any) -> Any:
            found = f(item)
            with lock:
                done[0] += 1
                late = time.perf_counter() - last[0] > PAUSE
                if late or (shown[0] and done[0] == total):
                    last[0], shown[0] = time.perf_counter(), True
                    filled = WIDTH * done[0] // total
                    bar = "#" * filled + "." * (WIDTH - filled)
                    self(f"{task} [{bar}] {done[0]} of {total}")
            return found

        return counted


def _make_audible() -> None:
    """Where logging is not set up to show these lines, write them as they are."""
    if not (LOGGER.isEnabledFor(logging.INFO) and LOGGER.hasHandlers()):
        LOGGER.addHandler(_Stdout())
        LOGGER.setLevel(logging.INFO)
        LOGGER.propagate = False


@dataclass(frozen=True)
class Watched:
    """An engine of this machine whose long sums and maps show how far they are."""

    engine: Serial
    progress: Progress

    @property
    def n_jobs(self) -> int:
        return self.engine.n_jobs

    def each(self, items: Iterable) -> Iterator[Any]:
        """The items of a loop inside the work on one chunk."""
        return self.progress.each(items)

    def map(self, f: Callable, items: Iterable) -> list[Any]:
        items = list(items)
        return self.engine.map(self.progress.counting(f, len(items)), items)

    def sum(self, f: Callable, chunks: Sequence, zero: Any) -> Any:
        return self.engine.sum(self.progress.counting(f, len(chunks)), chunks, zero)

    def imap(self, f: Callable, items: Iterable) -> Iterator[Any]:
        items = list(items)
        return self.engine.imap(self.progress.counting(f, len(items)), items)
