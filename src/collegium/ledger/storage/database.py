"""The file of a ledger: an SQLite database in WAL mode with one writer, and its transactions."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from ...numerics.durable import sync, sync_folder
from ..errors import LedgerError
from .places import WriterLock, check_place

#: Marks the file as a ledger ("clgd"), and the version of its tables.
MARK, VERSION = 0x636C6764, 1
#: Seconds to wait for a reader before a checkpoint, and for a connection to settle.
PATIENCE = 5.0
TABLES = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE basis(sha256 TEXT, model BLOB);
CREATE TABLE chunk(
    _key INTEGER PRIMARY KEY, lsn INTEGER, id, at TEXT, site TEXT, source TEXT, n INTEGER,
    sha256 TEXT, gone INTEGER, rows BLOB);
CREATE TABLE event(
    lsn INTEGER PRIMARY KEY, at TEXT, kind TEXT, who TEXT, reason TEXT, before TEXT, after TEXT,
    detail TEXT, hash TEXT);
CREATE TABLE snapshot(lsn INTEGER PRIMARY KEY, state BLOB);
"""
#: Of the writer: commits are on the disk, what is deleted is overwritten.
SETTINGS = "synchronous = FULL", "secure_delete = ON", "temp_store = MEMORY", "trusted_schema = OFF"
REMEDY = "put back a copy of it, or run verify() to see what is damaged"


