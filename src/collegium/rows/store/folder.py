"""The folder of a store: finished and unfinished files, and errors with remedies.

    rides.rows/  manifest.json  tombstones.npy
                 segment-000/ X.npy y.npy w.npy id.npy  cells.npz (start, low, high)

Files that the manifest does not list are ignored. New segments grow in `unfinished-store` and the
manifest is replaced last, so a process that is killed leaves the store as it was.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray
FORMAT = "collegium.rows/1"
MANIFEST, TOMBSTONES, UNFINISHED = "manifest.json", "tombstones.npy", "unfinished-store"
#: In the unfinished folder once all rows are in buckets: sorting can resume from there.
ROUTED = "routed.npz"
_SEGMENT = re.compile(r"segment-\d{3,}")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


def read_store_manifest(path: Path) -> dict[str, Any]:
    """Read the manifest of a store that exists and is complete."""
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, "there is no row store: build it first", str(path))
    try:
        found = json.loads((path / MANIFEST).read_text())
        known = found["format"]
    except (FileNotFoundError, NotADirectoryError):
        why = "its build was not finished" if _is_leftover(path) else "it has no manifest.json"
        raise ValueError(f"{path} is not a row store ({why}): build it with Store.build") from None
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path / MANIFEST} is damaged: build the store again") from None
    if known != FORMAT:
        raise ValueError(f"{path} has the format {known!r}, not {FORMAT!r}: build it again")
    for one in found["segments"]:
        for name, size in one["files"].items():
            file = path / one["name"] / name
            if not file.is_file() or file.stat().st_size != size:
                raise ValueError(f"{file} is missing or cut short: build the store again")
    return found


def write_manifest(path: Path, manifest: dict[str, Any]) -> None:
    text = json.dumps({"format": FORMAT, **manifest}, indent=1, sort_keys=True)
    with replacing_file(path / MANIFEST) as file:
        file.write(text.encode())


@contextmanager
def replacing_file(path: Path) -> Iterator[Any]:
    """Open a file that replaces `path` once all of it is on disk."""
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def write_tombstones(path: Path, ids: Array) -> None:
    with replacing_file(path / TOMBSTONES) as file:
        np.save(file, np.asarray(ids, np.int64))


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
    return name.removesuffix(".part") in (MANIFEST, TOMBSTONES) or bool(_SEGMENT.fullmatch(name))


def clear(path: Path, *, all: bool = True) -> None:
    """Remove what the manifest does not list; with `all` the unfinished folder too, last."""
    finished = (path / MANIFEST).exists()
    listed = {one["name"] for one in read_store_manifest(path)["segments"]} if finished else set()
    for one in path.iterdir():
        if _SEGMENT.fullmatch(one.name) and one.name not in listed:
            shutil.rmtree(one, ignore_errors=True)
        elif one.name.endswith(".part") and _is_own(one.name):
            one.unlink()
    if not finished:
        (path / TOMBSTONES).unlink(missing_ok=True)
    if all:
        shutil.rmtree(path / UNFINISHED, ignore_errors=True)


@contextmanager
def working(path: Path, *, go_on: Callable[[Path], bool] = lambda work: False) -> Iterator[Path]:
    """Make a folder to work in; after an error it is removed, and so is a store that was new.

    The remains of a process that was killed or interrupted are used if one can `go_on` from them.
    """
    with remedies(path):
        there, work = path.exists(), path / UNFINISHED
        path.mkdir(exist_ok=True)
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
