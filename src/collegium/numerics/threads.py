"""One thread for BLAS and OpenMP: in small factorisations threads wait longer than they work."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from threading import Lock
from typing import Any

import threadpoolctl

from .compiling import interrupts


@cache
def _libraries() -> tuple[list[Any], list[Any]]:
    """List libraries with one limit per process, and those with one per thread (OpenMP)."""
    every = threadpoolctl.ThreadpoolController()
    own = every.select(user_api="openmp", threading_layer="openmp")  # either of the two
    names = {one["filepath"] for one in own.info()}
    shared = [one for one in every.lib_controllers if one.filepath not in names]
    return shared, own.lib_controllers


def _limit(libraries: list[Any]) -> list[tuple[Any, int]]:
    """Limit libraries to one thread; return those that had more, with their number.

    Asking takes a microsecond, and most answers take less time than threadpoolctl's own limits.
    """
    before = [(one, one.get_num_threads()) for one in libraries]
    changed = [(one, n) for one, n in before if n is not None and n != 1]
    for one, _ in changed:
        one.set_num_threads(1)
    return changed


def _restore(changed: list[tuple[Any, int]]) -> None:
    for one, n in changed:
        one.set_num_threads(n)


@cache
def late_import(module: str, name: str) -> Any:
    """Import something that is slow to load, with libraries of threads of its own perhaps: list
    these again, so that `single_threaded` limits them too."""
    found = getattr(import_module(module), name)
    _libraries.cache_clear()
    return found


class _SharedLimit:
    """A limit of the process: its first user sets it, its last user restores the old one."""

    def __init__(self) -> None:
        self.lock, self.users = Lock(), 0
        self.changed: list[tuple[Any, int]] = []  # limits from before the first user

    def enter(self) -> None:
        with self.lock:
            if self.users == 0:
                _let_any_thread_set_limits()
                self.changed = _limit(_libraries()[0])
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0 and self.changed:
                _let_any_thread_set_limits()
                _restore(self.changed)
                _let_any_thread_set_limits()


_shared = _SharedLimit()


def _let_any_thread_set_limits() -> None:
    """Undo threadpoolctl's rule (3.8 on) that only the first thread to do so limits OpenBLAS."""
    clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit BLAS (numpy's and scipy's copies of OpenBLAS) and OpenMP to one thread.

    In BLAS the limit holds for all threads of the process, until the last user leaves.
    """
    _shared.enter()
    try:
        own = _limit(_libraries()[1])
        try:
            with interrupts():
                yield
        finally:
            _restore(own)
    finally:
        _shared.leave()
