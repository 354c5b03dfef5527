"""`collegium demo`: fit and draw forty thousand rows of a robot arm."""

from __future__ import annotations

import click

from ..terminal import Terminal


@click.command("demo")
@click.option(
    "--rows", type=click.IntRange(min=100), default=40_000, show_default=True,
    help="A tenth of them are for testing.",
)  # fmt: skip
@click.option("--out", default="demo.png", show_default=True, help="Where the picture goes.")
@click.option("--jobs", default=2, show_default=True, help="Chunks of data worked on at once.")
@click.pass_obj
def demo_command(terminal: Terminal, rows: int, out: str, jobs: int) -> None:
    """Fit a committee to a robot arm, compare it with simple models, draw a picture.

    The picture needs matplotlib: pip install 'collegium[plot]'.
    """
    from ..jobs.showing import run_demo

    run_demo(terminal, rows, out, jobs)
