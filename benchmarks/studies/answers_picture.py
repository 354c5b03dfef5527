"""Picture of `answers`, error against milliseconds per row, and its table in docs/answers.md."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, NullFormatter

from benchmarks.harness.driver import RESULTS
from benchmarks.harness.pictures import STYLE, save
from benchmarks.tasks.regression.pictures import EXACT, OURS, PEER_STYLES

SCORES = ("RMSE", "NLPD")


def draw(found: dict[str, dict], folder: Path) -> str:
    """Draw one row of panels per score, one column per set."""
    found = with_bench(found)
    sets = [name for name in found if any(one["lines"] for one in found[name].values())]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            2, len(sets), figsize=(3.3 * len(sets), 6.2), squeeze=False, layout="constrained"
        )
        for column, name in zip(axes.T, sets):
            for axis, score in zip(column, SCORES):
                _panel(axis, found[name], score)
            column[0].set_title(name)
        for row, score in zip(axes, SCORES):
            row[0].set_ylabel(score)
        figure.supxlabel("CPU milliseconds a row, mean and standard deviation", fontsize=9)
        handles: dict = {}
        for axis in axes.flat:
            handles |= dict(zip(*reversed(axis.get_legend_handles_labels())))
        figure.legend(
            list(handles.values()), list(handles), loc="outside upper center", ncols=5,
            frameon=False,
        )  # fmt: skip
        return save(figure, folder / "answers_front.png")


def _panel(axis: plt.Axes, found: dict, score: str) -> None:
    axis.set_xscale("log")
    axis.set_xlim(0.007, 8.0)
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.grid(alpha=0.25)
    lines = lines_of(found, "collegium")
    near = [one for one in lines if not one["setting"].startswith("AnswerTime")]
    fast = [one for one in lines if one["setting"].startswith("AnswerTime")]
    _group(axis, near, score, "ours, nearest rows", OURS, "o-")
    _group(axis, fast, score, "ours, AnswerTime", OURS, "*-")
    _group(axis, lines_of(found, "collegium, refined"), score, "ours, refined", "#7a0000", "s-")
    bare = lines_of(found, "collegium, anchors alone")
    _group(axis, bare, score, "ours, anchors alone", OURS, "x")
    exact = [one for name in found if name.startswith("exact") for one in lines_of(found, name)]
    _group(axis, exact, score, "exact GP on random subsets", EXACT, "o--")
    for name, (colour, marker) in PEER_STYLES.items():
        _group(axis, lines_of(found, name), score, name, colour, marker)
    if score == "RMSE" and lines:
        means = sorted({(one["ms_mean"], one["RMSE"]) for one in lines})
        axis.plot(*zip(*means), "o", color=OURS, alpha=0.3, label="ours, means alone", markersize=4)


def lines_of(found: dict, method: str) -> list[dict]:
    return found.get(method, {}).get("lines", [])


def with_bench(found: dict[str, dict]) -> dict[str, dict]:
    """Peers that were not run here, as `make bench` stored them: first calls, on other days."""
    for name, own in found.items():
        path = RESULTS / "regression" / f"{name}.json"
        stored = json.loads(path.read_text()) if path.exists() else {}
        for method in PEER_STYLES:
            row = stored.get(method, {})
            if method not in own and "RMSE" in row:
                ms = 1e3 * row["predict_cpu_s"] / row["n_test"]
                line = {"setting": "", "ms": ms, "RMSE": row["RMSE"], "NLPD": row["NLPD"]}
                own[method] = {"lines": [line], "failed": ""}
    return found


def _group(axis: plt.Axes, lines: list[dict], score: str, label: str, colour: str, style: str):
    if not lines:
        return
    points = sorted((one["ms"], one[score]) for one in lines)
    size = 10 if "*" in style else 6
    axis.plot(*zip(*points), style, color=colour, label=label, markersize=size, linewidth=1.2)


#: What stands before the table in the page.
MARK = "<!-- measured: written by make bench-answers -->"


def write_table(found: dict[str, dict], page: Path) -> None:
    """Replace what is behind MARK."""
    text = page.read_text()
    page.write_text(text[: text.index(MARK) + len(MARK)] + "\n\n" + markdown(found))


def markdown(found: dict[str, dict]) -> str:
    lines = [
        "| set | way | ms | mean alone | RMSE | NLPD | covers 95 % |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, own in found.items():
        for method, result in own.items():
            lines += [_line(name, method, one) for one in result["lines"] if "RMSE" in one]
    return "\n".join(lines) + "\n"


def _line(name: str, method: str, one: dict) -> str:
    ours = method.startswith("collegium")
    words = f"**{method}**, {one['setting']}" if ours else method
    if ours and one["setting"].startswith("AnswerTime"):
        words += f" ({one['way'].replace('Local', 'nearest rows').replace('Refined', 'all rows')})"
    mean = f"{one['ms_mean']:.3f}" if "ms_mean" in one else "–"
    numbers = f"{one['RMSE']:.4f} | {one['NLPD']:.3f} | {one['coverage']:.3f}"
    return f"| {name} | {words} | {one['ms']:.3f} | {mean} | {numbers} |"
