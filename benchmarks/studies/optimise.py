"""Bayesian optimisation: best value against evaluations, ours and peers.

    python -m benchmarks.studies.optimise [--seeds 10] [--functions Branin …] [--methods …]
        [--picture docs/pictures] [--keep results.json]

With `--keep`, results are added to those in a file, all of which are shown.

Every method evaluates each function as often, max(5, 2d) times of these at random or quasi-random
points. Regret is the true value of the best point that was evaluated so far, less the least value
of the function; "found" is that of the point which the method returns in the end. The last function
is seen with noise.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize as descend
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from benchmarks.harness.meter import Meter
from benchmarks.harness.pictures import STYLE, save
from benchmarks.harness.tables import table
from collegium.optimise import minimise
from collegium.optimise.improvement import log_improvement

Array = np.ndarray
OURS = "collegium"
COLOURS = {
    OURS: "#c00000", "scikit-optimize, EI": "#1f77b4", "scikit-optimize": "#7fb2dd",
    "scikit-learn GP, EI": "#2ca02c", "random": "#888888",
}  # fmt: skip


def branin(x: Array) -> float:
    level = x[1] - 5.1 / (4 * np.pi**2) * x[0] ** 2 + 5 / np.pi * x[0] - 6
    return float(level**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x[0]) + 10)


SLOPES = np.array([
    [10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8],
    [17, 8, 0.05, 10, 0.1, 14],
])  # fmt: skip
PLACES = 1e-4 * np.array([
    [1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
    [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381],
])  # fmt: skip


def hartmann6(x: Array) -> float:
    return -float(np.exp(-(SLOPES * (np.asarray(x) - PLACES) ** 2).sum(axis=1)) @ [1, 1.2, 3, 3.2])


@dataclass(frozen=True)
class Problem:
    """A function, its region and least value, and how it is seen."""

    f: Callable[[Array], float]
    bounds: tuple[tuple[float, float], ...]
    least: float
    evaluations: int
    noise: float = 0.0  # standard deviation

    @property
    def first(self) -> int:
        return max(5, 2 * len(self.bounds))


BOX = ((-5.0, 10.0), (0.0, 15.0))
PROBLEMS = {
    "Branin": Problem(branin, BOX, 0.397887, 40),
    "Hartmann6": Problem(hartmann6, ((0.0, 1.0),) * 6, -3.322368, 60),
    "Branin, noise of sd 5": Problem(branin, BOX, 0.397887, 60, 5.0),
}


class Seen:
    """Evaluates a problem, with noise, and keeps the true values."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem, self.true = problem, []
        self.rng = np.random.default_rng([seed, 1])

    def __call__(self, x: Array) -> float:
        self.true.append(self.problem.f(x))
        return self.true[-1] + self.problem.noise * float(self.rng.standard_normal())


def ours(seen: Seen, seed: int) -> Array:
    bounds = list(seen.problem.bounds)
    return minimise(seen, bounds, seen.problem.evaluations, random_state=seed).x


def by_skopt(seen: Seen, seed: int, acq_func: str) -> Array:
    from skopt import gp_minimize

    p = seen.problem
    return gp_minimize(
        seen, list(p.bounds), n_calls=p.evaluations, n_initial_points=p.first, random_state=seed,
        acq_func=acq_func,
    ).x  # fmt: skip


def by_sklearn(seen: Seen, seed: int) -> Array:
    """An ARD Matérn 5/2 relearnt after every evaluation; EI at 2,000 points, the best three of
    which are followed uphill."""
    p, rng = seen.problem, np.random.default_rng(seed)
    low, high = np.array(p.bounds).T
    d = low.size
    U = rng.random((p.first, d))
    y = np.array([seen(low + u * (high - low)) for u in U])
    kernel = ConstantKernel() * Matern(np.full(d, 0.5), (0.01, 100.0), nu=2.5) + WhiteKernel(
        1e-3, (1e-8, 10.0)
    )
    while True:
        gp = GaussianProcessRegressor(
            kernel, normalize_y=True, n_restarts_optimizer=1, random_state=seed
        ).fit(U, y)
        means = gp.predict(U)
        if y.size == p.evaluations:
            return low + U[means.argmin()] * (high - low)
        noise = gp.kernel_.k2.noise_level * y.var()
        best = means.min()

        def score(V: Array, gp=gp, noise=noise, best=best) -> Array:
            mean, sd = gp.predict(np.atleast_2d(V), return_std=True)
            return log_improvement(mean, np.sqrt(np.maximum(sd**2 - noise, 1e-18)), best)

        pool = rng.random((2_000, d))
        starts = pool[np.argsort(-score(pool))[:3]]
        ends = [
            descend(lambda u: -score(u)[0], u, method="L-BFGS-B", bounds=[(0, 1)] * d).x
            for u in starts
        ]
        both = np.clip(np.concatenate([starts, ends]), 0.0, 1.0)
        u = both[score(both).argmax()]
        U, y = np.vstack([U, u]), np.append(y, seen(low + u * (high - low)))


