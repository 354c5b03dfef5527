"""`collegium report`: a page about a model, judged by rows whose target is known."""

from __future__ import annotations

from typing import Any

import click

from ..options import MODEL, as_json, jobs, role_options, rows_options
from ..options import columns as columns_option
from ..terminal import Terminal


@click.command("report")
@MODEL
@rows_options(targets=True)
@click.option("--data", "more", multiple=True, type=click.Path(allow_dash=True),
              metavar="DATA", help="The same as DATA.")  # fmt: skip
@role_options(known=True)
@columns_option
@click.option("-o", "--output", required=True, type=click.Path(), metavar="PAGE.html",
              help="The page to write.")  # fmt: skip
@click.option("--group", metavar="NAME", help="Compare coverage between levels of a column.")
@click.option("--stream", is_flag=True,
              help="Rows come in this order: predict each hundred, then learn.")  # fmt: skip
@click.option("--no-rows", is_flag=True, help="Leave out the ten worst rows.")
@click.option("--title", metavar="TEXT", help="The heading of the page.")
@click.option("--seed", type=int, default=0, show_default=True,
              help="Of the rows that are drawn, where there are many.")  # fmt: skip
@jobs
@as_json
@click.pass_obj
def report_command(terminal: Terminal, **asked: Any) -> None:
    """Write a page that says whether a model and its error bars are right.

    One HTML file of at most 300 kB: errors beside those of plain rules, coverage of intervals
    overall and by part of the rows, what each column does, where to measure next, the ten worst
    rows, and what was learnt. DATA are rows that the model has not learnt from.
    """
    from ..jobs.reporting import run_report

    run_report(terminal, asked)
