"""Write a file completely or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import BinaryIO

import numpy as np

from .archive import Layout
from .arrays import raw

Array = np.ndarray
#: Bytes written at a time.
PIECE = 1 << 24


def write(path: str | os.PathLike[str], manifest: bytes, layout: Layout, arrays: Sequence[Array]):
    """Write manifest and arrays to a path; if that fails, an earlier file stays as it was."""
    with replacing(os.fspath(path)) as file:
        pieces = layout.between()
        file.write(next(pieces)[2])
        file.write(manifest)
        for (_, _, header), array in zip(pieces, arrays):
            file.write(header)
            data = raw(array)
            for start in range(0, len(data), PIECE):
                file.write(data[start : start + PIECE])
        file.write(layout.directory)


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` once all of it is on the disk."""
    path = os.path.realpath(path)
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, "give the path of a file, this is a folder", path)
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(errno.EINVAL, "give the path of a file, this is a device", path)
    folder, name = os.path.split(path)
    part = os.path.join(folder, f".{name[:50]}.{secrets.token_hex(8)}.part")
    try:
        file = open(part, "xb")
    except OSError as error:
        raise _told(error, path) from error
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            os.chmod(part, os.stat(path).st_mode & 0o7777)
        os.replace(part, path)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(part)
        if isinstance(error, OSError):
            raise _told(error, path) from error
        raise
    _sync_folder(folder)


def _told(error: OSError, path: str) -> OSError:
    """Word an error for the path that the user gave."""
    said = f"{error.strerror}: nothing was saved, an earlier file is as it was"
    if error.errno == errno.ENOENT:
        said = "the folder does not exist, and nothing was saved: make it first (~ is not expanded)"
    return OSError(error.errno, said, path)


def _sync_folder(folder: str) -> None:
    """Write the new name to the disk too, on systems that can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
