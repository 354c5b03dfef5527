"""Tasks and methods: what the plans in `tasks` consist of.

Standard library only, and so are the plans: the driver that reads them stays small, because the
peak memory that the system reports for a process begins with that of the process which started it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

#: Groups of methods that are ours.
OURS = ("ours", "bare", "constant")


@dataclass(frozen=True)
class Method:
    """One line of the tables: a module of `peers`, the arguments of its Model, and its bounds."""

    module: str  # "regression.ours"
    arguments: dict = field(default_factory=dict)
    sets: tuple[str, ...] | None = None  # None: all
    max_rows: int | None = None  # a random subset of so many where there are more
    needs_more_than: int = 0  # rows: with fewer it is the same as a smaller method
    budget_of: str | None = None  # the method whose CPU seconds of `fit` it may spend
    packages: tuple[str, ...] = ()
    group: str = "peers"  # of the tables and pictures

    def runs_on(self, name: str) -> bool:
        return self.sets is None or name in self.sets


@dataclass(frozen=True)
class Task:
    """Data sets and the methods that are measured on them."""

    name: str  # of its folder in `tasks` and in `results`
    sets: tuple[str, ...]
    methods: dict[str, Method]
    line: str  # format of a result's scores on the console
    files: dict[str, str | None] = field(default_factory=dict)
    # of sets that are not named as their file; None: scikit-learn brings them

    def file(self, name: str) -> str | None:
        """The stem of the file that a set is read from."""
        return self.files.get(name, name)


def chosen(patterns: list[str] | None, names: Iterable[str]) -> list[str]:
    """The names that match; a hyphen stands for a space, `*` for anything, case for nothing."""
    names = list(dict.fromkeys(names))
    if not patterns:
        return names
    unknown = [p for p in patterns if not any(_matches(n, p) for n in names)]
    if unknown:
        raise SystemExit(f"no such name: {', '.join(unknown)}; there are: {'; '.join(names)}")
    return [n for n in names if any(_matches(n, p) for p in patterns)]


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(_plain(name), _plain(pattern))


def _plain(text: str) -> str:
    return text.lower().replace("-", " ").replace(",", "")
