"""Files that are on the disk when they are said to be, and locks that end with their process."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # Windows: no locks
    fcntl = None  # type: ignore[assignment]

#: Ends the names of files that are not complete yet.
PART = ".part"


def sync(file: Any) -> None:
    """Write all that was written to an open file to the disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(path: str | os.PathLike[str]) -> None:
    """Write the names in a folder to the disk, on systems that can."""
    with suppress(PermissionError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
                raise
        finally:
            os.close(handle)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` once all of it is on the disk; after an error none does.

    It has a name of its own until then, which a process that is killed leaves behind:
    `sweep_parts` removes such files.
    """
    folder, name = os.path.split(os.path.abspath(path))
    sweep_parts(path)
    part = os.path.join(folder, f"{_start_of_parts(name)}{secrets.token_hex(8)}{PART}")
    try:
        with open(part, "xb") as file:  # in the block: an interrupt may come as `open` returns
            try_lock(file.fileno())
            yield file
            sync(file)
            if os.path.exists(path):
                os.chmod(part, os.stat(path).st_mode & 0o7777)
            os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise
    sync_folder(folder)


def _start_of_parts(name: str) -> str:
    return f".{name[:50]}."


def is_part_of(name: str, whole: str) -> bool:
    """Whether this is the name of an incomplete file that was to become `whole`."""
    start = _start_of_parts(whole)
    return name.startswith(start) and name.endswith(PART) and len(name) == len(start) + 16 + 5


def sweep_parts(path: str | os.PathLike[str]) -> None:
    """Remove incomplete files of processes that were killed while they wrote to `path`."""
    folder, name = os.path.split(os.path.abspath(path))
    with suppress(OSError):
        for one in os.scandir(folder):
            if is_part_of(one.name, name):
                remove_abandoned(one.path)


def remove_abandoned(path: str | os.PathLike[str], *others: str | os.PathLike[str]) -> None:
    """Remove files unless a process holds the lock of the first, which is removed last."""
    with suppress(OSError), open(path, "rb", opener=at_once) as file:
        if try_lock(file.fileno()):
            for one in (*others, path):
                with suppress(FileNotFoundError):
                    os.unlink(one)


def try_lock(descriptor: int) -> bool | None:
    """Lock an open file or folder for this process; False: another one has locked it.

    The lock ends when the file is closed or the process ends, however it ends: none is ever
    stale. None: there are no such locks here (Windows, some network drives), nothing is locked
    and nobody knows who else is at work.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def unlock(descriptor: int) -> None:
    """Give up a lock, that of copies of the descriptor in child processes too."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def at_once(path: str, flags: int) -> int:
    """Open a path without waiting for the other end of a pipe: an `opener` of `open`."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def is_plain_file(descriptor: int) -> bool:
    """Whether an open file is a file, not a pipe, a device or a folder."""
    return stat.S_ISREG(os.fstat(descriptor).st_mode)
