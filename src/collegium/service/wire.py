"""Frames between the two processes of a service: JSON, and bytes of model files; no pickles."""

from __future__ import annotations

import json
import struct
from threading import Lock
from typing import Any, BinaryIO

#: Kind of a frame, and bytes that follow.
HEAD = struct.Struct("<cQ")
WORDS, MODEL = b"J", b"M"
#: No frame is longer: a model of the most rows that a ledger holds is far below.
LONGEST = 1 << 34


class Frames:
    """One end of a pipe: frames are written whole, by one thread at a time."""

    def __init__(self, reads: BinaryIO, writes: BinaryIO) -> None:
        self._reads, self._writes, self._turn = reads, writes, Lock()

    def tell(self, said: dict[str, Any], model: bytes | None = None) -> None:
        """Write a frame of JSON, and one with a model file after it."""
        data = json.dumps(said, separators=(",", ":")).encode("ascii")
        with self._turn:
            self._write(WORDS, data)
            if model is not None:
                self._write(MODEL, model)
            self._writes.flush()

    def _write(self, kind: bytes, data: bytes) -> None:
        self._writes.write(HEAD.pack(kind, len(data)))
        self._writes.write(data)

    def hear(self) -> dict[str, Any] | bytearray | None:
        """Read the next frame: what was said, or a model file; None: the other end is closed."""
        head = self._exactly(HEAD.size)
        if head is None:
            return None
        kind, size = HEAD.unpack(head)
        if kind not in (WORDS, MODEL) or size > LONGEST:
            raise ValueError("a frame is damaged")
        data = self._exactly(size)
        return None if data is None else json.loads(data) if kind == WORDS else data

    def _exactly(self, size: int) -> bytearray | None:
        data = bytearray(size)
        view, done = memoryview(data), 0
        while done < size:
            count = self._reads.readinto(view[done:])  # type: ignore[attr-defined]
            if not count:
                return None
            done += count
        return data

    def close(self) -> None:
        for file in (self._writes, self._reads):
            try:
                file.close()
            except OSError:  # the other end is gone
                pass
