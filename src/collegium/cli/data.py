"""From DATA on the command line to a source of rows."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import click
import numpy as np

from ..sources.arrow import keep_signals
from ..sources.opening import open as open_source
from ..sources.opening import types_of
from ..sources.pieces import TEXT, Piece
from ..sources.source import Source
from .failures import DATA, Failure, no_column, of_data
from .sql import QUERY, rows_of_query
from .terminal import Terminal
from .where import Condition

Array = np.ndarray
STDIN = "standard input"


@dataclass(frozen=True)
class Roles:
    """Columns with a meaning, by name."""

    y: str | None = None
    weight: str | None = None
    exposure: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one for one in (self.y, self.weight, self.exposure) if one is not None)

    def options(self) -> dict[str, str]:
        """The option that names each column."""
        each = (self.y, "-y"), (self.weight, "--weight"), (self.exposure, "--exposure")
        return {name: option for name, option in each if name is not None}


@dataclass(frozen=True, eq=False)
class ChosenRows:
    """Takes rows for which a condition holds, and which have a value in all columns `needed`."""

    condition: Condition | None
    needed: tuple[str, ...] = ()
    dropped: dict[str, int] = field(default_factory=dict)  # rows by the column that they lack

    def __call__(self, piece: Piece) -> Array | None:
        kept = np.ones(piece.n, np.bool_)
        if self.condition is not None:
            kept = self.condition(piece.columns(self.condition.names), piece.n)
        for found in piece.columns(self.needed) if self.needed else ():
            gone = kept & found.gone
            if gone.any():
                self.dropped[found.name] = self.dropped.get(found.name, 0) + int(gone.sum())
                kept &= ~gone
        if kept.all():
            return None
        return np.flatnonzero(kept).astype(np.min_scalar_type(piece.n))  # kept for every chunk

    def __str__(self) -> str:
        words = [] if self.condition is None else [f"--where {self.condition.text!r}"]
        return "; ".join(words + [f"with {name}" for name in self.needed])


class Data:
    """The rows that a command line names: files, a glob, `-`, or a query."""

    def __init__(self, data: Sequence[str], sql: str | None, db: str | None) -> None:
        if (sql is None) != (db is None):
            raise click.UsageError("--sql and --db belong together: give both, or neither")
        if bool(data) == (sql is not None):
            raise click.UsageError("give DATA (files, a glob, or - for CSV from a pipe), or --sql")
        if "-" in data and len(data) > 1:
            raise click.UsageError("- is all of DATA: give it alone")
        keep_signals()
        self._given, self._sql, self._db = list(data), sql, db
        #: Names of temporary files, for users.
        self.names: dict[str, str] = {}
        #: Columns that every row has to have.
        self.needed: tuple[str, ...] = ()

    @cached_property
    def paths(self) -> Any:
        """Paths, or the table of a query, for `collegium.open`."""
        if self._sql is None and "-" not in self._given:
            return self._given
        make = tempfile.TemporaryDirectory(prefix="collegium-")
        folder = click.get_current_context().with_resource(make)
        if self._sql is not None:
            assert self._db is not None
            found = rows_of_query(self._sql, self._db, folder)
            if isinstance(found, str):
                self.names[found] = QUERY
            return found
        path = os.path.join(folder, "stdin.csv")
        with open(path, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        self.names[path] = STDIN
        return path

    @property
    def name(self) -> str:
        """Name the rows, for messages."""
        if self._sql is not None:
            return QUERY
        if self._given == ["-"]:
            return STDIN
        return self._given[0] if len(self._given) == 1 else f"{len(self._given)} files"

    @cached_property
    def columns(self) -> list[str]:
        """Names of all columns."""
        with of_data(self):
            return list(types_of(self.paths))

    def check(self, names: dict[str, str]) -> None:
        """Refuse names, with the options they came from, of columns that are not there."""
        for name, option in names.items():
            if name not in self.columns:
                raise no_column(name, option, self.name, self.columns)

    def others(self, roles: Roles, columns: Sequence[str] | None) -> tuple[str, ...]:
        """Columns of X: those that are named, or all without a role."""
        self.check(roles.options() | dict.fromkeys(columns or (), "-x"))
        named = [*roles.names, *(columns or ())]
        if twice := [name for name in named if named.count(name) > 1]:
            raise click.UsageError(
                f"{twice[0]!r} is named twice by -y, --weight, --exposure or -x: name it once"
            )
        if columns is not None:
            return tuple(columns)
        return tuple(name for name in self.columns if name not in roles.names)

    def source(
        self, columns: Sequence[str], *, where: str | None = None, needed: Sequence[str] = (),
        missing: str = "drop",
    ) -> Source:  # fmt: skip
        """Open columns; rows that lack a value in one of those `needed` are dropped or refused."""
        condition = None if where is None else Condition.of(where, self.columns, self.name)
        refuse, self.needed = missing == "refuse", tuple(needed)
        rule = ChosenRows(condition, () if refuse else self.needed)
        with of_data(self):
            found = open_source(
                self.paths, columns=list(columns), missing="raise" if refuse else "indicator"
            )
            if condition is not None or rule.needed:
                found = replace(found, rule=rule)
            found.chunks  # noqa: B018  counts rows
        return found

    def words(self, source: Source, d: int) -> str:
        """Say how many rows there are, and which were left out."""
        n = source.n_rows
        said = f"{n:,} row{'s' * (n != 1)}, {d} column{'s' * (d != 1)}"
        types = source.tables[0].types
        words = [name for name in source.columns[:d] if types[name].kind == TEXT]
        if words:
            shown = ", ".join(words[:6]) + (f" and {len(words) - 6} more" if len(words) > 6 else "")
            said += f" (words in {shown})"
        dropped = dropped_rows(source)
        for name, count in dropped.items():
            said += f"; {count:,} without {name} dropped"
        return said + (" (--missing refuse to stop instead)" if dropped else "")


def dropped_rows(source: Source) -> dict[str, int]:
    """Rows that were dropped, by the column that they lack."""
    return source.rule.dropped if isinstance(source.rule, ChosenRows) else {}


def known_columns_in(data: Data, model: Any, roles: Roles, columns: Any) -> tuple[str, ...]:
    """Columns of the model in the data, by name; others are ignored with a note."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        found = data.others(roles, columns)
        if len(found) != model.n_features_in_:
            words = (
                f"{data.name} has {len(found)} columns, and the model was fitted to "
                f"{model.n_features_in_} without names: name them in its order, -x a,b,c"
            )
            raise Failure(DATA, words, {"file": data.name})
        return found
    if columns is not None:
        raise click.UsageError("-x: the model knows the names of its columns; leave it out")
    own = tuple(map(str, names))
    data.check(dict.fromkeys(own, "the model needs it") | roles.options())
    return own


def note_ignored(terminal: Terminal, data: Data, used: tuple[str, ...]) -> list[str]:
    """Name the columns of data that are not used."""
    other = [name for name in data.columns if name not in used]
    if other:
        shown = ", ".join(other[:6]) + (f" and {len(other) - 6} more" if len(other) > 6 else "")
        words = "column is" if len(other) == 1 else "columns are"
        terminal.note(f"{len(other)} {words} not used: {shown}")
    return other
