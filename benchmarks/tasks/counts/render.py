"""The counts of docs/classification.md."""

from __future__ import annotations

from benchmarks.harness.markdown import cost, lines, percent, shown, unanswered, without
from benchmarks.tasks.counts.plan import METHODS

HEAD = """\
## Counts: bike_hour

Bicycles hired per hour; {n:,} rows × {d} columns, {n_test:,} predictions. Intervals of the peers
are quantiles of a Poisson with the predicted mean; the counts are far more dispersed.
"""
COLUMNS = (
    "method", "Poisson deviance per row", "RMSE", "95 % interval covers", "mean width",
    "interval score", "CPU s, fit + predict",
)  # fmt: skip


def sections(found: dict[str, dict]) -> list[str]:
    done = [r for r in found.values() if any("deviance" in row for row in r.values())]
    return [section(results) for results in done]


def section(results: dict) -> str:
    done = sorted((r["deviance"], name) for name, r in results.items() if "deviance" in r)
    row = results[done[0][1]]
    rows = [cells(name, results[name]) for _, name in done]
    head = HEAD.format(n=row["n_available"], d=row["d"], n_test=row["n_test"])
    full = rows + without(unanswered(results, METHODS), len(COLUMNS))
    return f"{head}\n{lines(COLUMNS, full)}\n"


def cells(name: str, row: dict) -> list[str]:
    return [
        shown(name, METHODS), f"{row['deviance']:.2f}", f"{row['RMSE']:.1f}",
        percent(row["coverage"]), f"{row['width']:.0f}", f"{row['interval']:.0f}", cost(row),
    ]  # fmt: skip
