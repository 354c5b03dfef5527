"""docs/benchmarks.md."""

from __future__ import annotations

import math

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
# collegium and its peers, side by side

The cost and accuracy of a single prediction: [answers.md](answers.md), with a picture.

Written by `make bench`; not edited by hand. Every line was measured in a process of its own, so
that memory is measured separately. X and y are standardised with the statistics of the training
rows, so predicting the mean of y gives RMSE 1 and NLPD 1.42. `fit` includes learning the
hyperparameters. CPU seconds are those of {threads}, without compiling and reading the data. *Peak*
is the largest resident memory, and in brackets the part of it that imports and data took before
`fit`. Sorted by NLPD (with t where there is no other); collegium in bold.

Each method is scored by its own predictive distribution, which is a normal for the peers and for
the exact GP; LightGBM quantiles and the quantile forest predict quantiles and have no density.
*With t* is their NLPD when a Student t replaces the normal, with one scale factor and one ν for all
rows, fitted to (y − mean)/sd of held-out rows: for boosted trees those that they use to stop early,
for the forest rows that a tree did not see, for the others a tenth of the training rows, at most
1,000, predicted by a second fit to the rest. For methods of quantiles sd is half of the central
68 %. *Pinball* is the mean loss of the quantiles at 5 %, 10 %, …, 95 %; the CRPS is twice its
integral over all levels (in closed form for normals, otherwise from 100 quantiles, interpolated
where a method predicts fewer). The *median |z|*, z = Φ⁻¹(F(y)), is .67 where error bars are right,
and smaller where most are too wide. The 95 % interval should also cover 95 % of the rows in each
third: *by width* of the interval (narrow · middle · wide; none where all have the same width) and
*by mean* (low · middle · high). The interval score (lower is better) is that of the 95 % interval.
–: not measured.
"""
CAPTIONS = {
    "bench_width.png": "Coverage of 95 % intervals, from the narrowest tenth to the widest",
    "bench_front.png": "Accuracy and time on kin40k and protein",
    "bench_overview.png": "NLPD and time on all data sets",
}
#: What a reader of a set's table should know.
NOTES = {
    "wine_red": "240 of the 1,599 rows are copies of others, so that one test row in seven is also "
    "a training row; a model without noise is certain of these, and right. collegium does not take "
    "copies as evidence that there is no noise. The next table excludes them.",
    "bike_hour": "Counts, standardised like other targets; docs/classification.md models them as "
    "counts.",
    "elevators": "Wang et al. (2019) report RMSE .394 and NLPD .62 for exact GPs, and Gyger et al. "
    ".392 / .518 (SGPR), .382 (SVGP), .387 (FITC) and .358 (VIF), on other splits of these rows, "
    "quoted, not rerun.",
    "pol": "y has eleven different values; densities of discrete y are those of its steps "
    "(docs/errors.md), which normals of the peers do not have.",
    "keggdirected": "Three rows in four are copies of others, nine in ten of these with the same y "
    "too, so that most test rows are also training rows: methods that remember rows are ahead, and "
    "collegium does not take copies as evidence that there is no noise. The next table excludes "
    "them.",
    "heaton_satellite": "Heaton et al. (2019) report, on this split, RMSE 1.53 (SPDE), 1.64 "
    "(NNGP), 1.68 (LatticeKrig) and 2.08 (laGP), quoted, not rerun.",
}
COLUMNS = (
    "method", "rows", "RMSE", "NLPD", "with t", "pinball", "CRPS", "median \\|z\\|",
    "95 % interval covers", "by width, %", "by mean, %", "interval score",
    "CPU s, fit + predict", "wall s", "peak GB",
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
    done = sorted((density(r), name) for name, r in results.items() if "RMSE" in r)
    rows = [cells(name, results[name]) for _, name in done]
    failed = {shown(n, METHODS): r["failed"] for n, r in results.items() if "failed" in r}
    return lines(COLUMNS, rows + without(failed, len(COLUMNS), at=2))


def density(row: dict) -> float:
    """NLPD to sort by: with the t where a method has no density of its own."""
    return row.get("NLPD", row.get("NLPD_t", math.inf))


def cells(name: str, row: dict) -> list[str]:
    rmse = f"{row['RMSE']:.4g}"
    if "RMSE_original" in row:
        rmse += f" ({row['RMSE_original']:.3g} {row['unit']})"
    return [
        label(name, row), training_rows(row, METHODS[name]), rmse,
        or_dash(row, "NLPD", decimals), or_dash(row, "NLPD_t", decimals),
        or_dash(row, "pinball", "{:.4f}".format), or_dash(row, "CRPS", "{:.4f}".format),
        or_dash(row, "median_z", "{:.2f}".format),
        percent(row["coverage"]), or_dash(row, "coverage_by_width", percents),
        or_dash(row, "coverage_by_mean", percents), f"{row['interval']:.3g}", cost(row),
        seconds(row["fit_wall_s"] + row["predict_wall_s"]), memory(row),
    ]  # fmt: skip


def label(name: str, row: dict) -> str:
    """Name a method; a subset that turned out to be all rows is called so."""
    if METHODS[name].group == "exact" and row["n_train"] == row["n_available"]:
        return "exact GP, all rows"
    return shown(name, METHODS)
