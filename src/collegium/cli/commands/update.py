"""`collegium update`: let a model learn from further rows."""

from __future__ import annotations

from typing import Any

import click

from ..options import (
    MODEL,
    as_json,
    at_option,
    columns,
    jobs,
    reason_option,
    role_options,
    rows_options,
)
from ..terminal import Terminal


@click.command("update")
@MODEL
@rows_options(targets=True)
@role_options(known=True)
@columns
@click.option("-o", "--output", type=click.Path(), help="Model file. By default MODEL is replaced.")
@click.option("--id", "chunk_id", metavar="NAME", help="A name for these rows, to forget them by.")
@click.option("--from", "begin", type=click.Path(), help="Begin a new ledger with this model.")
@click.option("--source", default="", help="Of a ledger: where the rows come from.")
@at_option
@reason_option
@jobs
@as_json
@click.pass_obj
def update_command(terminal: Terminal, **asked: Any) -> None:
    """Learn from further rows: earlier ones count as before.

    MODEL is a model file, or a ledger (.clgdb), to which the rows are added as one chunk, with the
    columns that it keeps. The same rows under the same --id are added once.
    """
    from ..jobs.updating import run_update

    run_update(terminal, asked)
