"""Change and audit ledgers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from ...ledger.errors import LedgerError
from ...ledger.ledger import Ledger
from ..data import Roles
from ..failures import DATA, MODEL_FILE, Failure
from ..models import check_output, file_words, written
from ..terminal import Terminal


@contextmanager
def opened_ledger(path: str) -> Iterator[Ledger]:
    """Open a ledger that exists; its errors end the command."""
    if not os.path.isfile(path):
        words = f"{path}: no such ledger: check the path (collegium.Ledger makes one)"
        raise Failure(MODEL_FILE, words, {"file": path})
    try:
        with Ledger(path) as ledger:
            yield ledger
    except LedgerError as error:
        words = str(error) if path in str(error) else f"{path}: {error}"
        raise Failure(MODEL_FILE, words, {"file": path}) from error
    except ValueError as error:
        raise Failure(DATA, f"{path}: {error}", {"file": path}) from error


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


def run_merge(terminal: Terminal, path: str, others: Sequence[str], reason: str) -> None:
    """Add the chunks of other ledgers on the same basis to one."""
    with opened_ledger(path) as ledger:
        for other in others:
            with opened_ledger(other) as own:
                ledger.merge(own, reason=reason)
        found = {"ledger": path, "event": ledger.lsn, "state": ledger.state}
    _tell_lines(terminal, "\n".join(f"{name:13}  {text}" for name, text in found.items()), found)


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
