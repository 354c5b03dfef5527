"""The base of cluster engines: sums, copies, and a comparison of the workers."""

from __future__ import annotations

import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..numerics.libraries import library
from ..numerics.tree import place
from .local import Serial
from .tasks import Report, RunTask, differences, dumps, tree_sum, worker_report
from .tuning import TUNING


class MixedWorkersWarning(UserWarning):
    """Workers have other versions or processors: the last bits of results may differ."""


class WorkersLost(RuntimeError):
    """Several workers died while they worked on a task, or there are no workers."""


def cluster_library(name: str, extra: str) -> Any:
    """Import a module of a cluster's library when an engine needs it."""
    return library(name, extra, "this engine")


def run_length(items: Sequence[Any], threads: int) -> int:
    """Items per run: a power of two, four runs per thread unless these are too short."""
    own = len(items) // threads
    length, most = 1, min(TUNING.most_chunks, max(own // TUNING.shares, min(own, TUNING.short)))
    if most > 1:
        most = min(most, TUNING.most_bytes // max(len(dumps(items[0])), 1))
    while 2 * length <= most:
        length *= 2
    return length


class Cluster(ABC):
    """An engine that works on chunks in other processes.

    Tasks are runs of items, and adders of eight sums each. Floating-point numbers are added in
    the same tree as on this machine.
    """

    #: Whether this copy lost its cluster when it was pickled, and works on its own.
    alone = False

    def __init__(self, mixed: str = "warn") -> None:
        if mixed not in ("warn", "refuse"):
            raise ValueError(f'mixed={mixed!r}: give "warn" or "refuse"')
        self.mixed = mixed
        self._known: set[Any] = set()  # workers already compared
        self._lock = threading.Lock()

    @abstractmethod
    def threads(self) -> int:
        """Count the tasks that run at a time; 0 where this process works on its own."""

    @abstractmethod
    def reports(self, known: set[Any], probe: Callable[[], str]) -> dict[Any, Report]:
        """Collect the reports of workers that are not known yet."""

    @abstractmethod
    def mapped(self, work: RunTask, items: Sequence[Any], threads: int) -> Iterator[Any]:
        """Yield the results of runs of items in order, each a list."""

    @abstractmethod
    def reduced(self, work: RunTask, chunks: Sequence[Any], threads: int) -> Any:
        """Σ results of runs, added on the workers."""

    @property
    def n_jobs(self) -> int:
        return self.threads() or 1

    def map(self, f: Callable, items: Iterable) -> list[Any]:
        return list(self.imap(f, items))

    def imap(self, f: Callable, items: Iterable) -> Iterator[Any]:
        """Yield f(item) in the order of the items."""
        threads = self.threads()
        if not threads:
            yield from Serial().imap(f, items)
            return
        items = list(items)
        if items:
            for some in self.mapped(RunTask(f, list), items, threads):
                yield from some

    def sum(self, f: Callable, chunks: Sequence, zero: Any) -> Any:
        """zero + Σ f(chunk), in the tree of `Serial`."""
        if not chunks:
            return zero
        return zero + self.reduce(f, sorted(chunks, key=lambda chunk: place(chunk.id)), tree_sum)

    def reduce(self, f: Callable, chunks: Sequence, gather: Callable) -> Any:
        """Σ over runs of gather(f(chunk) for the chunks of a run), added on the workers."""
        threads = self.threads()
        work = RunTask(f, gather)
        return self.reduced(work, chunks, threads) if threads else work(chunks)

    def check(self, probe: Callable[[], str]) -> None:
        """Compare the probe and the versions of each new worker with those of this process."""
        if not self.threads():
            return
        with self._lock:
            found = self.reports(self._known, probe)
            self._known |= set(found)
        if found:
            self._compare(worker_report(probe), list(found.values()))

    def _compare(self, own: Report, others: Sequence[Report]) -> None:
        versions, processors = differences(own, others)
        if any(" has collegium " in one for one in versions):
            raise RuntimeError(f"{'; '.join(versions)}: install the same version everywhere")
        said = [f"{one}: install the same version" for one in versions]
        if processors:
            values = " ".join(f"{name}={value}" for name, value in own.processor)
            said.append(
                f"{', '.join(processors)} round differently from this process ({values}): set "
                "OPENBLAS_CORETYPE and NUMBA_CPU_NAME to the same values here and in the "
                "environment of all workers before Python starts (to those of the oldest "
                "processor, such as OPENBLAS_CORETYPE=Haswell NUMBA_CPU_NAME=haswell)"
            )
        if said and self.mixed == "refuse":
            raise RuntimeError("; ".join(said))
        if said:
            warnings.warn(
                f"{'; '.join(said)}. The last bits of results may differ from those of one machine",
                MixedWorkersWarning,
                stacklevel=4,
            )

    # --- copies -----------------------------------------------------------------------------------

    def __deepcopy__(self, memo: Any) -> Cluster:
        return self  # `clone` shares the cluster

    def __copy__(self) -> Cluster:
        return self

    def __reduce__(self) -> Any:
        return _alone, (type(self), self.mixed)


def _alone(kind: type[Cluster], mixed: str) -> Cluster:
    """Make an engine in another process, without the cluster of the original."""
    engine = kind.__new__(kind)
    Cluster.__init__(engine, mixed)
    engine.alone = True
    return engine
