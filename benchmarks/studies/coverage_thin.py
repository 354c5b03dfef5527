"""Error bars where rows are thin: gaps, edges, the future, new groups, few rows, odd targets.

python -m benchmarks.studies.coverage_thin [--draws 20] [--cases gap …] [--data ../shared/data]

Truths are draws from known priors, so that an exact Gaussian process with the true kernel tells
what can be known; maps have a disc cut out. Results go to benchmarks/results/coverage_thin.json,
which holds the latest of every case, and from there to docs/coverage_thin.md with a picture.
LightGBM's quantile models are beside them where that package is installed.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.stats import norm

from benchmarks.harness.machine import machine
from benchmarks.harness.markdown import decimals, lines
from collegium import CommitteeRegressor, kernels
from collegium.numerics.threads import single_threaded

Array = np.ndarray
ROOT = Path(__file__).parents[2]
COVERAGE = 0.95
TAILS = (0.5 - 0.5 * COVERAGE, 0.5 + 0.5 * COVERAGE)
EXACT, COMMITTEE, ANCHORS, TREES = "exact GP", "committee", "anchors only", "LightGBM quantiles"
METHODS = (EXACT, COMMITTEE, ANCHORS, TREES)


@dataclass(frozen=True, eq=False)
class Draw:
    """Rows, and for each place queries with observations (or rates); what the exact GP knows."""

    X: Array
    y: Array
    places: dict[str, tuple[Array, Array]]
    kernel: kernels.Kernel | None = None  # of the exact GP; None: there is none
    noise: float = 0.0
    between: float = 0.0  # variance of the levels of groups
    fit: dict = field(default_factory=dict)  # further arguments of fit
    model: dict = field(default_factory=dict)  # of the committee
    level: str = "observation"


# -- draws ------------------------------------------------------------------------------------


def sampled(kernel, X: Array, rng) -> Array:
    """f ~ GP(0, K)."""
    with single_threaded():
        return kernel.for_width(X.shape[1]).sample(X, 1, rng)[:, 0]


def map_with_a_hole(seed: int, n: int = 2_600, radius: float = 0.35) -> Draw:
    """Rows in the square [−1, 1]² but for a disc; queries in it, and up to .3 beyond the edge."""
    rng = np.random.default_rng(seed)
    family = (kernels.Matern12, kernels.Matern32, kernels.Matern52, kernels.RBF)[seed % 4]
    kernel, noise = family(1.0, [0.5, 0.5]), 0.3
    centre = rng.uniform(-0.5, 0.5, 2)
    X = rng.uniform(-1.0, 1.0, (2 * n, 2))
    X = X[((X - centre) ** 2).sum(axis=1) > radius**2][:n]
    way = rng.normal(size=(200, 2))
    way /= np.sqrt((way**2).sum(axis=1, keepdims=True))
    hole = centre + way * radius * np.sqrt(rng.uniform(size=(200, 1)))
    edge = rng.uniform(-1.0, 1.0, (200, 2))
    side = np.arange(200), rng.integers(0, 2, 200)
    edge[side] = np.sign(edge[side]) * (1.0 + 0.3 * rng.uniform(size=200))
    near = rng.uniform(-1.0, 1.0, (400, 2))
    near = near[((near - centre) ** 2).sum(axis=1) > radius**2][:200]
    queries = {"gap": hole, "edge": edge, "among rows": near}
    y = sampled(kernel, np.concatenate([X, *queries.values()]), rng)
    y = y + noise * rng.normal(size=y.size)
    parts = np.split(y, np.cumsum([n, 200, 200]))
    places = {name: (Q, own) for (name, Q), own in zip(queries.items(), parts[1:])}
    return Draw(X, parts[0], places, kernel, noise**2)


def series(seed: int, n: int = 1_000) -> Draw:
    """A walk that returns to its mean slowly; queries in the next twentieth of the time."""
    rng = np.random.default_rng(seed)
    kernel, noise = kernels.Matern12(1.0, [1.0]), 0.1
    X = np.sort(rng.uniform(0.0, 10.0, (n, 1)), axis=0)
    Q = np.linspace(10.0, 10.5, 101)[1:, None]
    y = sampled(kernel, np.concatenate([X, Q]), rng)
    y = y + noise * rng.normal(size=y.size)
    return Draw(X, y[:n], {"future": (Q, y[n:])}, kernel, noise**2)


def beyond(rng, n: int, d: int, reach: float = 0.3) -> Array:
    """Places around the box [−1, 1]^d: one column up to `reach` beyond it."""
    Q = rng.uniform(-1.0, 1.0, (n, d))
    side = np.arange(n), rng.integers(0, d, n)
    Q[side] = np.sign(Q[side]) * (1.0 + reach * rng.uniform(size=n))
    return Q


def trend(seed: int, n: int, *, curved: bool) -> Draw:
    """A line or a parabola in two columns, noise of .3 standard deviations of it."""
    rng = np.random.default_rng(seed)
    slope, bend = rng.normal(size=2), rng.normal(size=2) * curved
    X, Q = rng.uniform(-1.0, 1.0, (n, 2)), beyond(rng, 200, 2)
    f, g = (one @ slope + one**2 @ bend for one in (X, Q))
    y, truth = (one + 0.3 * f.std() * rng.normal(size=one.size) for one in (f, g))
    words = "parabola" if curved else "line"
    return Draw(X, y, {f"beyond a {words}, {n:,} rows": (Q, truth)})


def box(seed: int, n: int) -> Draw:
    """A draw in five columns; queries beyond the box in one of them, and in all of them."""
    rng = np.random.default_rng(seed)
    kernel = (kernels.Matern32, kernels.Matern52, kernels.RBF)[seed % 3](1.0, [1.0] * 5)
    X, Q = rng.uniform(-1.0, 1.0, (n, 5)), beyond(rng, 200, 5)
    far = rng.uniform(1.0, 1.5, (200, 5)) * rng.choice([-1.0, 1.0], (200, 5))
    y = sampled(kernel, np.concatenate([X, Q, far]), rng)
    parts = np.split(y + 0.3 * rng.normal(size=y.size), [n, n + 200])
    words = f"a box of five columns, {n:,} rows"
    places = {f"beyond {words}": (Q, parts[1]), f"corners of {words}": (far, parts[2])}
    return Draw(X, parts[0], places, kernel, 0.09)


def walk(seed: int, n: int) -> Draw:
    """A random walk; queries in the next twentieth of the time."""
    rng = np.random.default_rng(seed)
    kernel = kernels.Matern12(100.0, [100.0])  # over a tenth of the length scale: a walk
    X = np.sort(rng.uniform(0.0, 10.0, (n, 1)), axis=0)
    Q = np.linspace(10.0, 10.5, 101)[1:, None]
    y = sampled(kernel, np.concatenate([X, Q]), rng)
    y = y + 0.1 * rng.normal(size=y.size)
    return Draw(X, y[:n], {f"future of a walk, {n:,} rows": (Q, y[n:])}, kernel, 0.01)


def season(seed: int, n: int) -> Draw:
    """Ten periods of a wave on a line; queries in the next half of a period."""
    rng = np.random.default_rng(seed)
    X, Q = np.sort(rng.uniform(0.0, 10.0, n)), np.linspace(10.0, 10.5, 101)[1:]
    phase = rng.uniform(0.0, 2.0 * np.pi)
    y, truth = (
        np.sin(2.0 * np.pi * t + phase) + 0.3 * t + 0.2 * rng.normal(size=t.size) for t in (X, Q)
    )
    return Draw(X[:, None], y, {f"future of a season, {n:,} rows": (Q[:, None], truth)})


def new_groups(seed: int, groups: int = 40, size: int = 25) -> Draw:
    """Rows of groups with a level of their own; queries from others."""
    rng = np.random.default_rng(seed)
    kernel, level, noise, n = kernels.Matern32(1.0, [0.5, 0.5]), 0.6, 0.3, groups * size
    X = rng.uniform(-1.0, 1.0, (2 * n, 2))
    group = np.repeat(np.arange(2 * groups), size)
    y = sampled(kernel, X, rng) + noise * rng.normal(size=2 * n)
    y = y + level * rng.normal(size=2 * groups)[group]
    places = {"new groups": (X[n:], y[n:])}
    return Draw(X[:n], y[:n], places, kernel, noise**2, level**2, fit={"groups": group[:n]})


def few(seed: int, n: int = 20) -> Draw:
    rng = np.random.default_rng(seed)
    kernel, noise = kernels.Matern32(1.0, [0.5]), 0.3
    X = rng.uniform(-1.0, 1.0, (n + 200, 1))
    y = sampled(kernel, X, rng) + noise * rng.normal(size=n + 200)
    return Draw(X[:n], y[:n], {"20 rows": (X[n:], y[n:])}, kernel, noise**2)


def zeros(seed: int, n: int = 1_000) -> Draw:
    """Nine of ten y are zero, the others e^f."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n + 400, 2))
    y = np.exp(0.5 * sampled(kernels.Matern32(1.0, [0.5, 0.5]), X, rng))
    y = np.where(rng.uniform(size=y.size) < 0.9, 0.0, y)
    return Draw(X[:n], y[:n], {"90 % zeros": (X[n:], y[n:])})


