"""Write a file completely or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

import numpy as np

from ..numerics import durable
from .archive import Layout
from .arrays import raw

Array = np.ndarray
#: Bytes written at a time.
PIECE = 1 << 24


def write(path: str | os.PathLike[str], manifest: bytes, layout: Layout, arrays: Sequence[Array]):
    """Write manifest and arrays to a path; if that fails, an earlier file stays as it was."""
    with replacing(os.fspath(path)) as file:
        for data in pieces(manifest, layout, arrays):
            for start in range(0, len(data), PIECE):
                file.write(data[start : start + PIECE])


def joined(manifest: bytes, layout: Layout, arrays: Sequence[Array]) -> bytes:
    """Return the bytes that `write` writes."""
    return b"".join(pieces(manifest, layout, arrays))


def pieces(
    manifest: bytes, layout: Layout, arrays: Sequence[Array]
) -> Iterator[bytes | memoryview]:
    """Yield all parts of a file in their order."""
    between = layout.between()
    yield next(between)[2]
    yield manifest
    for (_, _, header), array in zip(between, arrays):
        yield header
        yield raw(array)
    yield layout.directory


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` once all of it is on the disk; errors name that path."""
    path = os.path.realpath(path)
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, "give the path of a file, this is a folder", path)
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(errno.EINVAL, "give the path of a file, this is a device", path)
    try:
        with durable.replacing(path) as file:
            yield file
    except OSError as error:
        raise _told(error, path) from error


def _told(error: OSError, path: str) -> OSError:
    """Word an error for the path that the user gave."""
    said = f"{error.strerror}: nothing was saved, an earlier file is as it was"
    if error.errno == errno.ENOENT:
        said = "the folder does not exist, and nothing was saved: make it first (~ is not expanded)"
    return OSError(error.errno, said, path)
