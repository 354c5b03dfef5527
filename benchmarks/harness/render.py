"""benchmarks/results/*.json -> docs/benchmarks.md and its pictures.

python benchmarks/render.py [--results folder] [--docs folder]
"""

from __future__ import annotations

import argparse
import ast
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from plan import METHODS, SETS, Method

HERE = Path(__file__).parent
HEAD = """\
# Ours and its peers, side by side

Written by `make bench`; not edited by hand. Every line is one process, so memory is its own. X
and y are standardised with the training rows' statistics, so RMSE 1 and NLPD 1.42 are what the
mean of y alone gives. `fit` includes learning the hyperparameters. CPU seconds are those of
{threads}; compiling and reading the data are not in them. The interval score is that of the 95
% interval (lower is better); *peak* is the largest resident memory, and in brackets what
imports and data took of it before `fit`. Sorted by NLPD; ours in bold.
"""
#: What a reader of a set's table should know.
NOTES = {
    "wine_red": "240 of the 1,599 rows are copies of others, so that one test row in seven is also "
    "a training row; a model that takes the noise for nothing is certain of these, and right. "
    "Ours does not take copies as proof that there is no noise. The next table is without them.",
    "heaton_satellite": "Heaton et al. (2019) give, on this split, RMSE 1.53 (SPDE), 1.64 (NNGP), "
    "1.68 (LatticeKrig) and 2.08 (laGP), recalled, not re-run.",
}
COLUMNS = (
    "method", "rows", "RMSE", "NLPD", "95 % interval holds", "interval score",
    "CPU s, fit + predict", "wall s", "peak GB",
)  # fmt: skip


def load(folder: Path, sets: Sequence[str] = SETS) -> dict[str, dict]:
    """Results by set, in the plan's order."""
    files = {name: folder / f"{name}.json" for name in sets}
    return {name: json.loads(path.read_text()) for name, path in files.items() if path.exists()}


def shown(name: str, row: dict) -> str:
    """The name in a table: ours in bold; a subset that turned out to be all rows is called so."""
    group = METHODS[name].group
    if group == "exact" and "n_train" in row and row["n_train"] == row["n_available"]:
        return "exact GP, all rows"
    return f"**{name}**" if group in ("ours", "bare") else name


def cells(name: str, row: dict) -> list[str]:
    rows = f"{row['n_train']:,}"
    if row["n_train"] < row["n_available"] and METHODS[name].group == "peers":
        rows += " (random subset)"
    rmse = f"{row['RMSE']:.4g}"
    if "RMSE_original" in row:
        rmse += f" ({row['RMSE_original']:.3g} {row['unit']})"
    return [
        shown(name, row), rows, rmse, f"{row['NLPD']:.3f}".replace("-", "−"),
        f"{100 * row['coverage']:.1f} %", f"{row['interval']:.3g}",
        f"{seconds(row['fit_cpu_s'])} + {seconds(row['predict_cpu_s'])}",
        seconds(row["fit_wall_s"] + row["predict_wall_s"]),
        f"{row['peak_gb']:.2f} ({row['baseline_gb']:.2f})",
    ]  # fmt: skip


def seconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}"


def table(results: dict) -> str:
    done = sorted((r["NLPD"], name) for name, r in results.items() if "NLPD" in r)
    lines = [cells(name, results[name]) for _, name in done]
    failed = [name for name, r in results.items() if "failed" in r]
    lines += [[shown(name, {}), "", results[name]["failed"], *[""] * 6] for name in failed]
    head = [list(COLUMNS), ["---"] * len(COLUMNS)]
    return "\n".join("| " + " | ".join(line) + " |" for line in head + lines)


def section(name: str, results: dict) -> str:
    done = [row for row in results.values() if "n_available" in row]
    words = ""
    if done:
        n, n_test, d = (done[0][key] for key in ("n_available", "n_test", "d"))
        words = f"{n:,} rows × {d} columns, {n_test:,} predictions; {done[0]['split']}.\n\n"
    note = f"{NOTES[name]}\n\n" if name in NOTES else ""
    return f"## {name}\n\n{words}{note}{table(results)}\n"


def about(module: str) -> str:
    """The first paragraph of a peer's file, read without importing it."""
    source = (HERE / "peers" / f"{module}.py").read_text()
    paragraphs = (ast.get_docstring(ast.parse(source)) or "").split("\n\n")
    return " ".join(" ".join(paragraphs).split())


def what_was_run(found: dict[str, dict], methods: Mapping[str, Method] = METHODS) -> str:
    run = {name for results in found.values() for name in results}
    lines = []
    for name in (n for n in methods if n in run):
        method = methods[name]
        given = ", ".join(f"{k}={v!r}" for k, v in method.arguments.items())
        most = f" At most {method.max_rows:,} random rows." if method.max_rows else ""
        lines.append(f"- {name}: {about(method.module)}{f' ({given})' if given else ''}{most}")
    return "## What was run\n\n" + "\n".join(lines) + "\n"


def where(found: dict[str, dict]) -> str:
    """Machines and versions of all results; usually one of each."""
    rows = [row for results in found.values() for row in results.values()]
    machines = sorted({_machine(row["machine"]) for row in rows if "machine" in row})
    versions: dict[str, set[str]] = {}
    for row in rows:
        for package, number in row.get("versions", {}).items():
            versions.setdefault(package, set()).add(number)
    listed = ", ".join(f"{p} {' and '.join(sorted(v))}" for p, v in sorted(versions.items()))
    days = sorted({row["machine"]["date"] for row in rows if "machine" in row})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"## Machine and versions\n\n{'; '.join(machines)}. {when}. {listed}.\n"


def _machine(m: dict) -> str:
    cores = f"{m['cores']} cores, {m['memory_gb']} GB"
    return f"{m['cpu']}, {cores}, {m['system']}, Python {m['python']}"


def threads(found: dict[str, dict]) -> str:
    rows = [row for results in found.values() for row in results.values()]
    counts = sorted({row["configuration"]["threads"] for row in rows if "configuration" in row})
    return "one thread" if counts == [1] else f"{' or '.join(map(str, counts))} threads"


def document(found: dict[str, dict], pictures: list[str]) -> str:
    links = [f"![{words}](pictures/{file})" for file, words in CAPTIONS.items() if file in pictures]
    sections = [section(name, results) for name, results in found.items()]
    head = HEAD.format(threads=threads(found))
    parts = [head, "\n\n".join(links) + "\n", *sections, what_was_run(found), where(found)]
    return "\n".join(parts)


CAPTIONS = {
    "bench_front.png": "Accuracy and time on kin40k and protein",
    "bench_overview.png": "NLPD and time on all sets",
}


def main() -> None:
    from pictures import draw  # matplotlib, for those who draw

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--docs", type=Path, default=HERE.parent / "docs")
    options = parser.parse_args()
    found = load(options.results)
    if not found:
        print(f"nothing to render: no results in {options.results}")
        return
    pictures = draw(found, options.docs / "pictures")
    (options.docs / "benchmarks.md").write_text(document(found, pictures))


if __name__ == "__main__":
    main()
