"""Compiled functions, kept on disk between runs: the one place that asks numba for them.

Numba keeps machine code beside the source or in the user's home. Where it may write to neither
(a container with a foreign user, a read-only root), a folder for temporary files takes their
place; where there is none either, every process compiles anew.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable
from functools import cache
from typing import Any

import numba

LOGGER = logging.getLogger("collegium")


def compiled(**options: Any) -> Callable[[Callable], Any]:
    """Decorate as `numba.njit(nogil=True, **options)` does, kept on disk where possible."""

    def decorate(function: Callable) -> Any:
        try:
            return numba.njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:  # no locator available: numba may write nowhere
            return numba.njit(nogil=True, cache=_keep_elsewhere(), **options)(function)

    return decorate


def announce(function: Any, say: Callable[[str], None]) -> None:
    """Say that the first call of a compiled function takes its time."""
    if not function.signatures:
        say("compiling for this processor: some seconds, unless an earlier run has kept the result")


@cache
def _keep_elsewhere() -> bool:
    """Let numba write to a temporary folder from now on; False where there is none."""
    try:
        folder = _private_folder()
    except OSError:
        LOGGER.warning(
            "no folder is writable to keep compiled functions: every process compiles them anew; "
            "set NUMBA_CACHE_DIR to a folder that is"
        )
        return False
    LOGGER.warning(
        "neither the package nor the home folder is writable: compiled functions are kept in %s; "
        "set NUMBA_CACHE_DIR to a folder that lasts",
        folder,
    )
    numba.config.CACHE_DIR = folder  # type: ignore[attr-defined]
    return True


def _private_folder() -> str:
    """A temporary folder of this user alone, the same in every process.

    What numba keeps is executed when it is read: a folder that others may write to is not used.
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
