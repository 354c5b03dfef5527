"""`collegium serve`: a ledger behind HTTP, which learns while it answers."""

from __future__ import annotations

import click

from ..terminal import Terminal


@click.command("serve")
@click.argument("ledger", type=click.Path())
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True)
@click.option(
    "--token-file", type=click.Path(), metavar="FILE",
    help="Requests need the token in this file; or set COLLEGIUM_TOKEN.",
)  # fmt: skip
@click.pass_obj
def serve_command(
    terminal: Terminal, ledger: str, host: str, port: int, token_file: str | None
) -> None:
    """Answer predictions over HTTP, and learn what is sent, from the file LEDGER.

    What is acknowledged is on the disk. The page /docs lists the routes. Other addresses than
    127.0.0.1 need a token.
    """
    from ..jobs.serving import run_serve

    run_serve(terminal, ledger, host, port, token_file)
