"""Figures 3 to 5 of Edakunni, Schaal & Vijayakumar (2007): regions, and bars that follow noise."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr

from benchmarks.harness import data
from benchmarks.harness.data import Array
from benchmarks.harness.forecast import QUANTILE
from benchmarks.harness.tables import table
from benchmarks.papers.edakunni2007.setting import COLOURS, GaussianProcess, rvc, save
from collegium.metrics import coverage, nlpd

#: Figure 3: range, the gap without rows, noise, rows, centres on a grid.
LOW, HIGH, GAP, NOISE, ROWS, CENTRES = -10.0, 10.0, (5.5, 6.5), 0.05, 250, 60
GRID = np.linspace(LOW, HIGH, 801)[:, None]
THIRDS = ("first", "middle", "last")
#: Before the impact is felt, in ms: hardly any noise.
QUIET = 14.0


def varied(X: Array) -> Array:
    """A narrow sinc on a slow wave: strongly curved about 0, gently elsewhere."""
    x = X[:, 0]
    return np.sinc(x / 1.5) + 0.3 * np.sin(x / 2.5)


def curvature(X: Array, step: float = 1e-3) -> Array:
    return np.abs(varied(X + step) - 2.0 * varied(X) + varied(X - step)) / step**2


def figure_3(folder: Path, out: Path, quick: bool) -> None:
    """Regions shrink where the function bends; bars widen where no rows are."""
    rng = np.random.default_rng(3)
    X = rng.uniform(LOW, HIGH, (ROWS, 1))
    X = X[(X[:, 0] < GAP[0]) | (X[:, 0] > GAP[1])]
    y = varied(X) + NOISE * rng.normal(size=X.shape[0])
    centres = np.linspace(LOW, HIGH, CENTRES)[:, None]
    models = {
        "RVC, paper": rvc("paper", centres=centres, max_experts=CENTRES),
        "RVC": rvc("local", centres=centres, max_experts=CENTRES),
        "GP": GaussianProcess(),
    }
    print(
        f"\nFigure 3: {X.shape[0]} rows, noise sd {NOISE}, none in [{GAP[0]}, {GAP[1]}];"
        f" {CENTRES} centres on a grid, batch"
    )
    rows = []
    figure, axes = plt.subplots(
        2, 3, figsize=(13, 6.2), sharex=True, height_ratios=[2, 1], layout="constrained"
    )
    inside = (GRID[:, 0] > GAP[0]) & (GRID[:, 0] < GAP[1])
    beside = ~inside & (np.abs(GRID[:, 0] - 6.0) < 2.0)
    for (name, model), (ax, below) in zip(models.items(), axes.T):
        mean, std = model.fit(X, y).predict(GRID, return_std=True)
        row = {
            "": name,
            "rmse": float(np.sqrt(np.mean((mean - varied(GRID)) ** 2))),
            "mean sd": float(std.mean()),
            "sd, mid gap": float(std[inside].max()),
            "sd beside": float(std[beside].mean()),
            "gap / beside": float(std[inside].max() / std[beside].mean()),
        }
        ax.axvspan(*GAP, color="0.92", zorder=0)
        ax.plot(X[:, 0], y, ".", color="0.55", ms=3)
        ax.plot(GRID[:, 0], varied(GRID), "k--", lw=0.8)
        _band(ax, GRID[:, 0], mean, std, COLOURS[name])
        ax.set(title=f"{name}: mean and 95 % bars", ylim=(-1.3, 1.6), xlim=(LOW, HIGH))
        if name == "GP":
            below.plot(GRID[:, 0], std, color=COLOURS[name])
            below.set(ylabel="sd of y", ylim=(0, None))
        else:
            row |= _local_fits(model, ax, below, COLOURS[name])
        below.axvspan(*GAP, color="0.92", zorder=0)
        below.set(xlabel="x")
        rows.append(row)
    print(table(rows))
    print(
        "  ~ |f''|: rank correlation of curvature and of the experts' reach, and of the product of"
        "\n  their bandwidths, which is what the paper draws; below 0 where regions shrink with it"
    )
    save(figure, out / "rvc_fig3.png")


def _local_fits(model, ax, below, colour: str) -> dict[str, float]:
    """Every fifth line over its reach, and the regions of all below."""
    experts = model.experts_
    c, reach = experts["centre"][:, 0], experts["reach"][:, 0]
    for k in range(2, c.size, 5):
        t = np.clip(reach[k], 0.35, 1.5) * np.array([-1.0, 1.0])
        ax.plot(c[k] + t, experts["value"][k] + experts["slope"][k, 0] * t, "k", lw=2)
    bandwidth = experts["bandwidth"].prod(axis=1)
    below.semilogy(c, bandwidth / np.median(bandwidth), "o-", ms=3, color=colour)
    below.set(ylabel="product of bandwidths\n/ their median")
    bend = curvature(c[:, None])
    return {
        "reach ~ |f''|": float(spearmanr(reach, bend).statistic),
        "bandwidth ~ |f''|": float(spearmanr(bandwidth, bend).statistic),
    }


def _band(ax, x: Array, mean: Array, std: Array, colour: str) -> None:
    ax.plot(x, mean, color=colour, lw=1.5)
    ax.fill_between(
        x, mean - QUANTILE * std, mean + QUANTILE * std, color=colour, alpha=0.2, lw=0
    )  # fmt: skip


def figures_4_and_5(folder: Path, out: Path, quick: bool) -> None:
    """Motorcycle data: error bars of each third of the range, held out and in sample."""
    print("\nFigures 4 and 5: motorcycle data, 20 centres on a grid, batch; 95 % bars")
    loaded = data.rows(folder, "mcycle")
    if loaded is None:
        return
    X, y = loaded
    low, high = X.min(), X.max()
    centres = np.linspace(low, high, 20)[:, None]
    makers = {
        "RVC, paper": lambda: rvc("paper", centres=centres, max_experts=20),
        "RVC": lambda: rvc("local", centres=centres, max_experts=20),
        "RVC, paper, b=.01": lambda: rvc(
            "paper", centres=centres, max_experts=20, width=0.03, b=0.01
        ),
        "GP": GaussianProcess,
    }
    third = np.minimum(((X[:, 0] - low) / (high - low) * 3).astype(int), 2)
    parts = {name: third == k for k, name in enumerate(THIRDS)} | {"quiet": X[:, 0] < QUIET}
    figure, axes = plt.subplots(1, 4, figsize=(14, 3.8), sharey=True, layout="constrained")
    grid = np.linspace(low, high, 400)[:, None]
    rows = []
    for (name, make), ax in zip(makers.items(), axes):
        model = make().fit(X, y)
        _band(ax, grid[:, 0], *model.predict(grid, return_std=True), COLOURS[name.split(", b")[0]])
        ax.plot(X[:, 0], y, "k.", ms=4)
        by_hand = ", width=.03 by hand" if "b=" in name else ""
        ax.set(title=name + by_hand, xlabel="ms after the impact")
        rows.append(_bars(f"{name}, in sample", y, *model.predict(X, return_std=True), parts))
        told = [_left_out(make, X, y, seed) for seed in range(1 if quick else 5)]
        mean, std = (np.concatenate(each) for each in zip(*told))
        everywhere = {key: np.tile(at, len(told)) for key, at in parts.items()}
        rows.append(_bars(f"{name}, left out", np.tile(y, len(told)), mean, std, everywhere))
    axes[0].set(ylabel="acceleration / g")
    sizes = ", ".join(f"{name} {at.sum()}" for name, at in parts.items())
    sd = y[parts["quiet"]].std()
    print(
        f"  rows: {sizes} (before {QUIET:g} ms, sd of y {sd:.1f}); left out: 10 folds,"
        f" {len(told)} times"
    )
    print(table(rows))
    print(
        "  b=.01: width=.03 and b=.01 given by hand, of 30 pairs that were looked at on these rows;"
        "\n  otherwise they are chosen from the rows that are learnt from"
    )
    save(figure, out / "rvc_motorcycle.png")


def _left_out(make, X: Array, y: Array, seed: int, folds: int = 10) -> tuple[Array, Array]:
    """Mean and standard deviation of every row, learnt from the other folds."""
    fold = np.random.default_rng(seed).permutation(y.size) % folds
    mean, std = np.empty((2, y.size))
    for k in range(folds):
        out = fold == k
        model = make().fit(X[~out], y[~out])
        mean[out], std[out] = model.predict(X[out], return_std=True)
    return mean, std


def _bars(name: str, y: Array, mean: Array, std: Array, parts: dict[str, Array]) -> dict:
    held, width, density = {}, {}, {}
    for part, at in parts.items():
        lower, upper = mean[at] - QUANTILE * std[at], mean[at] + QUANTILE * std[at]
        held[f"held {part}"] = float(coverage(y[at], lower, upper))
        width[f"width {part}"] = float(np.mean(upper - lower))
        density[f"nlpd {part}"] = float(nlpd(y[at], mean[at], std[at]))
    return {"": name, **held, **width, **density, "nlpd all": float(nlpd(y, mean, std))}
