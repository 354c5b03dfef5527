"""One thread for BLAS and OpenMP: threads of small factorisations wait longer than they work."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import threadpoolctl

from .interrupts import interrupts


@cache
def _libraries() -> tuple[Any, Any]:
    """Those with one limit for the process, and those with one for each thread (OpenMP)."""
    every = threadpoolctl.ThreadpoolController()
    own = every.select(user_api="openmp", threading_layer="openmp")  # either of the two
    shared = [one["filepath"] for one in every.info() if one not in own.info()]
    return every.select(filepath=shared), own


class _SharedLimit:
    """A limit of the process: the first that asks for it sets it, the last restores it."""

    def __init__(self) -> None:
        self.lock, self.users = Lock(), 0
        self.limit: Any = None  # knows the limits from before the first of them

    def enter(self) -> None:
        with self.lock:
            if self.users == 0:
                _let_any_thread_set_limits()
                self.limit = _libraries()[0].limit(limits=1)
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0:
                _let_any_thread_set_limits()
                self.limit.restore_original_limits()
                _let_any_thread_set_limits()


_shared = _SharedLimit()


def _let_any_thread_set_limits() -> None:
    """From threadpoolctl 3.8 on only one thread can change OpenBLAS: the first that did so."""
    clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit BLAS (numpy's and scipy's copies of OpenBLAS) and OpenMP to one thread.

    In BLAS the limit holds for all threads of the process, until the last of those that work
    with it leaves.
    """
    _shared.enter()
    try:
        with _libraries()[1].limit(limits=1), interrupts():
            yield
    finally:
        _shared.leave()
