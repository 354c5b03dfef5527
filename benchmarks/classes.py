"""Classes, counts and outliers: ours and its peers, every method in a process of its own.

python benchmarks/classes.py ../shared/data [--sets banana digits] [--methods "collegium*"]

Results are stored as they come, in benchmarks/results_classes/<set>.json, and are not run again
without --again; docs/classification.md is rendered from them. --quick: 500 training rows, to see
that everything runs; nothing is rendered.
"""

from __future__ import annotations

import argparse

from bench import HERE, Survey, drive, parser
from classes_plan import BUDGET_OF, FILES, METHODS, SETS

OUT = HERE / "results_classes"
QUICK_ROWS = 500


def words(row: dict) -> str:
    if "fit_cpu_s" not in row:
        return row.get("skipped") or row["failed"]
    if "log_loss" in row:
        said = f"right {100 * row['accuracy']:.2f} %  log loss {row['log_loss']:.4f}  "
        said += f"ECE {row['ece']:.3f}  Brier {row['brier']:.4f}"
    elif "deviance" in row:
        said = f"deviance {row['deviance']:.2f}  covers {100 * row['coverage']:.1f} %  "
        said += f"width {row['width']:.1f}"
    else:
        said = f"RMSE {row['RMSE']:.4f}  covers {100 * row['coverage']:.1f} %"
    cost = f"CPU {row['fit_cpu_s']:.1f} + {row['predict_cpu_s']:.1f} s  {row['peak_gb']:.2f} GB"
    return f"{said}  {cost}  {row['n_train']:,} rows"


def survey(options: argparse.Namespace) -> Survey:
    rows = ["--rows", str(QUICK_ROWS)] if options.quick else []

    def given(method: str, results: dict) -> list[str] | None:
        if METHODS[method].module != "classes_gp":
            return rows
        seconds = results.get(BUDGET_OF, {}).get("fit_cpu_s")
        return None if seconds is None else [*rows, "--budget", str(seconds)]

    return Survey(SETS, METHODS, FILES, words, "classes_one.py", given)


def main() -> None:
    own = parser(__doc__, OUT)
    own.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS} training rows")
    options = own.parse_args()
    if options.quick and options.out == OUT:
        options.out = HERE / "results_classes_quick"
    drive(survey(options), options)
    if not options.quick:
        from classes_render import render  # matplotlib, for those who draw

        render(options.out, HERE.parent / "docs")


if __name__ == "__main__":
    main()
