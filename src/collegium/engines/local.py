"""Engines on this machine: one thread, or several.

An engine has `sum(f, chunks, zero)`, `map(f, items)` and `imap(f, items)`. BLAS runs on one
thread inside: small factorisations lose more to waiting threads than they gain, and results are
the same to the last bit for any number of workers.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ..numerics.threads import single_threaded
from ..numerics.tiles import TILE
from ..numerics.tree import Tree, place


@dataclass(frozen=True)
class Serial:
    """Work on one chunk after the other."""

    n_jobs: int = 1

    def imap(self, f: Callable, items: Iterable) -> Iterator[Any]:
        """Yield f(item) in the order of the items."""
        with single_threaded():
            yield from map(f, items)

    def map(self, f: Callable, items: Iterable) -> list[Any]:
        return list(self.imap(f, items))

    def sum(self, f: Callable, chunks: Sequence, zero: Any) -> Any:
        """zero + Σ f(chunk), added in a tree whose shape depends on the number of chunks alone."""
        tree = Tree()
        for term in self.imap(f, sorted(chunks, key=lambda chunk: place(chunk.id))):
            tree = tree.push(term)
        return tree.total(zero)


@dataclass(frozen=True)
class Threads(Serial):
    """Work on several chunks at a time; at most two per worker wait to be added."""

    n_jobs: int = 2

    def imap(self, f: Callable, items: Iterable) -> Iterator[Any]:
        with single_threaded(), ThreadPoolExecutor(self.n_jobs) as pool:
            waiting: deque = deque()
            for item in items:
                waiting.append(pool.submit(f, item))
                if len(waiting) > 2 * self.n_jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()


def share(engine: Any, n: int, most: int) -> int:
    """Queries per batch, in whole tiles: `most`, or fewer where some workers would have none.

    Batches change no bit of an answer (`numerics.tiles`). An engine of your own may not say how
    many workers it has.
    """
    each = -(-n // (TILE * getattr(engine, "n_jobs", 1))) * TILE
    return max(1, min(most, each))


def here(engine: Any) -> Any:
    """Return an engine of this machine (or one that shows its progress) as it is, else `Serial`.

    For work whose state is kept between calls: it is not sent to a cluster.
    """
    own = getattr(engine, "engine", engine)
    return engine if isinstance(own, Serial) else Serial()


def engine_for(n_jobs: int | None) -> Serial:
    """Make an engine as in scikit-learn: None or 1, serial; −1, all cores; −2, all but one."""
    if n_jobs is None:
        return Serial()
    if isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__") or n_jobs == 0:
        raise ValueError(f"n_jobs={n_jobs!r}: give None, a positive number, or -1 for all cores")
    count = n_jobs.__index__()
    if count < 0:
        count = max(1, (os.cpu_count() or 1) + 1 + count)
    return Serial() if count == 1 else Threads(count)
