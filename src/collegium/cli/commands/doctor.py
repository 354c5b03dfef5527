"""`collegium doctor`: what this machine has, and whether it computes right."""

from __future__ import annotations

import click

from ..options import as_json
from ..terminal import Terminal


@click.command("doctor")
@click.option("--compile", "compiles", is_flag=True, help="Compile everything, for containers.")
@as_json
@click.pass_obj
def doctor_command(terminal: Terminal, compiles: bool) -> None:
    """Check this installation.

    Versions, BLAS, threads, memory, the cache of compiled functions, SQLite, libraries for files
    and clusters; then a self-test of some seconds. Exit code 1 where it fails.
    """
    from ..jobs.checking import run_doctor

    run_doctor(terminal, compiles=compiles)