def at_random(seen: Seen, seed: int) -> Array:
    p, rng = seen.problem, np.random.default_rng(seed)
    X = rng.uniform(*np.array(p.bounds).T, size=(p.evaluations, len(p.bounds)))
    return X[np.argmin([seen(x) for x in X])]


METHODS: dict[str, Callable[[Seen, int], Array]] = {
    OURS: ours,
    "scikit-optimize, EI": lambda seen, seed: by_skopt(seen, seed, "EI"),
    "scikit-optimize": lambda seen, seed: by_skopt(seen, seed, "gp_hedge"),
    "scikit-learn GP, EI": by_sklearn,
    "random": at_random,
}


def run(problem: Problem, method: Callable[[Seen, int], Array], seeds: int) -> dict:
    """Regrets of all seeds (seeds, evaluations), of what is returned, and CPU seconds."""
    regrets, found, cpu = [], [], []
    for seed in range(seeds):
        seen = Seen(problem, seed)
        with warnings.catch_warnings(), Meter() as meter:
            warnings.simplefilter("ignore")
            x = method(seen, seed)
        cpu.append(meter.cpu)
        found.append(problem.f(np.asarray(x)) - problem.least)
        regrets.append(np.minimum.accumulate(seen.true) - problem.least)
    return {"regret": np.array(regrets), "found": np.array(found), "cpu": np.array(cpu)}


def read(path: Path | None) -> dict[str, dict[str, dict]]:
    """Read results of earlier runs."""
    if path is None or not path.exists():
        return {}
    kept = json.loads(path.read_text())
    return {
        name: {one: {key: np.array(v) for key, v in found.items()} for one, found in own.items()}
        for name, own in kept.items()
    }


def write(path: Path | None, results: dict[str, dict[str, dict]]) -> None:
    if path is not None:
        path.write_text(json.dumps(results, default=np.ndarray.tolist))


def line(name: str, problem: Problem, found: dict) -> dict:
    """Summarise one method on one function."""
    end = found["regret"][:, -1]
    return {
        "method": name, "regret": float(end.mean()),
        "± se": float(end.std(ddof=1) / np.sqrt(end.size)) if end.size > 1 else 0.0,
        "median": float(np.median(end)), "halfway": float(
            found["regret"][:, problem.evaluations // 2 - 1].mean()
        ),
        "found": float(found["found"].mean()), "CPU s": float(found["cpu"].mean()),
    }  # fmt: skip


def draw(results: dict[str, dict[str, dict]], folder: Path) -> str:
    """Draw one panel per function: the mean regret, on a logarithmic scale."""
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            1, len(results), figsize=(3.6 * len(results), 3.4), squeeze=False, layout="constrained"
        )
        for axis, name in zip(axes[0], [name for name in PROBLEMS if name in results]):
            methods = results[name]
            for method in [one for one in COLOURS if one in methods]:
                mean = methods[method]["regret"].mean(axis=0)
                x = np.arange(1, mean.size + 1)
                axis.plot(x, mean, color=COLOURS[method], label=method, lw=1.6)
            axis.axvline(PROBLEMS[name].first, color="#cccccc", lw=0.8, zorder=0)
            axis.set(yscale="log", title=name)
            axis.grid(alpha=0.25)
        axes[0, 0].set_ylabel("regret, mean of the seeds")
        figure.supxlabel("evaluations", fontsize=9)
        handles: dict = {}
        for axis in axes.flat:
            handles |= dict(zip(*reversed(axis.get_legend_handles_labels())))
        figure.legend(
            list(handles.values()), list(handles), loc="outside upper center", ncols=5,
            frameon=False,
        )  # fmt: skip
        return save(figure, folder / "optimise.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--functions", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    minimise(lambda x: x[0] ** 2, [(0, 1)], 8, random_state=0)  # compiles
    results = read(asked.keep)
    for name in asked.functions:
        problem = PROBLEMS[name]
        own = results.setdefault(name, {})
        for one in asked.methods:
            own[one] = run(problem, METHODS[one], asked.seeds)
            write(asked.keep, results)
        print(f"\n{name}, {problem.evaluations} evaluations, {asked.seeds} seeds")
        print(table([line(one, problem, found) for one, found in own.items()]), flush=True)
    if asked.picture is not None:
        draw(results, asked.picture)


if __name__ == "__main__":
    main()
