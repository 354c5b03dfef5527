"""The folder of a store: finished and unfinished files, its lock, and errors with remedies.

    rides.rows/  manifest.json  tombstones-003.npy
                 segment-000/ X.npy y.npy w.npy id.npy  cells.npz (start, low, high, sums)

Files that the manifest does not list are ignored. New segments grow in `unfinished-store`, all of
them are on the disk before the manifest is replaced, and that is last: a process that is killed
and a power cut leave the store as it was. Their remains are removed when the store is next opened.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from ...numerics.durable import (
    is_part_of,
    remove_abandoned,
    replacing,
    sync_folder,
    try_lock,
)
from .tuning import TUNING

Array = np.ndarray
FORMAT = "collegium.rows/2"
MANIFEST, UNFINISHED = "manifest.json", "unfinished-store"
#: In the unfinished folder once all rows are in buckets: sorting can resume from there.
ROUTED = "routed.npz"
#: Beside a file that ends with its process, which holds the lock of this one.
PASSING = ".passing"
_SEGMENT, _TOMBSTONES = re.compile(r"segment-\d{3,}"), re.compile(r"tombstones-\d{3,}\.npy")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


def read_store_manifest(path: Path) -> dict[str, Any]:
    """Read the manifest of a store that exists and is complete."""
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, "there is no row store: build it first", str(path))
    if not (path / MANIFEST).is_file():
        why = "its build was not finished" if _is_leftover(path) else "it has no manifest.json"
        raise ValueError(f"{path} is not a row store ({why}): build it with Store.build")
    try:
        found = json.loads((path / MANIFEST).read_bytes())
        known, said = found["format"], found.pop("sha256", None)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError(f"{path / MANIFEST} is damaged: {_RESTORE}") from None
    if known != FORMAT:
        raise ValueError(f"{path} has the format {known!r}, not {FORMAT!r}: build it again")
    if said != _hash_of(found):
        raise ValueError(f"{path / MANIFEST} is damaged, it differs from its checksum: {_RESTORE}")
    for one in found["segments"]:
        for name, size in one["files"].items():
            file = path / one["name"] / name
            if not file.is_file() or file.stat().st_size != size:
                raise ValueError(f"{file} is missing or cut short: {_RESTORE}")
    return found


def manifest_bytes(path: Path) -> bytes | None:
    """Read the manifest as it is; None: there is none."""
    try:
        return (path / MANIFEST).read_bytes() if (path / MANIFEST).is_file() else None
    except OSError:
        return None


#: Remedy for damaged files.
_RESTORE = "put back a copy of the folder, or delete it and build the store again"


def _hash_of(manifest: dict[str, Any]) -> str:
    return hashlib.sha256(_text_of(manifest)).hexdigest()


def _text_of(manifest: dict[str, Any]) -> bytes:
    return json.dumps(manifest, indent=1, sort_keys=True).encode()


def write_manifest(path: Path, manifest: dict[str, Any]) -> None:
    said = {**manifest, "format": FORMAT}
    with replacing(path / MANIFEST) as file:
        file.write(_text_of({**said, "sha256": _hash_of(said)}))


def read_tombstones(path: Path, manifest: dict[str, Any]) -> Array:
    """Read the numbers of forgotten rows, ascending."""
    listed = manifest["tombstones"]
    if listed is None:
        return np.empty(0, np.int64)
    try:
        data = (path / listed["name"]).read_bytes()
    except FileNotFoundError:
        raise ValueError(f"{path / listed['name']} is missing: {_RESTORE}") from None
    if hashlib.sha256(data).hexdigest() != listed["sha256"]:
        raise ValueError(f"{path / listed['name']} is damaged: {_RESTORE}")
    return np.load(io.BytesIO(data))


def write_tombstones(path: Path, ids: Array, before: dict[str, Any] | None) -> Any:
    """Write the numbers of forgotten rows to a new file; return its entry for the manifest."""
    if not ids.size:
        return None
    number = 0 if before is None else 1 + int(before["name"].split("-")[1].split(".")[0])
    data, name = io.BytesIO(), f"tombstones-{number:03d}.npy"
    np.save(data, np.asarray(ids, np.int64))
    with replacing(path / name) as file:
        file.write(data.getvalue())
    return {"name": name, "sha256": hashlib.sha256(data.getvalue()).hexdigest()}


def check_free(path: Path) -> None:
    """Refuse a path that is taken, except by a build that was killed."""
    if _is_store(path):
        said = "is a row store already: open it with Store.open, or delete it first"
        raise FileExistsError(errno.EEXIST, said, str(path))
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is a file: choose another path for the row store")
    if path.exists() and any(path.iterdir()) and not _is_leftover(path):
        raise ValueError(f"{path} is neither a row store nor empty: choose another path")


def _is_store(path: Path) -> bool:
    try:
        found = json.loads((path / MANIFEST).read_text())
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and str(found.get("format")).startswith("collegium.rows/")


def _is_leftover(path: Path) -> bool:
    """Say whether a folder holds only the remains of a build that was killed."""
    if not (path / UNFINISHED).is_dir() or (path / MANIFEST).exists():
        return False
    return all(one.name == UNFINISHED or _is_own(one.name) for one in path.iterdir())


def _is_own(name: str) -> bool:
    """Say whether a name is one that stores give to their files, finished or not."""
    return (
        name == MANIFEST or bool(_SEGMENT.fullmatch(name)) or bool(_TOMBSTONES.fullmatch(name))
        or _is_part(name)
    )  # fmt: skip


def _is_part(name: str) -> bool:
    whole = name[1:].rpartition(".")[0].rpartition(".")[0]
    return is_part_of(name, whole) and (whole == MANIFEST or bool(_TOMBSTONES.fullmatch(whole)))


def _remains(path: Path) -> list[Path]:
    """List what the manifest does not list, but for the unfinished folder."""
    listed = {MANIFEST}
    if (path / MANIFEST).exists():
        found = read_store_manifest(path)
        listed |= {one["name"] for one in found["segments"]}
        listed |= {found["tombstones"]["name"]} if found["tombstones"] else set()
    return [one for one in path.iterdir() if _is_own(one.name) and one.name not in listed]


def clear(path: Path, *, all: bool = True) -> None:
    """Remove what the manifest does not list; with `all` the unfinished folder too, last."""
    for one in _remains(path):
        if one.is_dir():
            shutil.rmtree(one, ignore_errors=True)
        else:
            one.unlink(missing_ok=True)
    if all:
        shutil.rmtree(path / UNFINISHED, ignore_errors=True)


def empty(folder: Path) -> None:
    """Remove all that is in a folder."""
    shutil.rmtree(folder)
    folder.mkdir()


def sweep(path: Path) -> None:
    """Remove what processes that were killed left in a finished store, if that is allowed.

    Nothing is removed while another process writes, nor where locks cannot tell that.
    """
    with suppress(OSError):
        for one in path.glob("*" + PASSING):
            remove_abandoned(one, one.with_suffix(""))
        if (path / UNFINISHED).exists() or _remains(path):
            with alone(path, wait=0.0) as locked:
                if locked:
                    clear(path)


@contextmanager
def alone(path: Path, *, wait: float | None = None) -> Iterator[bool]:
    """Hold the lock of a folder, which is made if it is not there; False: there are no locks.

    Waits some seconds for another writer, then refuses. The lock is one of the system (flock): it
    ends with its process, so that none is ever stale. On network drives without such locks,
    nothing is locked.
    """
    until = time.monotonic() + (TUNING.lock_seconds if wait is None else wait)
    while (held := _locked(path)) is None:
        if time.monotonic() >= until:
            raise BlockingIOError(
                errno.EAGAIN,
                "another process or thread is writing to the row store: wait until it has "
                "finished, or choose another path",
                str(path),
            )
        time.sleep(0.02)
    try:
        yield held[1]
    finally:
        os.close(held[0])


def _locked(path: Path) -> tuple[int, bool] | None:
    """Lock a folder; return its descriptor and whether there are locks; None: another one has
    locked it."""
    with suppress(FileExistsError):
        path.mkdir()
        sync_folder(path.parent)
    held = os.open(path, os.O_RDONLY)
    with suppress(OSError):
        locked = try_lock(held)
        if locked is not False and os.path.samestat(os.fstat(held), os.stat(path)):
            return held, bool(locked)
    os.close(held)
    return None


@contextmanager
def working(path: Path, *, go_on: Callable[[Path], bool] = lambda work: False) -> Iterator[Path]:
    """Make a folder to work in, alone; after an error it is removed, and so is a store that was
    new.

    The remains of a process that was killed or interrupted are used if one can `go_on` from them.
    """
    there, work = path.exists(), path / UNFINISHED
    with remedies(path), alone(path):
        known = work.is_dir() and go_on(work)
        clear(path, all=not known)
        work.mkdir(exist_ok=True)
        try:
            yield work
            clear(path)
        except BaseException as error:
            if not isinstance(error, Exception) and go_on(work):
                raise
            with suppress(OSError, ValueError):
                clear(path)
                if not there:
                    path.rmdir()
            raise


@contextmanager
def remedies(path: Path) -> Iterator[None]:
    """Give errors of the system a remedy."""
    try:
        yield
    except OSError as error:
        raise _with_remedy(error, path) from error


def _with_remedy(error: OSError, path: Path) -> OSError:
    """Add a remedy to an error that comes from the store, not from the source of rows."""
    own = error.filename is None or Path(error.filename).is_relative_to(path)
    if error.errno in _FULL:
        said = "no space for the row store, nothing was written: free about three times its size"
    elif error.errno in _FORBIDDEN:
        said = "no permission to write the row store: choose a path that you may write to"
    elif error.errno in (errno.ENOENT, errno.ENOTDIR):
        said = "the folder for the row store does not exist: make it first"
    else:
        return error
    return OSError(error.errno, f"{said} ({error.strerror})", str(path)) if own else error
