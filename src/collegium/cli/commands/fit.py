"""`collegium fit`: learn a model from rows, and write it to a file."""

from __future__ import annotations

from typing import Any

import click

from ..options import Duration, Setting, as_json, columns, jobs, role_options, rows_options
from ..terminal import Terminal


@click.command("fit")
@rows_options(targets=True)
@role_options(known=False)
@columns
@click.option("-o", "--output", required=True, type=click.Path(), help="Model file (.clg).")
@click.option("--classes", is_flag=True, help="The target is a label: learn probabilities.")
@click.option("--likelihood", metavar="NAME", help="Such as poisson, student-t, gamma, softmax.")
@click.option("--time", type=Duration(), help="About how long learning may take: 90s, 5m, 1h.")
@click.option("--memory", metavar="SIZE", help="Memory that learning may take: 2GB.")
@click.option("--test", type=float, metavar="SHARE", help="Hold out this share of rows, to score.")
@click.option("--store", type=click.Path(), help="Folder for rows that do not fit into memory.")
@click.option("--engine", metavar="dask://HOST:PORT", help="Cluster that adds up messages.")
@click.option("--set", "settings", type=Setting(), multiple=True, help="Any other argument.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of random choices.")
@jobs
@as_json
@click.pass_obj
def fit_command(terminal: Terminal, **asked: Any) -> None:
    """Learn a model from the rows of DATA.

    DATA: files (CSV, Parquet, Arrow IPC, .npy), a glob in quotes, or - for CSV from a pipe.
    """
    from ..jobs.fitting import run_fit

    run_fit(terminal, asked)
