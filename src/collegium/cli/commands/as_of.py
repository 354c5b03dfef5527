"""`collegium as-of`: the model of a ledger as it was at a time."""

from __future__ import annotations

import click

from ..options import as_json
from ..terminal import Terminal


@click.command("as-of")
@click.argument("ledger", type=click.Path())
@click.argument("when")
@click.option("-o", "--output", required=True, type=click.Path(), help="A model file (.clg).")
@as_json
@click.pass_obj
def as_of_command(terminal: Terminal, ledger: str, when: str, output: str) -> None:
    """Write the model of the file LEDGER as it was at WHEN.

    WHEN is a date (its end), a time (UTC), the number of an event, or "now". Rows that were
    forgotten since are not in it.
    """
    from ..jobs.ledgers import run_as_of

    run_as_of(terminal, ledger, when, output)
