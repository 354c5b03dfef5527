"""One thread for BLAS and OpenMP: threads of small factorisations wait longer than they work."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

from .interrupts import interrupts


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit BLAS (numpy's and scipy's copies of OpenBLAS) and OpenMP to one thread."""
    with _controller().limit(limits=1), interrupts():
        yield
