"""Table 1 of Schwaighofer & Tresp (2002): remaining variance of seven methods on four sets."""

from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.papers import experiments
from benchmarks.papers.experiments import save
from benchmarks.papers.schwaighofer2002.methods import (
    FOLDS,
    METHODS,
    SETS,
    Data,
    Setup,
    fold,
    isotropic,
    learnt,
    remaining,
    spread,
)
from collegium.engines import Threads

#: Table 1: (B = 200, B = 1000) in per cent; nan where the paper gives none.
NONE = float("nan")
PAPER = {
    "SRM PostApp": [(42.81, 42.81), (13.79, 7.84), (9.49, 2.36), (3.91, 1.12)],
    "SRM SGMA": [(42.83, 42.81), (21.84, 8.70), (18.32, 4.25), (5.62, 1.79)],
    "SRM Random": [(42.86, 42.82), (22.34, 9.01), (18.77, 4.39), (5.87, 1.79)],
    "RRA Nyström": [(42.98, 41.10), (NONE, NONE), (NONE, NONE), (NONE, NONE)],
    "Online GP": [(42.87, NONE), (16.49, NONE), (10.36, NONE), (5.37, NONE)],
    "BCM": [(42.86, 42.81), (10.32, 8.31), (2.81, 0.83), (0.27, 0.20)],
    "SRM Trans": [(42.93, 42.79), (21.95, 9.79), (16.47, 4.25), (5.15, 1.64)],
}
#: Weights beyond this have exploded (sec. 4.2); so has what is worse than the training mean.
EXPLODED = 1e3


@dataclass(frozen=True)
class Cell:
    """Remaining variance over folds."""

    mean: float
    error: float  # standard error over folds, or over test rows if that is larger
    paper: float
    weight: float  # largest, of the Nyström method
    first: float  # fold 0 alone

    @property
    def exploded(self) -> bool:
        return self.weight > EXPLODED or self.mean > 100.0

    @property
    def distance(self) -> float:
        """From the paper, in standard errors (ours, and its rounding)."""
        return (self.mean - self.paper) / np.hypot(self.error, 0.003)


Cells = dict[tuple[str, int], Cell]


def published(name: str, method: str, B: int) -> float:
    return PAPER[method][SETS.index(name)][B == 1000]


def run_part(data: Data, part: str, folds: int, names: list[str], sizes: list[int]):
    """Setup and cells of one data set; hyperparameters never see a tested row."""
    prepare = isotropic if part == "A" else learnt
    groups = [[k] for k in range(FOLDS)] if folds == FOLDS else [list(range(folds))]
    jobs = [(m, B) for B in reversed(sizes) for m in names if m != "Online GP" or B == 200]
    scores: dict[tuple[str, int], list] = {job: [] for job in jobs}
    for tested in groups:
        setup = prepare(data, tested, names, sizes)
        tasks = [(fold(data, k), job, setup[job]) for k in tested for job in jobs]
        for (_, job, _), score in zip(tasks, Threads(2).map(_score, tasks)):
            scores[job].append(score)
    cells = {}
    for method in names:
        for B in sizes:
            if (method, B) in scores:
                found = np.array(scores[method, B])
                values = found[:, 0]
                over_rows = np.sqrt(np.mean(found[:, 1] ** 2))
                over_folds = values.std(ddof=1) if values.size > 1 else 0.0
                error = max(over_folds, over_rows) / np.sqrt(values.size)
                paper = published(data.name, method, B)
                cells[method, B] = Cell(values.mean(), error, paper, found[:, 2].max(), values[0])
    return setup, cells


def _score(task) -> tuple[float, float, float]:
    f, (method, B), hyper = task
    answer = METHODS[method](f, hyper, B)
    return remaining(f, answer.mean), spread(f, answer.mean), answer.weight


def print_cells(name: str, part: str, setup: Setup, cells: Cells) -> None:
    holds = part == "B"
    print(
        f"  {'method':14}{'B':>6}{'ours ± se':>20}{'paper':>8}{'ours/paper':>12}"
        + (f"{'holds':>15}" if holds else f"{'(ours-paper)/se':>17}")
        + "   hyperparameters"
    )
    for (method, B), cell in cells.items():
        ours = f"{cell.mean:.2f} ± {cell.error:.2f}"
        if cell.exploded:
            ours = "n/a"
        known = np.isfinite(cell.paper)
        paper = f"{cell.paper:.2f}" if known else "n/a"
        both = known and not cell.exploded
        ratio = f"{cell.mean / cell.paper:.2f}" if both else ""
        if holds:
            last = f"{verdict(cell):>15}"
        else:
            last = f"{cell.distance:17.1f}" if both else f"{'':17}"
        notes = f"   {setup[method, B]}"
        if np.isfinite(cell.weight):
            notes += f"; largest weight {cell.weight:.1e}, remaining variance {cell.mean:.4g}"
        print(f"  {method:14}{B:6d}{ours:>20}{paper:>8}{ratio:>12}{last}{notes}", flush=True)


