"""`collegium update`: let a model learn from further rows."""

from __future__ import annotations

from typing import Any

import click

from ..options import MODEL, as_json, columns, jobs, role_options, rows_options
from ..terminal import Terminal


@click.command("update")
@MODEL
@rows_options(targets=True)
@role_options(known=True)
@columns
@click.option("-o", "--output", type=click.Path(), help="Model file. By default MODEL is replaced.")
@click.option("--id", "chunk_id", metavar="NAME", help="A name for these rows, to forget them by.")
@jobs
@as_json
@click.pass_obj
def update_command(terminal: Terminal, **asked: Any) -> None:
    """Learn from further rows: earlier ones count as before."""
    from ..jobs.fitting import run_update

    run_update(terminal, asked)
