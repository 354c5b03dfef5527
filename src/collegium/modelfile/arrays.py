"""Store arrays as bytes: their descriptions in the manifest, and the headers of npy entries."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd, prod
from typing import Any
from zlib import crc32

import numpy as np

from .errors import ModelFileError

Array = np.ndarray
#: Kinds of numbers, with sizes of an item in bytes that are the same on every machine; strings.
SIZES = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "c": (8, 16)}
WORDS = "US"
DTYPE = re.compile(r"[<>|][biufcUS][0-9]{1,6}")
DIGEST = re.compile(r"[0-9a-f]{64}")
#: npy entries, and the data in them, begin at multiples of this many bytes.
ALIGNED = 64
MOST_DIMENSIONS = 32
#: Small arrays, and those without numbers, are no longer than this along any axis.
MOST_OF_EMPTY = 2**27


@dataclass(frozen=True)
class Described:
    """Description of an array in the manifest."""

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
        """Header of the npy entry, version 1.0, as NumPy reads it."""
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
        """Read a description of an array of at most `most` bytes."""
        wanted = {"dtype", "shape", "order", "crc32", "sha256"}
        if type(node) is not dict or set(node) != wanted:
            raise ModelFileError(f"{where}: its description is not one of an array")
        dtype, shape, order = node["dtype"], node["shape"], node["order"]
        whole = whole_numbers(shape, most)
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


def whole_numbers(values: Any, most: int = 2**62) -> bool:
    """Whether JSON is a list of whole numbers from 0 to `most`."""
    return type(values) is list and all(type(n) is int and 0 <= n <= most for n in values)


def storable(array: Array) -> bool:
    """Whether the items of an array are numbers or strings that every machine reads alike."""
    return _known(array.dtype.str)


def laid_out(array: Array) -> tuple[Array, tuple[int, ...]]:
    """Return the array with its axes in the order of memory, without gaps, and their order in it.

    `laid_out(a)[0].transpose(laid_out(a)[1])` is a, with its axes in the same order in memory:
    rounding in BLAS depends on it.
    """
    axes = tuple(range(array.ndim))
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return array, axes
    order = sorted(axes, key=lambda k: (-abs(array.strides[k]), k))
    back = tuple(order.index(k) for k in axes)
    if order == list(reversed(axes)):
        return np.asfortranarray(array), axes
    return np.ascontiguousarray(array.transpose(order)), back


def is_fortran(array: Array) -> bool:
    """Whether the first axis is the fastest in memory."""
    return array.flags.f_contiguous and not array.flags.c_contiguous


def raw(array: Array) -> memoryview:
    """View the bytes of an array without gaps, in the order of memory."""
    return (array.T if is_fortran(array) else array).reshape(-1).view(np.uint8).data


def describe(array: Array) -> Described:
    """Describe an array without gaps."""
    data = raw(array)
    own = Described(array.dtype.str, array.shape, is_fortran(array), 0, sha256_of(data))
    return replace(own, crc32=crc32(data, crc32(own.header)))


class SmallArrays:
    """Small arrays of one dtype in one entry, each at a multiple of 64 bytes."""

    def __init__(self, entry: int, dtype: np.dtype) -> None:
        self.entry, self.dtype, self.size = entry, dtype, 0
        self.parts: list[tuple[int, Array]] = []
        self.step = ALIGNED // gcd(ALIGNED, dtype.itemsize)

    def add(self, array: Array) -> int:
        """Append an array, and return the position of its first number."""
        at = -(-self.size // self.step) * self.step
        self.parts.append((at, array))
        self.size = at + array.size
        return at

    def joined(self) -> Array:
        found = np.zeros(self.size, self.dtype)
        for at, array in self.parts:
            found[at : at + array.size] = array.reshape(-1)
        return found


def sha256_of(data: bytes | memoryview) -> str:
    return hashlib.sha256(data).hexdigest()
