"""Clusters with futures: runs and adders as tasks, and what is done when workers are lost."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from .cluster import AHEAD, FAN_IN, Cluster, WorkersLost, run_length
from .tasks import Work, add, dumps, run, run_in_child

#: A function of more bytes is sent once, not with every run.
LARGE = 1 << 16
#: Times that work is done again after workers were lost, before they are given up.
ATTEMPTS = 5


class Remote(Cluster):
    """A cluster says how a task is submitted, awaited and given up."""

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

    def mapped(self, work: Work, items: Sequence[Any], threads: int) -> Iterator[Any]:
        with Call(self, work, threads) as call:
            for futures in call.runs(items):
                yield from self.results(futures)
                call.drop(futures)

    def reduced(self, work: Work, chunks: Sequence[Any], threads: int) -> Any:
        for attempt in range(ATTEMPTS):
            try:
                with Call(self, work, threads) as call:
                    return call.total(call.runs(chunks))
            except WorkersLost:  # results of runs were lost with their workers
                if attempt + 1 == ATTEMPTS:
                    raise
        raise AssertionError


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
