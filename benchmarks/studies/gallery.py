"""The gallery of docs/plots.md, from data that are generated or come with scikit-learn.

python -m benchmarks.studies.gallery [--out docs/pictures] [--only map series …]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, make_friedman1

from collegium import CommitteeClassifier, CommitteeRegressor, OnlineGPRegressor, plots

DPI = 80


def figure(columns: int, width: float = 5.6, height: float = 4.4) -> tuple[Figure, Any]:
    made = Figure(figsize=(columns * width, height), layout="constrained")
    return made, made.subplots(1, columns)


def houses() -> tuple[Any, ...]:
    """Rows of five columns of which the last does nothing; noise grows with the first."""
    X, y = make_friedman1(2_400, n_features=6, random_state=0)
    names = ["size", "age", "rooms", "garden", "floor", "number"]
    noise = np.random.default_rng(0).standard_t(4, size=y.size)
    y = pd.Series(y + (0.3 + 2.0 * X[:, 0]) * noise, name="rent")
    table = pd.DataFrame(X, columns=names)
    return table[:1_200], y[:1_200], table[1_200:], y[1_200:]


def honest() -> Figure:
    X, y, Xs, ys = houses()
    found = plots.predictions(CommitteeRegressor(random_state=0).fit(X, y), Xs, ys)
    made, (left, right) = figure(2, height=5.0)
    plots.calibration(found, ax=left)
    plots.pit(found, ax=right)
    return made


def errors() -> Figure:
    X, y, Xs, ys = houses()
    found = plots.predictions(CommitteeRegressor(random_state=0).fit(X, y), Xs, ys)
    made, (left, right) = figure(2)
    plots.residuals(found, ax=left)
    plots.intervals(found, ax=right, shown=80)
    return made


def columns() -> Figure:
    X, y, _, _ = houses()
    model = CommitteeRegressor(random_state=0).fit(X, y)
    made, (left, right) = figure(2)
    plots.importance(model, ax=left)
    plots.effect(model, X, "rooms", ax=right)
    return made


def two_columns() -> Figure:
    X, y, _, _ = houses()
    model = CommitteeRegressor(random_state=0).fit(X, y)
    return plots.effect2(model, X, ("size", "age"))[0].figure


def classes() -> Figure:
    X, y = load_breast_cancer(return_X_y=True)
    some = np.random.default_rng(0).permutation(len(y))
    train, test = some[:285], some[285:]
    model = CommitteeClassifier(random_state=0).fit(X[train], y[train])
    made, ax = figure(1, height=5.2)
    plots.calibration(model, X[test], y[test], bins=8, ax=ax)
    return made


def map() -> Figure:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(0, [8, 6], (900, 2)), columns=["east (km)", "north (km)"])
    east, north = X.to_numpy().T
    lake = np.hypot(east - 5.2, north - 3.0) < 1.3
    y = np.sin(1.3 * east) * np.cos(0.9 * north) + 0.3 * north + 0.1 * rng.normal(size=900)
    model = CommitteeRegressor(random_state=0).fit(X[~lake], y[~lake])
    return plots.map(model, X[~lake], cells=60, name="height (m)", rows=True)[0].figure


def series() -> Figure:
    rng, n = np.random.default_rng(0), 144
    X = pd.DataFrame({"month": pd.date_range("2012-01-01", periods=n, freq="MS")})
    t = np.arange(n)
    season = 1.0 + 0.2 * np.sin(2 * np.pi * t / 12) + 0.1 * np.cos(4 * np.pi * t / 12)
    y = pd.Series(110 * np.exp(0.009 * t) * season * np.exp(0.03 * rng.normal(size=n)))
    y.name = "passengers (thousands)"
    model = CommitteeRegressor(random_state=0).fit(X[:108], y[:108])
    return plots.series(model, X[:108], y[:108], X[108:], y_future=y[108:]).figure


def stream() -> Figure:
    rng, n = np.random.default_rng(0), 3_000
    X = rng.uniform(-3, 3, (n, 1))
    moved = np.where(np.arange(n) < 1_500, 0.0, 1.5)
    y = np.sin(2 * X[:, 0] + moved) + 0.2 * rng.normal(size=n)
    times = pd.Series(pd.date_range("2024-03-01", periods=n, freq="h"), name="")
    found = OnlineGPRegressor(random_state=0, forgetting="auto").progressive(X, y)
    return plots.stream(found, y, times=times)[0].figure


def learning_curve() -> Figure:
    X, y, _, _ = houses()
    return plots.learning_curve(CommitteeRegressor(random_state=0), X, y, sizes=5).figure


PICTURES: dict[str, Callable[[], Figure]] = {
    one.__name__: one
    for one in (
        honest, errors, columns, two_columns, classes, map, series, stream, learning_curve
    )
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"))
    parser.add_argument("--only", nargs="*", choices=PICTURES, default=list(PICTURES))
    asked = parser.parse_args()
    for name in asked.only:
        path = asked.out / f"plots_{name}.png"
        PICTURES[name]().savefig(path, dpi=DPI, metadata={"Software": None})
        print(f"{path}  {path.stat().st_size / 1e3:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
