"""The pictures of docs/classification.md: log loss against CPU time, and reliability."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator, NullFormatter

from benchmarks.harness.pictures import STYLE, panels, save

STYLES = {
    "collegium": ("#c1272d", "o"),
    "collegium, one sweep": ("#c1272d", "x"),
    "collegium, random chunks": ("#e69f00", "D"),
    "collegium, random chunks, one sweep": ("#e69f00", "x"),
    "collegium softmax": ("#cc79a7", "v"),
    "scikit-learn GP": ("#555555", "s"),
    "logistic regression": ("#009e73", "^"),
    "LightGBM": ("#56b4e9", "P"),
}
#: Whose reliability is drawn.
DRAWN = ("collegium", "collegium softmax", "scikit-learn GP", "logistic regression", "LightGBM")
#: Bins with fewer rows are not drawn.
LEAST_ROWS = 10


def draw(found: dict[str, dict], folder: Path) -> list[str]:
    """The files that there were results for."""
    if not found:
        return []
    times = ("CPU seconds, fit + predict", "log loss (lower is better)")
    shares = ("probability given to the predicted class", "share that is right")
    with plt.rc_context(STYLE):
        return [
            save(panels(found, _times, times, list(STYLES)), folder / "classes_time.png"),
            save(
                panels(found, _reliability, shares, list(STYLES)),
                folder / "classes_reliability.png",
            ),
        ]


def _times(axis, results: dict) -> None:
    axis.set(xscale="log", yscale="log")
    for name, (colour, marker) in STYLES.items():
        row = results.get(name, {})
        if "log_loss" in row:
            time = row["fit_cpu_s"] + row["predict_cpu_s"]
            axis.plot(time, row["log_loss"], marker, color=colour, label=name, markersize=6)
    axis.margins(0.14, 0.12)
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7)))
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:.3g}")
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.tick_params(axis="y", labelsize=7)


def _reliability(axis, results: dict) -> None:
    axis.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=1)
    for name in DRAWN:
        row = results.get(name, {})
        bins = [
            b for b in row.get("reliability", []) if b["share"] * row["n_test"] >= LEAST_ROWS - 0.5
        ]
        if bins:
            colour, marker = STYLES[name]
            said, right = [b["said"] for b in bins], [b["right"] for b in bins]
            axis.plot(said, right, f"{marker}-", color=colour, label=name, markersize=4, lw=1.2)
    axis.set(xlim=(0, 1.03), ylim=(0, 1.03))
