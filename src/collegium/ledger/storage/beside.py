"""The folder beside a ledger with many rows: a store that the ledger derives from its database.

    plant.clgdb.rows/  held.json  cells-5f0c…/ (a store: see `rows.store.folder`)

The database has all rows: what is here can be lost. `held.json` is written last and names the
store, by the hash of its manifest, and the chunks in it, by the hash of id and rows. A store that
it does not name so, after a kill or by damage, is built again from the database. Rows have numbers
that follow from the id and the rows of their chunk alone, so that the same rows are found, and in
the same order, however they came.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...numerics.durable import replacing
from ...numerics.fingerprint import splitmix64
from ...pipeline.kept.lent import mark_of
from ...rows.ids import Id
from ...rows.rows import Rows
from ...rows.store import folder
from ...rows.store.records import Block
from ...rows.store.store import Store
from ..errors import LedgerError
from ..tuning import TUNING

Array = np.ndarray
FORMAT, BOOK, CELLS = "collegium.ledger.held/1", "held.json", "cells-"
#: A chunk has 2²⁶ numbers of its own, from one of 2³⁶ places on: SQLite holds fewer rows.
ROWS, PLACES = 26, 36


def chunk_key(id: Id, sha256: str) -> str:
    """Hash the id and the rows of a chunk."""
    return hashlib.sha256(f"{id!r} {sha256}".encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class HeldChunk:
    """A chunk whose rows are in the store."""

    key: str
    first: int  # number of its first row
    n: int  # rows, equal ones merged
    parts: int  # chunks that it is cut into
    weight: float


@dataclass(frozen=True)
class ReadChunk:
    """The rows of a chunk as the model sees them."""

    key: str
    rows: Rows
    parts: int
    weight: float


def first_numbers(keys: Iterable[str]) -> dict[str, int]:
    """Number of the first row of each chunk: the same for the same chunks in any order."""
    taken, found = set[int](), {}
    for key in sorted(keys):
        place = int(key[: PLACES // 4], 16)
        while place in taken:
            place = (place + 1) % 2**PLACES
        taken.add(place)
        found[key] = place << ROWS
    return found


@dataclass(frozen=True, eq=False)
class Held:
    """The store beside a ledger, and what is in it."""

    store: Store
    mark: str  # sha256 of its manifest
    chunks: dict[str, HeldChunk]


class RowsBeside:
    """Keeps a store of the chunks of a ledger on one basis, and builds it again where it must."""

    def __init__(self, database: str) -> None:
        self.path = Path(f"{database}.rows")

    # -- what is there ------------------------------------------------------------------------

    def _book(self) -> dict[str, Any] | None:
        """Read what is said to be held; None: nothing that can be relied on."""
        try:
            said = json.loads((self.path / BOOK).read_bytes())
            sha = said.pop("sha256")
            if said["format"] != FORMAT or sha != _sha(said):
                return None
            return said
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def held(self, basis: str) -> Held | None:
        """Open the store of rows on this basis; None: there is none, or it is damaged."""
        said = self._book()
        if said is None or said["basis"] != basis:
            return None
        try:
            store = Store(self.path / said["store"])
        except (OSError, ValueError):
            return None
        if mark_of(store.path) != said["mark"]:  # by a process that was killed, or just now
            return None
        each = (HeldChunk(*one) for one in said["chunks"])
        return Held(store, said["mark"], {one.key: one for one in each})

    # -- changes ------------------------------------------------------------------------------

    def with_chunks(
        self, basis: str, sizes: Mapping[str, int],
        read: Callable[[Collection[str]], Iterator[ReadChunk]],
    ) -> Held:  # fmt: skip
        """Open a store that has these chunks, given their numbers of rows; others may be there too.

        `read` reads the rows of chunks. A store is added to, or built anew.
        """
        found = self.held(basis)
        if found is not None and sizes.keys() <= found.chunks.keys():
            return found
        with self._alone():
            found = self.held(basis)
            new = [*sizes] if found is None else [key for key in sizes if key not in found.chunks]
            if found is None or self._worth_building(found, sizes, new):
                found = self._built(basis, [*sizes], read)
            elif new:
                found = self._added(basis, found, new, read)
            self._sweep(found.store.path)
        return found

    def _worth_building(self, found: Held, sizes: Mapping[str, int], new: list[str]) -> bool:
        """Whether much is new or of no use, or numbers of rows would differ."""
        rows = sum(sizes.values())
        unused = sum(one.n for key, one in found.chunks.items() if key not in sizes)
        many = max(sum(sizes[key] for key in new), unused) > TUNING.rebuilt * rows
        numbers = first_numbers([*found.chunks, *new])
        return many or any(one.first != numbers[key] for key, one in found.chunks.items())

    def _built(self, basis: str, keys: list[str], read: Any) -> Held:
        path = self.path / f"{CELLS}{secrets.token_hex(8)}"
        self._sweep(None)
        blocks = _Blocks(read(keys), first_numbers(keys))
        try:
            store = Store.build(path, iter(blocks))
            return self._noted(basis, store, blocks.chunks)
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise

    def _added(self, basis: str, found: Held, new: list[str], read: Any) -> Held:
        blocks = _Blocks(read(new), first_numbers([*found.chunks, *new]))
        found.store.add(iter(blocks), anywhere=True)
        return self._noted(basis, found.store, {**found.chunks, **blocks.chunks})

    def _noted(self, basis: str, store: Store, chunks: dict[str, HeldChunk]) -> Held:
        """Write what is held, once all of it is on the disk."""
        said = {
            "format": FORMAT, "basis": basis, "store": store.path.name,
            "mark": mark_of(store.path), "chunks": [astuple(one) for one in chunks.values()],
        }  # fmt: skip
        said = json.loads(json.dumps(said))
        with replacing(self.path / BOOK) as file:
            file.write(json.dumps({**said, "sha256": _sha(said)}).encode())
        return Held(store, said["mark"], chunks)

    def _sweep(self, keep: Path | None) -> None:
        """Remove all stores but one."""
        if keep is None:
            (self.path / BOOK).unlink(missing_ok=True)
        for one in self.path.glob(f"{CELLS}*"):
            if one != keep:
                shutil.rmtree(one)

    def remove_unless(self, basis: str, keys: Collection[str]) -> bool:
        """Remove a store that has other chunks than these; False: that could not be done now."""
        if not self.path.exists():
            return True
        try:
            with folder.alone(self.path, wait=TUNING.wait):
                found = self.held(basis)
                if found is not None and found.chunks.keys() <= set(keys):
                    self._sweep(found.store.path)
                    folder.clear(found.store.path)
                    return True
                self._sweep(None)
                with suppress(OSError):
                    self.path.rmdir()
        except OSError:
            return False
        return True

    def remove(self) -> None:
        """Remove the store, so that it is built again."""
        with self._alone():
            self._sweep(None)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Change the folder, alone; errors of the system are told with a remedy."""
        try:
            with folder.alone(self.path, wait=TUNING.wait):
                yield
        except BlockingIOError as error:
            raise LedgerError(
                f"another process is changing {self.path}: wait until it has finished"
            ) from error
        except OSError as error:
            raise LedgerError(
                f"the rows beside the ledger cannot be written to {self.path} ({error.strerror}). "
                "The ledger is as it was: make room there, three times the size of the rows, or "
                "ask for the model once where that folder can be written"
            ) from error


