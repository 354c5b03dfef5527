"""Conditions on rows, in the language of SQLite."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..tables.reading import DATE, LEVELS, Found
from .failures import DATA, USAGE, Failure, no_column

Array = np.ndarray
#: Texts in single quotes, or names in double quotes: SQLite takes unknown names for texts.
QUOTED = re.compile(r"'(?:[^']|'')*'|\"((?:[^\"]|\"\")*)\"")
ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION)


def sql_name(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True)
class Condition:
    """A condition, and the columns that it reads."""

    text: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, text: str, columns: Sequence[str], file: str) -> Condition:
        """Check a condition on the columns of a file."""
        for name in QUOTED.findall(text):
            if name and name.replace('""', '"') not in columns:
                raise no_column(name.replace('""', '"'), "--where", file, columns)
        used = set[str]()

        def may(action: int, table: Any, column: Any, *_: Any) -> int:
            if action == sqlite3.SQLITE_READ and column:
                used.add(column)
            good = action in ALLOWED and column != "load_extension"
            return sqlite3.SQLITE_OK if good else sqlite3.SQLITE_DENY

        with closing(_table_of(columns)) as db:
            db.set_authorizer(may)
            try:
                db.execute(_query(text))
            except sqlite3.Error as error:
                unknown = re.match(r"no such column: (.*)", str(error))
                if unknown:
                    raise no_column(unknown[1], "--where", file, columns) from error
                words = f'--where {text!r}: {error}: give a condition of SQL, such as "size > 2"'
                raise Failure(USAGE, words) from error
        return cls(text, tuple(name for name in columns if name in used))

    def __call__(self, columns: Iterable[Found], n: int) -> Array:
        """Whether the condition holds for each of n rows; NULL is false."""
        with closing(_table_of(self.names)) as db:
            marks = ", ".join("?" * max(len(self.names), 1))
            own = [*map(sql_values, columns)] or [[None] * n]
            db.executemany(f"INSERT INTO rows VALUES ({marks})", zip(*own))
            try:
                found = [row for (row,) in db.execute(_query(self.text))]
            except sqlite3.Error as error:
                raise Failure(DATA, f"--where {self.text!r}: {error}") from error
        kept = np.zeros(n, np.bool_)
        kept[np.array(found, dtype=int) - 1] = True
        return kept


def _table_of(columns: Sequence[str]) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    listed = ", ".join(map(sql_name, columns or ["nothing"]))
    db.execute(f"CREATE TABLE rows ({listed})")
    return db


def _query(text: str) -> str:
    return f"SELECT rowid FROM rows WHERE ({text}\n)"


def sql_values(found: Found) -> list[Any]:
    """A column for SQLite: numbers, texts, and dates as texts of ISO 8601; None: missing."""
    if found.kind == LEVELS:
        texts = [text for _, text in found.keys]
        return [None if k < 0 else texts[k] for k in found.values.astype(int).tolist()]
    if found.kind == DATE:
        gone = np.isnan(found.values)
        whole = np.where(gone, 0.0, found.values * 1e6).astype("M8[us]")
        days = whole.astype("M8[D]") == whole
        texts = np.where(days, whole.astype("M8[D]").astype(str), _seconds(whole)).tolist()
        return [None if none else text for none, text in zip(gone, texts)]
    return [None if one != one else one for one in found.values.tolist()]


def _seconds(moments: Array) -> Array:
    """Dates with times, to the second: "2026-01-01 10:00:00"."""
    return np.char.replace(moments.astype("M8[s]").astype(str), "T", " ")