class Database:
    """Connects to a ledger: to read at first, to write once the lock is taken."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.realpath(os.fspath(path))
        self.name = os.path.basename(self.path)
        check_place(self.path)
        self.lock = WriterLock(f"{self.path}-lock")
        self._depth, self._open, self._process = 0, None, os.getpid()

    # -- connections --------------------------------------------------------------------------

    @property
    def exists(self) -> bool:
        """Whether there is a file that is not empty; one that was never filled is."""
        if not os.path.exists(self.path) or not os.path.getsize(self.path):
            return False
        # A journal is there if the power went while the file was made: SQLite takes that back as
        # soon as the file is opened to write.
        modes = ("ro", "rw") if os.path.exists(f"{self.path}-journal") else ("ro",)
        for mode in modes:
            with suppress(sqlite3.Error):
                return self._tables(mode) > 0
        return True  # it cannot be read: errors will tell

    def _tables(self, mode: str) -> int:
        """Count the tables in the file."""
        uri = f"{Path(self.path).as_uri()}?mode={mode}"
        with closing(sqlite3.connect(uri, **self._how())) as con:
            return int(con.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])

    @property
    def con(self) -> Any:
        """The connection; one that reads where none is open."""
        if self._process != os.getpid():
            raise LedgerError(f"{self.name} was opened by another process: open it here again")
        if self._open is None:
            with self.told():
                self._open = self._reader()
        return self._open

    def _reader(self) -> Any:
        uri = Path(self.path).as_uri()
        try:
            return self._checked(sqlite3.connect(f"{uri}?mode=ro", **self._how()))
        except sqlite3.OperationalError:
            wal = f"{self.path}-wal"
            if os.path.exists(wal) and os.path.getsize(wal):
                raise
            # a folder that cannot be written, and nothing beside the file
            return self._checked(sqlite3.connect(f"{uri}?mode=ro&immutable=1", **self._how()))

    def _how(self) -> dict[str, Any]:
        return {
            "uri": True, "isolation_level": None, "check_same_thread": False, "timeout": PATIENCE,
        }  # fmt: skip

    def _checked(self, con: Any) -> Any:
        """Refuse files that are not ledgers, or newer than this release."""
        try:
            mark = con.execute("PRAGMA application_id").fetchone()[0]
            version = con.execute("PRAGMA user_version").fetchone()[0]
            con.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error:
            con.close()
            raise
        if mark != MARK:
            con.close()
            raise LedgerError(f"{self.name} is not a ledger of collegium")
        if version > VERSION:
            con.close()
            raise LedgerError(
                f"{self.name} is a ledger of version {version}, and this release reads those up "
                f"to {VERSION}: install a newer collegium"
            )
        con.execute("PRAGMA trusted_schema = OFF")
        return con

    def write(self) -> bool:
        """Take the lock and connect to write; True if this was not so already."""
        if self.lock.held:
            return False
        if self._open is not None or self.exists:
            self.con  # noqa: B018  # refuses what is not a ledger before anything is written
        self.lock.take(self.name)
        try:
            with self.told():
                self._close()
                self._open = self._writer()
        except BaseException:
            self.lock.release()
            raise
        return True

    def _writer(self) -> Any:
        new = not self.exists
        con = sqlite3.connect(Path(self.path).as_uri(), **self._how())
        try:
            if con.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
                raise LedgerError(f"{self.name} cannot be kept in WAL mode on this drive")
            for setting in SETTINGS:
                con.execute(f"PRAGMA {setting}")
            con.execute("BEGIN IMMEDIATE")
            con.execute("ROLLBACK")
        except BaseException:
            con.close()
            raise
        if new:
            sync_folder(os.path.dirname(self.path))
        return con

    def make_tables(self) -> None:
        """Make the tables of a new ledger, within a step."""
        self.con.execute(f"PRAGMA application_id = {MARK}")
        self.con.execute(f"PRAGMA user_version = {VERSION}")
        for line in TABLES.split(";"):
            self.con.execute(line)

    def _close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def close(self) -> None:
        """Close connection and lock."""
        with suppress(sqlite3.Error):
            self._close()
        self.lock.release()

    # -- transactions -------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """See one state of the file in all queries."""
        con = self.con
        with self.told():
            if con.in_transaction:
                yield con
                return
            con.execute("BEGIN")
            try:
                yield con
            finally:
                if con.in_transaction:
                    con.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """Change the file in one step that is on the disk at its end, or not at all.

        Within another such step it is a part of that one, which can still fail alone.
        """
        con, inner = self.con, self._depth > 0
        begin, commit, undo = (
            (f"SAVEPOINT s{self._depth}", f"RELEASE s{self._depth}", f"ROLLBACK TO s{self._depth}")
            if inner
            else ("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK")
        )
        with self.told():
            con.execute(begin)
            self._depth += 1
            try:
                yield con
                con.execute(commit)
            except BaseException:
                if con.in_transaction:
                    con.execute(undo)
                    if inner:
                        con.execute(commit)
                raise
            finally:
                self._depth -= 1

    @contextmanager
    def told(self) -> Iterator[None]:
        """Word errors of SQLite for users."""
        try:
            yield
        except sqlite3.Error as error:
            raise LedgerError(f"{self.name}: {_words(error)}") from error

    @property
    def inside(self) -> bool:
        """Whether a step is under way."""
        return self._depth > 0

    # -- bytes of what was deleted ------------------------------------------------------------

    def truncate(self) -> bool:
        """Move the log into the file and empty it; False if a reader or the disk prevents that."""
        try:
            busy, _, _ = self.con.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error:
            return False
        return not busy

    # -- copies ---------------------------------------------------------------------------------

    def back_up(self, con: Any, path: str | os.PathLike[str]) -> None:
        """Write all pages to a new file that is on the disk at the end."""
        check_place(os.path.realpath(path))
        with open(path, "xb"):
            pass
        with closing(sqlite3.connect(Path(path).resolve().as_uri(), **self._how())) as other:
            con.backup(other)
        with open(path, "rb+") as file:
            sync(file)
        sync_folder(os.path.dirname(os.path.realpath(path)))

    # -- small values -------------------------------------------------------------------------

    def meta(self) -> dict[str, str]:
        return dict(self.con.execute("SELECT name, value FROM meta"))

    def note(self, **values: str) -> None:
        """Set values in `meta`."""
        self.con.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())


def _words(error: sqlite3.Error) -> str:
    said = str(error)
    if "full" in said or "disk I/O" in said:
        return f"{said}. Nothing of this step was kept; make room on the disk and repeat it"
    if "readonly" in said or "unable to open" in said:
        return f"{said}. The ledger is as it was: open it where its folder can be written"
    if "locked" in said or "busy" in said:
        return f"{said} by another program. The ledger is as it was: repeat the step"
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(
        error, (sqlite3.OperationalError, sqlite3.IntegrityError)
    ):
        return f"the file is damaged ({said}): {REMEDY}"
    return f"{said}. Nothing of this step was kept"
