"""docs/benchmarks.md."""

from __future__ import annotations

from benchmarks.harness.markdown import (
    cost,
    decimals,
    lines,
    memory,
    or_dash,
    percent,
    percents,
    seconds,
    shown,
    training_rows,
    without,
)
from benchmarks.tasks.regression.plan import METHODS

HEAD = """\
# Ours and its peers, side by side

What a single prediction costs, and what it is worth: [answers.md](answers.md), with a picture.

Written by `make bench`; not edited by hand. Every line is one process, so memory is its own. X
and y are standardised with the training rows' statistics, so RMSE 1 and NLPD 1.42 are what the
mean of y alone gives. `fit` includes learning the hyperparameters. CPU seconds are those of
{threads}; compiling and reading the data are not in them. *Peak* is the largest resident
memory, and in brackets what imports and data took of it before `fit`. Sorted by NLPD; ours in
bold.

Each method is scored by its own predictive distribution, which of the peers and of the exact GP is
a normal. *With t* is the NLPD of these with a Student t in its place, one scale factor and one ν
for all rows, fitted to (y − mean)/sd of rows held out of the training: LightGBM's own, which it
stops by, and for the others a tenth, at most 1,000, answered by a second fit to the rest. The
*median |z|*, z = Φ⁻¹(F(y)), is .67 where error bars are right, less where most are too wide. The
95 % interval should also hold 95 % of the rows of each third: *by width* of the interval (narrow ·
middle · wide; none where there is one width for all) and *by mean* (low · middle · high). The
interval score (lower is better) is that of the 95 % interval. –: not measured.
"""
CAPTIONS = {
    "bench_width.png": "How often 95 % intervals hold, from the narrowest tenth to the widest",
    "bench_front.png": "Accuracy and time on kin40k and protein",
    "bench_overview.png": "NLPD and time on all sets",
}
#: What a reader of a set's table should know.
NOTES = {
    "wine_red": "240 of the 1,599 rows are copies of others, so that one test row in seven is also "
    "a training row; a model that takes the noise for nothing is certain of these, and right. "
    "Ours does not take copies as proof that there is no noise. The next table is without them.",
    "bike_hour": "Counts as they are, standardised; docs/classification.md has them as counts.",
    "heaton_satellite": "Heaton et al. (2019) give, on this split, RMSE 1.53 (SPDE), 1.64 (NNGP), "
    "1.68 (LatticeKrig) and 2.08 (laGP), recalled, not re-run.",
}
COLUMNS = (
    "method", "rows", "RMSE", "NLPD", "with t", "median \\|z\\|", "95 % interval holds",
    "by width, %", "by mean, %", "interval score", "CPU s, fit + predict", "wall s", "peak GB",
)  # fmt: skip


def sections(found: dict[str, dict]) -> list[str]:
    return [section(name, results) for name, results in found.items()]


def section(name: str, results: dict) -> str:
    done = [row for row in results.values() if "n_available" in row]
    words = ""
    if done:
        n, n_test, d = (done[0][key] for key in ("n_available", "n_test", "d"))
        words = f"{n:,} rows × {d} columns, {n_test:,} predictions; {done[0]['split']}.\n\n"
    note = f"{NOTES[name]}\n\n" if name in NOTES else ""
    return f"## {name}\n\n{words}{note}{table(results)}\n"


def table(results: dict) -> str:
    done = sorted((r["NLPD"], name) for name, r in results.items() if "NLPD" in r)
    rows = [cells(name, results[name]) for _, name in done]
    failed = {shown(n, METHODS): r["failed"] for n, r in results.items() if "failed" in r}
    return lines(COLUMNS, rows + without(failed, len(COLUMNS), at=2))


def cells(name: str, row: dict) -> list[str]:
    rmse = f"{row['RMSE']:.4g}"
    if "RMSE_original" in row:
        rmse += f" ({row['RMSE_original']:.3g} {row['unit']})"
    return [
        label(name, row), training_rows(row, METHODS[name]), rmse, decimals(row["NLPD"]),
        or_dash(row, "NLPD_t", decimals), or_dash(row, "median_z", "{:.2f}".format),
        percent(row["coverage"]), or_dash(row, "coverage_by_width", percents),
        or_dash(row, "coverage_by_mean", percents), f"{row['interval']:.3g}", cost(row),
        seconds(row["fit_wall_s"] + row["predict_wall_s"]), memory(row),
    ]  # fmt: skip


def label(name: str, row: dict) -> str:
    """A subset that turned out to be all rows is called so."""
    if METHODS[name].group == "exact" and row["n_train"] == row["n_available"]:
        return "exact GP, all rows"
    return shown(name, METHODS)
