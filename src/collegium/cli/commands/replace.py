"""`collegium replace`: other rows in place of a chunk's."""

from __future__ import annotations

from typing import Any

import click

from ..options import as_json, at_option, reason_option, rows_options
from ..terminal import Terminal


@click.command("replace")
@click.argument("model", metavar="LEDGER", type=click.Path())
@rows_options(targets=True)
@click.option("--id", "chunk_id", required=True, metavar="NAME", help="The chunk to replace.")
@click.option("--weight", metavar="NAME", help="Column of weights.")
@click.option("--exposure", metavar="NAME", help="Column of exposures.")
@at_option
@reason_option
@as_json
@click.pass_obj
def replace_command(terminal: Terminal, **asked: Any) -> None:
    """Replace a chunk of the file LEDGER by the rows of DATA, as if these had come in its place.

    The earlier rows stay in the file for `as-of`, until they are forgotten.
    """
    from ..jobs.ledgers import run_replace

    run_replace(terminal, asked)
