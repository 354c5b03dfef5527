"""Figures 1 to 6 of Zhu & Rohwer (1995): samples of priors, and a filter on synthetic data."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.harness.data import Array
from benchmarks.papers.experiments import Cell, mean_and_error, save
from benchmarks.papers.zhu1995.setting import (
    GRID,
    HIGH,
    LOW,
    SIGNAL,
    WIDTH,
    Problem,
    problem,
    regression_filter,
    splines,
)
from collegium import kernels
from collegium.plots import plot_basis, plot_fit, plot_prior

SCALES = (0.5, 1.0, 2.0)
#: Of figures 1 to 4: name, kernel of (σ₀, σ₁), and its standard deviation.
PRIORS = {
    "fig1": ("Gaussian kernel", lambda w, s: kernels.RBF(s**2, w), lambda w, s: s),
    "fig2": ("Laplace kernel", lambda w, s: kernels.Matern12(s**2, w), lambda w, s: s),
    "fig3": ("hat kernel", lambda w, s: kernels.Hat(s**2, w), lambda w, s: s),
    "fig4": (
        "Laplace filter",
        lambda w, s: kernels.Filtered(
            kernels.LaplaceFilter(w), LOW - 8 * w, HIGH + 8 * w, 2048, s**2
        ),
        lambda w, s: s * np.sqrt(w),
    ),
}


def prior_figure(part: str):
    """Five functions from each of nine priors."""
    name, kernel, deviation = PRIORS[part]

    def draw(folder: Path, out: Path, quick: bool) -> list[Cell]:
        cells = []
        figure, axes = plt.subplots(
            3, 3, figsize=(10, 7.5), sharex=True, sharey=True, layout="constrained"
        )
        print(f"\nFigure {part[-1]}: {name}; root mean square of 5 functions, and the prior's")
        for i, (row, signal) in enumerate(zip(axes, SCALES)):
            for j, (ax, width) in enumerate(zip(row, SCALES)):
                plot_prior(kernel(width, signal), GRID[:, None], ax=ax, random_state=3 * i + j)
                values = np.stack([line.get_ydata() for line in ax.lines])
                found, expected = np.sqrt(np.mean(values**2)), deviation(width, signal)
                print(f"  σ0 = {width:3}  σ1 = {signal:3}   {found:.2f}   {expected:.2f}")
                where = f"fig. {part[-1]}, σ0 = {width}, σ1 = {signal}, root mean square"
                cells.append(Cell(where, float(found)))
                ax.set(title=f"$σ_0$ = {width:g}, $σ_1$ = {signal:g}", xlabel="", ylabel="")
        figure.suptitle(f"Five functions from each prior: {name}")
        save(figure, out / f"zhu1995_{part}.png")
        return cells

    return draw


def figure_5(folder: Path, out: Path, quick: bool) -> list[Cell]:
    """A filter of 40 splines as rows arrive, and its three error bars."""
    print("\nFigure 5: σ0 = .5, σ1 = 1, σ2 = .5, 40 linear splines, rows as they come")
    data = problem(160, seed=5)
    figure, axes = plt.subplots(2, 3, figsize=(13, 7.5), layout="constrained")
    plot_prior(kernels.Matern12(SIGNAL**2, WIDTH), GRID[:, None], ax=axes[0, 0], random_state=5)
    axes[0, 0].set(title="(a) five functions from the prior")
    axes[0, 1].plot(data.X[:, 0], data.y, "k.", ms=4)
    axes[0, 1].set(title="(b) 160 rows", xlim=(LOW, HIGH), xlabel="x", ylabel="y")
    plot_basis(splines(40), LOW, HIGH, ax=axes[0, 2]).set(title="(c) the basis")
    print(
        f"  {'rows':>6} {'rms error':>10}   mean standard deviation of P_M f, f as published, f, y;"
        "   truth within 1.96 sd of the first three"
    )
    model, seen, cells = regression_filter(40), 0, []
    for ax, n in zip([*axes[1], None], (10, 40, 90, 160)):
        model.partial_fit(data.X[seen:n], data.y[seen:n])
        seen = n
        cells += _print_bars(model, data, n)
        if ax is not None:
            plot_fit(
                model, data.X[:n], data.y[:n], truth=data.truth, low=LOW, high=HIGH, ax=ax,
                legend=False,
            )  # fmt: skip
            ax.set(title=f"({'def'[(10, 40, 90).index(n)]}) after {n} rows", ylim=(-4.2, 4.2))
    axes[1, 0].legend(loc="lower left", fontsize=8, ncols=2)
    save(figure, out / "zhu1995_fig5.png")
    return cells


def _print_bars(model, data: Problem, n: int) -> list[Cell]:
    levels = ("model", "paper", "function", "observation")
    mean, *_ = model.predict(GRID[:, None], return_std=True, level="function")
    said = {level: model.predict(GRID[:, None], return_std=True, level=level) for level in levels}
    held = [np.mean(np.abs(said[l][0] - data.f) < 1.96 * said[l][1]) for l in levels[:3]]
    error, deviations = np.sqrt(np.mean((mean - data.f) ** 2)), [said[l][1].mean() for l in levels]
    print(
        f"  {n:6d} {error:10.3f}   "
        + "  ".join(f"{deviation:.3f}" for deviation in deviations)
        + "   "
        + "  ".join(f"{h:.0%}" for h in held)
    )
    where = f"fig. 5, {n} rows"
    return [Cell(f"{where}, rms error", float(error))] + [
        Cell(f"{where}, mean sd, level {level}", float(deviation))
        for level, deviation in zip(levels, deviations)
    ]


def figure_6(folder: Path, out: Path, quick: bool) -> list[Cell]:
    """Over- and under-fitting are a matter of σ0, not of m."""
    sizes, widths = (5, 10, 20, 40, 80), (0.125, 0.25, 0.5, 1.0, 2.0)
    if quick:
        sizes, widths = (5, 20), (0.125, 0.5)
    data = problem(100, seed=6)
    figure = plt.figure(figsize=(16, 8), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1.9, 1])
    axes = left.subplots(len(widths), len(sizes), sharex=True, sharey=True)
    for row, width in zip(axes, widths):
        for ax, m in zip(row, sizes):
            mean = regression_filter(m, width).fit(data.X, data.y)
            ax.plot(data.X[:, 0], data.y, ".", color="0.65", ms=2.5)
            ax.plot(GRID, data.f, "--", color="#D55E00", lw=0.8)
            ax.plot(GRID, mean.predict(GRID[:, None], level="model"), color="#0072B2", lw=1.2)
            ax.set(ylim=(-3.8, 3.8), xlim=(LOW, HIGH))
        row[0].set(ylabel=f"$σ_0$ = {width:g}")
    for ax, m in zip(axes[0], sizes):
        ax.set(title=f"m = {m}")
    left.suptitle("100 rows; true $σ_0$ = 0.5. Fit: line, truth: dashed")
    cells = _error_curves(right.subplots(), quick)
    save(figure, out / "zhu1995_fig6.png")
    return cells


def _error_curves(ax, quick: bool) -> list[Cell]:
    sizes = np.array([5, 10, 20, 40, 60, 80, 95, 100, 105, 120, 160, 320])
    repeats, widths, cells = (2 if quick else 40), (0.125, 0.5, 2.0), []
    sizes = sizes[[0, 3, 7]] if quick else sizes
    print(f"\nFigure 6: mean squared error against f, 100 rows, geometric mean of {repeats}")
    names = [f"filter, σ0 = {w:g}" for w in widths] + ["least squares"]
    errors = np.empty((repeats, len(names), sizes.size))
    for r in range(repeats):
        data = problem(100, seed=600 + r)
        for j, m in enumerate(sizes):
            fits = [
                regression_filter(m, w).fit(data.X, data.y).predict(GRID[:, None], level="model")
                for w in widths
            ]
            fits.append(_least_squares(splines(m), data))
            errors[r, :, j] = [np.log(np.mean((fit - data.f) ** 2)) for fit in fits]
    print("  " + " " * 18 + "".join(f"{m:>9}" for m in sizes))
    for i, name in enumerate(names):
        mean = np.exp(errors[:, i].mean(axis=0))
        print(f"  {name:18}" + "".join(f"{e:9.3g}" for e in mean) + _rises(errors[:, i]))
        cells += [Cell(f"fig. 6, {name}, m = {m}", float(e)) for m, e in zip(sizes, mean)]
        style = "k--s" if name == "least squares" else f"C{i}-o"
        ax.loglog(sizes, mean, style, ms=4, label=name.replace("σ0", "$σ_0$"))
    ax.axvline(100, color="0.8", lw=1, zorder=0)
    ax.set(
        xlabel="basis functions m",
        ylabel="mean squared error of the fit",
        ylim=(0.15, 300),
        title="More functions never over-fit",
        xticks=[5, 10, 20, 40, 100, 320],
        xticklabels=["5", "10", "20", "40", "100", "320"],
    )
    ax.minorticks_off()
    ax.legend(loc="upper left")
    return cells


def _rises(errors: Array) -> str:
    """Whether the log error at any m is above that at a smaller one, by more than 2 paired se."""
    worst = 0.0
    for j in range(1, errors.shape[1]):
        for i in range(j):
            mean, error = mean_and_error(errors[:, j] - errors[:, i])
            if mean > 2.0 * error:
                worst = max(worst, np.expm1(mean))
    return f"   rises {1.0 + worst:.3g} times" if worst else "   never rises by more than 2 se"


def _least_squares(basis, data: Problem) -> Array:
    """The smallest weights of the best fit."""
    weights = np.linalg.lstsq(basis(data.X), data.y, rcond=None)[0]
    return basis(GRID[:, None]) @ weights
