"""`collegium predict`: predictions with error bars for the rows of files."""

from __future__ import annotations

from typing import Any

import click

from ..options import MODEL, Names, as_json, columns, jobs, rows_options
from ..terminal import Terminal


@click.command("predict")
@MODEL
@rows_options(targets=False)
@columns
@click.option(
    "-o", "--output", default="-", show_default="CSV to the standard output", type=click.Path(),
    help="Where predictions go: .parquet, .arrow, .csv or .npy.",
)  # fmt: skip
@click.option("--interval", type=float, metavar="SHARE", help="Add lower and upper: 0.9.")
@click.option(
    "--level", type=click.Choice(["observation", "function"]), default="observation",
    show_default=True, help="Of a new observation, or of the function behind it.",
)  # fmt: skip
@click.option("--outside", is_flag=True, help="Add a column that tells extrapolations.")
@click.option("--exposure", metavar="NAME", help="Of counts: column of exposures.")
@click.option("--keep", type=Names(), default=(), help="Columns of numbers to copy.")
@jobs
@as_json
@click.pass_obj
def predict_command(terminal: Terminal, **asked: Any) -> None:
    """Predict the rows of DATA by MODEL.

    Columns are found by name. Predictions stand in the order of the rows.
    """
    from ..jobs.predicting import run_predict

    run_predict(terminal, asked)
