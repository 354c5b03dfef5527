"""`collegium score`: how good predictions are on rows whose target is known."""

from __future__ import annotations

from typing import Any

import click

from ..options import MODEL, as_json, columns, jobs, role_options, rows_options
from ..terminal import Terminal


@click.command("score")
@MODEL
@rows_options(targets=True)
@role_options(known=True)
@columns
@click.option(
    "--interval", type=float, default=0.95, show_default=True, metavar="SHARE",
    help="Probability of the interval whose coverage is counted.",
)  # fmt: skip
@jobs
@as_json
@click.pass_obj
def score_command(terminal: Terminal, **asked: Any) -> None:
    """Compare predictions with the target in DATA.

    Numbers: RMSE, MAE, R², NLPD (minus the mean log density) and the coverage of intervals.
    Labels: log loss, Brier score and accuracy.
    """
    from ..jobs.scoring import run_score

    run_score(terminal, asked)
