"""Options that several commands share, and values as people write them."""

from __future__ import annotations

import ast
import csv
import math
import re
from collections.abc import Callable
from typing import Any

import click

SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Duration(click.ParamType):
    """Seconds from "90", "90s", "5m" or "1h30m"."""

    name = "time"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        if isinstance(value, float):
            return value
        parts = re.findall(r"([0-9]*\.?[0-9]+)([smhd]?)", value)
        whole = "".join(number + unit for number, unit in parts) == value.strip()
        seconds = sum(float(number) * SECONDS[unit or "s"] for number, unit in parts)
        if not parts or not whole or not seconds > 0:
            self.fail(f"{value!r} is no time: give 90s, 5m or 1h30m", param, ctx)
        return seconds


class Names(click.ParamType):
    """Names of columns, separated by commas; a name with a comma is quoted."""

    name = "names"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        found = tuple(name.strip() for name in next(csv.reader([value], skipinitialspace=True)))
        if not all(found):
            self.fail(f"{value!r}: give names such as east,north", param, ctx)
        return found


class Numbers(click.ParamType):
    """Numbers, separated by commas."""

    name = "numbers"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[float, ...]:
        if isinstance(value, tuple):
            return value
        try:
            found = tuple(float(number) for number in value.split(","))
        except ValueError:
            found = ()
        if not found or not all(map(math.isfinite, found)):
            self.fail(f"{value!r}: give numbers, separated by commas", param, ctx)
        return found


class Setting(click.ParamType):
    """NAME=VALUE, an argument of the estimator; values are literals of Python, or words."""

    name = "name=value"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, Any]:
        if isinstance(value, tuple):
            return value
        name, equals, text = value.partition("=")
        if not equals or not name.isidentifier():
            self.fail(f"{value!r}: give a name and a value, such as n_local=0", param, ctx)
        try:
            return name, ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return name, text


def _joined(ctx: Any, param: Any, value: tuple[tuple[str, ...], ...]) -> tuple[str, ...] | None:
    return tuple(name for names in value for name in names) or None


def _as_json(ctx: click.Context, param: Any, value: bool) -> None:
    ctx.obj.as_json = value


Decorator = Callable[[Callable], Callable]

MODEL = click.argument("model", type=click.Path())
as_json = click.option(
    "--json", "as_json", is_flag=True, expose_value=False, is_eager=True, callback=_as_json,
    help="Answer with one JSON object on the standard output.",
)  # fmt: skip
jobs = click.option(
    "--jobs", type=int, default=-1, show_default="all cores", help="Threads; results do not change."
)


def several(*options: Decorator) -> Decorator:
    """Apply options in the order in which `--help` lists them."""

    def add(function: Callable) -> Callable:
        for option in reversed(options):
            function = option(function)
        return function

    return add


def rows_options(*, targets: bool) -> Decorator:
    """DATA and what chooses its rows; with `targets`, the columns that say what was observed."""
    missing = click.option(
        "--missing", type=click.Choice(["drop", "refuse"]), default="drop", show_default=True,
        help="Rows without a target, weight or exposure. 'refuse' also refuses missing inputs.",
    )  # fmt: skip
    return several(
        click.argument("data", nargs=-1, type=click.Path(allow_dash=True)),
        click.option("--sql", metavar="SELECT", help="Take the rows of a query of --db."),
        click.option("--db", type=click.Path(), help="A database of SQLite or DuckDB."),
        click.option("--where", metavar="SQL", help="Take the rows for which this holds."),
        *((missing,) if targets else ()),
    )


def role_options(*, known: bool) -> Decorator:
    """Columns with a meaning; `known`: the model remembers them."""
    default = " By default as in fit." if known else ""
    return several(
        click.option(
            "-y", "--target", required=not known, metavar="NAME",
            help=f"Column to predict.{default}",
        ),
        click.option("--weight", metavar="NAME", help=f"Column of weights.{default}"),
        click.option("--exposure", metavar="NAME", help=f"Column of exposures.{default}"),
    )  # fmt: skip


at_option = click.option("--at", metavar="TIME", help="When rows of a ledger were known, UTC.")
reason_option = click.option("--reason", default="", help="Recorded with the event of a ledger.")
columns = click.option(
    "-x", "--columns", type=Names(), multiple=True, callback=_joined,
    help="Columns to predict from, such as east,north. By default all others.",
)  # fmt: skip
