"""What the engines of clusters share: runs, adders, and what is done when a worker is lost."""

from __future__ import annotations

import threading
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import islice
from typing import Any

from ..numerics.tree import place
from .local import Serial
from .tasks import Report, Work, add, differences, dumps, report, run, run_in_child, tree_sum

#: Sums that one adder takes.
FAN_IN = 8
#: The most chunks, and bytes of them, of a run.
MOST_CHUNKS, MOST_BYTES = 512, 1 << 22
#: Runs that each thread of a cluster gets of a call, at least, and that wait for it at a time.
SHARES, AHEAD = 4, 4
#: A run is not made shorter than this so that a thread gets several.
SHORT = 4
#: A function of more bytes is sent once, not with every run.
LARGE = 1 << 16
#: Times that work is done again after workers were lost, before they are given up.
ATTEMPTS = 5


class MixedWorkersWarning(UserWarning):
    """Workers have other versions or processors: the last bits of results may differ."""


class WorkersLost(RuntimeError):
    """A task was on several workers when they died, or there are none."""


def library(name: str, extra: str) -> Any:
    """A module of a cluster's library, imported when an engine of it is made."""
    try:
        return import_module(name)
    except ImportError as error:
        message = f"this engine needs {extra}: pip install 'collegium[{extra}]'"
        raise ImportError(message) from error


