"""`collegium forget`: forget rows of a ledger, with a certificate."""

from __future__ import annotations

import click

from ..options import Names, as_json
from ..terminal import Terminal


@click.command("forget")
@click.argument("ledger", type=click.Path())
@click.option("--ids", type=Names(), default=(), help="Chunks, by their ids: May,June.")
@click.option("--where", metavar="SQL", help='Rows for which this holds: "customer = 7".')
@click.option("--reason", default="", help="Recorded with the event.")
@click.option("--relearn", is_flag=True, help="Learn kernel, anchors and scaling again, without.")
@as_json
@click.pass_obj
def forget_command(
    terminal: Terminal, ledger: str, ids: tuple[str, ...], where: str | None, reason: str,
    relearn: bool,
) -> None:  # fmt: skip
    """Forget rows of the file LEDGER; answers with the certificate.

    The model is then, to the last bit, that which never had them on the same basis. The
    certificate says what still remembers them, and --relearn clears that.
    """
    from ..jobs.ledgers import run_forget

    run_forget(terminal, ledger, ids, where, reason, relearn=relearn)
