"""The outliers of docs/classification.md."""

from __future__ import annotations

from benchmarks.harness.markdown import cost, decimals, lines, percent, shown, unanswered, without
from benchmarks.tasks.outliers.plan import METHODS

HEAD = """\
## Outliers: kin8nm

A tenth of the training targets have an error of ten standard deviations. Test rows are clean; y
is in standard deviations; the interval is for a new target.
"""
COLUMNS = (
    "method",
    "training targets",
    "RMSE",
    "NLPD",
    "95 % interval covers",
    "CPU s, fit + predict",
)


def sections(found: dict[str, dict]) -> list[str]:
    """Render one table for all sets."""
    if not found:
        return []
    rows, absent = [], {}
    for name, results in found.items():
        targets = "with outliers" if name.endswith("_outliers") else "clean"
        rows += [cells(m, targets, row) for m, row in results.items() if "RMSE" in row]
        absent |= unanswered(results, METHODS)
    return [f"{HEAD}\n{lines(COLUMNS, rows + without(absent, len(COLUMNS)))}\n"]


def cells(method: str, targets: str, row: dict) -> list[str]:
    return [
        shown(method, METHODS), targets, f"{row['RMSE']:.4f}", decimals(row["NLPD"]),
        percent(row["coverage"]), cost(row),
    ]  # fmt: skip
