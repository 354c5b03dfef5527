"""What the engines of clusters share: sums, copies, and a look at the workers."""

from __future__ import annotations

import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

from ..numerics.tree import place
from .local import Serial
from .tasks import Report, Work, differences, dumps, report, tree_sum

#: Sums that one adder takes.
FAN_IN = 8
#: The most chunks, and bytes of them, of a run.
MOST_CHUNKS, MOST_BYTES = 512, 1 << 22
#: Runs that each thread of a cluster gets of a call, at least, and that wait for it at a time.
SHARES, AHEAD = 4, 4
#: A run is not made shorter than this so that a thread gets several.
SHORT = 4


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


class Cluster(ABC):
    """An engine whose chunks are worked on by other processes.

    Tasks are runs of items, and adders of the sums of eight. Sums of floating-point numbers are
    added in the tree in which this machine adds them.
    """

    #: Whether this is a copy that lost its cluster when it was pickled: it works on its own.
    alone = False

    def __init__(self, mixed: str = "warn") -> None:
        if mixed not in ("warn", "refuse"):
            raise ValueError(f'mixed={mixed!r}: give "warn" or "refuse"')
        self.mixed = mixed
        self._known: set[Any] = set()  # workers that were probed
        self._lock = threading.Lock()

    @abstractmethod
    def threads(self) -> int:
        """Tasks that the cluster works on at a time; 0 where this process works on its own."""

    @abstractmethod
    def reports(self, known: set[Any], probe: Callable[[], str]) -> dict[Any, Report]:
        """What workers that are not known yet say of themselves."""

    @abstractmethod
    def mapped(self, work: Work, items: Sequence[Any], threads: int) -> Iterator[Any]:
        """Results of runs of items in order, each a list."""

    @abstractmethod
    def reduced(self, work: Work, chunks: Sequence[Any], threads: int) -> Any:
        """The sum of the results of runs, added on the workers."""

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
        if items:
            for some in self.mapped(Work(f, list), items, threads):
                yield from some

    def sum(self, f: Callable, chunks: Sequence, zero: Any) -> Any:
        """zero + Σ f(chunk), in the tree of `Serial`."""
        if not chunks:
            return zero
        return zero + self.reduce(f, sorted(chunks, key=lambda chunk: place(chunk.id)), tree_sum)

    def reduce(self, f: Callable, chunks: Sequence, gather: Callable) -> Any:
        """Σ gather(f(chunk) of a run), the sum of one run or more, added on the workers."""
        threads = self.threads()
        work = Work(f, gather)
        return self.reduced(work, chunks, threads) if threads else work(chunks)

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

    def __deepcopy__(self, memo: Any) -> Cluster:
        return self  # `clone` shares the cluster

    def __copy__(self) -> Cluster:
        return self

    def __reduce__(self) -> Any:
        return _alone, (type(self), self.mixed)


def _alone(kind: type[Cluster], mixed: str) -> Cluster:
    """An engine in another process, without the cluster of the first."""
    engine = kind.__new__(kind)
    Cluster.__init__(engine, mixed)
    engine.alone = True
    return engine
