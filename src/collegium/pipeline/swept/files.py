"""Files of Gaussian sites, one per row of the store of a model of latent functions.

A file lies in the folder of the store and has a name of its own, so that models do not meet. It
ends with the model that it was made for, unless that was saved or pickled: then it stays. Those of
a process that was killed are removed when the store is next opened.
"""

from __future__ import annotations

import errno
import os
import uuid
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...laplace.mode import Sites
from ...numerics.durable import sync, sync_folder, try_lock
from ...numerics.records import record
from ...rows.rows import SiteRows
from ...rows.store.build import write_bytes
from ...rows.store.checksums import checksum, words
from ...rows.store.folder import PASSING, remedies

Array = np.ndarray
#: Files that end with their models, by path.
_passing: dict[str, weakref.finalize] = {}
#: Files that were compared with their checksums: path, number and time.
_known: set[tuple[str, int, int]] = set()


@record("pipeline.site_file/1")
@dataclass(frozen=True, eq=False)
class SiteFile:
    """f̂, g and W of n rows and K latent functions: float64 of shape (n, 3, K), then a checksum."""

    folder: str
    name: str
    n: int
    latents: int

    @classmethod
    def create(cls, folder: str, n: int, latents: int) -> SiteFile:
        """A new file of zeros."""
        found = cls(folder, f"sites-{uuid.uuid4().hex}.f64", n, latents)
        with remedies(Path(folder)):
            lock = os.open(found.path + PASSING, os.O_CREAT | os.O_EXCL | os.O_RDWR)
            try_lock(lock)
            _passing[found.path] = weakref.finalize(found, _remove, found.path, os.getpid(), lock)
            with open(found.path, "xb") as file:
                file.truncate(24 * n * latents)
        return found

    @property
    def path(self) -> str:
        return os.path.join(self.folder, self.name)

    def keep(self) -> None:
        """Let the file outlive this object: another may be made from what is known of it."""
        own = _passing.pop(self.path, None)
        known = None if own is None else own.detach()
        if known is not None:
            _release(*known[2])

    def discard(self) -> None:
        """Remove a file that no model has."""
        with suppress(OSError):
            os.remove(self.path)
        self.keep()

    def settled(self) -> SiteFile:
        """The file, with its checksum, when all of it is on the disk."""
        with remedies(Path(self.folder)), open(self.path, "rb+") as file:
            values = np.memmap(self.path, np.float64, "r", shape=(self.n, 3, self.latents))
            file.seek(values.nbytes)
            file.write(_sum_of(values))
            sync(file)
        sync_folder(self.folder)
        return self

    def __getstate__(self) -> dict[str, Any]:
        self.keep()
        return vars(self)

    def __copy__(self) -> SiteFile:
        return self

    def __deepcopy__(self, memo: Any) -> SiteFile:
        return self


def _remove(path: str, process: int, lock: int) -> None:
    if process == os.getpid():  # not a fork of the one that made it
        with suppress(OSError):
            os.remove(path)
        _release(path, process, lock)


def _release(path: str, process: int, lock: int) -> None:
    """Remove the lock by which others see that a process still has the file."""
    if process == os.getpid():
        with suppress(OSError):
            os.remove(path + PASSING)
        with suppress(OSError):
            os.close(lock)


@record("pipeline.site_part/1")
@dataclass(frozen=True, eq=False)
class SitePart:
    """Rows [start, stop) of all that a model knows, one file for each of its committees."""

    start: int
    stop: int
    files: tuple[SiteFile, ...]

    def discard(self) -> None:
        for file in self.files:
            file.discard()


@dataclass(frozen=True, eq=False)
class SiteReader:
    """Sites of one committee by the numbers of rows, from one or several files."""

    starts: tuple[int, ...]
    paths: tuple[str, ...]
    sizes: tuple[tuple[int, int], ...]  # rows and latent functions of each file

    @classmethod
    def of(cls, parts: Sequence[SitePart], k: int) -> SiteReader:
        """Read the sites of the k-th committee."""
        own = [part.files[k] for part in parts]
        sizes = tuple((one.n, one.latents) for one in own)
        return cls(tuple(part.start for part in parts), tuple(one.path for one in own), sizes)

    def span(self, start: int, stop: int) -> Array:
        """Sites of consecutive rows of one file  (n, 3, K)."""
        at = int(np.searchsorted(self.starts, start, side="right")) - 1
        first = self.starts[at]
        return np.array(self._opened(at)[start - first : stop - first])

    def take(self, index: Array) -> Array:
        """Sites of any rows  (n, 3, K)."""
        found = np.empty((index.size, 3, self.sizes[0][1]))
        owner = np.searchsorted(self.starts, index, side="right") - 1
        for at in np.unique(owner):
            own = owner == at
            found[own] = self._opened(at)[index[own] - self.starts[at]]
        return found

    def _opened(self, at: int) -> Array:
        n, K = self.sizes[at]
        try:
            values = np.memmap(self.paths[at], np.float64, "r", shape=(n, 3, K))
            return _compared(self.paths[at], values)
        except (FileNotFoundError, ValueError):
            raise FileNotFoundError(
                errno.ENOENT,
                "what the model knew of its rows is gone (fit again)",
                self.paths[at],
            ) from None


def _sum_of(values: Array) -> bytes:
    return int(checksum(words(values), 0)).to_bytes(8, "little")


def _compared(path: str, values: Array) -> Array:
    """Compare sites with the checksum behind them, once; while they are written there is none."""
    found = os.stat(path)
    key = path, found.st_ino, found.st_mtime_ns
    if key not in _known and found.st_size > values.nbytes:
        with open(path, "rb") as file:
            file.seek(values.nbytes)
            if file.read() != _sum_of(values):
                raise OSError(
                    errno.EIO,
                    "what the model knew of its rows is damaged: it differs from its checksum (put "
                    "back a copy of the folder, or fit again)",
                    path,
                )
        _known.add(key)
    return values


def write_sites(path: str, start: int, values: Array) -> None:
    """Sites of consecutive rows (n, 3, K) into a file; a full disk is an OSError."""
    with remedies(Path(path).parent), open(path, "rb+") as file:
        file.seek(start * values[0].nbytes)
        write_bytes(file, values)


def sites_of(values: Array, log_density: float) -> Sites:
    f, g, W = (np.ascontiguousarray(values[:, i]) for i in range(3))
    return Sites(f, g, W, log_density)


def values_of(sites: Sites) -> Array:
    """(n, 3, K)."""
    return np.stack([sites.f, sites.g, sites.W], axis=1)


def site_rows(X: Array, values: Array, k: int) -> SiteRows:
    """Rows with the sites of the k-th latent function."""
    return SiteRows(X, values[:, 0, k : k + 1], values[:, 1, k : k + 1], values[:, 2, k])
