"""Stamps of files: whether a file is still the one that was opened."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass

#: Files that end with a footer, which lists their contents.
WITH_FOOTER = (".parquet", ".pq")


class SourceChangedError(ValueError):
    """A file has changed while it was read, and what was read of it may be a mixture."""


@dataclass(frozen=True)
class Stamp:
    """Identifies a file, among others of the same name."""

    path: str
    size: int
    modified: int  # nanoseconds
    identity: tuple[int, int, int]  # device, number and last change of the file on its machine
    machine: str
    footer: str  # sha256 of the footer of a Parquet file

    @classmethod
    def of(cls, path: str) -> Stamp:
        found = os.stat(path)
        identity = found.st_dev, found.st_ino, found.st_ctime_ns
        stamped = found.st_size, found.st_mtime_ns, identity
        return cls(path, *stamped, platform.node(), _footer(path, found.st_size))

    @property
    def origin(self) -> tuple[str, int, int, str]:
        """Identify the file when it is opened again."""
        return os.path.abspath(self.path), self.size, self.modified, self.footer

    def holds(self) -> bool:
        """Whether the file is the same; a copy on another machine has the same size and footer."""
        now = Stamp.of(self.path)
        if now.machine != self.machine:
            return (now.size, now.footer) == (self.size, self.footer)
        return now == self


def check_unchanged(stamps: Iterable[Stamp], *, there: bool = False) -> None:
    """Refuse files that have changed since they were opened; `there`: or are there no more."""
    for stamp in stamps:
        try:
            same = stamp.holds()
        except FileNotFoundError:
            same = not there  # its reader says so itself
        if not same:
            raise SourceChangedError(
                f"{stamp.path} has changed since it was opened: nothing that was read of it is "
                "kept. Open it again, when nothing writes to it"
            )


def _footer(path: str, size: int) -> str:
    """Hash the last bytes of a Parquet file: footer, its length (4 bytes) and "PAR1"."""
    if not path.lower().endswith(WITH_FOOTER) or size < 8:
        return ""
    with open(path, "rb") as file:
        file.seek(size - 8)
        length = int.from_bytes(file.read(4), "little")
        file.seek(size - min(size, length + 8))
        return hashlib.sha256(file.read(length + 8)).hexdigest()
