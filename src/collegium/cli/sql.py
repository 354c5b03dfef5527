"""Rows of a query: of SQLite by the standard library, of DuckDB where it is installed."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..numerics.libraries import library
from ..sources.pieces import DATE, NUMBER, OTHER, TEXT, BadValueError, Type, piece_spans
from ..sources.plain import column_of_texts, text_type
from ..sources.stamps import Stamp
from ..tables.reading import Found, objects_column
from .failures import DATA, USAGE, Failure
from .where import sql_name

Array = np.ndarray
#: For messages.
QUERY = "the query"
DUCKDB = (".duckdb", ".ddb")


@dataclass(frozen=True, eq=False)
class SqlPiece:
    """Rows of a query, which are kept in a file of SQLite."""

    file: str
    group: None
    offset: int
    n: int
    kept: str
    types: dict[str, Type]

    def read(self, names: Sequence[str]) -> Array:
        found = self.columns(names)
        return np.stack([one.values for one in found], axis=1) if found else np.empty((self.n, 0))

    def columns(self, names: Sequence[str]) -> list[Found]:
        listed = ", ".join(map(sql_name, names)) or "NULL"
        asked = f"SELECT {listed} FROM rows WHERE rowid > ? AND rowid <= ? ORDER BY rowid"
        with closing(sqlite3.connect(self.kept)) as db:
            rows = db.execute(asked, (self.offset, self.offset + self.n)).fetchall()
        return [self._column(name, values) for name, values in zip(names, zip(*rows))]

    def _column(self, name: str, values: Sequence[Any]) -> Found:
        own = self.types[name]
        if own.kind in (TEXT, DATE):
            texts = ["" if one is None else str(one) for one in values]
            return column_of_texts(name, own, texts, self.offset)
        for k, one in enumerate(values):
            if isinstance(one, (str, bytes)):
                why = f"{one!r} is not a number: correct it, or CAST it in the query"
                raise BadValueError(self.offset + k, name, str(one), why)
        return objects_column(name, np.fromiter(values, object, len(values)))


@dataclass(frozen=True, eq=False)
class SqlTable:
    """The result of a query, and the types of its columns by their first values."""

    file: str
    types: dict[str, Type]
    kept: str
    rows: int
    target: tuple[str, ...] = ()
    stamps: tuple[Stamp, ...] = ()  # none: nobody else has the file

    def pieces(self, most: int) -> Iterator[SqlPiece]:
        for offset, n in piece_spans(self.rows, most):
            yield SqlPiece(self.file, None, offset, n, self.kept, self.types)


def rows_of_query(query: str, path: str, folder: str) -> Any:
    """Run a query and keep its rows in a folder, for `collegium.open`."""
    if not os.path.isfile(path):
        raise Failure(DATA, f"{path}: no such database: check the path (--db)", {"file": path})
    if path.lower().endswith(DUCKDB):
        return _of_duckdb(query, path, folder)
    return _of_sqlite(query, path, folder)


def _of_sqlite(query: str, path: str, folder: str) -> SqlTable:
    kept = os.path.join(folder, "rows.sqlite")
    try:
        with closing(sqlite3.connect(f"file:{_escaped(path)}?mode=ro", uri=True)) as db:
            db.execute("ATTACH ? AS kept", (kept,))
            db.execute(f"CREATE TABLE kept.rows AS {query.strip().rstrip(';')}")
            db.commit()
            names = [row[1] for row in db.execute("PRAGMA kept.table_info(rows)")]
            rows = db.execute("SELECT COUNT(*) FROM kept.rows").fetchone()[0]
            types = {name: _type_in(db, name) for name in names}
    except sqlite3.DatabaseError as error:
        if "not a database" in str(error) or "malformed" in str(error):
            raise Failure(
                DATA, f"{path}: {error}: give a file of SQLite", {"file": path}
            ) from error
        raise Failure(USAGE, f"--sql {query!r}: {error}") from error
    return SqlTable(QUERY, types, kept, rows)


def _escaped(path: str) -> str:
    """A path in a URI."""
    return os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _type_in(db: sqlite3.Connection, name: str) -> Type:
    """Type of a column by its first value that is not missing."""
    own = sql_name(name)
    asked = f"SELECT typeof({own}), {own} FROM kept.rows WHERE {own} IS NOT NULL LIMIT 1"
    kind, value = db.execute(asked).fetchone() or ("real", "")
    if kind == "text":
        found = text_type(value)
        return found if found.kind == DATE else Type(TEXT, f"text such as {value!r}")
    return Type(OTHER if kind == "blob" else NUMBER, kind)


def _of_duckdb(query: str, path: str, folder: str) -> str:
    duckdb = library("duckdb", "duckdb", f"{path}")
    kept = os.path.join(folder, "rows.parquet")
    try:
        with closing(duckdb.connect(path, read_only=True)) as db:
            place = kept.replace("'", "''")
            db.execute(f"COPY ({query.strip().rstrip(';')}) TO '{place}' (FORMAT parquet)")
    except duckdb.IOException as error:
        raise Failure(DATA, f"{path}: {error}", {"file": path}) from error
    except duckdb.Error as error:
        raise Failure(USAGE, f"--sql {query!r}: {str(error).splitlines()[0]}") from error
    return kept