def outliers(seed: int, n: int = 800) -> Draw:
    """One of ten rows has ten times the noise, queries too."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n + 400, 2))
    sd = np.where(rng.uniform(size=n + 400) < 0.1, 2.0, 0.2)
    y = sampled(kernels.Matern32(1.0, [0.5, 0.5]), X, rng) + sd * rng.normal(size=n + 400)
    places = {"10 % outliers": (X[n:], y[n:])}
    return Draw(X[:n], y[:n], places, model={"likelihood": "student-t"})


def counts(seed: int, n: int = 800) -> Draw:
    """Counts of a rate e^(1 + f): intervals of the rate."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n + 400, 2))
    rate = np.exp(1.0 + 0.7 * sampled(kernels.Matern32(1.0, [0.5, 0.5]), X, rng))
    y = rng.poisson(rate).astype(float)
    places = {"rates of counts": (X[n:], rate[n:])}
    return Draw(X[:n], y[:n], places, model={"likelihood": "poisson"}, level="function")


def cut_map(folder: Path, name: str, seed: int, n: int = 20_000, share: float = 0.03) -> Draw:
    """A sample of a map, but for the rows of a disc around one of them."""
    rng = np.random.default_rng(seed)
    with np.load(folder / f"{name}.npz") as arrays:
        X, y = arrays["X"].astype(float), arrays["y"].astype(float)
    some = rng.permutation(y.size)[:n]
    X, y = X[some], (y[some] - y[some].mean()) / y[some].std()
    far = ((X - X[rng.integers(n)]) ** 2).sum(axis=1)
    hole = far <= np.sort(far)[int(share * n)]
    return Draw(X[~hole], y[~hole], {f"{name}, a disc": (X[hole], y[hole])})


