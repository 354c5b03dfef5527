"""Let a model or a ledger learn from further rows."""

from __future__ import annotations

import time
from typing import Any

import click

from ..data import Data, dropped_rows, known_columns_in, note_ignored
from ..models import check_output, file_words, learn_by, opened_model, roles_in, written
from ..rows import all_rows, known_rows
from ..terminal import Terminal
from .ledgers import is_ledger, run_add

#: Options that mean something for model files alone, and for ledgers alone.
OF_MODELS, OF_LEDGERS = ("output", "columns"), ("begin", "source", "at", "reason")
OPTIONS = {"output": "-o", "columns": "-x", "begin": "--from"}


def run_update(terminal: Terminal, asked: dict[str, Any]) -> None:
    """Learn from the rows of files: a model file is written again, a ledger gets a chunk."""
    ledger = is_ledger(asked["model"])
    for name in OF_MODELS if ledger else OF_LEDGERS:
        if asked[name]:
            kind = "a ledger" if ledger else "a model file"
            words = f"{OPTIONS.get(name, f'--{name}')} means nothing for {kind}: leave it out"
            raise click.UsageError(words)
    if ledger:
        run_add(terminal, asked)
    else:
        update_model(terminal, asked)


def update_model(terminal: Terminal, asked: dict[str, Any]) -> None:
    """Load a model, let it learn from rows, write it again."""
    start = time.perf_counter()
    output = check_output(asked["output"] or asked["model"], asked["data"])
    model = opened_model(asked["model"], asked["jobs"])
    if not hasattr(model, "partial_fit"):
        raise click.UsageError(f"{type(model).__name__} does not learn from further rows: fit")
    roles = roles_in(model, asked["target"], asked["weight"], asked["exposure"])
    data = Data(asked["data"], asked["sql"], asked["db"])
    columns = known_columns_in(data, model, roles, asked["columns"])
    chosen = {"where": asked["where"], "needed": roles.names, "missing": asked["missing"]}
    source = data.source((*columns, *roles.names), **chosen)
    terminal.line(data.name, data.words(source, len(columns)))
    note_ignored(terminal, data, (*columns, *roles.names))
    rows = all_rows(known_rows(model, data, source, columns, roles))
    more: dict[str, Any] = rows.arguments()
    if asked["chunk_id"] is not None:
        more["chunk_id"] = asked["chunk_id"]
    learn_by(terminal, model, lambda: model.partial_fit(rows.X, rows.y, **more))
    found = written(model, output, roles)
    terminal.line("wrote", file_words(found))
    if terminal.as_json:
        told = {"name": data.name, "rows": source.n_rows, "dropped": dropped_rows(source)}
        terminal.answer({"data": told, "model": found, "seconds": time.perf_counter() - start})