def as_cells(name: str, reading: str, cells: Cells, why: dict) -> list[experiments.Cell]:
    """Cells to be stored; the paper gives no spread, so that a tenth of its value is allowed."""
    found = []
    for (method, B), cell in cells.items():
        error = float(np.fmax(cell.error, 0.05 * cell.paper))
        where = f"table 1, {name}, {reading}, {method}, B = {B}"
        kept = experiments.Cell(where, float(cell.mean), float(cell.paper), error)
        reason = "weights exploded (sec. 4.2)" if cell.exploded else why.get((method, B), "")
        found.append(replace(kept, why=reason) if kept.agrees is False else kept)
    return found


def verdict(cell: Cell) -> str:
    """Is it no worse than the paper?"""
    if not np.isfinite(cell.paper):
        return "(none given)"
    if cell.exploded:
        return "no (exploded)"
    if cell.mean <= cell.paper:
        return "yes"
    return "within 2 se" if cell.distance <= 2.0 else "no"


def print_order(cells: Cells, sizes: list[int]) -> None:
    """Pairs of methods in the paper's order."""
    for B in sizes:
        usable = {
            m: cell for (m, b), cell in cells.items()
            if b == B and np.isfinite(cell.paper) and not cell.exploded
        }  # fmt: skip
        names = sorted(usable, key=lambda m: usable[m].mean)
        pairs, wrong = 0, []
        ratios = np.percentile([c.mean / c.paper for c in usable.values()] or NONE, [0, 100, 50])
        for i, better in enumerate(names):
            for worse in names[i + 1 :]:
                gap = usable[better].paper / usable[worse].paper - 1.0
                pairs += abs(gap) > 0.02
                if gap > 0.02:
                    wrong.append(f"{better} before {worse} (paper: {gap:.1%} behind)")
        print(
            f"  order at B = {B}: {' < '.join(names)}\n    pairs 2 % or more apart in the paper, in"
            f" its order: {pairs - len(wrong)} of {pairs}"
            + (f"; not: {', '.join(wrong)}" if wrong else "")
            + "\n    ours/paper: {:.2f} to {:.2f}, median {:.2f}".format(*ratios)
        )


def draw_bars(found: dict[tuple[str, str], Cells], sizes: list[int], path: Path) -> None:
    """Draw our results against the paper's, one row of panels per B."""
    names = list(dict.fromkeys(name for name, _ in found))
    figure, axes = plt.subplots(
        len(sizes), len(names), figsize=(3.4 * len(names) + 1, 3.4 * len(sizes)), squeeze=False
    )
    bars = [("paper", "0.6"), ("A", "C0"), ("B", "C1")]
    labels = {"paper": "paper", "A": "ours, one width", "B": "ours, ARD learnt"}
    for row, B in zip(axes, sizes):
        for ax, name in zip(row, names):
            for i, (kind, colour) in enumerate(bars):
                values = [_height(found, name, kind, method, B) for method in PAPER]
                at = np.arange(len(PAPER)) + 0.27 * (i - 1)
                ax.barh(at, values, height=0.25, color=colour, label=labels[kind])
            shown = [p.get_width() for p in ax.patches if np.isfinite(p.get_width())]
            ax.set_xscale("log")
            ax.set_xlim(0.6 * min(shown), 1.3 * max(shown))
            ticks = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 40, 50)
            ticks = [t for t in ticks if 0.6 * min(shown) <= t <= 1.3 * max(shown)]
            ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
            ax.xaxis.set_minor_formatter(plt.NullFormatter())
            ax.set_yticks(range(len(PAPER)), list(PAPER) if ax is row[0] else [])
            ax.invert_yaxis()
            ax.set(title=f"{name}, B = {B}", xlabel="remaining variance, %")
            ax.grid(axis="x", alpha=0.3)
    handles, texts = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, texts, loc="lower center", ncols=3, frameon=False)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    save(figure, path)


def _height(found, name: str, kind: str, method: str, B: int) -> float:
    if kind == "paper":
        return published(name, method, B)
    cell = found.get((name, kind), {}).get((method, B))
    return NONE if cell is None or cell.exploded else cell.mean


def print_summary(found: dict[tuple[str, str], Cells]) -> None:
    """Print how many cells of part B are no worse than the paper."""
    verdicts = [
        (f"{name} {method} B = {B} ({cell.mean:.2f} against {cell.paper:.2f})", verdict(cell))
        for (name, part), cells in found.items() if part == "B"
        for (method, B), cell in cells.items() if np.isfinite(cell.paper)
    ]  # fmt: skip
    count = {v: sum(w == v for _, w in verdicts) for v in ("yes", "within 2 se")}
    bad = [what for what, v in verdicts if v.startswith("no")]
    print(
        f"\nPart B, no worse than the paper: {count['yes']} of {len(verdicts)} cells, and"
        f" {count['within 2 se']} within 2 standard errors. Worse: {', '.join(bad) or 'none'}"
    )
