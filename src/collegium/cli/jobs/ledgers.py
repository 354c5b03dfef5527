"""Change and audit ledgers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import click

from ...ledger.errors import LedgerError
from ...ledger.ledger import Ledger
from ...tables.reading import ReadTable
from ..data import Data, Roles, note_ignored
from ..failures import DATA, MODEL_FILE, Failure, of_data
from ..models import check_output, file_words, opened_model, roles_in, written
from ..terminal import Terminal


@contextmanager
def opened_ledger(path: str, model: Any = None, **more: Any) -> Iterator[Ledger]:
    """Open a ledger that exists, or begin one with a model; its errors end the command."""
    if model is None and not os.path.isfile(path):
        words = f"{path}: no such ledger: check the path (update --from MODEL begins one)"
        raise Failure(MODEL_FILE, words, {"file": path})
    try:
        with Ledger(path, model, **more) as ledger:
            yield ledger
    except LedgerError as error:
        words = str(error) if path in str(error) else f"{path}: {error}"
        raise Failure(MODEL_FILE, words, {"file": path}) from error
    except ValueError as error:
        raise Failure(DATA, f"{path}: {error}", {"file": path}) from error


def is_ledger(path: str) -> bool:
    """Whether a file is a ledger: a database of SQLite."""
    if not os.path.isfile(path):
        return path.endswith(".clgdb")
    with open(path, "rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def run_add(terminal: Terminal, asked: dict[str, Any]) -> None:
    """Add the rows of files to a ledger as one chunk; a new ledger begins with a model."""
    path, model, more = asked["model"], None, dict[str, Any]()
    if not os.path.isfile(path) and asked["begin"] is not None:
        model = opened_model(asked["begin"])
        more = {"target": roles_in(model, asked["target"], None, None).y}
    with opened_ledger(path, model, **more) as ledger:
        found, rows = _read(terminal, ledger, asked)
        id = None if asked["chunk_id"] is None else _id(asked["chunk_id"])
        lsn = ledger.add(
            found, id=id, source=asked["source"], at=asked["at"], reason=asked["reason"], **rows
        )
        _tell_state(terminal, path, ledger, lsn)


def run_replace(terminal: Terminal, asked: dict[str, Any]) -> None:
    """Replace the rows of a chunk by those of files."""
    with opened_ledger(asked["model"]) as ledger:
        found, rows = _read(terminal, ledger, asked)
        lsn = ledger.replace(
            _id(asked["chunk_id"]), found, at=asked["at"], reason=asked["reason"], **rows
        )
        _tell_state(terminal, asked["model"], ledger, lsn)


def _read(
    terminal: Terminal, ledger: Ledger, asked: dict[str, Any]
) -> tuple[ReadTable, dict[str, Any]]:
    """Read the columns that a ledger needs, and those of weights and exposures."""
    if ledger.target is None:
        raise click.UsageError("the ledger has no name for y: begin it with target= in Python")
    data = Data(asked["data"], asked["sql"], asked["db"])
    roles = Roles(ledger.target, asked["weight"], asked["exposure"])
    beside = roles.names[1:]
    columns = ledger.columns or tuple(one for one in data.columns if one not in beside)
    data.check(roles.options() | dict.fromkeys(columns, "the ledger needs it"))
    source = data.source(
        (*columns, *beside), where=asked["where"], needed=roles.names, missing=asked["missing"]
    )
    terminal.line(data.name, data.words(source, len(columns)))
    note_ignored(terminal, data, (*columns, *beside))
    with of_data(data):
        table = ReadTable.joined([part for _, part, _, _ in source.found()])
    by_name = {one.name: one for one in table.columns}
    named = {"sample_weight": roles.weight, "exposure": roles.exposure}
    more = {key: by_name[name].values for key, name in named.items() if name is not None}
    return ReadTable([by_name[name] for name in columns]), more


def _tell_state(terminal: Terminal, path: str, ledger: Ledger, lsn: int) -> None:
    found = {
        "ledger": path, "event": lsn, "chunks": len(ledger.chunks()), "rows": ledger.n_rows,
        "state": ledger.state,
    }  # fmt: skip
    _tell_lines(terminal, "\n".join(f"{name:13}  {text}" for name, text in found.items()), found)


def run_forget(
    terminal: Terminal, path: str, ids: Sequence[str], where: str | None, reason: str, *,
    relearn: bool,
) -> None:  # fmt: skip
    """Forget chunks or rows, and answer with the certificate."""
    if bool(ids) == (where is not None):
        raise click.UsageError("give --ids or --where, one of them")
    with opened_ledger(path) as ledger:
        done = ledger.forget([_id(one) for one in ids] or None, where=where, reason=reason)
        if relearn:
            ledger.relearn(reason=reason)
            done = ledger.certify(done.lsn)
        _tell_lines(terminal, str(done), done.as_dict())


def run_merge(
    terminal: Terminal, path: str, others: Sequence[str], reason: str, out: str | None
) -> None:
    """Add the chunks of other ledgers on the same basis to one, or to a copy of it."""
    if out is None:
        with opened_ledger(path) as ledger:
            _merge_all(ledger, others, reason)
            _tell_state(terminal, path, ledger, ledger.lsn)
        return
    check_output(out, [path, *others])
    if os.path.exists(out):
        raise click.UsageError(f"-o {out}: it exists: give another path")
    part = f"{out}.part"
    try:
        with opened_ledger(path) as ledger:
            ledger.copy_to(part)
        with opened_ledger(part) as ledger:
            _merge_all(ledger, others, reason)
            _tell_state(terminal, out, ledger, ledger.lsn)
        os.replace(part, out)
    finally:
        for end in ("", "-wal", "-shm", "-lock"):
            with suppress(FileNotFoundError):
                os.remove(f"{part}{end}")


def _merge_all(ledger: Ledger, others: Sequence[str], reason: str) -> None:
    """Add other ledgers in one step."""
    with ExitStack() as stack:
        each = [stack.enter_context(opened_ledger(other)) for other in others]
        with ledger.together():
            for own in each:
                ledger.merge(own, reason=reason)


def run_as_of(terminal: Terminal, path: str, when: str, out: str) -> None:
    """Write the model of a ledger as it was at a time, or as it is now."""
    check_output(out, [path])
    with opened_ledger(path) as ledger:
        model = ledger.model() if when == "now" else ledger.as_of(_event(when))
        roles = Roles(y=ledger.target)
    found = written(model, out, roles)
    terminal.line("wrote", file_words(found))
    if terminal.as_json:
        terminal.answer(found)


def run_verify(terminal: Terminal, path: str, head: str | None) -> None:
    """Compare everything in a ledger with its hashes."""
    with opened_ledger(path) as ledger:
        found = ledger.verify(head)
    _tell_lines(terminal, "\n".join(f"{name:13}  {text}" for name, text in found.items()), found)


def _tell_lines(terminal: Terminal, text: str, found: dict[str, Any]) -> None:
    if terminal.as_json:
        terminal.answer(found)
        return
    for line in text.splitlines():
        word, _, rest = line.partition("  ")
        terminal.tell(word, rest.strip())


def _id(text: str) -> int | str:
    """Ids of chunks are numbers or words."""
    return int(text) if text.isdecimal() else text


def _event(text: str) -> int | str:
    """A number is that of an event, everything else a time."""
    return int(text) if text.isdecimal() else text
