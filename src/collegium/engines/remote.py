"""Clusters with futures: runs and adders as tasks, and recovery from lost workers."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from .cluster import Cluster, WorkersLost, run_length
from .tasks import RunTask, add_sums, dumps, run, run_in_child
from .tuning import TUNING


class Remote(Cluster):
    """A cluster that submits tasks, waits for them and cancels them."""

    @abstractmethod
    def submit(self, function: Callable, *args: Any) -> Any:
        """Start the task function(*args); futures among the arguments stand for their results."""

    @abstractmethod
    def done(self, future: Any) -> bool:
        """Say whether a task has its result."""

    @abstractmethod
    def wait(self, future: Any) -> None:
        """Return when a task has its result; raise its error, or WorkersLost."""

    @abstractmethod
    def results(self, futures: Sequence[Any]) -> list[Any]:
        """Get the results of tasks; raise the error of one, or WorkersLost."""

    @abstractmethod
    def release(self, futures: Iterable[Any]) -> None:
        """Release results; tasks that need them still hold them."""

    @abstractmethod
    def cancel(self, futures: Iterable[Any]) -> None:
        """Cancel tasks: none goes on, and no result is held."""

    def mapped(self, work: RunTask, items: Sequence[Any], threads: int) -> Iterator[Any]:
        with Call(self, work, threads) as call:
            for futures in call.runs(items):
                yield from self.results(futures)
                call.drop(futures)

    def reduced(self, work: RunTask, chunks: Sequence[Any], threads: int) -> Any:
        for attempt in range(TUNING.attempts):
            try:
                with Call(self, work, threads) as call:
                    return call.total(call.runs(chunks))
            except WorkersLost:  # results of runs were lost with their workers
                if attempt + 1 == TUNING.attempts:
                    raise
        raise AssertionError


class Call:
    """The tasks of one call of an engine; none is left at its end."""

    def __init__(self, engine: Remote, work: RunTask, threads: int) -> None:
        self.engine, self.threads = engine, threads
        self.work: Any = dumps(work)
        self.futures: list[Any] = []  # of all tasks that may still exist
        self.waiting: deque[tuple[bytes, Any]] = deque()  # runs in order, and their tasks
        self.levels: list[list[Any]] = [[]]  # sums of 8ᵏ runs that are not added yet

    def __enter__(self) -> Call:
        if len(self.work) > TUNING.large:
            self.work = self._submit(bytes, self.work)
        return self

    def __exit__(self, *error: Any) -> None:
        self.engine.cancel(self.futures)
        for held in (self.futures, self.waiting, self.levels):  # tracebacks may keep this object
            held.clear()

    def _submit(self, function: Callable, *args: Any) -> Any:
        future = self.engine.submit(function, *args)
        self.futures.append(future)
        return future

    def drop(self, futures: Sequence[Any]) -> None:
        """Release results that this call no longer needs; tasks that need them still hold them."""
        gone = {id(future) for future in futures}
        self.futures = [one for one in self.futures if id(one) not in gone]
        self.engine.release(futures)

    def runs(self, items: Sequence[Any]) -> Iterator[list[Any]]:
        """Yield finished tasks of runs in order, several at a time; further runs are submitted
        ahead.
        """
        length = run_length(items, self.threads)
        rest, waiting = iter(items), self.waiting
        while part := list(islice(rest, length)):
            own = dumps(part)
            waiting.append((own, self._submit(run, self.work, own)))
            if len(waiting) > TUNING.ahead * self.threads:
                yield self._first()
        while waiting:
            yield self._first()

    def _first(self) -> list[Any]:
        """Wait for the first task; return it with those after it that are done by then.

        If several workers died with a task, any of the tasks submitted may have killed them: all
        are repeated in processes of their own, which identify the item to blame.
        """
        waiting = self.waiting
        for _ in range(TUNING.attempts):
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
        """Σ results of tasks, added by tasks that take eight at a time."""
        for some in sums:
            for one in some:
                self._push(0, one)
        k = 0
        while k + 1 < len(self.levels) or len(self.levels[k]) > 1:  # leftovers, from below
            if self.levels[k]:
                self._add(k)
            k += 1
        return self.engine.results(self.levels[k])[0]

    def _push(self, k: int, one: Any) -> None:
        self.levels[k].append(one)
        if len(self.levels[k]) == TUNING.fan_in:
            self._add(k)

    def _add(self, k: int) -> None:
        """Add the sums of one level; the last run of all may be shorter than the others."""
        if k + 1 == len(self.levels):
            self.levels.append([])
        parts, self.levels[k] = self.levels[k], []
        whole = parts[0]
        if len(parts) > 1:
            whole = self._submit(add_sums, *parts)
            self.drop(parts)
        self._push(k + 1, whole)
