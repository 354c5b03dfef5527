"""Layout of the pictures of docs/: one panel per data set, one legend, one style."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

STYLE = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}


def panels(
    found: dict[str, dict],
    panel: Callable[[plt.Axes, dict], None],
    labels: tuple[str, str],
    order: Sequence[str],
    height: tuple[float, float] = (2.7, 0.7),
) -> plt.Figure:
    """Draw one panel per set by `panel(axis, results)`.

    labels: of the x and the y axes; order: of the legend; height: of a row of panels and of the
    legend, in inches.
    """
    columns = min(4, len(found))
    rows = -(-len(found) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(2.9 * columns, height[0] * rows + height[1]), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for axis in axes.flat[len(found) :]:
        axis.set_axis_off()
    for axis, (name, results) in zip(axes.flat, found.items()):
        panel(axis, results)
        axis.set_title(name, fontsize=9)
        axis.grid(alpha=0.25)
    figure.supxlabel(labels[0], fontsize=9)
    figure.supylabel(labels[1], fontsize=9)
    handles: dict = {}
    for axis in axes.flat:
        handles |= dict(zip(*reversed(axis.get_legend_handles_labels())))
    shown = [name for name in order if name in handles]
    figure.legend(
        [handles[name] for name in shown], shown, loc="outside upper center", ncols=4,
        frameon=False,
    )  # fmt: skip
    return figure


def save(figure: plt.Figure, path: Path, dpi: int = 100) -> str:
    """Write and close; the name of the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=dpi)
    plt.close(figure)
    return path.name
