"""`collegium diff`: what differs between two model files."""

from __future__ import annotations

import click

from ..options import as_json
from ..terminal import Terminal


@click.command("diff")
@click.argument("a", type=click.Path())
@click.argument("b", type=click.Path())
@as_json
@click.pass_obj
def diff_command(terminal: Terminal, a: str, b: str) -> None:
    """Say what differs between the model files A and B.

    Arguments, columns, kernel, noise, anchors, rows, basis and versions.
    """
    from ..jobs.describing import run_diff

    run_diff(terminal, a, b)
