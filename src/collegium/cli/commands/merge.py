"""`collegium merge`: add other ledgers to one."""

from __future__ import annotations

import click

from ..options import as_json
from ..terminal import Terminal


@click.command("merge")
@click.argument("ledger", type=click.Path())
@click.argument("others", nargs=-1, required=True, type=click.Path())
@click.option("-o", "--output", type=click.Path(), help="A new ledger, in place of LEDGER itself.")
@click.option("--reason", default="", help="Recorded with the event.")
@as_json
@click.pass_obj
def merge_command(
    terminal: Terminal, ledger: str, others: tuple[str, ...], output: str | None, reason: str
) -> None:
    """Add the chunks of OTHERS to the file LEDGER, all of them or none.

    All have to be on one basis: begun from the same model, and not relearnt since.
    """
    from ..jobs.ledgers import run_merge

    run_merge(terminal, ledger, others, reason, output)
