"""Streams whose inputs wander, that jump, and that do not: every streaming estimator.

    python -m benchmarks.studies.streams [folder of data sets] [--long]

Prints, for each estimator, RMSE, coverage of 95 % intervals and rows per second; with the folder
also bike_hour in time order, streamed and by `fit`; with --long a random walk of 10⁶ rows.
"""

import argparse
import pickle
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np

import collegium

STREAMS = {
    "CommitteeRegressor()": lambda: collegium.CommitteeRegressor(random_state=0),
    "CommitteeRegressor(n_local=0)": lambda: collegium.CommitteeRegressor(
        n_local=0, random_state=0
    ),
    "OnlineGPRegressor()": lambda: collegium.OnlineGPRegressor(random_state=0),
    "RegressionFilter()": lambda: collegium.RegressionFilter(random_state=0),
    "RVCRegressor()": lambda: collegium.RVCRegressor(random_state=0),
}
FORGETTING = {
    f"{name}(forgetting={factor})": partial(
        getattr(collegium, name), forgetting=factor, random_state=0
    )
    for name, factor in [
        ("OnlineGPRegressor", 0.998), ("RegressionFilter", 0.998), ("RVCRegressor", 0.9),
    ]
}  # fmt: skip


def wandering(n, seed=0):
    rng, t = np.random.default_rng(seed), np.linspace(0, 10, n)
    X = np.column_stack([t + 0.1 * rng.normal(size=n), rng.uniform(-2, 2, n)])
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n)


def stationary(n, seed=0, level=0.0, slope=0.0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    f = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + level + slope * X[:, 0]
    return X, f + noise * rng.normal(size=n)


def streamed(model, X, y, size=500):
    """The model after all rows, CPU seconds after the first 3,000, and warnings."""
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for at in range(0, len(y), size):
            model.partial_fit(X[at : at + size], y[at : at + size])
            if at == 2_500:
                start = time.process_time()
    return model, time.process_time() - start, len(caught)


def scores(model, X, y):
    mean = model.predict(X)
    lower, upper = model.predict_interval(X)
    return np.sqrt(np.mean((mean - y) ** 2)), np.mean((lower <= y) & (y <= upper))


def line(name, *figures):
    print(f"{name:37s}" + "".join(f"{figure:>12}" for figure in figures), flush=True)


def table(title, X, y, test):
    print(f"\n{title}")
    line("", "RMSE", "covers", "rows/s", "warnings", "bytes")
    for name, make in STREAMS.items():
        model, seconds, warned = streamed(make(), X, y)
        rmse, covers = scores(model, *test)
        size = len(pickle.dumps(model))
        line(name, f"{rmse:.3f}", f"{covers:.3f}", f"{(len(y) - 3000) / seconds:.0f}", warned, size)


def jumps():
    print("\nA jump after 4,000 rows: rows until a warning; RMSE of the mean 2,000 rows later")
    kinds = {
        "level + 1.5": {"level": 1.5},
        "slope + 1": {"slope": 1.0},
        "noise x 3": {"noise": 0.3},
    }
    line("", *kinds)
    for name, make in {**STREAMS, **FORGETTING}.items():
        figures = []
        for jump in kinds.values():
            model, _, _ = streamed(make(), *stationary(4000))
            X, y = stationary(2000, seed=1, **jump)
            before, noticed = model.stream_.n_warned, "-"
            for at in range(0, 2000, 100):
                streamed(model, X[at : at + 100], y[at : at + 100])
                if noticed == "-" and model.stream_.n_warned > before:
                    noticed = at + 100
            Xs, f = stationary(500, seed=2, **{**jump, "noise": 0.0})
            figures.append(f"{noticed} / {np.sqrt(np.mean((model.predict(Xs) - f) ** 2)):.2f}")
        line(name, *figures)


def bike(folder):
    data = np.load(folder / "bike_hour.npz")
    X, y = data["X"][:5000], np.log(data["y"].ravel()[:5000] + 1.0)
    print("\nbike_hour in time order, 4,000 rows, then the next 1,000 (log counts)")
    line("", "streamed", "covers", "fit", "ratio")
    for name, make in STREAMS.items():
        model, _, _ = streamed(make(), X[:4000], y[:4000])
        rmse, covers = scores(model, X[4000:], y[4000:])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole, _ = scores(make().fit(X[:4000], y[:4000]), X[4000:], y[4000:])
        line(name, f"{rmse:.3f}", f"{covers:.3f}", f"{whole:.3f}", f"{rmse / whole:.2f}")


def walk(n=1_000_000):
    print(f"\nA slow random walk in eight columns, {n} rows: the last 1,000")
    rng = np.random.default_rng(0)
    X = np.cumsum(0.01 * rng.normal(size=(n, 8)), axis=0) + 0.3 * rng.normal(size=(n, 8))
    y = np.sin(X[:, 0]) + np.cos(X[:, 1]) * X[:, 2] / 5 + 0.1 * rng.normal(size=n)
    line("", "RMSE", "covers", "rows/s", "bytes 10%", "bytes")
    for name, make in STREAMS.items():
        if name == "CommitteeRegressor()":
            continue
        model, first, _ = streamed(make(), X[: n // 10], y[: n // 10])
        early = len(pickle.dumps(model))
        model, rest, _ = streamed(model, X[n // 10 :], y[n // 10 :])
        rmse, covers = scores(model, X[-1000:], y[-1000:])
        rate = f"{(n - 3000) / (first + rest):.0f}"
        line(name, f"{rmse:.3f}", f"{covers:.3f}", rate, early, len(pickle.dumps(model)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--long", action="store_true")
    asked = parser.parse_args()
    X, y = wandering(6000)
    table("Inputs that wander (6,000 rows; the last 1,000)", X, y, (X[-1000:], y[-1000:]))
    table("Stationary (20,000 rows; fresh ones)", *stationary(20_000), stationary(1000, seed=1))
    jumps()
    if asked.folder is None or not (asked.folder / "bike_hour.npz").exists():
        print("\nbike_hour: give the folder of data sets")
    else:
        bike(asked.folder)
    if asked.long:
        walk()


if __name__ == "__main__":
    main()
