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
#: Seconds between two bars, which are more after a longer time: a share of the seconds so far.
#: Shorter work shows none.
PAUSE, SHARE = 2.0, 0.05
WIDTH = 30
#: What clears the line of a terminal.
CLEAR = "\r\x1b[K"


class _Stdout(logging.StreamHandler):
    """Writes to what is the standard output at the time; on a terminal a bar is redrawn in its
    line, which the next line takes."""

    bar = False

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:
        return sys.stdout

    def redraw(self, text: str) -> None:
        """Draw a bar where the last one was; nothing clears it."""
        if text or self.bar:
            self.stream.write(CLEAR + text)
            self.stream.flush()
        self.bar = bool(text)

    def emit(self, record: logging.LogRecord) -> None:
        self.redraw("")
        super().emit(record)


class Progress:
    """Says what is being done, with the seconds since the start; silent at verbose = 0.

    Lines go to the logger "collegium" at the level INFO. Where logging is not set up to show
    them they are written to the standard output. `names`: those of the columns, for lines about
    them.
    """

    def __init__(self, verbose: int, task: str = "working", names: Sequence[str] = ()):
        self.verbose = verbose
        self.task = task
        self.names = tuple(names)
        self.start = self.drawn = time.perf_counter()

    @property
    def task(self) -> str:
        """The phase that bars are of."""
        return self._task

    @task.setter
    def task(self, name: str) -> None:
        self._task, self.steps = name, 0
        if self.verbose and hasattr(self, "start") and _terminal() is not None:
            self.draw(f"{name} …")

    def since(self, start: float | None) -> Progress:
        """Count the seconds from another start."""
        self.start = self.start if start is None else start
        return self

    def __call__(self, text: str) -> None:
        if self.verbose:
            _make_audible()
            LOGGER.info("%s", self._line(text))

    def _line(self, text: str) -> str:
        return f"[collegium {time.perf_counter() - self.start:7.1f} s] {text}"

    def draw(self, text: str) -> None:
        """Show a bar: in one line of a terminal, elsewhere as a line of its own."""
        own = _terminal() if self.verbose else None
        if own is not None:
            own.redraw(self._line(text) if text else "")
        elif text:
            self(text)

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
        """f, which draws now and then how many of its calls are done and how long the rest takes,
        where that is seconds."""
        lock, done, start = threading.Lock(), [0], time.perf_counter()
        self.steps += total > 1
        task = self.task if self.steps <= 1 else f"{self.task}, step {self.steps}"

        def counted(item: Any) -> Any:
            found = f(item)
            with lock:
                done[0] += 1
                if done[0] == total:
                    self.draw("")
                elif self._is_time(now := time.perf_counter(), start):
                    self.drawn = now
                    filled = WIDTH * done[0] // total
                    bar = "#" * filled + "." * (WIDTH - filled)
                    left = (now - start) / done[0] * (total - done[0])
                    self.draw(f"{task} [{bar}] {done[0]} of {total}, about {left:.0f} s left")
            return found

        return counted

    def _is_time(self, now: float, start: float) -> bool:
        """Whether the work since `start` is long, and the last bar some time ago."""
        pause = max(PAUSE, SHARE * (now - self.start))
        return now - start > PAUSE and now - self.drawn > pause


def clear_bar() -> None:
    """Clear the last bar from a terminal."""
    for one in LOGGER.handlers:
        if isinstance(one, _Stdout):
            one.redraw("")


def _terminal() -> _Stdout | None:
    """The handler that writes to a terminal; None where lines go elsewhere."""
    _make_audible()
    own = next((one for one in LOGGER.handlers if isinstance(one, _Stdout)), None)
    return own if own is not None and own.stream.isatty() else None


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
