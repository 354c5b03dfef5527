"""Prior knowledge: trend and seasons, space and height, random effects of groups.

python -m benchmarks.studies.priors ../shared/data [--only mauna rain air groups many] [--out …]

mauna: weekly CO₂ at Mauna Loa, the last ten years held out. rain: summer rain at stations of North
America, ten random tenths held out. air: ozone in New York, with missing values, twenty rows held
out ten times. groups: 150 groups of ten rows in chunks of 200, beside the exact GP with the true
kernel. many: 10⁵ rows in 2,000 groups. Data sets that the folder lacks are skipped with a message.
"""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.gaussian_process import kernels as sk

from benchmarks.harness.arguments import data_parser
from benchmarks.harness.data import floats, stored
from benchmarks.harness.meter import Meter
from benchmarks.harness.tables import table
from collegium import CommitteeRegressor
from collegium.kernels import RBF, Group, Matern12, Matern32, Periodic, Sphere

SPLITS, SEEDS, NOISE = 10, 5, 0.3
SEASON = RBF(4.0, 50.0) * Periodic(period=1.0)
WEATHER = Matern32(0.25, 1.0) + Matern12(0.04, 0.1)


def example() -> sk.Kernel:
    """The kernel of scikit-learn's example on these data, before it is learnt."""
    season = sk.RBF(100.0) * sk.ExpSineSquared(1.0, 1.0, periodicity_bounds="fixed")
    weather = 0.25 * sk.RationalQuadratic(length_scale=1.0, alpha=1.0) + 0.01 * sk.RBF(0.1)
    return 2500.0 * sk.RBF(50.0) + 4.0 * season + weather + sk.WhiteKernel(0.01)


def years() -> dict[str, dict]:
    """Arguments of each model of Mauna Loa."""
    long = RBF(1000.0, 50.0) + SEASON + WEATHER
    return {
        "default": {},
        "default, trend": {"trend": "linear"},
        "scikit-learn's example": {"kernel": example()},
        "seasonal": {"kernel": long},
        "seasonal, trend": {"kernel": long, "trend": "linear"},
    }


def scores(model: CommitteeRegressor, X, y) -> dict:
    low, high = model.predict_interval(X)
    error = y - model.predict(X)
    return {
        "RMSE": float(np.sqrt(np.mean(error**2))),
        "bias": float(error.mean()),
        "NLPD": -float(model.log_density(X, y).mean()),
        "coverage": float(np.mean((low <= y) & (y <= high))),
    }


def mauna(X, y, out: Path) -> None:
    early, rows, models = X[:, 0] < X[-1, 0] - 10.0, [], {}
    for name, given in years().items():
        with Meter() as fit:
            model = CommitteeRegressor(random_state=0, **given).fit(X[early], y[early])
        models[name] = model
        found = scores(model, X[~early], y[~early])
        rows.append({"model": name, **found, "fit CPU s": round(fit.cpu, 1)})
        print(table(rows[-1:]), f"\n{model.kernel_!r}, noise {model.noise_:.3g}\n", flush=True)
    print(f"Mauna Loa, {early.sum()} weeks, then ten years (ppm)\n{table(rows)}\n", flush=True)
    chosen = ("default", "default, trend", "seasonal, trend")
    draw(X, y, early, {name: models[name] for name in chosen}, out / "mauna_loa.png")


