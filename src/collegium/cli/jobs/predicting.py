"""Predict the rows of files."""

from __future__ import annotations

import sys
import time
from typing import Any

import click

from ...sources.writing import ARROW, NPY, check_writable
from ..data import Data, Roles, known_columns_in, note_ignored
from ..failures import of_data
from ..models import check_exposed, check_output, opened_model
from ..terminal import Terminal


def run_predict(terminal: Terminal, asked: dict[str, Any]) -> None:
    """Write predictions to a file, or as CSV to the standard output."""
    start, output = time.perf_counter(), asked["output"]
    if output == "-" and terminal.as_json:
        raise click.UsageError("--json: the standard output has the predictions; give -o a file")
    if output != "-":
        _check_ending(check_output(output, asked["data"]))
    model = opened_model(asked["model"], asked["jobs"])
    more = _options(model, asked)
    data = Data(asked["data"], asked["sql"], asked["db"])
    columns = known_columns_in(data, model, Roles(exposure=asked["exposure"]), asked["columns"])
    data.check(dict.fromkeys(asked["keep"], "--keep"))
    used = (*columns, *asked["keep"], *Roles(exposure=asked["exposure"]).names)
    source = data.source(used, where=asked["where"]).with_roles(columns)
    terminal.line(data.name, data.words(source, len(columns)))
    ignored = note_ignored(terminal, data, used)
    place = sys.stdout.buffer if output == "-" else output
    if hasattr(model, "verbose"):
        model.verbose = 1
    with terminal.listening(), of_data(data):
        n = model.predict_to(source, place, keep=asked["keep"], **more)
    seconds = time.perf_counter() - start
    if output != "-":
        terminal.line("wrote", f"{output}  {n:,} predictions in {seconds:.1f} s")
    if terminal.as_json:
        told = {"name": data.name, "rows": n, "ignored": ignored}
        terminal.answer({"data": told, "output": output, "seconds": seconds})


def _check_ending(path: str) -> None:
    try:
        check_writable(path)
    except ValueError as error:
        endings = ", ".join((*ARROW, NPY))
        raise click.UsageError(f"-o {path}: give a path that ends with {endings}") from error


def _options(model: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `predict_to`; options that mean nothing for labels are refused."""
    given = {
        "interval": asked["interval"], "exposure": asked["exposure"], "outside": asked["outside"],
        "level": asked["level"],
    }  # fmt: skip
    usual = {"interval": None, "exposure": None, "outside": False, "level": "observation"}
    if hasattr(model, "classes_"):
        for name, value in given.items():
            if value != usual[name]:
                raise click.UsageError(f"--{name}: the model predicts labels; leave it out")
        return {}
    check_exposed(model, asked["exposure"])
    interval = asked["interval"]
    if interval is not None and not 0.0 < interval < 1.0:
        raise click.UsageError(f"--interval {interval}: give a probability such as 0.9")
    if asked["outside"] and not hasattr(model, "outside"):
        raise click.UsageError(f"--outside: {type(model).__name__} cannot tell extrapolations")
    return given
