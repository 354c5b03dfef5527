"""Figure 6 of Edakunni, Schaal & Vijayakumar (2007): errors online, and of generalisation."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.harness import data
from benchmarks.harness.data import Array
from benchmarks.harness.tables import table
from benchmarks.papers.edakunni2007.rfwr import RFWR
from benchmarks.papers.edakunni2007.setting import COLOURS, GaussianProcess, rvc, save, sinc
from benchmarks.papers.experiments import Cell, of_rows

#: Figure 6a: rows, noise, test points, and when errors are printed.
ROWS, NOISE, TESTS, TOLD = 500, 0.05, 1000, (50, 100, 200, 500)
#: Sizes of new fields: the first suits sinc best, the others the real sets.
SIZES = (0.05, 0.1, 0.2)


def sinc_rows(seed: int) -> tuple[Array, Array, Array, Array]:
    """Rows, and test points without noise."""
    rng = np.random.default_rng(seed)
    X, X_test = rng.uniform(-10, 10, (ROWS, 1)), rng.uniform(-10, 10, (TESTS, 1))
    return X, sinc(X) + NOISE * rng.normal(size=ROWS), X_test, sinc(X_test)


def nmse(y: Array, mean: Array) -> float:
    return float(np.mean((y - mean) ** 2) / y.var())


def figure_6a(folder: Path, out: Path, quick: bool) -> list[Cell]:
    """Error after every ten rows of a stream."""
    repeats = 1 if quick else 10
    at = np.array(TOLD) if quick else np.arange(10, ROWS + 1, 10)
    gp_at = at if quick else np.array([10, 20, 30, 50, 70, 100, 140, 200, 300, 500])
    makers = {
        "RVC, paper": lambda: rvc("paper"),
        "RVC": lambda: rvc("local"),
        "RVC, start_rows=25": lambda: rvc("local", start_rows=25),
        "RFWR": lambda: RFWR(SIZES[0]),
    }
    errors = {name: np.empty((repeats, at.size)) for name in makers}
    errors["GP"] = np.empty((repeats, gp_at.size))
    experts = {name: [] for name in makers}
    for seed in range(repeats):
        X, y, X_test, f = sinc_rows(seed)
        for name, make in makers.items():
            model = make()
            for i, n in enumerate(at):
                before = at[i - 1] if i else 0
                model.partial_fit(X[before:n], y[before:n])
                errors[name][seed, i] = nmse(f, model.predict(X_test))
            fields = name == "RFWR"
            experts[name].append(len(model.fields) if fields else model.n_experts_)
        for i, n in enumerate(gp_at):
            errors["GP"][seed, i] = nmse(f, GaussianProcess().fit(X[:n], y[:n]).predict(X_test))
    print(
        f"\nFigure 6a: sinc, noise sd {NOISE}, one sweep a row, {TESTS} test points, mean of"
        f" {repeats} streams"
    )
    rows, spreads = [], np.array([[sinc_rows(seed)[3].std()] for seed in range(repeats)])
    for name, found in errors.items():
        marks = [np.flatnonzero((gp_at if name == "GP" else at) == n)[0] for n in TOLD]
        rmse = (np.sqrt(found[:, marks]) * spreads).mean(axis=0)
        rows.append({
            "": name, **{f"rmse {n}": float(e) for n, e in zip(TOLD, rmse)},
            **{f"nmse {n}": float(e) for n, e in zip(TOLD, found[:, marks].mean(axis=0))},
            "experts": float(np.mean(experts[name])) if name in experts else "",
        })  # fmt: skip
    print(table(rows))
    print(
        "  RVC keeps its first 500 rows (start_rows) to begin anew with at doublings; with"
        "\n  start_rows=25 it has stored none since the 25th. RFWR: scales from the first 25"
        "\n  rows, and the best of three sizes of new fields for this function."
    )
    figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for name, found in errors.items():
        when, style = (gp_at, "o--") if name == "GP" else (at, "-")
        ax.semilogy(
            when, np.exp(np.log(found).mean(axis=0)), style, ms=4, color=COLOURS[name], label=name
        )
    ax.set(
        xlabel="rows", ylabel="squared error / variance", xlim=(0, ROWS),
        title=f"sinc, noise sd {NOISE}: geometric mean of {repeats} streams",
    )  # fmt: skip
    ax.legend()
    save(figure, out / "rvc_online.png")
    return of_rows("fig. 6a", rows)


def figure_6b(folder: Path, out: Path, quick: bool) -> list[Cell]:
    """Error on held-out rows; the same arguments for all sets."""
    repeats, own = (2, {"max_experts": 30, "width": 0.05, "b": 0.1}) if quick else (5, {})
    print(
        f"\nFigure 6b: squared error / variance on test rows, mean (standard error) of {repeats}"
        " splits; the same\n  arguments for all sets. Online: one pass, as in the paper"
    )
    makers = {
        "RVC, paper, online": lambda X, y: rvc("paper").partial_fit(X, y),
        "RVC, paper, batch": lambda X, y: rvc("paper", **own).fit(X, y),
        "RVC, online": lambda X, y: rvc("local").partial_fit(X, y),
        "RVC, batch": lambda X, y: rvc("local").fit(X, y),
        **{
            f"RFWR, fields of {size}": lambda X, y, size=size: RFWR(size).partial_fit(X, y)
            for size in SIZES
        },
        "GP": lambda X, y: GaussianProcess().fit(X, y),
    }
    rows = [{"": name} for name in makers]
    means = []
    for name, splits in _sets(folder, repeats, quick).items():
        errors = np.array([
            [nmse(y_test, make(X, y).predict(X_test)) for make in makers.values()]
            for X, y, X_test, y_test in splits
        ])  # fmt: skip
        mean, error = errors.mean(axis=0), errors.std(axis=0, ddof=1) / np.sqrt(repeats)
        means.append((name, mean, error))
        for row, m, e in zip(rows, mean, error):
            row[name] = f"{m:.4f} ({e:.4f})"
    print(table(rows))
    _bar_picture(list(makers), means, out)
    return [
        Cell(f"fig. 6b, {name}, {method}", m, error=e)
        for name, mean, error in means
        for method, m, e in zip(makers, mean, error)
    ]


def _sets(folder: Path, repeats: int, quick: bool) -> dict[str, list]:
    found = {"sinc": [sinc_rows(100 + seed) for seed in range(repeats)]}
    for name, tests in (("ozone_environmental", 28), ("boston", 126))[: 1 if quick else 2]:
        loaded = data.rows(folder, name)
        if loaded is not None:
            X, y = loaded
            label = f"{name.split('_')[0]} {y.size - tests}/{tests}"
            found[label] = []
            for seed in range(repeats):
                order = np.random.default_rng(seed).permutation(y.size)
                test, train = order[:tests], order[tests:]
                found[label].append((X[train], y[train], X[test], y[test]))
    return found


def _bar_picture(names: list[str], means: list, out: Path) -> None:
    figure, axes = plt.subplots(
        1, len(means), figsize=(4 * len(means), 3.4), sharey=True, layout="constrained"
    )
    known = [
        name.removesuffix(", online").removesuffix(", batch").split(", f")[0] for name in names
    ]
    for ax, (label, mean, error) in zip(np.atleast_1d(axes), means):
        ax.barh(names, mean, xerr=error, color=[COLOURS[name] for name in known], alpha=0.8)
        most = min(1.1 * (mean + error).max(), 4.0 * np.sort(mean)[-2])
        for k in np.flatnonzero(mean > most):
            ax.text(0.97 * most, k, f"{mean[k]:.2g} →", ha="right", va="center", color="w")
        ax.set(title=label, xlabel="squared error / variance", xlim=(0, most))
    np.atleast_1d(axes)[0].invert_yaxis()
    save(figure, out / "rvc_generalisation.png")