def draw(X, y, early, models: dict, path: Path) -> None:
    """The last thirty years, and what each model says of the last ten and the next five."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(models), figsize=(5 * len(models), 4), sharey=True)
    end = X[early, 0].max()
    Xs = np.arange(end, end + 15.0, 1 / 52)[:, None]
    for axis, (name, model) in zip(axes, models.items()):
        low, high = model.predict_interval(Xs)
        axis.fill_between(Xs[:, 0], low, high, alpha=0.25, linewidth=0, label="95 %")
        axis.plot(Xs, model.predict(Xs), linewidth=1, label="forecast")
        for rows, colour in ((early, "black"), (~early, "tab:red")):
            axis.plot(X[rows], y[rows], ".", color=colour, markersize=1.5)
        axis.set(title=name, xlim=(end - 15, end + 15), ylim=(325, 400), xlabel="year")
    axes[0].set_ylabel("CO₂ (ppm); red: held out")
    axes[0].legend(loc="upper left")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    print(f"picture: {path}")


def places() -> dict[str, dict]:
    """Arguments of each model of rain; columns are longitude, latitude and √height (√m)."""
    smooth = Sphere(Matern32, columns=(0, 1), variance=1e6, length_scale=8.0)
    rough = Sphere(Matern12, columns=(0, 1), variance=1e6, length_scale=5.0)
    height = Matern32(1.0, 15.0, columns=2)
    return {
        "default, height": {},
        "default, √height": {},
        "globe + globe * √height": {"kernel": smooth + rough * height},
    }


def rain(X, y) -> None:
    roots = np.column_stack([X[:, :2], np.sqrt(np.maximum(X[:, 2], 0.0))])
    inputs = {name: roots if "√" in name else X for name in places()}
    compare("na_rainfall", places(), inputs, y)


def air(X, y) -> None:
    """Ozone by sun, wind, temperature and the day: weather whose effect changes with the season."""
    known = np.isfinite(y)
    own = np.column_stack([X[:, :3], 30.5 * X[:, 3] + X[:, 4]])[known]
    still = RBF(500.0, [8.0, 15.0], columns=[1, 2]) + RBF(100.0, [200.0, 15.0], columns=[0, 2])
    moving = RBF(100.0, [200.0, 8.0, 15.0], columns=[0, 1, 2]) * Matern12(1.0, 20.0, columns=3)
    given = {
        "default": {}, "default, one date": {},
        "weather + weather * date": {"kernel": still + moving, "transforms": "log"},
    }  # fmt: skip
    inputs = dict.fromkeys(given, own) | {"default": X[known]}
    compare("airquality", given, inputs, y[known])


def compare(title: str, models: dict[str, dict], inputs: dict, y) -> None:
    """Means over random tenths (of few rows sixths), and gains over the first of the models."""
    found: dict[str, list[dict]] = {name: [] for name in models}
    for split in range(SPLITS):
        order = np.random.default_rng(split).permutation(y.size)
        test, train = np.split(order, [max(y.size // 10, 20)])
        for name, given in models.items():
            own = inputs[name]
            model = CommitteeRegressor(random_state=0, **given).fit(own[train], y[train])
            found[name].append(scores(model, own[test], y[test]))
            print(split, name, found[name][-1], flush=True)
    first, rows = np.array([one["NLPD"] for one in next(iter(found.values()))]), []
    for name, each in found.items():
        mean = {key: float(np.mean([one[key] for one in each])) for key in each[0]}
        gain = first - [one["NLPD"] for one in each]
        error = float(gain.std(ddof=1) / np.sqrt(SPLITS))
        row = {"model": name, **mean, "NLPD gain": float(gain.mean()), "± se": error}
        rows.append(row | {"splits won": int((gain > 0).sum())})
    print(f"{title}, {SPLITS} splits\n{table(rows)}\n", flush=True)


def grouped(groups: int, each: int, seed: int):
    """Rows of groups with effects of unit variance on a sine; queries and their f."""
    rng = np.random.default_rng(seed)
    own = np.concatenate([np.repeat(np.arange(groups), each), rng.integers(0, groups, 1000)])
    x, effect = rng.uniform(-3, 3, own.size), rng.normal(size=groups)
    f = np.sin(2 * x) + effect[own]
    X, y, n = np.column_stack([x, own]), f + NOISE * rng.normal(size=own.size), groups * each
    return X[:n], y[:n], X[n:], f[n:]


def error_of(model: CommitteeRegressor, Xs, f) -> float:
    return float(np.sqrt(np.mean((model.predict(Xs) - f) ** 2)))


def groups() -> None:
    true, rows = Matern32(1.0, 1.5, columns=0) + Group(1, variance=1.0), []
    for seed in range(SEEDS):
        X, y, Xs, f = grouped(150, 10, seed)
        known = CommitteeRegressor(true, noise=NOISE**2, learn=False, chunks=y.size)
        kernel = Matern32(columns=0) + Group(1)
        model = CommitteeRegressor(kernel, chunks=200, random_state=0).fit(X, y)
        errors = error_of(known.fit(X, y), Xs, f), error_of(model, Xs, f)
        row = {"seed": seed, "exact": errors[0], "committee": errors[1]}
        rows.append(row | {"ratio": errors[1] / errors[0], "anchors": len(model.anchors_)})
    print(f"150 groups of ten rows: RMSE of f\n{table(rows)}\n", flush=True)


def many() -> None:
    X, y, Xs, f = grouped(2000, 50, 0)
    with Meter() as meter:
        kernel = Matern32(columns=0) + Group(1)
        model = CommitteeRegressor(kernel, random_state=0).fit(X, y)
        error = error_of(model, Xs, f)
    means = np.bincount(X[:, 1].astype(int), y - np.sin(2 * X[:, 0])) / 50
    oracle = np.sin(2 * Xs[:, 0]) + means[Xs[:, 1].astype(int)]
    row = {"rows": y.size, "RMSE": error, "sine known": float(np.sqrt(np.mean((oracle - f) ** 2)))}
    row |= {"CPU s": round(meter.cpu, 1), "wall s": round(meter.wall, 1)}
    print(f"2,000 groups, fit and 1,000 answers\n{table([row])}\n", flush=True)


def main() -> None:
    parser = data_parser(__doc__)
    names = ("mauna", "rain", "air", "groups", "many")
    parser.add_argument("--only", nargs="*", choices=names, default=names)
    parser.add_argument("--out", type=Path, default=Path("."))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, work in {"groups": groups, "many": many}.items():
        if name in options.only:
            work()
    sets = {
        "mauna": ("mauna_loa_co2", partial(mauna, out=options.out)),
        "rain": ("na_rainfall", rain), "air": ("airquality", air),
    }  # fmt: skip
    for name, (stem, work) in sets.items():
        found = stored(options.folder, stem) if name in options.only else None
        if found is not None:
            work(*floats(found))


if __name__ == "__main__":
    main()
