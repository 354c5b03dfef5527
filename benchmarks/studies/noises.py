"""Constant noise, Gaussian and heavy-tailed: what a learnt scale of the error costs, and gains.

    python -m benchmarks.studies.noises [--kinds gauss t3 cauchy] [--sets 200] [--sizes 60 100 …]

Every set is one of four functions of 1 to 10 columns with noise of one scale. Of Gaussian noise the
loss is that in mean log density of new rows against `noise="constant"`; of Student's t with three
degrees of freedom and of Cauchy noise it is against the best t about the same means, fitted to the
new rows themselves.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from scipy.optimize import minimize
from scipy.stats import t as student

from benchmarks.harness.tables import table
from benchmarks.harness.warm_up import warm_up
from collegium import CommitteeRegressor

Array = np.ndarray
SIZES = (60, 100, 200, 400, 700, 1_500, 3_000, 6_000, 20_000)
#: Sets of each size, of 200: a large one costs as much as all small ones.
SHARES = (0.16, 0.16, 0.15, 0.14, 0.12, 0.12, 0.08, 0.05, 0.02)
TESTED = 1_500
FUNCTIONS = (
    lambda X: np.sin(2.0 * X[:, 0]) + X[:, -1],
    lambda X: X.sum(axis=1) / np.sqrt(X.shape[1]),
    lambda X: 0.0 * X[:, 0],
    lambda X: np.cos(3.0 * X[:, 0]) * X[:, -1] + 0.5 * X[:, 0] ** 2,
)
NOISES = {
    "gauss": lambda rng, n: rng.normal(size=n),
    "t3": lambda rng, n: rng.standard_t(3, size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(n),
}


def draw(kind: str, n: int, seed: int) -> tuple[Array, Array, Array, Array]:
    """X and y to learn from, then those of new rows."""
    rng = np.random.default_rng(seed)
    d, scale = int(rng.integers(1, 11)), 10.0 ** rng.uniform(-2.0, 0.5)
    function = FUNCTIONS[int(rng.integers(len(FUNCTIONS)))]
    X, Xs = rng.normal(size=(n, d)), rng.normal(size=(TESTED, d))
    y = function(X) + scale * NOISES[kind](rng, n)
    return X, y, Xs, function(Xs) + scale * NOISES[kind](rng, TESTED)


def best_t(errors: Array) -> float:
    """The largest mean log density that a t about zero gives these errors."""
    unit = np.median(np.abs(errors))

    def negative(at: Array) -> float:
        return -student.logpdf(errors / unit, 0.3 + np.exp(at[0]), scale=np.exp(at[1])).mean()

    starts = ([np.log(nu), 0.0] for nu in (0.7, 2.0, 5.0))
    return -min(minimize(negative, s, method="Nelder-Mead").fun for s in starts) - np.log(unit)


def loss(kind: str, n: int, seed: int) -> tuple[float, bool]:
    """Loss of the default, and whether it has learnt a scale or tails."""
    X, y, Xs, ys = draw(kind, n, seed)
    model = CommitteeRegressor(random_state=0).fit(X, y)
    own, learnt = float(model.log_density(Xs, ys).mean()), model.model_.errors is not None
    if kind != "gauss":
        return best_t(ys - model.predict(Xs)) - own, learnt
    if not learnt:
        return 0.0, False
    constant = CommitteeRegressor(random_state=0, noise="constant").fit(X, y)
    return float(constant.log_density(Xs, ys).mean()) - own, True


def run(kind: str, n_sets: int, sizes: list[int]) -> None:
    shares = np.array([SHARES[SIZES.index(n)] if n in SIZES else 0.1 for n in sizes])
    counts = np.maximum(np.round(n_sets * shares / shares.sum()).astype(int), 1)
    lines, every, seed = [], [], 0
    for n, count in zip(sizes, counts):
        found = []
        for _ in range(count):
            found.append(loss(kind, n, seed))
            seed += 1
        each = np.array([one for one, _ in found])
        every.append(each)
        lines.append(line(f"{n}", each, sum(learnt for _, learnt in found)))
        print(table([{"": kind, **lines[-1]}]), flush=True)
    lines.append(line("all", np.concatenate(every), None))
    print(f"\n{kind}\n" + table(lines) + "\n", flush=True)


def line(label: str, losses: Array, learnt: int | None) -> dict:
    return {
        "rows": label, "sets": losses.size,
        "with a scale or tails": "" if learnt is None else learnt,
        "mean loss": float(losses.mean()), "median": float(np.median(losses)),
        "largest": float(losses.max()), "above .05": int((losses > 0.05).sum()),
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kinds", nargs="+", default=list(NOISES), choices=list(NOISES))
    parser.add_argument("--sets", type=int, default=200, help="of Gaussian noise; 30 of others")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    warm_up()
    for kind in options.kinds:
        run(kind, options.sets if kind == "gauss" else min(options.sets, 30), options.sizes)
