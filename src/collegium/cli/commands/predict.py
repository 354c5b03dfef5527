"""`collegium predict`: predictions with error bars, for the rows of files or as a map."""

from __future__ import annotations

from typing import Any

import click

from ..options import MODEL, Names, Numbers, Setting, as_json, columns, jobs, rows_options
from ..terminal import Terminal


@click.command("predict")
@MODEL
@rows_options(targets=False)
@columns
@click.option(
    "-o", "--output", default="-", show_default="CSV to the standard output", type=click.Path(),
    help="Where predictions go: .parquet, .arrow, .csv or .npy; a map: .nc, .tif, .npz or .png.",
)  # fmt: skip
@click.option("--interval", type=float, metavar="SHARE", help="Add lower and upper: 0.9.")
@click.option(
    "--level", type=click.Choice(["observation", "function"]), default="observation",
    show_default=True, help="Of a new observation, or of the function behind it.",
)  # fmt: skip
@click.option("--outside", is_flag=True, help="Add a column that tells extrapolations.")
@click.option(
    "--exposure", metavar="NAME", help="Of counts: column of exposures; of a map, a number."
)
@click.option("--keep", type=Names(), default=(), help="Columns of numbers to copy.")
@click.option(
    "--grid", type=Numbers(), metavar="STEP",
    help="Map two columns (-x, or the first two) in place of DATA, by one step or two: 1,2.",
)  # fmt: skip
@click.option(
    "--region", type=Numbers(), metavar="WEST,SOUTH,EAST,NORTH",
    help="Ends of a map. By default the range of the rows.",
)  # fmt: skip
@click.option(
    "--at", type=Setting(), multiple=True, metavar="NAME=VALUE",
    help="Of a map: another column's value. By default its median or most frequent level.",
)  # fmt: skip
@click.option("--crs", metavar="NAME", help="Of a map: its coordinates, such as EPSG:32618.")
@click.option("--units", metavar="WORD", help="Of a map: the units of what is predicted.")
@jobs
@as_json
@click.pass_obj
def predict_command(terminal: Terminal, **asked: Any) -> None:
    """Predict the rows of DATA by MODEL.

    Columns are found by name. Predictions stand in the order of the rows. With --grid a map of
    means and standard deviations is written, and there is no DATA.
    """
    if asked["grid"] is not None:
        from ..jobs.mapping import run_map

        return run_map(terminal, asked)
    for name in ("region", "at", "crs", "units"):
        if asked[name]:
            raise click.UsageError(f"--{name}: this is of maps: give --grid STEP too")
    from ..jobs.predicting import run_predict

    run_predict(terminal, asked)
