"""One thread for BLAS and OpenMP: small factorisations lose more to waiting than they gain."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def single_threaded() -> Iterator[None]:
    """One thread within, for BLAS (numpy's copy of OpenBLAS and scipy's) and OpenMP."""
    with _controller().limit(limits=1):
        yield
