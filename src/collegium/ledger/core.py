"""The file and the state of a ledger, and the steps that change both."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import RLock
from typing import Any, Self

from ..messages.probe import probe
from ..modelfile.arrays import sha256_of
from ..modelfile.errors import ModelFileError
from ..modelfile.files import versions
from ..modelfile.parts import record_bytes, record_of_bytes
from .cutting import CutRows
from .errors import LedgerError
from .models import Models, known_keys
from .state import RunningTotal, State
from .storage.beside import RowsBeside
from .storage.chunks import ChunkEntry, ChunkTable
from .storage.database import Database
from .storage.events import Event, check_chain, moment, now, read_events, write_event
from .table import TableRoles, check_text
from .template import Template
from .tuning import TUNING


class LedgerFile:
    """Holds the last state of a file, and changes state and file together."""

    def __init__(
        self, path: str | os.PathLike[str], model: Any, asked: TableRoles, site: str, who: str,
        types: Sequence[type], fill: Callable[[Any], None] | None = None,
    ) -> None:  # fmt: skip
        """Open a file, or make it; `fill(self)` adds the first rows in the same step."""
        self.site, self.who = check_text(site, "site"), check_text(who, "who")
        self._turn, self._db, self._types = RLock(), Database(path), tuple(types)
        self._beside = RowsBeside(self._db.path)
        self._state: State | None = None
        self._cached: tuple[str, Any] | None = None
        self._cut = CutRows()
        try:
            if self._db.exists:
                self._catch_up()
                self._check_same(model, asked)
            elif model is None:
                raise FileNotFoundError(
                    f"{self._db.path} does not exist: give a model to begin a ledger"
                )
            else:
                self._begin(Template.of(model), asked, fill)
        except BaseException:
            self._db.close()
            raise

    # -- opening ------------------------------------------------------------------------------

    def _begin(
        self, template: Template, asked: TableRoles, fill: Callable[[Any], None] | None
    ) -> None:
        """Make the file of a new ledger."""
        self._db.write()
        roles = replace(asked, names=template.names)
        state = State.of(template.id, template.zero(), [])
        data = template.to_bytes()
        told = {
            "model": type(template.estimator).__name__, "versions": versions(),
            "basis": sha256_of(data), "roles": roles.text(),
        }  # fmt: skip
        event = Event.next("", 0, now(), "begin", self.who, "", "", state.hash, told)
        with self._db.writing() as con:
            self._db.make_tables()
            self._write_basis(con, data)
            self._write_snapshot(con, replace(state, lsn=0))
            self._db.note(roles=roles.text(), probe=probe(), erase="")
            write_event(con, event)
            self._roles, self._template, self._kept = roles, template, False
            self._state = replace(state, lsn=0, head=event.hash, at=event.at)
            self._stored, self._since, self._due = 0, 0, False
            if fill is not None:
                fill(self)

    def _check_same(self, model: Any, asked: TableRoles) -> None:
        own, roles = self._template.estimator, self._roles
        differ = []
        if model is not None and type(model) is not type(own):
            differ.append(f"a {type(own).__name__}")
        if asked.target is not None and asked.target != roles.target:
            differ.append(f"target={roles.target!r}")
        if asked.keep is not None and asked.keep != roles.keep:
            differ.append(f"keep={roles.keep}")
        if differ:
            raise ValueError(
                f"{self._db.name} exists, with {', '.join(differ)}: leave these arguments out, or "
                "give another path"
            )

    @contextmanager
    def _looking(self) -> Iterator[Any]:
        """See one state of the file, the last that was committed, whoever writes meanwhile."""
        with self._turn, self._db.reading() as con:
            last = con.execute("SELECT hash FROM event ORDER BY lsn DESC LIMIT 1").fetchone()
            if self._state is None or last != (self._state.head,):
                try:
                    self._read(con)
                except (ModelFileError, KeyError, TypeError) as error:
                    raise LedgerError(
                        f"{self._db.name} is damaged ({error}): put back a copy of it"
                    ) from error
            yield con

    def _catch_up(self) -> State:
        """Read what was committed since this ledger last looked."""
        with self._looking():
            return self._now

    def _read(self, con: Any) -> None:
        meta, events = self._db.meta(), read_events(con)
        check_chain(events)
        last = events[-1]
        self._roles = TableRoles.of_text(meta["roles"])
        self._kept = has_kept_table(con)
        sha, data = con.execute("SELECT sha256, model FROM basis").fetchone()
        if sha256_of(data) != sha:
            raise LedgerError(f"the basis of {self._db.name} is damaged: put back a copy of it")
        template = Template.of_bytes(data, self._roles.names, self._types)
        table = ChunkTable(con, self._keep)
        entries = table.entries("gone IS NULL")
        self._stored, total = con.execute("SELECT lsn, state FROM snapshot").fetchone()
        total = record_of_bytes(total)
        tail = [one for one in entries if one.lsn > self._stored]
        self._since = len(tail)
        if template.exact:
            total = RunningTotal(template, total).all(table.each(tail)).result()
        state = State.of(template.id, total, entries)
        self._due = meta["erase"] == "due"
        foreign = bool(tail) and template.exact and meta["probe"] != probe()
        twice = len(state.entries) < len(entries)
        if twice or (state.hash != last.after and not foreign):
            raise LedgerError(
                f"the chunks of {self._db.name} are not those of its last event: the file was "
                "changed by other means or is damaged. Put back a copy of it"
            )
        self._template = template
        self._state = replace(state, lsn=last.lsn, head=last.hash, at=last.at)
        self._cached = None

    @property
    def _keep(self) -> tuple[str, ...]:
        return (self._roles.keep or ()) if self._kept else ()

    @property
    def _now(self) -> State:
        assert self._state is not None
        return self._state

    # -- steps --------------------------------------------------------------------------------

    def _own(self) -> None:
        """Become the writer, with the last state of the file."""
        if self._db.write():
            self._catch_up()
            if self._template.exact and self._db.meta()["probe"] != probe():
                self._rebuild()
        if self._due:
            self._erase()

    def _rebuild(self) -> None:
        """Add up all messages again: another kind of processor rounds them in another way."""
        with self._step() as con:
            parts = self._table(con).each(self._now.ordered())
            total = RunningTotal(self._template, None).all(parts).result()
            state = replace(self._now, total=total)
            self._db.note(probe=probe())
            self._record(con, state, "rebuild", "another kind of processor, or other libraries", {})
            self._write_snapshot(con, self._now)

    @contextmanager
    def _step(self) -> Iterator[Any]:
        """Change file and state in one step, or neither."""
        before = vars(self).copy()
        try:
            with self._db.writing() as con:
                yield con
        except BaseException:
            vars(self).update(before)
            raise

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make all changes within this block one step: on the disk at its end, or not at all.

        Many small changes take less time so: the disk is waited for once.
        """
        with self._turn:
            self._own()
            with self._step():
                yield
            self._erase()

    def _record(
        self, con: Any, state: State, kind: str, reason: str, told: dict[str, Any],
        at: str | None = None,
    ) -> None:  # fmt: skip
        """Write an event; its state is the present one from now on."""
        old = self._now
        at = self._time(None) if at is None else at
        event = Event.next(
            old.head, old.lsn + 1, at, kind, self.who, check_text(reason, "reason"), old.hash,
            state.hash, told,
        )  # fmt: skip
        write_event(con, event)
        self._state = replace(state, lsn=event.lsn, head=event.hash, at=at)

    def _time(self, at: Any) -> str:
        """Time of the next event: never before that of the last."""
        last = self._now.at
        if at is None:
            return max(now(), last)
        when = moment(at, "at")
        if when < last:
            raise ValueError(f"at={at!r} is before the last event, at {last}: give a later time")
        return when

    def _table(self, con: Any) -> ChunkTable:
        return ChunkTable(con, self._keep)

    def _write_basis(self, con: Any, data: bytes) -> None:
        con.execute("DELETE FROM basis")
        con.execute("INSERT INTO basis VALUES (?, ?)", (sha256_of(data), data))

    def _leave_no_trace(self) -> None:
        """Note that bytes of deleted rows are to be erased once this step is on the disk."""
        self._db.note(erase="due")
        self._due, self._cached = True, None

    def _write_snapshot(self, con: Any, state: State) -> None:
        """Store the sum; earlier ones, which may have messages of forgotten rows, are deleted."""
        con.execute("DELETE FROM snapshot")
        con.execute("INSERT INTO snapshot VALUES (?, ?)", (state.lsn, record_bytes(state.total)))
        self._stored, self._since = state.lsn, 0

    def _erase(self) -> bool:
        """Erase the bytes of deleted rows, where that is due; False: it could not be done now."""
        if not self._due:
            return True
        if self._db.inside or not self._db.truncate() or not self._erase_beside():
            return False
        with self._db.writing():
            self._db.note(erase="")
        self._due = False
        return True

    def _erase_beside(self) -> bool:
        """Remove the store beside the ledger where it has rows that the ledger has no more."""
        if not self._beside.path.exists():
            return True
        with self._looking() as con:
            keys = known_keys(self._table(con).entries())
            few = self._now.n <= TUNING.rows_in_memory
        return self._beside.remove_unless(self._template.id, () if few else keys)

    def _models(self, con: Any) -> Models:
        """Make models of rows as they are seen now."""
        return Models(self._template, self._now, self._table(con), self._beside)

    # -- what is there --------------------------------------------------------------------------

    def events(self) -> list[Event]:
        """List all events, the first first."""
        with self._looking() as con:
            return read_events(con)

    def chunks(self) -> list[ChunkEntry]:
        """List the chunks that count, in the order of their ids."""
        return self._catch_up().ordered()

    @property
    def path(self) -> str:
        """The file."""
        return self._db.path

    @property
    def state(self) -> str:
        """Hash of basis, sum and chunks: the same for the same rows, however they came."""
        return self._catch_up().hash

    @property
    def head(self) -> str:
        """Hash of the last event, which covers all events."""
        return self._catch_up().head

    @property
    def lsn(self) -> int:
        """Number of the last event."""
        return self._catch_up().lsn

    @property
    def target(self) -> str | None:
        """The column of tables that is y, if it has a name."""
        return self._roles.target

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Columns that tables need: inputs, the target, and those that are kept; None: not known
        before the first rows."""
        self._catch_up()
        names, target, keep = self._roles.names, self._roles.target, self._roles.keep
        if names is None or keep is None:
            return None
        return (*names, *(() if target is None else (target,)), *keep)

    @property
    def kept_columns(self) -> tuple[str, ...]:
        """Columns that are kept beside the inputs and the target."""
        self._catch_up()
        return self._roles.keep or ()

    @property
    def n_rows(self) -> int:
        """Rows that count."""
        return self._catch_up().n

    @property
    def basis_id(self) -> str:
        """Identity of the basis; "" where there is none."""
        return self._catch_up().basis

    def copy_to(self, path: str | os.PathLike[str]) -> None:
        """Write a copy of the ledger as it is now to a new file, also while others write."""
        with self._looking() as con:
            self._db.back_up(con, path)

    # -- the end --------------------------------------------------------------------------------

    def close(self) -> None:
        """Store the sum, empty the log, and let others write."""
        with self._turn:
            try:
                if self._db.lock.held and self._state is not None:
                    self._tidy()
            finally:
                self._db.close()

    def _tidy(self) -> None:
        """Store the sum, erase what is due, and empty the log, as far as the disk allows."""
        with suppress(LedgerError):
            if self._now.lsn > self._stored:
                with self._step() as con:
                    self._write_snapshot(con, self._now)
            self._erase()
        self._db.truncate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._db.path!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a ledger is a file: pass its path on, and open it there")


def has_kept_table(con: Any) -> bool:
    sql = "SELECT count(*) FROM sqlite_master WHERE name = 'kept'"
    return bool(con.execute(sql).fetchone()[0])
