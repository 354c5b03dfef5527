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

LOGGER = logging.getLogger("collegium")


def compiled(**options: Any) -> Callable[[Callable], Any]:
    """Decorate with `numba.njit(nogil=True, **options)`, cached on disk where possible."""

    def decorate(function: Callable) -> Any:
        try:
            return numba.njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:  # "no locator available": numba cannot write anywhere
            return numba.njit(nogil=True, cache=_keep_elsewhere(), **options)(function)

    return decorate


def announce_compiling(function: Any, say: Callable[[str], None]) -> None:
    """Say that the first call of a compiled function takes some time."""
    if not function.signatures:
        say("compiling for this processor: some seconds, unless an earlier run has kept the result")


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
