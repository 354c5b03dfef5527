"""The memory that this process may have, and the refusal of work that it could not hold."""

from __future__ import annotations

import ctypes
import gc
import os
from contextlib import suppress
from pathlib import Path

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

ROOT = Path("/")
#: Files of limits, below the folder of a cgroup: version 2, and version 1.
UNIFIED, OF_MEMORY = "memory.max", "memory.limit_in_bytes"
#: The number of M_ARENA_MAX in malloc.h of glibc, and of arenas.
ARENA_MAX, ARENAS = -8, 2


class LimitError(ValueError):
    """Raised where work would take more memory than it may have."""


def allowed() -> float:
    """Bytes: the least of the memory of this machine, its containers' limits and RLIMIT_AS."""
    return min(physical(), cgroup_limit(), address_space())


def physical() -> float:
    """Bytes of memory of this machine; infinite where they are unknown."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # not on every system
        return float("inf")


def address_space() -> float:
    """Bytes of the address space of this process (`ulimit -v`); infinite where it is not limited.

    Python and its libraries have some of it already.
    """
    if resource is None:
        return float("inf")
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    return float("inf") if soft == resource.RLIM_INFINITY else float(soft)


def cgroup_limit(root: Path = ROOT) -> float:
    """Least limit of the cgroups that this process is in; infinite where there is none.

    A cgroup's limit holds for all cgroups below it. In a container the tree often begins at the
    container's own cgroup: folders that do not exist there are passed over.
    """
    folders = root / "sys/fs/cgroup"
    found = [float("inf")]
    for line in _lines(root / "proc/self/cgroup"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        places = [path, *map(str, Path(path).parents)]
        if number == "0" and not controllers:
            mounts = (folders, folders / "unified")
            found += [_limit(top / one.lstrip("/") / UNIFIED) for top in mounts for one in places]
        elif "memory" in controllers.split(","):
            top = folders / "memory"
            found += [_limit(top / one.lstrip("/") / OF_MEMORY) for one in places]
    return min(found)


def _limit(path: Path) -> float:
    text = "".join(_lines(path)).strip()
    return float(text) if text.isdigit() else float("inf")  # "max", or no such file


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def refuse_beyond_machine(needed: float, what: str, remedy: str) -> None:
    """Raise before arrays are allocated that this process cannot have."""
    most = allowed()
    if needed > most:
        raise LimitError(
            f"{what} would take {in_words(needed)} of memory, and this process may have "
            f"{in_words(most)}: {remedy}"
        )


def in_words(count: float) -> str:
    """Format a number of bytes."""
    return f"{count / 1e9:.2f} GB" if count >= 1e8 else f"{count / 1e6:.2f} MB"


def few_arenas() -> None:
    """Let threads share arenas, where the C library has them: each keeps what it once took."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(ARENA_MAX, ARENAS)


def give_back(first: bool) -> None:
    """Free the last model, and give its memory back; `first`: what is there now will stay."""
    gc.collect()
    if first:
        gc.freeze()
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
