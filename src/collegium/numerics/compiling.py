"""Compiled functions, cached on disk between runs: the one place that asks numba for them.

Numba keeps machine code beside the source or in the user's home. Where neither is writable (a
container with a foreign user, a read-only root), a temporary folder takes their place; without
one, every process compiles again.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numba
from numba.core import event
from numba.core.registry import CPUDispatcher

LOGGER = logging.getLogger("collegium")
PACKAGE = __name__.partition(".")[0]
#: Written to the standard error, unless logging is set up otherwise.
ANNOUNCEMENT = (
    "collegium compiles functions that are used for the first time on this processor, for up to "
    "five seconds. collegium.warm_up() does so ahead; NUMBA_CACHE_DIR says where they are kept"
)
#: Without ways in from Python and C, which take as long to compile as a short function.
INNER: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiled(**options: Any) -> Callable[[Callable], Any]:
    """Decorate with `numba.njit(nogil=True, **options)`, cached on disk where possible."""

    own = {"nogil": True, "no_cfunc_wrapper": True, **options}

    def decorate(function: Callable) -> Any:
        try:
            return numba.njit(**own, cache=True)(function)
        except RuntimeError:  # "no locator available": numba cannot write anywhere
            return numba.njit(**own, cache=_keep_elsewhere())(function)

    return decorate


class _Inner(CPUDispatcher):
    """Compiled inside of compiled functions alone: called from Python it is a Python function."""

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


def inner(**options: Any) -> Callable[[Callable], Any]:
    """Decorate a function that compiled ones call, and that their code contains.

    It is not cached, and has no machine code for calls from Python: both would take longer than
    to compile it.
    """

    def decorate(function: Callable) -> Any:
        found = numba.njit(nogil=True, **INNER, **options)(function)
        if isinstance(found, CPUDispatcher):  # not with NUMBA_DISABLE_JIT
            found.__class__ = _Inner
        return found

    return decorate


class _Announcer(event.Listener):
    """Say once per process that functions of this package are compiled: numba is silent.

    Functions that are found in the cache are no event.
    """

    said = False

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if self.said or function.__module__.partition(".")[0] != PACKAGE:
            return
        self.said = True
        LOGGER.warning(ANNOUNCEMENT)

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Announcer())


@contextmanager
def interrupts() -> Iterator[None]:
    """Let Ctrl-C inside compiled functions come out as KeyboardInterrupt.

    An interrupt that arrives while a compiled function returns becomes the cause of a SystemError
    ("returned a result with an exception set").
    """
    try:
        yield
    except Exception as error:
        link: BaseException | None = error
        while link is not None:
            if isinstance(link, KeyboardInterrupt):
                raise KeyboardInterrupt from error
            link = link.__cause__ or link.__context__
        raise


@cache
def _keep_elsewhere() -> bool:
    """Let numba write to a temporary folder from now on; False where there is none."""
    try:
        folder = _private_folder()
    except OSError:
        LOGGER.warning(
            "no folder is writable to keep compiled functions: every process compiles them again; "
            "set NUMBA_CACHE_DIR to a writable folder"
        )
        return False
    LOGGER.warning(
        "neither the package nor the home folder is writable: compiled functions are kept in %s; "
        "set NUMBA_CACHE_DIR to a permanent folder",
        folder,
    )
    numba.config.CACHE_DIR = folder  # type: ignore[attr-defined]
    return True


def _private_folder() -> str:
    """Make a temporary folder of this user alone, the same in every process.

    Cached code is executed when it is read: a folder that others may write to is not used.
    """
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = os.path.join(tempfile.gettempdir(), f"collegium-{user}")
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        found = os.lstat(folder)
        if found.st_uid != user or found.st_mode & 0o170777 != 0o040700:
            return tempfile.mkdtemp(prefix="collegium-")
    return folder
