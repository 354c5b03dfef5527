"""Chunks in the file of a ledger: rows as bytes, kept columns as a table that SQLite can search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...modelfile.errors import ModelFileError
from ...modelfile.parts import record_bytes, record_of_bytes
from ...rows.ids import Id
from ..errors import LedgerError
from ..table import Columns, GivenRows

COLUMNS = "_key, lsn, id, at, site, source, n, sha256, gone"


@dataclass(frozen=True)
class ChunkEntry:
    """A chunk of the ledger, without its rows."""

    key: int
    lsn: int  # of the event that added it
    id: Id
    at: str
    site: str
    source: str
    n: int  # rows
    sha256: str  # of rows and kept columns
    gone: int | None = None  # the event that replaced it; None: it counts

    def listed(self) -> dict[str, Any]:
        """Describe a new chunk for its event."""
        return {
            "id": self.id, "n": self.n, "sha256": self.sha256, "source": self.source,
            "site": self.site,
        }  # fmt: skip


def quoted(name: str) -> str:
    """Quote the name of a column for SQL."""
    return '"' + name.replace('"', '""') + '"'


def make_kept(con: Any, keep: Sequence[str]) -> None:
    """Make the table of kept columns, of any type each."""
    names = "".join(f", {quoted(name)}" for name in keep)
    con.execute(
        f"CREATE TABLE kept(_chunk INTEGER, _row INTEGER{names}, PRIMARY KEY(_chunk, _row)) "
        "WITHOUT ROWID"
    )


class ChunkTable:
    """Reads and writes chunks through a connection."""

    def __init__(self, con: Any, keep: Sequence[str]) -> None:
        self.con, self.keep = con, tuple(keep)

    def entries(self, where: str = "1", values: Sequence[Any] = ()) -> list[ChunkEntry]:
        found = self.con.execute(
            f"SELECT {COLUMNS} FROM chunk WHERE {where} ORDER BY _key", tuple(values)
        )
        return [ChunkEntry(*row) for row in found]

    def rows(self, entry: ChunkEntry) -> GivenRows:
        """Read the rows of a chunk; refuse damaged ones."""
        own = self.con.execute("SELECT rows FROM chunk WHERE _key = ?", (entry.key,)).fetchone()
        try:
            rows = record_of_bytes(own[0])
        except (ModelFileError, TypeError) as error:
            raise damaged(entry) from error
        if not isinstance(rows, GivenRows):
            raise damaged(entry)
        return rows

    def parts(self, entries: Iterable[ChunkEntry]) -> list[tuple[Id, GivenRows]]:
        return [*self.each(entries)]

    def each(self, entries: Iterable[ChunkEntry]) -> Iterator[tuple[Id, GivenRows]]:
        """Read the rows of one chunk after the other."""
        return ((one.id, self.rows(one)) for one in entries)

    def columns(self, entry: ChunkEntry) -> Columns:
        """Read the kept columns of a chunk."""
        if not self.keep:
            return {}
        names = ", ".join(map(quoted, self.keep))
        found = self.con.execute(
            f"SELECT {names} FROM kept WHERE _chunk = ? ORDER BY _row", (entry.key,)
        ).fetchall()
        each = list(zip(*found)) if found else [()] * len(self.keep)
        return {name: list(values) for name, values in zip(self.keep, each)}

    def insert(self, entry: ChunkEntry, rows: GivenRows, columns: Columns) -> ChunkEntry:
        """Write a chunk, and give it a key."""
        own = self.con.execute(
            "INSERT INTO chunk(lsn, id, at, site, source, n, sha256, gone, rows) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (entry.lsn, entry.id, entry.at, entry.site, entry.source, rows.n, entry.sha256,
             entry.gone, record_bytes(rows)),
        )  # fmt: skip
        found = ChunkEntry(own.lastrowid, entry.lsn, entry.id, entry.at, entry.site, entry.source,
                           rows.n, entry.sha256, entry.gone)  # fmt: skip
        self._insert_columns(found, columns)
        return found

    def _insert_columns(self, entry: ChunkEntry, columns: Columns) -> None:
        if self.keep:
            marks = ", ".join("?" * (len(self.keep) + 2))
            each = zip([entry.key] * entry.n, range(entry.n), *(columns[k] for k in self.keep))
            self.con.executemany(f"INSERT INTO kept VALUES ({marks})", each)

    def update(self, entry: ChunkEntry, rows: GivenRows, columns: Columns) -> None:
        """Replace the rows of a chunk in its place, without a trace of the others."""
        self.con.execute(
            "UPDATE chunk SET n = ?, sha256 = ?, rows = ? WHERE _key = ?",
            (rows.n, entry.sha256, record_bytes(rows), entry.key),
        )
        if self.keep:
            self.con.execute("DELETE FROM kept WHERE _chunk = ?", (entry.key,))
            self._insert_columns(entry, columns)

    def erase(self, entry: ChunkEntry) -> None:
        self.con.execute("DELETE FROM chunk WHERE _key = ?", (entry.key,))
        if self.keep:
            self.con.execute("DELETE FROM kept WHERE _chunk = ?", (entry.key,))

    def retire(self, entry: ChunkEntry, lsn: int) -> None:
        """Note the event that replaced a chunk, whose rows stay for earlier dates."""
        self.con.execute("UPDATE chunk SET gone = ? WHERE _key = ?", (lsn, entry.key))

    def checked(self, entry: ChunkEntry) -> GivenRows:
        """Read the rows of a chunk, compared with its hash together with the kept columns."""
        rows = self.rows(entry)
        if rows.n != entry.n or rows.digest(self.columns(entry)) != entry.sha256:
            raise damaged(entry)
        return rows


def damaged(entry: ChunkEntry) -> LedgerError:
    return LedgerError(
        f"the rows of chunk {entry.id!r} are not as they were written: the file is damaged or was "
        "changed by other means. Put back a copy of it"
    )