@dataclass(frozen=True)
class RowSum:
    """Number of rows, and the sum of their hashes: the same in any order."""

    rows: int = 0
    sum: int = 0

    def plus(self, *columns: Array) -> RowSum:
        """Add rows, column by column."""
        found = np.zeros(len(columns[0]), np.uint64)
        for column in np.column_stack([one.astype(np.float64) for one in columns[:-1]]).T:
            found = splitmix64(found ^ np.ascontiguousarray(column).view(np.uint64))
        found = splitmix64(found ^ columns[-1].astype(np.int64).view(np.uint64))
        total = self.sum + int(found.sum(dtype=np.uint64))
        return RowSum(self.rows + found.size, total % 2**64)


class _Blocks:
    """Blocks of a store, one per chunk; `chunks` lists those that were read."""

    def __init__(self, read: Iterator[ReadChunk], numbers: Mapping[str, int]) -> None:
        self._read, self._numbers = read, numbers
        self.chunks: dict[str, HeldChunk] = {}

    def __iter__(self) -> Iterator[Block]:
        for one in self._read:
            first, n = self._numbers[one.key], one.rows.w.size
            self.chunks[one.key] = HeldChunk(one.key, first, n, one.parts, one.weight)
            if n:
                yield (*one.rows.fields(), first)


def _sha(said: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
