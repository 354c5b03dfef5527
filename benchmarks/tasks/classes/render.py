"""benchmarks/results_classes/*.json -> docs/classification.md and its pictures.

python benchmarks/classes_render.py [--results folder] [--docs folder]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from classes_plan import CLASSES, COUNTS, METHODS, OUTLIERS, SETS
from render import load, seconds, threads, what_was_run, where

HERE = Path(__file__).parent
HEAD = """\
# Classes, counts and outliers

Written by `make bench-classes`; not edited by hand. Every line is one process, so memory is its
own. A random tenth of the rows is for testing; X is standardised with the training rows'
statistics. Log loss is the mean of −log p of the true class (lower is better; probabilities below
1e-15 count as that); Brier is Σₖ (pₖ − 1[y = k])², so between 0 and 2; the expected calibration
error compares the probability of the class that is predicted with how often it is right, in 15
bins; *sureness* is the mean of that probability: below the accuracy is under-confident, above it
over-confident. CPU seconds are those of {threads}; compiling and reading the data are not in
them. Sorted by log loss; ours in bold. The sets with fewer than 2,000 training rows are one
chunk, where ways to cut and to sweep are all the same.
"""
COLUMNS = (
    "method", "rows", "accuracy", "log loss", "Brier", "calibration error", "sureness", "sweeps",
    "CPU s, fit + predict", "peak GB",
)  # fmt: skip
COUNT_COLUMNS = (
    "method", "Poisson deviance a row", "RMSE", "95 % interval holds", "mean width",
    "interval score", "CPU s, fit + predict",
)  # fmt: skip
ROBUST_COLUMNS = (
    "method",
    "training targets",
    "RMSE",
    "NLPD",
    "95 % interval holds",
    "CPU s, fit + predict",
)
COUNT_WORDS = """\
## Counts: bike_hour

Bicycles hired in an hour; {n:,} rows × {d} columns, {n_test:,} predictions. Intervals of the peers
are quantiles of a Poisson with the predicted mean: hires are far more spread than that.
"""
ROBUST_WORDS = """\
## Outliers: kin8nm

A tenth of the training targets have an error of ten standard deviations. Test rows are clean, y
in standard deviations; the interval is that of a new target.
"""
CAPTIONS = {
    "classes_time.png": "Log loss against CPU time",
    "classes_reliability.png": "How often a class is right against the probability it was given",
}


def shown(name: str) -> str:
    return f"**{name}**" if METHODS[name].group == "ours" else name


def cost(row: dict) -> str:
    return f"{seconds(row['fit_cpu_s'])} + {seconds(row['predict_cpu_s'])}"


def lines(columns: tuple[str, ...], rows: list[list[str]]) -> str:
    head = [list(columns), ["---"] * len(columns)]
    return "\n".join("| " + " | ".join(row) + " |" for row in head + rows)


def table(results: dict) -> str:
    done = sorted((r["log_loss"], name) for name, r in results.items() if "log_loss" in r)
    rows = [_cells(name, results[name]) for _, name in done]
    return lines(COLUMNS, rows + _without(results, len(COLUMNS)))


def _cells(name: str, row: dict) -> list[str]:
    rows = f"{row['n_train']:,}"
    if row["n_train"] < row["n_available"]:
        rows += " (random subset)"
    return [
        shown(name), rows, f"{100 * row['accuracy']:.1f} %", f"{row['log_loss']:.4f}",
        f"{row['brier']:.4f}", f"{row['ece']:.3f}", f"{100 * row['top']:.1f} %",
        f"{row['sweeps']}" if row.get("chunks", 1) > 1 else "", cost(row),
        f"{row['peak_gb']:.2f} ({row['baseline_gb']:.2f})",
    ]  # fmt: skip


def _without(results: dict, width: int) -> list[list[str]]:
    """Methods that gave no answer, and why."""
    said = {name: row.get("failed") or row.get("skipped") for name, row in results.items()}
    return [[shown(name), words, *[""] * (width - 2)] for name, words in said.items() if words]


def of_classes(name: str, results: dict) -> str:
    row = next(row for row in results.values() if "log_loss" in row)
    n, n_test, d, K = (row[key] for key in ("n_available", "n_test", "d", "classes"))
    words = f"{n:,} rows × {d} columns, {K} classes, {n_test:,} predictions."
    return f"## {name}\n\n{words}\n\n{table(results)}\n"


def of_counts(results: dict) -> str:
    done = sorted((r["deviance"], name) for name, r in results.items() if "deviance" in r)
    row = results[done[0][1]]
    rows = [
        [
            shown(name), f"{value:.2f}", f"{r['RMSE']:.1f}", f"{100 * r['coverage']:.1f} %",
            f"{r['width']:.0f}", f"{r['interval']:.0f}", cost(r),
        ]
        for value, name in done
        for r in [results[name]]
    ]  # fmt: skip
    head = COUNT_WORDS.format(n=row["n_available"], d=row["d"], n_test=row["n_test"])
    return f"{head}\n{lines(COUNT_COLUMNS, rows + _without(results, len(COUNT_COLUMNS)))}\n"


def of_outliers(found: dict[str, dict]) -> str:
    rows, absent = [], {}
    for name in OUTLIERS:
        for method, r in found.get(name, {}).items():
            if "RMSE" not in r:
                absent[method] = r
                continue
            rows.append(
                [
                    shown(method), "spoilt" if name.endswith("_outliers") else "clean",
                    f"{r['RMSE']:.4f}", f"{r['NLPD']:.3f}".replace("-", "−"),
                    f"{100 * r['coverage']:.1f} %", cost(r),
                ]
            )  # fmt: skip
    full = rows + _without(absent, len(ROBUST_COLUMNS))
    return f"{ROBUST_WORDS}\n{lines(ROBUST_COLUMNS, full)}\n"


def document(found: dict[str, dict], pictures: list[str]) -> str:
    links = [f"![{words}](pictures/{file})" for file, words in CAPTIONS.items() if file in pictures]
    parts = [HEAD.format(threads=threads(found)), "\n\n".join(links) + "\n"]
    parts += [of_classes(name, found[name]) for name in CLASSES if name in found]
    parts += [of_counts(found[name]) for name in COUNTS if name in found]
    if any(name in found for name in OUTLIERS):
        parts.append(of_outliers(found))
    return "\n".join([*parts, what_was_run(found, METHODS), where(found)])


def render(results: Path, docs: Path) -> None:
    from classes_pictures import draw

    found = load(results, SETS)
    if not found:
        print(f"nothing to render: no results in {results}")
        return
    pictures = draw({name: found[name] for name in CLASSES if name in found}, docs / "pictures")
    (docs / "classification.md").write_text(document(found, pictures))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results_classes")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    options = parser.parse_args()
    render(options.results, options.docs)


if __name__ == "__main__":
    main()
