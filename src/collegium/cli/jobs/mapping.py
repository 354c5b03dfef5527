"""Predict on a grid of two columns."""

from __future__ import annotations

import re
import time
from typing import Any

import click
import numpy as np

from ...maps.files import Map, check_map_path, write_map
from ...maps.grid import Grid
from ..failures import no_column
from ..models import check_exposed, check_output, opened_model
from ..terminal import Terminal

Array = np.ndarray
#: Options of `predict` that say which rows of files are predicted.
OF_FILES = {"data": "DATA", "sql": "--sql", "db": "--db", "where": "--where", "keep": "--keep"}


def run_map(terminal: Terminal, asked: dict[str, Any]) -> None:
    """Write a map to a file."""
    start, output = time.perf_counter(), asked["output"]
    for name, option in OF_FILES.items():
        if asked[name]:
            raise click.UsageError(
                f"{option}: with --grid there are no rows of files; leave it out"
            )
    _check_map_output(output, asked["crs"])
    model = opened_model(asked["model"], asked["jobs"])
    columns = _columns(model, asked["columns"])
    sides = _sides(columns, asked["grid"], asked["region"])
    if hasattr(model, "verbose"):
        model.verbose = 1
    try:
        with terminal.listening():
            grid, bands = _bands(model, sides, asked)
            attrs = {name: asked[name] for name in ("crs", "units") if asked[name] is not None}
            told = {} if hasattr(model, "classes_") else _told(asked)
            write_map(Map(grid, bands, attrs | told), output)
    except ValueError as error:
        if type(error).__name__ == "LimitError":
            raise
        raise click.UsageError(_as_options(str(error))) from error
    seconds = time.perf_counter() - start
    high, wide = grid.shape
    terminal.line("wrote", f"{output}  {wide} × {high} points of {', '.join(bands)}, "
                           f"{seconds:.1f} s")  # fmt: skip
    if terminal.as_json:
        terminal.answer({
            "output": output, "columns": list(columns), "shape": [high, wide],
            "bands": list(bands), "seconds": seconds,
        })  # fmt: skip


def _check_map_output(output: str, crs: str | None) -> None:
    if output == "-":
        raise click.UsageError("--grid: a map goes to a file: give -o map.nc, .tif, .npz or .png")
    check_output(output)
    try:
        check_map_path(output, crs)
    except ValueError as error:
        raise click.UsageError(f"-o {_as_options(str(error))}") from error


def _columns(model: Any, named: tuple[str, ...] | None) -> tuple[Any, Any]:
    """The columns along x and y: as named, or the first two."""
    known = getattr(model, "feature_names_in_", None)
    own = [f"x{k}" for k in range(model.n_features_in_)] if known is None else list(known)
    if named is None:
        if len(own) < 2:
            raise click.UsageError("--grid: the model has one column, and a map needs two")
        return own[0], own[1]
    if len(named) != 2:
        raise click.UsageError(f"-x {','.join(named)}: with --grid give two columns, such as "
                               "east,north")  # fmt: skip
    for name in named:
        if name not in own:
            raise no_column(name, "-x", "the model", own)
    return named[0], named[1]


def _sides(columns: tuple[Any, Any], steps: tuple[float, ...], region: Any) -> list[dict]:
    """{column: coordinates} of x and y."""
    if len(steps) > 2:
        raise click.UsageError("--grid: give one step, or those of both columns: 1,2")
    each = steps * 2 if len(steps) == 1 else steps
    if region is None:
        return [{name: step} for name, step in zip(columns, each)]
    if len(region) != 4:
        raise click.UsageError("--region: give west,south,east,north")
    west, south, east, north = region
    ends = (west, east), (south, north)
    return [{name: (*end, step)} for name, end, step in zip(columns, ends, each)]


def _bands(model: Any, sides: list[dict], asked: dict[str, Any]) -> tuple[Grid, dict[str, Array]]:
    """A grid, and the arrays that were asked for."""
    x, y = sides
    at = dict(asked["at"]) or None
    if hasattr(model, "classes_"):
        for name, usual in (("interval", None), ("exposure", None), ("outside", False)):
            if asked[name] != usual:
                raise click.UsageError(f"--{name}: the model predicts labels; leave it out")
        grid, found, classes = model._grid_answers(x, y, None, at)
        return grid, {f"probability {one}": p for one, p in zip(classes, found["probability"])}
    if asked["outside"] and not hasattr(model, "outside"):
        raise click.UsageError(f"--outside: {type(model).__name__} cannot tell extrapolations")
    interval = 0.95 if asked["interval"] is None else asked["interval"]
    grid, found = model._grid_answers(
        x, y, None, at, interval, asked["level"], _exposure(model, asked)
    )
    more = ["lower", "upper"] * (asked["interval"] is not None) + ["outside"] * asked["outside"]
    return grid, {name: found[name] for name in ("mean", "sd", *more)}


def _exposure(model: Any, asked: dict[str, Any]) -> float | None:
    if asked["exposure"] is None:
        return None
    check_exposed(model, asked["exposure"])
    try:
        return float(asked["exposure"])
    except ValueError as error:
        raise click.UsageError(
            f"--exposure {asked['exposure']}: with --grid give a number"
        ) from error


def _told(asked: dict[str, Any]) -> dict[str, Any]:
    told = {"level": asked["level"]}
    return told if asked["interval"] is None else {**told, "coverage": asked["interval"]}


def _as_options(words: str) -> str:
    """Arguments of the library as options of the command line."""
    words = re.sub(r"^([xy])(?=[ =:])", r"--grid, \1", words)
    return re.sub(r"^(crs|interval|at)[=:] ?", r"--\1 ", words)
