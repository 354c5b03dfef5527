"""Arrays as bytes: what is said of each in the manifest, and the header of its npy entry."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from .errors import ModelFileError

Array = np.ndarray
#: Kinds of numbers and words, with the bytes of an item that are the same on every machine.
SIZES = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "c": (8, 16)}
WORDS = "US"
DTYPE = re.compile(r"[<>|][biufcUS][0-9]{1,6}")
DIGEST = re.compile(r"[0-9a-f]{64}")
#: npy entries, and the data in them, begin at multiples of this many bytes.
ALIGNED = 64
MOST_DIMENSIONS = 32


@dataclass(frozen=True)
class Described:
    """What the manifest says of an array."""

    dtype: str
    shape: tuple[int, ...]
    fortran: bool
    crc32: int  # of the whole npy entry
    sha256: str  # of the data

    @cached_property
    def n_bytes(self) -> int:
        return prod(self.shape) * np.dtype(self.dtype).itemsize

    @cached_property
    def header(self) -> bytes:
        """The head of the npy entry, version 1.0, as NumPy reads it."""
        shape = ", ".join(map(str, self.shape)) + ("," if len(self.shape) == 1 else "")
        text = f"{{'descr': {self.dtype!r}, 'fortran_order': {self.fortran}, 'shape': ({shape}), }}"
        length = -(-(10 + len(text) + 1) // ALIGNED) * ALIGNED - 10
        start = b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little")
        return start + text.encode().ljust(length - 1) + b"\n"

    def node(self) -> dict[str, Any]:
        return {
            "dtype": self.dtype, "shape": list(self.shape), "order": "F" if self.fortran else "C",
            "crc32": self.crc32, "sha256": self.sha256,
        }  # fmt: skip

    @classmethod
    def of(cls, node: Any, where: str, most: int) -> Described:
        """Read a description; `most` bytes are there at most."""
        wanted = {"dtype", "shape", "order", "crc32", "sha256"}
        if type(node) is not dict or set(node) != wanted:
            raise ModelFileError(f"{where}: its description is not one of an array")
        dtype, shape, order = node["dtype"], node["shape"], node["order"]
        whole = type(shape) is list and all(type(n) is int and 0 <= n <= most for n in shape)
        right = (
            type(dtype) is str and _known(dtype) and whole and len(shape) <= MOST_DIMENSIONS
            and order in ("C", "F") and type(node["crc32"]) is int
            and 0 <= node["crc32"] < 2**32 and type(node["sha256"]) is str
            and DIGEST.fullmatch(node["sha256"]) is not None
        )  # fmt: skip
        if not right:
            raise ModelFileError(f"{where}: its description is not one of an array")
        found = cls(dtype, tuple(shape), order == "F", node["crc32"], node["sha256"])
        if found.n_bytes > most:
            raise ModelFileError(f"{where}: more bytes are claimed than the file has")
        return found


def _known(dtype: str) -> bool:
    if DTYPE.fullmatch(dtype) is None:
        return False
    kind, size = dtype[1], int(dtype[2:])
    right = size <= 4096 if kind in WORDS else size in SIZES[kind]
    return right and np.dtype(dtype).str == dtype


def storable(array: Array) -> bool:
    """Whether the items of an array are numbers or words that every machine reads alike."""
    return _known(array.dtype.str)


def laid_out(array: Array) -> tuple[Array, tuple[int, ...]]:
    """The array with its axes in the order of memory, without gaps, and the way back.

    `laid_out(a)[0].transpose(laid_out(a)[1])` is a, and its axes lie in memory as those of a do:
    how BLAS rounds depends on it.
    """
    axes = tuple(range(array.ndim))
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return array, axes
    order = sorted(axes, key=lambda k: (-abs(array.strides[k]), k))
    back = tuple(order.index(k) for k in axes)
    if order == list(reversed(axes)):
        return np.asfortranarray(array), axes
    return np.ascontiguousarray(array.transpose(order)), back


def raw(array: Array) -> Array:
    """The bytes of an array without gaps, as they lie in memory  (n,)."""
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    return (array.T if fortran else array).reshape(-1).view(np.uint8)


def digest(data: Array) -> str:
    return hashlib.sha256(data).hexdigest()
