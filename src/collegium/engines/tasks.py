"""Tasks of the workers of a cluster: runs of items, and sums of their sums.

A run is a part of the items, in order. The function travels inside the task, so that a lost task
can be repeated from itself alone.
"""

from __future__ import annotations

import pickle
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
from types import MappingProxyType
from typing import Any

from ..numerics.threads import single_threaded
from ..numerics.tree import Tree
from .tuning import TUNING


class LostItemError(RuntimeError):
    """The process that worked on this item died."""


def dumps(value: Any) -> bytes:
    """Pickle anything, including lambdas and functions of a notebook."""
    return import_module("cloudpickle").dumps(value)


def tree_sum(terms: Iterable[Any]) -> Any:
    """Σ terms, in a tree whose shape depends on their number alone.

    If every run but the last has the same power of two of terms, a tree of the sums of runs is
    the tree of all terms.
    """
    tree, started = Tree(), False
    for term in terms:
        tree, started = tree.push(term), True
    if not started:
        raise ValueError("a sum of no terms")
    total = tree.sums[-1]
    for partial in reversed(tree.sums[:-1]):
        total = partial + total
    return total


@dataclass(frozen=True)
class RunTask:
    """gather(f(item) for the items of a run)."""

    f: Callable[[Any], Any]
    gather: Callable[[Iterable[Any]], Any]

    def __call__(
        self, items: Sequence[Any], dead: Mapping[int, Any] = MappingProxyType({}),
        begin: Callable[[int], Any] = id,
    ) -> Any:  # fmt: skip
        """Work on a run; `dead` has the terms, by position, of items that are not tried again."""
        with single_threaded():
            return self.gather(self._terms(items, dead, begin))

    def _terms(
        self, items: Sequence[Any], dead: Mapping[int, Any], begin: Callable[[int], Any]
    ) -> Iterator[Any]:
        for k, item in enumerate(items):
            if k in dead:
                yield dead[k]
            else:
                begin(k)
                yield self._term(item)

    def _term(self, item: Any) -> Any:
        """f(item). An OSError is retried; other errors are annotated with their item."""
        for pause in (*TUNING.pauses, None):
            try:
                return self.f(item)
            except OSError:
                if pause is None:
                    raise
                time.sleep(pause)
            except Exception as error:
                where = getattr(item, "where", None)
                if where is not None and where not in str(error):
                    error.add_note(f"in {where}")
                raise
        raise AssertionError

    def lost(self, item: Any, why: str) -> Any:
        """Return f's substitute for an item that no process survived; raise if f has none."""
        instead = getattr(self.f, "lost", None)
        if instead is not None:
            return instead(item, why)
        bad = getattr(item, "bad", None)
        if bad is not None:
            raise bad(why)
        raise LostItemError(f"item {getattr(item, 'id', item)!r}: {why}")


def run(work: bytes, items: bytes) -> Any:
    """Work on one run."""
    return pickle.loads(work)(pickle.loads(items))


def add_sums(*sums: Any) -> Any:
    """Add the sums of several runs."""
    return tree_sum(sums)


def run_in_child(work: bytes, items: bytes) -> Any:
    """Work on one run in a process that announces the item it begins.

    So the item that killed it is known, and the worker that waits for it survives.
    """
    own, left = pickle.loads(work), pickle.loads(items)
    dead: dict[int, Any] = {}  # terms of items that no process survived, by their position
    while True:
        begun, how, result = _child(work, dumps((left, dead)))
        if result is not None:
            return _read(result)
        if begun is None or begun in dead:
            raise LostItemError(f"a process that looked for a bad chunk died at once ({how})")
        dead[begun] = own.lost(
            left[begun],
            f"the process that worked on it died ({how}): it may need more memory than there is, "
            "or break a library",
        )


def _read(result: bytes) -> Any:
    good, value = pickle.loads(result)
    if good:
        return value
    raise value


def _child(work: bytes, items: bytes) -> tuple[int | None, str, bytes | None]:
    """Run a child: return the item begun last, how it ended, and its result if it has one."""
    with subprocess.Popen(
        [sys.executable, "-m", "collegium.engines.child"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as child:  # fmt: skip
        assert child.stdin is not None and child.stdout is not None
        try:
            pickle.dump((sys.path, work, items), child.stdin)
            child.stdin.close()
        except BrokenPipeError:
            pass
        begun, result = None, None
        for line in child.stdout:
            word, value = line.split()
            if word == b"item":
                begun = int(value)
            else:
                result = child.stdout.read(int(value))
                break
    status = child.returncode
    how = f"signal {-status}" if status < 0 else f"exit code {status}"
    return begun, how, result


@dataclass(frozen=True)
class Report:
    """A worker's description of itself, given before work starts."""

    place: str
    probe: str  # the hash of a message that it made
    versions: tuple[tuple[str, str], ...]
    processor: tuple[tuple[str, str], ...]  # environment variables, and their values for it


def worker_report(probe: Callable[[], str]) -> Report:
    """Report the hash of a fixed message, versions, and the processor's BLAS and numba names."""
    names = ("collegium", "numpy", "scipy", "numba")
    versions = [("python", platform.python_version())]
    versions += [(name, _version(name)) for name in names]
    infos = import_module("threadpoolctl").threadpool_info()
    cores = sorted({one["architecture"] for one in infos if one.get("architecture")})
    numba = import_module("numba")
    name = numba.config.CPU_NAME or import_module("llvmlite.binding").get_host_cpu_name()
    processor = ("OPENBLAS_CORETYPE", "+".join(cores)), ("NUMBA_CPU_NAME", name)
    return Report(platform.node(), probe(), tuple(versions), processor)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return getattr(import_module(name), "__version__", "?")


def differences(own: Report, others: Sequence[Report]) -> tuple[list[str], list[str]]:
    """List in words the versions that differ and the processors that round differently."""
    versions, processors = [], []
    for other in others:
        for (name, mine), (_, theirs) in zip(own.versions, other.versions):
            if mine != theirs:
                versions.append(f"{other.place} has {name} {theirs}, not {mine}")
        if other.probe != own.probe:
            said = ", ".join(f"{name}={value}" for name, value in other.processor)
            processors.append(f"{other.place} ({said})")
    return sorted(set(versions)), sorted(set(processors))
