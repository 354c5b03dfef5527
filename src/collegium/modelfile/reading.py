"""Read a file without trusting anything in it."""

from __future__ import annotations

import json
import mmap
import os
import zlib
from typing import Any, NoReturn

import numpy as np

from ..numerics.durable import at_once, is_plain_file
from .archive import LOCAL, MANIFEST, Layout, manifest_size, name_of
from .arrays import Described, sha256_of
from .errors import ModelFileError

Array = np.ndarray
#: All bytes of a file, in memory or mapped, which arrays may change.
Bytes = mmap.mmap | bytearray
#: Largest manifest in bytes; that of a hundred thousand arrays has 20 MB.
LARGEST_MANIFEST = 1 << 29


def file_bytes(path: str | os.PathLike[str], *, mapped: bool) -> mmap.mmap:
    """Read all bytes of a file, or map them; changes to them stay in this process.

    A mapped file that is cut short in place ends the process when it is read (SIGBUS); one that
    was read does not.
    """
    with open(path, "rb", opener=at_once) as file:
        size = os.fstat(file.fileno()).st_size
        if not is_plain_file(file.fileno()):
            raise ModelFileError(f"{os.fspath(path)} is not a file")
        if size == 0:
            raise ModelFileError("the file is empty")
        if mapped:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        found = mmap.mmap(-1, size)
        if file.readinto(memoryview(found)) != size:
            raise ModelFileError("the file was cut off while it was read")
        return found


def read_manifest(data: Bytes) -> tuple[bytes, dict[str, Any]]:
    """Read the manifest, as bytes and as JSON."""
    length, crc32 = manifest_size(bytes(data[: LOCAL.size + len(MANIFEST)]), len(data))
    if length > LARGEST_MANIFEST:
        raise ModelFileError(f"{MANIFEST}: too large")
    start = LOCAL.size + len(MANIFEST)
    text = bytes(data[start : start + length])
    if zlib.crc32(text) != crc32:
        raise ModelFileError(f"{MANIFEST}: damaged, it differs from its checksum")
    try:
        found = json.loads(text.decode("ascii"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{MANIFEST}: not JSON that can be read ({error})") from error
    if type(found) is not dict:
        raise ModelFileError(f"{MANIFEST}: not a manifest")
    return text, found


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number of JSON")


def read_arrays(data: Bytes, text: bytes, said: Any, *, verify: bool) -> list[Array]:
    """Read the arrays that a manifest describes; `verify` compares them with their sha256.

    All other bytes of the file are always compared with what they must be.
    """
    if type(said) is not list:
        raise ModelFileError(f"{MANIFEST}: no list of arrays")
    described = [Described.of(one, name_of(i), len(data)) for i, one in enumerate(said)]
    if sum(one.n_bytes for one in described) > len(data):
        raise ModelFileError(f"{MANIFEST}: more bytes are claimed than the file has")
    layout = Layout.of(text, described)
    for name, at, expected in layout.between():
        if data[at : at + len(expected)] != expected:
            raise ModelFileError(f"{name}: damaged, or the file was cut off")
    if layout.size != len(data):
        raise ModelFileError(f"the file has {len(data)} bytes instead of {layout.size}")
    found = []
    for i, one in enumerate(described):
        at = layout.data_at(i)
        array: Array = np.ndarray(one.shape, one.dtype, data, at, order="F" if one.fortran else "C")
        if verify and sha256_of(memoryview(data)[at : at + one.n_bytes]) != one.sha256:
            raise ModelFileError(f"{name_of(i)}: damaged, its contents differ from their sha256")
        found.append(array)
    return found
