"""Randomly varying coefficients on streams: speed, kin8nm beside river's learners, memory, drift,
merging.

python -m benchmarks.studies.rvc ../shared/data [--only speed kin8nm memory drift merge]
    [--rows 1000000]

CPU seconds of one thread; compiled loops are warm. kin8nm is read from the data folder and skipped
where it is absent; so is river where it is not installed.
"""

import pickle
import warnings
from copy import deepcopy

import numpy as np

from benchmarks.harness import data
from benchmarks.harness.arguments import data_parser
from benchmarks.harness.forecast import QUANTILE
from benchmarks.harness.meter import Meter, peak_gigabytes
from benchmarks.harness.tables import table
from collegium import RVCRegressor
from collegium.engines import single_threaded

D, M, NOISE = 8, 100, 0.1
MODES = {"paper": "paper", "default": "local"}
#: Rows of kin8nm that do not count: before a first batch nothing is known.
FIRST = 128
#: Rows after which the default has settled on a width: 500 and four doublings.
SETTLED = 500 * (2**5 - 1)


def arm(X):
    """A smooth function of the first four columns."""
    return np.sin(2.0 * X[:, 0]) * X[:, 1] + np.cos(1.5 * X[:, 2]) + 0.5 * X[:, 3] ** 2


def rows(rng, n: int, d: int = D):
    X = rng.uniform(-1.5, 1.5, (n, d))
    full = X if d >= 4 else np.hstack([X, np.zeros((n, 4 - d))])
    return X, arm(full) + NOISE * rng.normal(size=n)


# -- (a) speed --------------------------------------------------------------------------------


def begun(mode: str, d: int, centres) -> RVCRegressor:
    """A stream with experts of one given width: nothing left to choose."""
    given = {"width": 0.3 * np.sqrt(2.0 * d)} if mode == "local" else {"width": 0.1, "b": 0.3}
    model = RVCRegressor(mode=mode, centres=centres, max_experts=M, start_rows=50, **given)
    return model.partial_fit(*rows(np.random.default_rng(0), 1000, d))


def seconds_a_row(mode: str, d: int, m: int, n: int, repeats: int = 3) -> float:
    """Seconds to learn a row: the least of some runs over fresh rows, 1000 per call."""
    rng = np.random.default_rng(1)
    model, found = begun(mode, d, rows(rng, m, d)[0]), []
    for _ in range(repeats):
        X, y = rows(rng, n, d)
        with Meter() as meter:
            for at in range(0, n, 1000):
                model.partial_fit(X[at : at + 1000], y[at : at + 1000])
        found.append(meter.cpu / n)
    return min(found)


def grown_seconds(mode: str, n: int) -> tuple[float, int]:
    """Seconds per row with centres that grow, from the rows that they had time to grow in."""
    rng = np.random.default_rng(1)
    model = begun(mode, D, "grow").partial_fit(*rows(rng, 5 * n))
    X, y = rows(rng, n)
    with Meter() as meter:
        for at in range(0, n, 1000):
            model.partial_fit(X[at : at + 1000], y[at : at + 1000])
    return meter.cpu / n, model.n_experts_


def speed(options) -> None:
    print(f"\n(a) rows learnt a CPU second, d = {D}, M = {M}, given width")
    found = []
    for name, mode in MODES.items():
        grown, size = grown_seconds(mode, 2000)
        found.append({
            "mode": name, "given centres": int(1.0 / seconds_a_row(mode, D, M, 5000)),
            "grown centres": int(1.0 / grown), "grown experts": size,
        })  # fmt: skip
    print(table(found))
    many, wide = (25, 50, 100, 200, 400), (2, 4, 8, 16, 32, 64)
    print("    microseconds a row, and the exponent of M (d = 8) and of d (M = 100)")
    found = []
    for name, mode in MODES.items():
        for letter, sizes in (("M", many), ("d", wide)):
            cost = [
                seconds_a_row(mode, *((D, size) if letter == "M" else (size, M)), 2000)
                for size in sizes
            ]
            exponent = np.polyfit(np.log(sizes), np.log(cost), 1)[0]
            last = np.log(cost[-1] / cost[-2]) / np.log(2.0)
            told = "  ".join(f"{size}: {1e6 * c:.0f}" for size, c in zip(sizes, cost))
            found.append({
                "mode": name, "of": letter, "exponent": float(exponent),
                "last doubling": float(last), "μs a row": told,
            })  # fmt: skip
    print(table(found))


