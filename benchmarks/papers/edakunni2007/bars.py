"""Figures 3 to 5 of Edakunni, Schaal & Vijayakumar (2007): regions, and bars that follow noise."""

from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr

from benchmarks.harness import data
from benchmarks.harness.data import Array
from benchmarks.harness.forecast import QUANTILE
from benchmarks.harness.tables import table
from benchmarks.papers.edakunni2007.setting import COLOURS, GaussianProcess, rvc, save
from benchmarks.papers.experiments import Cell, of_rows
from collegium.metrics import coverage, nlpd
from collegium.rvc.batch import ExpertPrior, ExpertRows, published_sweep

#: Figure 3: range, the gap without rows, noise, rows, centres on a grid.
LOW, HIGH, GAP, NOISE, ROWS, CENTRES = -10.0, 10.0, (5.5, 6.5), 0.05, 250, 60
GRID = np.linspace(LOW, HIGH, 801)[:, None]
THIRDS = ("first", "middle", "last")
#: Before the impact is felt, in ms: hardly any noise.
QUIET = 14.0
#: Width and b that the code chooses for the motorcycle data; sweeps that stand for the limit.
WIDTH, B, LONG = 0.0424, 0.1, 3000


def varied(X: Array) -> Array:
    """A narrow sinc on a slow wave: strongly curved about 0, gently elsewhere."""
    x = X[:, 0]
    return np.sinc(x / 1.5) + 0.3 * np.sin(x / 2.5)


def curvature(X: Array, step: float = 1e-3) -> Array:
    return np.abs(varied(X + step) - 2.0 * varied(X) + varied(X - step)) / step**2


def figure_3(folder: Path, out: Path, quick: bool) -> list[Cell]:
    """Regions shrink where the function bends; bars widen where no rows are."""
    rng = np.random.default_rng(3)
    X = rng.uniform(LOW, HIGH, (ROWS, 1))
    X = X[(X[:, 0] < GAP[0]) | (X[:, 0] > GAP[1])]
    y = varied(X) + NOISE * rng.normal(size=X.shape[0])
    centres = np.linspace(LOW, HIGH, CENTRES)[:, None]
    chosen = {"width": 0.014, "b": 0.03} if quick else {}  # the code's choice, known in advance
    models = {
        "RVC, paper": rvc("paper", centres=centres, max_experts=CENTRES, **chosen),
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
    return of_rows("fig. 3", rows)


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


def figures_4_and_5(folder: Path, out: Path, quick: bool) -> list[Cell]:
    """Motorcycle data: error bars of each third of the range, held out and in sample."""
    print("\nFigures 4 and 5: motorcycle data, 20 centres on a grid, batch; 95 % bars")
    loaded = data.rows(folder, "mcycle")
    if loaded is None:
        return []
    X, y = loaded
    low, high = X.min(), X.max()
    centres = np.linspace(low, high, 20)[:, None]
    chosen = {"width": WIDTH, "b": B} if quick else {}
    makers = {
        "RVC, paper": lambda: rvc("paper", centres=centres, max_experts=20, **chosen),
        "RVC": lambda: rvc("local", centres=centres, max_experts=20),
        "GP": GaussianProcess,
    }
    third = np.minimum(((X[:, 0] - low) / (high - low) * 3).astype(int), 2)
    parts = {name: third == k for k, name in enumerate(THIRDS)} | {"quiet": X[:, 0] < QUIET}
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True, layout="constrained")
    grid = np.linspace(low, high, 400)[:, None]
    rows, times, folds = [], (1 if quick else 5), (2 if quick else 10)
    for (name, make), ax in zip(makers.items(), axes):
        model = make().fit(X, y)
        _band(ax, grid[:, 0], *model.predict(grid, return_std=True), COLOURS[name])
        ax.plot(X[:, 0], y, "k.", ms=4)
        ax.set(title=name, xlabel="ms after the impact")
        rows.append(_bars(f"{name}, in sample", y, *model.predict(X, return_std=True), parts))
        told = [_left_out(make, X, y, seed, folds) for seed in range(times)]
        mean, std = (np.concatenate(each) for each in zip(*told))
        everywhere = {key: np.tile(at, len(told)) for key, at in parts.items()}
        rows.append(_bars(f"{name}, left out", np.tile(y, len(told)), mean, std, everywhere))
    axes[0].set(ylabel="acceleration / g")
    sizes = ", ".join(f"{name} {at.sum()}" for name, at in parts.items())
    sd = y[parts["quiet"]].std()
    print(
        f"  rows: {sizes} (before {QUIET:g} ms, sd of y {sd:.1f}); left out: {folds} folds,"
        f" {len(told)} times"
    )
    print(table(rows))
    save(figure, out / "rvc_motorcycle.png")
    return of_rows("figs 4, 5", rows) + _sweeps(X, y, centres, parts, quick)


