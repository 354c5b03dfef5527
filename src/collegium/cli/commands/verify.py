"""`collegium verify`: compare everything in a ledger with its hashes."""

from __future__ import annotations

import click

from ..options import as_json
from ..terminal import Terminal


@click.command("verify")
@click.argument("ledger", type=click.Path())
@click.option("--head", metavar="HASH", help="The head of an earlier time, noted elsewhere.")
@as_json
@click.pass_obj
def verify_command(terminal: Terminal, ledger: str, head: str | None) -> None:
    """Compare rows, events and the model of the file LEDGER with their hashes."""
    from ..jobs.ledgers import run_verify

    run_verify(terminal, ledger, head)