CASES: dict[str, Callable[[int], Draw]] = {
    "map": map_with_a_hole, "future": series, "groups": new_groups, "few": few, "zeros": zeros,
    "outliers": outliers, "counts": counts,
}  # fmt: skip
for size in (300, 1_500):  # averaged, and exact Gaussian processes
    CASES |= {
        f"line-{size}": partial(trend, n=size, curved=False),
        f"parabola-{size}": partial(trend, n=size, curved=True),
        f"box-{size}": partial(box, n=size),
        f"walk-{size}": partial(walk, n=size),
        f"season-{size}": partial(season, n=size),
    }
MAPS = ("heaton_satellite", "chm_simes", "jacksboro_dem")


# -- methods ----------------------------------------------------------------------------------


def exact_gp(found: Draw) -> Callable[[Array], tuple[Array, Array]]:
    """Intervals by the exact GP with the true kernel; queries are of new groups."""
    assert found.kernel is not None
    X, kernel = found.X, found.kernel.for_width(found.X.shape[1])
    group = found.fit.get("groups", np.arange(found.y.size))
    K = kernel.value(X, X) + found.between * (group[:, None] == group)
    L = np.linalg.cholesky(K + found.noise * np.eye(found.y.size))
    a = np.linalg.solve(L, found.y)

    def ask(Q: Array) -> tuple[Array, Array]:
        V = np.linalg.solve(L, kernel.value(X, Q))
        variance = kernel.diag(Q) - (V**2).sum(axis=0) + found.between + found.noise
        mean, wide = V.T @ a, norm.ppf(TAILS[1]) * np.sqrt(variance)
        return mean - wide, mean + wide

    return ask


