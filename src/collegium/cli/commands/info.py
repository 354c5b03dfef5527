"""`collegium info`: what a model file holds."""

from __future__ import annotations

import click

from ..options import MODEL, as_json
from ..terminal import Terminal


@click.command("info")
@MODEL
@click.option("--summary", is_flag=True, help="Also what was found, in words; takes seconds.")
@as_json
@click.pass_obj
def info_command(terminal: Terminal, model: str, summary: bool) -> None:
    """Say what the model file MODEL holds."""
    from ..jobs.describing import run_info

    run_info(terminal, model, summary=summary)
