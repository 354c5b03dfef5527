"""Tables of few rows: the default beside one kernel, an isotropic GP and BayesianRidge.

    python -m benchmarks.studies.few_rows ../shared/data [--splits 10] [--sets boston boston-25]

"boston" is nine tenths of the table for training and the rest for testing, "boston-25" 25 rows for
training and up to 1,000 others for testing, drawn at random in each split. Scores are of y divided
by the training rows' standard deviation: negative log predictive density, RMSE, coverage of 95 %
intervals, CPU seconds of fit and predictions.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from sklearn.linear_model import BayesianRidge

from benchmarks.harness.arguments import data_parser
from benchmarks.harness.data import Split, rows, standardised
from benchmarks.harness.meter import Meter
from benchmarks.harness.tables import table
from benchmarks.harness.warm_up import warm_up
from collegium import CommitteeRegressor

Array = np.ndarray
#: log density of the test targets, mean, lower and upper end of 95 % intervals
Answer = tuple[Array, Array, Array, Array]
SETS = (
    "mcycle", "ozone_environmental", "airquality", "yacht", "autompg", "boston", "forest", "stock",
    "boston-25", "concrete-25", "abalone-50", "powerplant-50", "energy-100", "naval-100", "gas-100",
    "na_rainfall-150", "concrete-200", "skillcraft-200", "airfoil-300", "kin8nm-300",
    "cal_housing-300", "pendulum-300", "wine_red-400", "protein-600", "pumadyn32nm-600",
)  # fmt: skip
MOST_TESTED = 1_000


def ours(data: Split, **arguments) -> Answer:
    model = CommitteeRegressor(random_state=0, **arguments).fit(data.X, data.y)
    density = model.log_density(data.X_test, data.y_test)
    return density, model.predict(data.X_test), *model.predict_interval(data.X_test)


def isotropic(data: Split) -> Answer:
    kernel = ConstantKernel() * Matern(nu=1.5) + WhiteKernel()
    model = GaussianProcessRegressor(
        kernel, normalize_y=True, n_restarts_optimizer=2, random_state=0
    )
    return gaussian(data, *model.fit(data.X, data.y).predict(data.X_test, return_std=True))


def ridge(data: Split) -> Answer:
    model = BayesianRidge().fit(data.X, data.y)
    return gaussian(data, *model.predict(data.X_test, return_std=True))


def gaussian(data: Split, mean: Array, std: Array) -> Answer:
    half = norm.ppf(0.975) * std
    return norm.logpdf(data.y_test, mean, std), mean, mean - half, mean + half


#: One kernel and one noise, y and X as they are.
PLAIN = {
    "learn": True, "noise": "constant", "transforms": None,
}  # fmt: skip
METHODS: dict[str, Callable[[Split], Answer]] = {
    "default": ours, "one kernel": partial(ours, **PLAIN), "isotropic GP": isotropic,
    "BayesianRidge": ridge,
}  # fmt: skip


def split(X: Array, y: Array, most: int | None, seed: int) -> Split:
    """Nine tenths of the rows for training, or `most`, and the rest, or MOST_TESTED of it."""
    order = np.random.default_rng(seed).permutation(y.size)
    n = y.size - y.size // 10 if most is None else most
    return standardised(X, y, order[:n], order[n : n + MOST_TESTED])


def score(method: Callable[[Split], Answer], data: Split) -> Array:
    """NLPD, RMSE, coverage, CPU seconds."""
    with Meter() as meter:
        log_density, mean, lower, upper = method(data)
    inside = (lower <= data.y_test) & (data.y_test <= upper)
    rmse = np.sqrt(np.mean((mean - data.y_test) ** 2))
    return np.array([-log_density.mean(), rmse, inside.mean(), meter.cpu])


def run(folder, name: str, n_splits: int) -> dict[str, Array] | None:
    """Mean scores of each method on one table; None where the folder lacks it."""
    file, _, most = name.partition("-")
    found = rows(folder, file)
    if found is None:
        return None
    X, y = found
    seen = ~(np.isnan(X).any(axis=1) | np.isnan(y))
    splits = [split(X[seen], y[seen], int(most) if most else None, i) for i in range(n_splits)]
    scores = {
        label: np.mean([score(method, data) for data in splits], axis=0)
        for label, method in METHODS.items()
    }
    heads = ("NLPD", "RMSE", "coverage", "CPU s")
    n, d = splits[0].X.shape
    print(f"\n{name}: {n} rows, {d} columns, {splits[0].y_test.size} tested")
    lines = [{"": label, **dict(zip(heads, map(float, own)))} for label, own in scores.items()]
    print(table(lines), flush=True)
    return scores


def summary(found: list[dict[str, Array]]) -> str:
    """Compare the default with each of the others, over tables."""
    lines = []
    for label in METHODS:
        gaps = np.array([own[label][0] - own["default"][0] for own in found])
        covers = np.array([own[label][2] for own in found])
        lines.append({
            "": label, "median NLPD": float(np.median([own[label][0] for own in found])),
            "worse than the default on": f"{(gaps > 0).sum()} of {gaps.size}",
            "better by at most": float(max(0.0, -gaps.min())),
            "mean coverage": float(covers.mean()), "least coverage": float(covers.min()),
        })  # fmt: skip
    return table(lines)


if __name__ == "__main__":
    parser = data_parser(__doc__)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    warm_up()
    results = [run(options.folder, name, options.splits) for name in options.sets]
    print("\n" + summary([one for one in results if one is not None]))