def _sweeps(X: Array, y: Array, centres: Array, parts: dict[str, Array], quick: bool) -> list[Cell]:
    """Eq. 22 after every sweep, against a prior of h that stays: standard deviations of y."""
    print(
        f"\n  Eq. 22 after every sweep (width={WIDTH}, b={B}): error in sample, and mean standard"
        "\n  deviations, after so many sweeps. Its limit is the unconstrained likelihood"
    )
    model = rvc("paper", centres=centres, max_experts=20, width=WIDTH, b=B).fit(X, y)
    rows = []
    for name in (20, 300) if quick else (20, 300, 1500, 6000, "limit"):
        mean, std = _relearnt(model.model_, X, y, name)
        rows.append(_deviations(f"{name} sweeps" if name != "limit" else name, y, mean, std, parts))
    held = model.predict(X, return_std=True)
    rows.append(_deviations(f"prior held, {model.n_iter_} sweeps", y, *held, parts))
    print(table(rows))
    return of_rows("fig. 4, eq. 22", rows)


def _deviations(name: str, y: Array, mean: Array, std: Array, parts: dict[str, Array]) -> dict:
    sd = {f"sd {part}": float(std[at].mean()) for part, at in parts.items()}
    return {"": name, "rmse": float(np.sqrt(np.mean((y - mean) ** 2))), **sd}


def _relearnt(stream, X: Array, y: Array, sweeps: int | str) -> tuple[Array, Array]:
    """Mean and standard deviation at the rows, with eq. 22 after every sweep.

    In the limit the prior of h is the posterior of the same rows: it counts for nothing beside
    them.
    """
    committee = stream.committees[0]
    Xs, ys = stream.inputs.forward(X), stream.scaling.forward(y[:, None])[:, 0]
    experts = committee.experts.copy()
    for k in range(experts.size):
        rows = ExpertRows.of(Xs, ys, np.ones(y.size), experts.centres[k], committee.assumed)
        prior = ExpertPrior.of(committee.assumed, experts.start[k])
        q = prior.posterior(False)
        if sweeps == "limit":
            prior = replace(prior, a=1e-12 * prior.a, b=1e-12 * prior.b)
        for _ in range(LONG if sweeps == "limit" else sweeps):
            q = published_sweep(rows, prior, q)
            if sweeps != "limit":
                prior = replace(prior, a=q.a, b=q.b)  # eq. 22
        experts.mu[k], experts.a[k], experts.b[k] = q.mu, q.a, q.b
        experts.c[k], experts.d[k], experts.factor[k] = q.c, q.d, q.root[None] ** 2
    answer = replace(committee, experts=experts).answer(Xs)
    scaling = stream.scaling
    return scaling.mean(answer.mean[:, None])[:, 0], np.sqrt(answer.variance) * scaling.scale[0]


def _left_out(make, X: Array, y: Array, seed: int, folds: int) -> tuple[Array, Array]:
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
