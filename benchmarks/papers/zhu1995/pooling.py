"""Tables 3 and 4 of Zhu & Rohwer (1995): which C₀ and C₂ suit data sets in general.

For each set, test errors on a grid of (log C₀, log C₂), mean over splits. The profile of one is
the least over the other. It is near its least where it is above it by no more than 5 % or one
paired standard error over splits. Of that interval l is the middle and s half the length, at least
half a step of the grid, taken as a normal width. Intervals end with the grid; a set that is near
its least on all of it says nothing, and is left out of the mean.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.harness import data
from benchmarks.harness.data import Array
from benchmarks.papers.experiments import Cell, save
from benchmarks.papers.zhu1995.boston import CUT, Task
from benchmarks.tasks.regression.sets import one_hot_sex
from collegium.filter import Empirical, GaussianBumps
from collegium.filter.model import FilterModel, Posterior
from collegium.filter.sums import Sums

SETS = (
    "boston", "autompg", "concrete", "energy", "yacht", "airfoil", "wine_red", "forest",
    "pendulum", "ozone_environmental", "kin8nm", "abalone",
)  # fmt: skip
SMALL = ("ozone_environmental", "yacht", "boston")
LOG_C0, LOG_C2 = np.arange(-0.5, 2.01, 0.25), np.arange(-3.0, 0.51, 0.25)
#: Rows to learn from and to test on, basis functions: at most.
TRAIN, TEST, M = 500, 1000, 200
RISE = 0.05
#: Table 4 without Boston: mean, its uncertainty, spread.
PAPER = {"C0": (0.68, 0.39, 0.47), "C2": (-0.73, 0.43, 0.66)}
#: Table 3: l and s of C0, then of C2.
PAPER_SETS = {
    "bodyfat": (1.0, 1.0, -1.0, 1.5), "teactor": (0.5, 1.5, -1.5, 1.5),
    "pollution": (1.0, 1.0, -0.5, 1.0), "cloud": (0.0, 3.0, 0.0, 2.0),
    "Mpg": (0.5, 2.0, -1.0, 3.0), "Cpu": (1.0, 1.0, -1.0, 1.5), "Aprce": (0.0, 1.5, -1.0, 2.0),
    "satim": (0.5, 1.0, -0.5, 1.0), "dna": (1.0, 1.5, -1.5, 3.0),
    "shuttle": (1.0, 2.0, -2.0, 1.5), "santafeA": (0.0, 1.5, -1.0, 1.5),
    "santafeD": (0.0, 2.0, 0.0, 2.0),
}  # fmt: skip


@dataclass(frozen=True)
class Optimum:
    """log₁₀ C ~ N(l, s²) for one data set."""

    l: float
    s: float
    cut: str  # "<", ">", "<>" or "": at which end of the grid the interval was cut

    @property
    def known(self) -> bool:
        return self.cut != "<>"


def tables_3_and_4(folder: Path, out: Path, quick: bool) -> list[Cell]:
    print(
        f"\nTable 3: at most {TRAIN} rows to learn from, {M} bumps of width C0 m^(-1/d); log10 C"
        f" where the\n  error is within {RISE:.0%} or a standard error of its least: middle and"
        " half the length\n  (< or >: cut off by the grid)"
    )
    print(
        f"  {'set':20}{'N':>5}{'d':>4}   {'log C0':>15}   {'log C2':>15}"
        f"{'least MSE':>11}{'at 5, .2':>10}{'linear':>9}   of var y"
    )
    optima, curves = {}, {}
    for name in SMALL if quick else SETS:
        rows = data.rows(folder, name)
        if rows is None:
            continue
        X, y = rows
        if name == "abalone":  # of three columns of the sex one follows from the others
            X = np.delete(one_hot_sex(X), 2, axis=1)
        splits = [_task(X, y, seed) for seed in range(2 if quick else 10)]
        runs = np.array([_errors(task, seed) for seed, task in enumerate(splits)])
        errors = runs.mean(axis=0)
        optima[name] = [optimum(LOG_C0, runs), optimum(LOG_C2, runs.transpose(0, 2, 1))]
        curves[name] = [errors.min(axis=axis) / errors.min() for axis in (1, 0)]
        _print_row(name, splits, errors, optima[name])
    if len(optima) < 2:
        return []
    _picture(curves, out)
    own = [
        Cell(f"table 3, {name}, log10 {constant}", found[k].l, error=found[k].s)
        for name, found in optima.items()
        for k, constant in enumerate(PAPER)
        if found[k].known
    ]
    return own + _table_4(optima)


def _task(X: Array, y: Array, seed: int) -> Task:
    order = np.random.default_rng(seed).permutation(y.size)
    n = min(TRAIN, y.size // 2)
    return Task.of(X, y / y.std(), order[:n], order[n : n + TEST])


def _errors(task: Task, seed: int) -> Array:
    """Test errors on the grid; rows are added up once for each C₀  (11, 15)."""
    (n, d), rng = task.X.shape, np.random.default_rng(1000 + seed)
    centres = np.unique(task.X[rng.permutation(n)[:M]], axis=0)
    errors = np.empty((LOG_C0.size, LOG_C2.size))
    Y, variance = task.rest[:, None], task.rest.var()
    for i, c0 in enumerate(10.0**LOG_C0):
        width = np.full(d, c0 * centres.shape[0] ** (-1.0 / d))
        basis = GaussianBumps(centres, width)
        model = FilterModel.of(task.kernel(c0), variance, basis, Empirical(task.X), None, CUT)
        sums = Sums.start(model.k).add(model.columns(task.X), Y)
        design = model.columns(task.X_test) @ model.weights
        for j, c2 in enumerate(10.0**LOG_C2):
            belief = Posterior.of(replace(model, noise=c2**2 * variance), sums)
            errors[i, j] = task.mse((design @ belief.mean)[:, 0])
    return errors


def optimum(grid: Array, runs: Array) -> Optimum:
    """The interval where the profile over the first axis of the grid is near its least.

    Of runs (splits, a, b), with the b that is best for each a.
    """
    rows, chosen = np.arange(grid.size), runs.mean(axis=0).argmin(axis=1)
    curves = runs[:, rows, chosen]  # (splits, a)
    profile = curves.mean(axis=0)
    best = int(profile.argmin())
    excess = curves - curves[:, best, None]
    error = excess.std(axis=0, ddof=1) / np.sqrt(runs.shape[0])
    above = excess.mean(axis=0) - np.maximum(RISE * profile[best], error)  # near: not above 0
    ends, cut = [], ""
    for step, sign in ((-1, "<"), (1, ">")):
        i = best
        while 0 <= i + step < grid.size and above[i + step] <= 0.0:
            i += step
        if 0 <= i + step < grid.size:
            share = above[i] / (above[i] - above[i + step])
            ends.append(grid[i] + share * (grid[i + step] - grid[i]))
        else:
            ends.append(grid[i])
            cut += sign
    step = grid[1] - grid[0]
    return Optimum(0.5 * sum(ends), 0.5 * max(ends[1] - ends[0], step), cut)


def pooled(optima: list[Optimum]) -> tuple[float, float, float]:
    """Inverse-variance mean, its uncertainty, and the spread over sets (eqs 5.3, 5.4)."""
    known = [o for o in optima if o.known]
    l, s = np.array([o.l for o in known]), np.array([o.s for o in known])
    weight = s**-2.0
    mean = (weight @ l) / weight.sum()
    spread = np.sqrt(((l - mean) ** 2).sum() / (l.size - 1))
    return float(mean), float(weight.sum() ** -0.5), float(spread)


def _print_row(name: str, splits: list[Task], errors: Array, found: list[Optimum]) -> None:
    (n, d), y = splits[0].X.shape, np.mean([task.y_test.var() for task in splits])
    default = errors[np.abs(LOG_C0 - np.log10(5.0)).argmin(), np.abs(LOG_C2 + 0.7).argmin()]
    linear = np.mean([task.mse(np.zeros_like(task.y_test)) for task in splits])
    told = "".join(f"   {f'{o.l:.2f} ± {o.s:.2f} {o.cut:2}':>15}" for o in found)
    values = "".join(f"{value / y:>{w}.3f}" for value, w in ((errors.min(), 11), (default, 10)))
    print(f"  {name:20}{n:5d}{d:4d}{told}{values}{linear / y:9.3f}", flush=True)


def _table_4(optima: dict[str, list[Optimum]]) -> list[Cell]:
    print("\nTable 4: pooled log10 C (eqs 5.3, 5.4)")
    cells = []
    print(
        f"  {'':30}{'mean':>8}{'its error':>11}{'spread':>8}{'10^mean':>9}"
        "   paper: mean, error, spread"
    )
    for label, left_out in (("without Boston", {"boston"}), ("with Boston", set())):
        used = [found for name, found in optima.items() if name not in left_out]
        for k, constant in enumerate(PAPER):
            mean, error, spread = pooled([found[k] for found in used])
            if left_out:
                paper = PAPER[constant]
                both = float(np.hypot(error, paper[1]))
                cells.append(Cell(f"table 4, mean log10 {constant}", mean, paper[0], both))
            beside = "   {:.2f}, {:.2f}, {:.2f}".format(*PAPER[constant]) if left_out else ""
            count = sum(found[k].known for found in used)
            print(
                f"  {f'{label}, {constant}, {count} sets':30}{mean:8.2f}{error:11.2f}"
                f"{spread:8.2f}{10**mean:9.2f}{beside}"
            )
    for k, constant in enumerate(PAPER):
        theirs = [Optimum(row[2 * k], row[2 * k + 1], "") for row in PAPER_SETS.values()]
        mean, error, spread = pooled(theirs)
        label = f"paper's table 3, {constant}, {len(theirs)} sets"
        print(f"  {label:30}{mean:8.2f}{error:11.2f}{spread:8.2f}{10**mean:9.2f}")
    print("  (by the same equations; for C2 they do not give the paper's table 4)")
    for k, (constant, value) in enumerate((("C0", 5.0), ("C2", 0.2))):
        mean, _, spread = pooled([found[k] for found in optima.values()])
        held = abs(np.log10(value) - mean) <= spread
        inside = sum(abs(np.log10(value) - found[k].l) <= found[k].s for found in optima.values())
        print(
            f"  {constant} = {value:g} is {'within' if held else 'beyond'} the spread of the sets,"
            f" and near the least error on {inside} of {len(optima)}"
        )
    print("  Read as a ratio of variances (σ2² = C2 σ1²), log C2 and its widths are twice these.")
    return cells


def _picture(curves: dict[str, list[Array]], out: Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.8), sharey=True, layout="constrained")
    for k, (ax, grid, letter, value) in enumerate(
        zip(axes, (LOG_C0, LOG_C2), ("$C_0$", "$C_2$"), (5.0, 0.2))
    ):
        for i, (name, profiles) in enumerate(curves.items()):
            style = ("-", "--", ":")[i // 5]
            ax.semilogx(10**grid, profiles[k], style, color=f"C{i % 5}", lw=1.5, label=name)
        ax.axvline(value, color="0.6", lw=1, zorder=0)
        ax.axhline(1.0 + RISE, color="0.6", lw=1, zorder=0)
        ax.set(xlabel=letter, ylim=(0.98, 1.6), title=f"grey: {letter} = {value:g}, and 5 % more")
    axes[0].set(ylabel="test error, relative to its least")
    axes[1].legend(fontsize=8, ncols=2)
    save(figure, out / "zhu1995_table3.png")