def committee(found: Draw, **arguments) -> Callable[[Array], tuple[Array, Array]]:
    model = CommitteeRegressor(random_state=0, n_jobs=1, **found.model, **arguments)
    model.fit(found.X, found.y, **found.fit)
    return lambda Q: model.predict_interval(Q, COVERAGE, level=found.level)


def trees(found: Draw) -> Callable[[Array], tuple[Array, Array]]:
    """Two quantile models with default arguments."""
    from lightgbm import LGBMRegressor

    arguments = dict(objective="quantile", verbose=-1, n_jobs=1, min_child_samples=10)
    low, high = (LGBMRegressor(alpha=q, **arguments).fit(found.X, found.y) for q in TAILS)
    return lambda Q: (low.predict(Q), high.predict(Q))


def answers(method: str, found: Draw) -> Callable[[Array], tuple[Array, Array]] | None:
    """Fit a method; None where it does not apply."""
    if method == EXACT:
        return None if found.kernel is None else exact_gp(found)
    if method == COMMITTEE:
        return committee(found)
    if method == ANCHORS:
        apply = found.y.size > 2_000  # fewer rows are one chunk, the exact GP
        return committee(found, n_local=0) if apply else None
    return None if found.level == "function" or find_spec("lightgbm") is None else trees(found)


def study(found: Draw, methods: tuple[str, ...]) -> dict[str, dict[str, tuple[float, float]]]:
    """Coverage and mean width of 95 % intervals, by place and method."""
    results: dict[str, dict[str, tuple[float, float]]] = {name: {} for name in found.places}
    for method in methods:
        ask = answers(method, found)
        if ask is None:
            continue
        for name, (Q, truth) in found.places.items():
            low, high = ask(Q)
            covered = float(np.mean((low <= truth) & (truth <= high)))
            results[name][method] = covered, float(np.mean(high - low))
    return results


# -- the page ---------------------------------------------------------------------------------

WORDS = (
    "Written by `make bench-coverage`; not edited by hand. Share of truths in 95 % intervals where "
    "rows are thin or odd, over several draws (their number in the second column); ± is the "
    "standard error over draws. Truths are drawn from known priors: 2,600 rows of a map (four "
    "kernels in turn, length scale a quarter of the side, noise of .3 standard deviations) with "
    "a hole of .7 length scales of radius, and queries up to .6 length scales beyond its edge; a "
    "walk in time; groups with a level of their own (`groups=`); 20 rows; nine of ten targets "
    "zero; one of ten rows with ten times the noise (`likelihood=\"student-t\"`); and the rates "
    "of counts (`likelihood=\"poisson\"`, `level=\"function\"`). *Exact GP* knows kernel and "
    "noise. Maps of the world, 20,000 rows each, have a disc of 3 % of the rows cut out. Beyond "
    "the rows of averaged (300 rows) and exact models (1,500): queries up to .15 of the width of "
    "the box outside of it in one column (corners: .25 in all five), the next twentieth of a "
    "random walk, and the next half of a period after ten of a wave on a line. No held-out regions "
    "correct these models: kernels are learnt from all rows together."
)  # fmt: skip


