"""Lay out a manifest and arrays as an uncompressed zip, every byte of it determined.

    manifest.json, arrays/0000.npy, arrays/0001.npy, …, directory, end

The descriptions of the arrays in the manifest determine all other headers, paddings and offsets.
A reader needs no directory: it reads the manifest, computes the bytes between the data, and
compares.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from .arrays import ALIGNED, Described
from .errors import ModelFileError

MANIFEST = "manifest.json"
#: Fields of 32 and 16 bits hold these where a field of 64 bits holds the number.
FULL, FULL_COUNT = 0xFFFFFFFF, 0xFFFF
#: Version needed to extract: of plain entries, and of large ones.
PLAIN, LARGE = 20, 45
#: 1 January 1980, midnight: files of equal models are equal.
TIME, DATE = 0, 0x21
#: Extra field of padding, as Android's zipalign writes it.
PADDING = 0xD935
LOCAL = struct.Struct("<4s5H3I2H")
CENTRAL = struct.Struct("<4s6H3I5H2I")
END = struct.Struct("<4s4H2IH")
LARGE_END = struct.Struct("<4sQ2H2I4Q")
LOCATOR = struct.Struct("<4sIQI")


@dataclass(frozen=True)
class Entry:
    """An entry of the zip: its name, position and contents."""

    name: str
    at: int  # position of its header in the file
    size: int  # bytes of its contents
    crc32: int
    aligned: bool

    @cached_property
    def header(self) -> bytes:
        name, sizes = self.name.encode(), (min(self.size, FULL),) * 2
        large = self.size >= FULL
        extra = struct.pack("<2H2Q", 1, 16, self.size, self.size) if large else b""
        if self.aligned:
            end = self.at + LOCAL.size + len(name) + len(extra) + 6
            extra += struct.pack("<3H", PADDING, 2 + -end % ALIGNED, ALIGNED)
            extra += bytes(-end % ALIGNED)
        version = LARGE if large else PLAIN
        return (
            LOCAL.pack(
                b"PK\x03\x04", version, 0, 0, TIME, DATE, self.crc32, *sizes, len(name), len(extra)
            )
            + name
            + extra
        )

    @property
    def start(self) -> int:
        """Position of its contents."""
        return self.at + len(self.header)

    @property
    def listing(self) -> bytes:
        """Its line in the directory."""
        name, large = self.name.encode(), [n for n in (self.size, self.size) if n >= FULL]
        large += [self.at] if self.at >= FULL else []
        extra = struct.pack(f"<2H{len(large)}Q", 1, 8 * len(large), *large) if large else b""
        version, size, at = LARGE if large else PLAIN, min(self.size, FULL), min(self.at, FULL)
        packed = CENTRAL.pack(
            b"PK\x01\x02", version, version, 0, 0, TIME, DATE, self.crc32, size, size,
            len(name), len(extra), 0, 0, 0, 0, at,
        )  # fmt: skip
        return packed + name + extra


@dataclass(frozen=True)
class Layout:
    """Positions of everything in a file."""

    entries: tuple[Entry, ...]  # the manifest first
    arrays: tuple[Described, ...]

    @classmethod
    def of(cls, manifest: bytes, arrays: Sequence[Described]) -> Layout:
        entries = [Entry(MANIFEST, 0, len(manifest), zlib.crc32(manifest), aligned=False)]
        end = entries[0].start + len(manifest)
        for i, one in enumerate(arrays):
            size = len(one.header) + one.n_bytes
            entries.append(Entry(name_of(i), end, size, one.crc32, aligned=True))
            end = entries[-1].start + size
        return cls(tuple(entries), tuple(arrays))

    def data_at(self, i: int) -> int:
        """Position of the numbers of array i."""
        return self.entries[i + 1].start + len(self.arrays[i].header)

    @property
    def end(self) -> int:
        """Position of the directory."""
        last = self.entries[-1]
        return last.start + last.size

    @cached_property
    def directory(self) -> bytes:
        """The directory and the end of the file."""
        listed, count, at = b"".join(e.listing for e in self.entries), len(self.entries), self.end
        found, size = listed, len(listed)
        if count >= FULL_COUNT or size >= FULL or at >= FULL:
            found += LARGE_END.pack(
                b"PK\x06\x06", LARGE_END.size - 12, LARGE, LARGE, 0, 0, count, count, size, at
            )
            found += LOCATOR.pack(b"PK\x06\x07", 0, at + size, 1)
        few = min(count, FULL_COUNT)
        return found + END.pack(b"PK\x05\x06", 0, 0, few, few, min(size, FULL), min(at, FULL), 0)

    def between(self) -> Iterator[tuple[str, int, bytes]]:
        """Yield (entry, offset, bytes) of all that is neither manifest nor data, in file order."""
        yield MANIFEST, 0, self.entries[0].header
        for entry, one in zip(self.entries[1:], self.arrays):
            yield entry.name, entry.at, entry.header + one.header
        yield "directory", self.end, self.directory

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.end + len(self.directory)


def name_of(i: int) -> str:
    """Name the entry of array i."""
    return f"arrays/{i:04d}.npy"


#: For files that begin in another way.
NOT_OURS = (
    "not a model file of collegium, as model.save writes it, or its beginning (manifest.json) is "
    "damaged"
)


def manifest_size(head: bytes, size: int) -> tuple[int, int]:
    """Read length and crc32 of the manifest from the first bytes of a file of this size."""
    name = MANIFEST.encode()
    if len(head) < LOCAL.size + len(name):
        raise ModelFileError(f"the file ends within its first header: {NOT_OURS}")
    *_, crc32, length, _, _, _ = LOCAL.unpack(head[: LOCAL.size])
    entry = Entry(MANIFEST, 0, length, crc32, aligned=False)
    if head[: len(entry.header)] != entry.header:
        raise ModelFileError(f"this is {NOT_OURS}")
    if entry.start + length > size:
        raise ModelFileError(f"{MANIFEST}: the file ends within it")
    return length, crc32
