"""A page about a model, from the rows of files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import Any

import click
import numpy as np

from ...pages.making import report
from ..data import Data, Roles, dropped_rows, known_columns_in, note_ignored
from ..failures import of_data
from ..models import check_output, opened_model, roles_in
from ..rows import Observed, all_rows, known_rows, labels_of
from ..terminal import Terminal, size_in_words

Array = np.ndarray


def run_report(terminal: Terminal, asked: dict[str, Any]) -> None:
    """Judge a model by the rows of files, and write the page."""
    given = [*asked["data"], *asked["more"]]
    path = check_output(asked["output"], [*given, asked["model"]])
    model = opened_model(asked["model"], asked["jobs"])
    if getattr(model, "y_ndim_", 1) > 1:
        raise click.UsageError("the model has several targets: report them one by one in Python")
    roles = roles_in(model, asked["target"], None, asked["exposure"])
    roles = Roles(roles.y, None, roles.exposure)
    data = Data(given, asked["sql"], asked["db"])
    columns = known_columns_in(data, model, roles, asked["columns"])
    chosen = {"where": asked["where"], "needed": roles.names, "missing": asked["missing"]}
    source = data.source((*columns, *roles.names), **chosen)
    terminal.line(data.name, data.words(source, len(columns)))
    grouped = () if asked["group"] is None else (asked["group"],)
    note_ignored(terminal, data, (*columns, *roles.names, *grouped))
    with terminal.listening(), of_data(data):
        rows = all_rows(known_rows(model, data, source, columns, roles))
        labels = named_labels(data, asked["group"], chosen, rows)
        page = report(
            model, rows.X, rows.y, path, exposure=rows.exposure, groups=labels,
            stream=asked["stream"], target=roles.y, title=asked["title"],
            rows=not asked["no_rows"], command=command_line(asked), random_state=asked["seed"],
        )  # fmt: skip
    for sentence in page.verdict:
        terminal.tell("verdict", sentence)
    size = len(page.html.encode())
    terminal.line("wrote", f"{path}  {size_in_words(size)}")
    if terminal.as_json:
        told = {"name": data.name, "rows": source.n_rows, "dropped": dropped_rows(source)}
        terminal.answer(
            {"data": told, "verdict": page.verdict, "page": {"path": path, "bytes": size}}
        )


def named_labels(data: Data, name: str | None, chosen: dict[str, Any], rows: Observed) -> Any:
    """The name of a column that rows are grouped by, and its labels in the order of the rows."""
    if name is None:
        return None
    data.check({name: "--group"})
    needed = tuple(chosen["needed"])
    source = data.source((name, *needed), **chosen)
    found: Iterator[Any] = (labels_of(X[0]) for _, X, _, _ in source.found())
    labels = np.concatenate([one.astype(object) for one in found])
    assert len(labels) == rows.n
    return name, labels


def command_line(asked: dict[str, Any]) -> str:
    """The command as it can be given again; of paths the last part alone."""
    words = ["collegium", "report", os.path.basename(asked["model"])]
    words += [os.path.basename(one) for one in (*asked["data"], *asked["more"])]
    for name in ("sql", "db", "where", "target", "exposure", "group", "title"):
        if asked[name] is not None:
            words += [f"--{name}", asked[name]]
    if asked["columns"]:
        words += ["--columns", ",".join(asked["columns"])]
    if asked["missing"] != "drop":
        words += ["--missing", asked["missing"]]
    words += [f"--{name.replace('_', '-')}" for name in ("stream", "no_rows") if asked[name]]
    words += ["--seed", str(asked["seed"])] if asked["seed"] else []
    return shlex.join([*words, "-o", os.path.basename(asked["output"])])