def page(stored: dict) -> str:
    methods = [m for m in METHODS if any(m in found for found in stored["places"].values())]
    left = "" if TREES in methods else " LightGBM was not installed."
    rows = []
    for name, found in stored["places"].items():
        cells = [summary(found[m]) if m in found else "" for m in methods]
        rows.append([name, str(max(len(one) for one in found.values())), *cells])
    m = stored["machine"]
    return "\n\n".join([
        "# Error bars where rows are thin",
        WORDS + left,
        "![Coverage of 95 % intervals by place](pictures/coverage_thin.png)",
        lines(["place", "draws", *methods], rows),
        f"{m['cpu']}, {m['cores']} cores, Python {m['python']}, {m['date']}.\n",
    ])  # fmt: skip


def summary(each: list) -> str:
    covered = np.array([one[0] for one in each])
    if covered.size < 2:
        return decimals(float(covered[0]), 3)
    error = covered.std(ddof=1) / np.sqrt(covered.size)
    return f"{decimals(float(covered.mean()), 3)} ± {decimals(float(error), 3)}"


def picture(stored: dict, path: Path) -> None:
    """Mean coverage of each place and method, with two standard errors."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    places = list(stored["places"])
    figure, ax = plt.subplots(figsize=(7.5, 0.5 * len(places) + 1.4))
    for k, method in enumerate(METHODS):
        at, mean, error = [], [], []
        for i, name in enumerate(places):
            if method in stored["places"][name]:
                covered = np.array([one[0] for one in stored["places"][name][method]])
                at.append(i + 0.16 * (k - 1.5))
                mean.append(covered.mean())
                error.append(2.0 * covered.std() / np.sqrt(covered.size))
        if at:
            ax.errorbar(mean, at, xerr=error, fmt="o", markersize=5, capsize=2, label=method)
    ax.axvline(COVERAGE, color="0.6", linewidth=1, zorder=0)
    ax.set_yticks(range(len(places)), places)
    ax.invert_yaxis()
    ax.set_xlim(min(0.6, ax.get_xlim()[0]), 1.005)
    ax.set_xlabel("share of truths in 95 % intervals (bars: two standard errors)")
    ax.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.4, 1.0))
    figure.savefig(path, dpi=110, bbox_inches="tight")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--cases", nargs="+", choices=[*CASES, *MAPS])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if find_spec("lightgbm") is None:
        print("LightGBM is not installed: left out (pip install 'collegium[bench]')")
    path = ROOT / "benchmarks" / "results" / "coverage_thin.json"
    stored = json.loads(path.read_text()) if path.exists() else {"places": {}}
    for case in options.cases or [*CASES, *MAPS]:
        if case in MAPS and not (options.data / f"{case}.npz").exists():
            print(f"{case}: not in {options.data}, left out")
            continue
        draws = options.draws if case in CASES else min(options.draws, 5)
        found: dict[str, dict[str, list]] = {}
        for seed in range(draws):
            draw = CASES[case](seed) if case in CASES else cut_map(options.data, case, seed)
            for name, one in study(draw, tuple(options.methods)).items():
                for method, figures in one.items():
                    found.setdefault(name, {}).setdefault(method, []).append(figures)
        for name, one in found.items():
            stored["places"][name] = {**stored["places"].get(name, {}), **one}
            print(name, {method: summary(each) for method, each in one.items()}, flush=True)
        stored["machine"] = machine()
        path.write_text(json.dumps(stored, indent=1) + "\n")
        (ROOT / "docs" / "coverage_thin.md").write_text(page(stored))
        picture(stored, ROOT / "docs" / "pictures" / "coverage_thin.png")


if __name__ == "__main__":
    main()