# -- (b) kin8nm -------------------------------------------------------------------------------


def progressive(X, y, batch: int, **given) -> dict:
    """Predict a batch, then learn it."""
    mean, std = np.zeros((2, y.size))
    model = RVCRegressor(**given)
    with Meter() as meter:
        for at in range(0, y.size, batch):
            part = slice(at, at + batch)
            if at:
                mean[part], std[part] = model.predict(X[part], return_std=True)
            model.partial_fit(X[part], y[part])
    held = np.abs(y - mean) <= QUANTILE * std
    return {"rmse": rmse(y, mean), "held": float(held[FIRST:].mean()), **pace(meter, y)}


def row_by_row(X, y, **given) -> dict:
    """Predict each row, then learn it, as `progressive` does."""
    model = RVCRegressor(**given)
    with Meter() as meter:
        mean, std = model.progressive(X, y)
    held = np.abs(y - mean) <= QUANTILE * std
    return {"rmse": rmse(y, mean), "held": float(held[FIRST:].mean()), **pace(meter, y)}


def rmse(y, mean) -> float:
    """RMSE of y scaled to variance one; the first rows do not count."""
    return float(np.sqrt(np.mean((y[FIRST:] - mean[FIRST:]) ** 2)) / y.std())


def pace(meter: Meter, y) -> dict:
    return {"CPU s": meter.cpu, "rows/s": int(y.size / meter.cpu)}


def river_progressive(make, X, y) -> dict:
    """Rows are made into dictionaries beforehand."""
    model, mean = make(), np.zeros(y.size)
    found = [dict(enumerate(row)) for row in X.tolist()]
    with warnings.catch_warnings(), Meter() as meter:
        warnings.simplefilter("ignore")
        for i, (x, target) in enumerate(zip(found, y.tolist())):
            mean[i] = model.predict_one(x) or 0.0
            model.learn_one(x, target)
    return {"rmse": rmse(y, mean), "held": "", **pace(meter, y)}


def river_makers() -> dict:
    try:
        from river import forest, neighbors, preprocessing
    except ImportError:
        print("    river is skipped: not installed (pip install river==0.26.1)")
        return {}
    return {
        "river, KNNRegressor": lambda: (
            preprocessing.StandardScaler() | neighbors.KNNRegressor(engine=neighbors.SWINN(seed=0))
        ),
        "river, ARFRegressor": lambda: forest.ARFRegressor(seed=0),
    }


def kin8nm(options) -> None:
    print(
        "\n(b) kin8nm in the order of the file: predict, then learn; y scaled to variance one;"
        f"\n    errors from row {FIRST} on, of bars that should hold .95"
    )
    found = data.rows(options.folder, "kin8nm")
    if found is None:
        return
    X, y = found
    RVCRegressor().partial_fit(X[:600], y[:600]).predict(X[:2], return_std=True)
    told = [{"": "RVC, row by row (progressive)", **row_by_row(X, y)}]
    told += [
        {"": f"RVC, {b} rows a call" if b > 1 else "RVC, one row a call", **progressive(X, y, b)}
        for b in (1, 16, FIRST)
    ]
    told.append({"": "RVC, paper, 16 rows a call", **progressive(X, y, 16, mode="paper")})
    for name, make in river_makers().items():
        told.append({"": name, **river_progressive(make, X, y)})
    print(table(told))


# -- (c) memory -------------------------------------------------------------------------------


