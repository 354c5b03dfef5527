"""The pictures of docs/benchmarks.md: accuracy against CPU time, coverage by predicted width."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.ticker import MultipleLocator, NullFormatter, PercentFormatter
from matplotlib.transforms import Bbox

from benchmarks.harness.pictures import STYLE, panels, save
from benchmarks.tasks.regression.plan import METHODS

#: Of the mean of y alone, on standardised targets: what is worse is drawn at the edge.
TRIVIAL = {"RMSE": 1.0, "NLPD": 1.419}
OURS, EXACT, SAME = "#c1272d", "#555555", "#000000"
PEER_STYLES = {
    "GPBoost": ("#0072b2", "s"),
    "GPBoost ARD": ("#0072b2", "X"),
    "MuyGPyS": ("#009e73", "^"),
    "GPyTorch SGPR": ("#e69f00", "D"),
    "GPyTorch SVGP": ("#cc79a7", "v"),
    "LightGBM": ("#56b4e9", "P"),
    "LightGBM quantiles": ("#56b4e9", "p"),
    "CatBoost": ("#d55e00", "P"),
    "CatBoost RMSE": ("#d55e00", "X"),
    "NGBoost": ("#7f3c8d", "h"),
    "quantile forest": ("#8c6d31", "p"),
}
LEGEND = (
    "ours", "exact GP on random subsets", "exact GP, our kernel", "ours, anchors only",
    "ours, constant noise", *PEER_STYLES
)  # fmt: skip
#: Sets of the picture of coverage, and its two lines: method, words, colour.
WIDTH_SETS = ("naval", "protein", "kin40k", "cal_housing")
BEFORE_AND_AFTER = (
    ("collegium, constant noise", "constant noise", EXACT, "o--"),
    ("collegium", "default", OURS, "o-"),
)


def draw(found: dict[str, dict], folder: Path) -> list[str]:
    """The files that there were results for."""
    made = []
    with plt.rc_context(STYLE):
        if fronts := [name for name in ("kin40k", "protein") if name in found]:
            made.append(save(front(found, fronts), folder / "bench_front.png"))
        made.append(save(overview(found), folder / "bench_overview.png"))
        if judged := {name: found[name] for name in WIDTH_SETS if _by_width(found.get(name, {}))}:
            made.append(save(widths(judged), folder / "bench_width.png"))
    return made


def points(results: dict, score: str, group: str) -> list[tuple[str, float, float]]:
    """(method, CPU s, score), by time."""
    done = [
        (name, row["fit_cpu_s"] + row["predict_cpu_s"], row[score])
        for name, row in results.items()
        if score in row and name in METHODS and METHODS[name].group == group
    ]
    return sorted(done, key=lambda point: point[1])


def front(found: dict[str, dict], names: list[str]):
    figure, axes = plt.subplots(
        len(names), 2, figsize=(10, 4.2 * len(names)), squeeze=False, layout="constrained"
    )
    for row, name in zip(axes, names):
        for axis, score in zip(row, ("RMSE", "NLPD")):
            _panel(axis, found[name], score)
            axis.set(title=name, xlabel="CPU seconds, fit + predict", ylabel=score)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # places are in pixels from here on
    for row, name in zip(axes, names):
        for axis, score in zip(row, ("RMSE", "NLPD")):
            _label(axis, found[name], score)
    return figure


def overview(found: dict[str, dict]):
    labels = ("CPU seconds, fit + predict", "NLPD (lower is better)")
    return panels(found, partial(_panel, score="NLPD"), labels, LEGEND, (2.5, 0.6))


def widths(found: dict[str, dict]):
    """Coverage of 95 % intervals by tenths of the rows, in order of predicted width."""
    labels = (
        "rows by the width of their interval: tenths, narrowest to widest",
        "share of y inside the 95 % interval",
    )
    order = [words for _, words, _, _ in BEFORE_AND_AFTER]
    return panels(found, _widths_panel, labels, [*order, "95 % ± chance"], (2.8, 0.6))


def _by_width(results: dict) -> bool:
    return all(
        results.get(name, {}).get("coverage_by_tenths_of_width") for name, *_ in BEFORE_AND_AFTER
    )


def _widths_panel(axis, results: dict) -> None:
    n = results[BEFORE_AND_AFTER[0][0]]["n_test"] / 10
    chance = 2.0 * (0.95 * 0.05 / n) ** 0.5
    axis.axhspan(
        0.95 - chance, min(1.0, 0.95 + chance), color="#2a9d3a", alpha=0.18, lw=0,
        label="95 % ± chance",
    )  # fmt: skip
    for name, words, colour, style in BEFORE_AND_AFTER:
        shares = results[name]["coverage_by_tenths_of_width"]
        axis.plot(range(1, 11), shares, style, color=colour, label=words, markersize=4)
    lowest = min(min(results[name]["coverage_by_tenths_of_width"]) for name, *_ in BEFORE_AND_AFTER)
    axis.set(ylim=(min(0.8, lowest - 0.02), 1.005), xticks=(1, 4, 7, 10))
    axis.yaxis.set_major_locator(MultipleLocator(0.05))
    axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def _panel(axis, results: dict, score: str) -> None:
    axis.set_xscale("log")
    axis.xaxis.set_minor_formatter(NullFormatter())
    _group(axis, points(results, score, "exact"), score, LEGEND[1], EXACT, "o--")
    _group(axis, points(results, score, "same"), score, LEGEND[2], SAME, "*")
    _group(axis, points(results, score, "ours"), score, LEGEND[0], OURS, "o-")
    _group(axis, points(results, score, "bare"), score, LEGEND[3], OURS, "x")
    _group(axis, points(results, score, "constant"), score, LEGEND[4], OURS, "s")
    for name, time, value in points(results, score, "peers"):
        colour, marker = PEER_STYLES.get(name, ("#999999", "x"))
        _group(axis, [(name, time, value)], score, name, colour, marker)
    axis.margins(0.14, 0.12)
    axis.grid(alpha=0.25, which="major")


def _group(axis, group: list, score: str, label: str, colour: str, style: str) -> None:
    """Points of one kind, joined where the style has a line; worse than trivial: at the edge."""
    if not group:
        return
    _, times, values = zip(*group)
    values = [min(value, TRIVIAL[score]) for value in values]
    size = 11 if style == "*" else 6
    axis.plot(times, values, style, color=colour, label=label, markersize=size, linewidth=1.4)


def _label(axis, results: dict, score: str) -> None:
    """Names next to the points, each in the first free place around its own."""
    colours = {"ours": OURS, "bare": OURS, "constant": OURS, "exact": EXACT, "same": SAME}
    named = [(group, *p) for group in (*colours, "peers") for p in points(results, score, group)]
    taken = [
        Bbox.from_bounds(x - 5, y - 5, 10, 10)
        for x, y in (_pixels(axis, time, value, score) for _, _, time, value in named)
    ]
    for group, name, time, value in named:
        colour = colours.get(group) or PEER_STYLES.get(name, ("#777777", ""))[0]
        text = axis.annotate(
            _short(name), (time, min(value, TRIVIAL[score])), (6, 0),
            textcoords="offset points", fontsize=8, color=colour, annotation_clip=False,
        )  # fmt: skip
        taken.append(_place(axis, text, taken))


def _pixels(axis, time: float, value: float, score: str):
    return axis.transData.transform((time, min(value, TRIVIAL[score])))


def _place(axis, text, taken: list[Bbox]) -> Bbox:
    """Move a label to the place where it covers least: near before far, right before left."""
    best = None
    for far in (6, 16, 28):
        for x, side in ((far, "left"), (0, "center"), (-far, "right")):
            for y in (0, far, -far):
                if (x, y) == (0, 0):
                    continue
                text.set(position=(x, y), horizontalalignment=side, verticalalignment="center")
                box = text.get_window_extent()
                covered = sum(box.overlaps(other) for other in taken)
                covered += not axis.bbox.padded(4).containsx(box.x1)
                covered += not axis.bbox.padded(4).containsx(box.x0)
                if best is None or covered < best[0]:
                    best = (covered, (x, y), side, box)
    _, position, side, box = best
    text.set(position=position, horizontalalignment=side)
    return box


def _short(name: str) -> str:
    if METHODS[name].group == "same":
        return "exact, our kernel"
    return name.replace("exact GP, ", "exact ").replace(" rows", "").replace("GPyTorch ", "")