def run_length(items: Sequence[Any], threads: int) -> int:
    """Items of a run: a power of two, four runs to a thread where these are not too short."""
    own = len(items) // threads
    length, most = 1, min(MOST_CHUNKS, max(own // SHARES, min(own, SHORT)))
    if most > 1:
        most = min(most, MOST_BYTES // max(len(dumps(items[0])), 1))
    while 2 * length <= most:
        length *= 2
    return length


class Remote(ABC):
    """An engine whose chunks are worked on by other processes.

    A cluster's engine says how a task is submitted, awaited and given up. Tasks are runs of
    items, and adders of the sums of eight. Sums of floating-point numbers are added in the tree
    in which this machine adds them.
    """

    #: Whether this is a copy that lost its cluster when it was pickled: it works on its own.
    alone = False

    def __init__(self, mixed: str = "warn") -> None:
        if mixed not in ("warn", "refuse"):
            raise ValueError(f'mixed={mixed!r}: give "warn" or "refuse"')
        self.mixed = mixed
        self._known: set[Any] = set()  # workers that were probed
        self._lock = threading.Lock()

    # --- what a cluster says ----------------------------------------------------------------------

    @abstractmethod
    def threads(self) -> int:
        """Tasks that the cluster works on at a time; 0 where this process works on its own."""

    @abstractmethod
    def submit(self, function: Callable, *args: Any) -> Any:
        """A task: function(*args), where futures among the arguments stand for their results."""

    @abstractmethod
    def done(self, future: Any) -> bool:
        """Whether a task has its result by now."""

    @abstractmethod
    def wait(self, future: Any) -> None:
        """Return when a task has its result; raise its error, or WorkersLost."""

    @abstractmethod
    def results(self, futures: Sequence[Any]) -> list[Any]:
        """The results of tasks; raises the error of one, or WorkersLost."""

    @abstractmethod
    def release(self, futures: Iterable[Any]) -> None:
        """Hold results no longer; tasks that need them still do."""

    @abstractmethod
    def cancel(self, futures: Iterable[Any]) -> None:
        """Give up tasks: none goes on, and no result is held."""

    @abstractmethod
    def reports(self, known: set[Any], probe: Callable[[], str]) -> dict[Any, Report]:
        """What workers that are not known yet say of themselves."""

    # --- what an engine has -----------------------------------------------------------------------

    @property
    def n_jobs(self) -> int:
        return self.threads() or 1

    def map(self, f: Callable, items: Iterable) -> list[Any]:
        return list(self.imap(f, items))

    def imap(self, f: Callable, items: Iterable) -> Iterator[Any]:
        """f of each item, in the items' order."""
        threads = self.threads()
        if not threads:
            yield from Serial().imap(f, items)
            return
        items = list(items)
        if not items:
            return
        with Call(self, Work(f, list), threads) as call:
            for futures in call.runs(items):
                for found in self.results(futures):
                    yield from found
                call.drop(futures)

    def sum(self, f: Callable, chunks: Sequence, zero: Any) -> Any:
        """zero + Σ f(chunk), in the tree of `Serial`."""
        if not chunks:
            return zero
        return zero + self.reduce(f, sorted(chunks, key=lambda chunk: place(chunk.id)), tree_sum)

    def reduce(self, f: Callable, chunks: Sequence, gather: Callable) -> Any:
        """Σ gather(f(chunk) of a run), the sum of one run or more, added on the workers."""
        threads = self.threads()
        if not threads:
            return Work(f, gather)(chunks)
        for attempt in range(ATTEMPTS):
            try:
                with Call(self, Work(f, gather), threads) as call:
                    return call.total(call.runs(chunks))
            except WorkersLost:  # results of runs were lost with their workers
                if attempt + 1 == ATTEMPTS:
                    raise
        raise AssertionError

    def check(self, probe: Callable[[], str]) -> None:
        """Have each new worker make a probe, and compare it and versions with one's own."""
        if not self.threads():
            return
        with self._lock:
            found = self.reports(self._known, probe)
            self._known |= set(found)
        if found:
            self._compare(report(probe), list(found.values()))

    def _compare(self, own: Report, others: Sequence[Report]) -> None:
        versions, processors = differences(own, others)
        if any(" has collegium " in one for one in versions):
            raise RuntimeError(f"{'; '.join(versions)}: install the same version everywhere")
        said = [f"{one}: install the same version" for one in versions]
        if processors:
            values = " ".join(f"{name}={value}" for name, value in own.processor)
            said.append(
                f"{', '.join(processors)} round otherwise than this process ({values}): set "
                "OPENBLAS_CORETYPE and NUMBA_CPU_NAME to the same values here and in the "
                "environment of all workers before Python starts (to those of the oldest "
                "processor, such as OPENBLAS_CORETYPE=Haswell NUMBA_CPU_NAME=haswell)"
            )
        if said and self.mixed == "refuse":
            raise RuntimeError("; ".join(said))
        if said:
            warnings.warn(
                f"{'; '.join(said)}. Last bits of results may differ from those of one machine",
                MixedWorkersWarning,
                stacklevel=4,
            )

    # --- copies -----------------------------------------------------------------------------------

    def __deepcopy__(self, memo: Any) -> Remote:
        return self  # `clone` shares the cluster

    def __copy__(self) -> Remote:
        return self

    def __reduce__(self) -> Any:
        return _alone, (type(self), self.mixed)


def _alone(kind: type[Remote], mixed: str) -> Remote:
    """An engine in another process, without the cluster of the first."""
    engine = kind.__new__(kind)
    Remote.__init__(engine, mixed)
    engine.alone = True
    return engine


class Call:
    """The tasks of one call of an engine. At its end none is left."""

    def __init__(self, engine: Remote, work: Work, threads: int) -> None:
        self.engine, self.threads = engine, threads
        self.work: Any = dumps(work)
        self.futures: list[Any] = []  # of all tasks that may still be there
        self.waiting: deque[tuple[bytes, Any]] = deque()  # runs in order, and their tasks
        self.levels: list[list[Any]] = [[]]  # sums of 8ᵏ runs that are not added yet

    def __enter__(self) -> Call:
        if len(self.work) > LARGE:
            self.work = self._submit(bytes, self.work)
        return self

    def __exit__(self, *error: Any) -> None:
        self.engine.cancel(self.futures)
        for held in (self.futures, self.waiting, self.levels):  # tracebacks may keep the call
            held.clear()

    def _submit(self, function: Callable, *args: Any) -> Any:
        future = self.engine.submit(function, *args)
        self.futures.append(future)
        return future

    def drop(self, futures: Sequence[Any]) -> None:
        """Results that nobody here asks for any more; tasks that need them still do."""
        gone = {id(future) for future in futures}
        self.futures = [one for one in self.futures if id(one) not in gone]
        self.engine.release(futures)

    def runs(self, items: Sequence[Any]) -> Iterator[list[Any]]:
        """Tasks of all runs in order when they are done, several at a time; some are ahead."""
        length = run_length(items, self.threads)
        rest, waiting = iter(items), self.waiting
        while part := list(islice(rest, length)):
            own = dumps(part)
            waiting.append((own, self._submit(run, self.work, own)))
            if len(waiting) > AHEAD * self.threads:
                yield self._first()
        while waiting:
            yield self._first()

    def _first(self) -> list[Any]:
        """The first task when it is done, and those that follow it and are done by then.

        Where a task was on several workers that died, one of those ahead may have killed them:
        they are done again in processes of their own, which tell the guilty item.
        """
        waiting = self.waiting
        for _ in range(ATTEMPTS):
            try:
                self.engine.wait(waiting[0][1])
            except WorkersLost as error:
                lost = error
                suspects = list(waiting)
                waiting.clear()
                self.engine.cancel([future for _, future in suspects])
                for own, _ in suspects:
                    waiting.append((own, self._submit(run_in_child, self.work, own)))
            else:
                ready = [waiting.popleft()[1]]
                while waiting and self.engine.done(waiting[0][1]):
                    ready.append(waiting.popleft()[1])
                return ready
        raise lost

    def total(self, sums: Iterable[list[Any]]) -> Any:
        """The sum of the results of tasks, added by tasks that take eight at a time."""
        for some in sums:
            for one in some:
                self._push(0, one)
        k = 0
        while k + 1 < len(self.levels) or len(self.levels[k]) > 1:  # left over, from below
            if self.levels[k]:
                self._add(k)
            k += 1
        return self.engine.results(self.levels[k])[0]

    def _push(self, k: int, one: Any) -> None:
        self.levels[k].append(one)
        if len(self.levels[k]) == FAN_IN:
            self._add(k)

    def _add(self, k: int) -> None:
        """Add the sums of one level; the last run of all may be shorter than the others."""
        if k + 1 == len(self.levels):
            self.levels.append([])
        parts, self.levels[k] = self.levels[k], []
        whole = parts[0]
        if len(parts) > 1:
            whole = self._submit(add, *parts)
            self.drop(parts)
        self._push(k + 1, whole)