def memory(options) -> None:
    print(f"\n(c) memory of the default, d = {D}, rows as they come, 1000 a call")
    rng, model, told = np.random.default_rng(2), RVCRegressor(), []
    with Meter() as meter:
        for seen in range(1000, options.rows + 1, 1000):
            model.partial_fit(*rows(rng, 1000))
            if seen in (10_000, 100_000, 1_000_000, options.rows):
                told.append({
                    "rows": seen, "experts": model.n_experts_,
                    "pickled kB": len(pickle.dumps(model)) / 1e3,
                    "peak of the process, MB": 1e3 * peak_gigabytes(),
                })  # fmt: skip
    print(table(told))
    X, y = rows(rng, 5000)
    mean, std = model.predict(X, return_std=True)
    held = np.mean(np.abs(y - mean) <= QUANTILE * std)
    print(
        f"    {options.rows / meter.cpu:.0f} rows a CPU second; rmse {np.std(y - mean):.3f}"
        f" (noise {NOISE}), bars hold {held:.3f}"
    )


# -- (d), (e) drift and merging ---------------------------------------------------------------


def drift(options) -> None:
    n = 10_000
    print(f"\n(d) a wave that jumps after {n} rows: progressive rmse, and the share bars held")
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.5, 1.5, (2 * n, 1))
    phase = np.where(np.arange(2 * n) < n, 0.0, 2.0)
    y = np.sin(2.0 * X[:, 0] + phase) + NOISE * rng.normal(size=2 * n)
    spans = {"before": (-2000, 0), "500 after": (0, 500), "to 2000": (500, 2000)}
    spans |= {"to 5000": (2000, 5000), "to 10000": (8000, n)}
    told = []
    for forgetting in (1.0, 0.999, 0.99, 0.95):
        model, mean, std = RVCRegressor(forgetting=forgetting), *np.zeros((2, y.size))
        for at in range(0, y.size, 100):
            part = slice(at, at + 100)
            if at:
                mean[part], std[part] = model.predict(X[part], return_std=True)
            model.partial_fit(X[part], y[part])
        row = {"forgetting": str(forgetting)}
        for name, (first, last) in spans.items():
            part = slice(n + first, n + last)
            e = y[part] - mean[part]
            held = np.mean(np.abs(e) <= QUANTILE * std[part])
            row[name] = f"{np.sqrt(np.mean(e**2)):.3f}, {held:.2f}"
        told.append(row)
    print(table(told))
    print(
        f"    noise {NOISE}. An expert forgets by the rows that reach it, here one in fifteen; and"
        "\n    new rows count little while it takes the jump for noise."
    )


def merge(options) -> None:
    print("\n(e) two halves of a stream, begun as copies of one model, and merged: rmse, experts")
    rng = np.random.default_rng(4)
    X_test, _ = rows(rng, 5000, 4)
    truth, told = arm(X_test), []
    for name, n, given in (("width=.8", 1_000, {"width": 0.8}), ("default", SETTLED, {})):
        start = RVCRegressor(**given).partial_fit(*rows(rng, n, 4))
        halves = [rows(rng, 5 * n, 4) for _ in range(2)]
        one, first, second = (deepcopy(start) for _ in range(3))
        for half, model in zip(halves, (first, second)):
            one.partial_fit(*half)
            model.partial_fit(*half)
        row = {"": name, "rows to begin": n, "rows of a half": 5 * n}
        models = {"one stream": one, "a half": deepcopy(first), "begun": start}
        models["merged"] = first.merge(second, common=start)
        for key, model in models.items():
            error = np.sqrt(np.mean((model.predict(X_test) - truth) ** 2))
            row[key] = f"{error:.4f}, {model.n_experts_}"
        told.append(row)
    print(table(told))
    print(f"    noise {NOISE}, standard deviation of the function {truth.std():.2f}")


PARTS = {"speed": speed, "kin8nm": kin8nm, "memory": memory, "drift": drift, "merge": merge}

if __name__ == "__main__":
    parser = data_parser(__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the stream for memory")
    options = parser.parse_args()
    for part in options.only:
        with single_threaded():
            PARTS[part](options)
