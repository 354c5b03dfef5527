"""Seasons and trends found by default: six series, each with its last fifth to forecast.

python -m benchmarks.studies.seasons ../shared/data [--only mauna …] [--seeds 3] [--out …]

mauna: weekly CO₂ at Mauna Loa. hourly, half_hourly: loads of a grid with growth, days that differ
at the weekend, weather and noise (30 weeks; two years, 35,040 rows). airline: 144 months of counts
that grow by a factor. seasonless: weather alone. walk: a random walk. "before": the default without
the search for seasons. "by hand": kernels that know the series; the best of them on average over
seeds is what the default is compared with. Then 100 seeds of the last two: what is found there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.signal import lfilter

from benchmarks.harness.arguments import data_parser
from benchmarks.harness.data import floats, stored
from benchmarks.harness.meter import Meter
from benchmarks.harness.tables import table
from benchmarks.studies.priors import example
from collegium import CommitteeRegressor
from collegium.kernels import RBF, Kernel, Matern12, Matern32, Matern52, Periodic
from collegium.learning.seasons.search import find_seasons
from collegium.pipeline import systems
from collegium.rows.rows import Rows

DAY = 86_400.0
FALSE_SEEDS = 100


def wander(rng: np.random.Generator, n: int, steps: float, size: float) -> np.ndarray:
    """Draw an autoregression that forgets within `steps`, of standard deviation `size`."""
    rho = np.exp(-1.0 / steps)
    noise = np.sqrt(1.0 - rho**2) * rng.normal(size=n)
    return size * lfilter([1.0], [1.0, -rho], noise, zi=[rho * rng.normal()])[0]


def load(days: int, per_day: int, seed: int) -> tuple[Any, np.ndarray]:
    """Load of a grid: growth, two peaks a day that are lower at the weekend, weather, noise."""
    rng, n = np.random.default_rng(seed), days * per_day
    t = np.arange(n) / per_day
    hour, weekend = 24.0 * (t % 1.0), (np.floor(t) % 7) >= 5
    peaks = 10.0 * np.exp(-0.5 * ((hour - 9.0) / 2.0) ** 2)
    peaks += 14.0 * np.exp(-0.5 * ((hour - 19.0) / 2.5) ** 2)
    y = 100.0 + 30.0 * t / t[-1] + np.where(weekend, 0.6, 1.0) * peaks - 6.0 * weekend
    y += wander(rng, n, 3.0 * per_day, 2.0) + wander(rng, n, per_day / 8.0, 0.8)
    date = pd.date_range("2022-01-03", periods=n, freq=f"{1440 // per_day}min")
    return pd.DataFrame({"date": date}), y + 0.5 * rng.normal(size=n)


def hourly(seed: int) -> tuple[Any, np.ndarray]:
    return load(210, 24, seed)


def half_hourly(seed: int) -> tuple[Any, np.ndarray]:
    return load(730, 48, seed)


def airline(seed: int, n: int = 144) -> tuple[Any, np.ndarray]:
    """Counts per month that grow by a factor, as does their season."""
    rng, t = np.random.default_rng(seed), np.arange(n)
    season = 0.12 * np.sin(2 * np.pi * (t - 3) / 12)
    season += 0.06 * np.exp(-0.5 * ((t % 12 - 6.5) / 0.8) ** 2)
    log = np.log(120.0) + 1.3 * t / n + season + wander(rng, n, 8.0, 0.04)
    date = pd.date_range("1949-01-01", periods=n, freq="MS")
    return pd.DataFrame({"date": date}), np.rint(np.exp(log + 0.02 * rng.normal(size=n)))


def seasonless(seed: int, n: int = 1000) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = 20.0 + wander(rng, n, 60.0, 2.0) + wander(rng, n, 4.0, 1.0)
    return np.arange(float(n))[:, None], y + 0.5 * rng.normal(size=n)


def walk(seed: int, n: int = 1000) -> tuple[Any, np.ndarray]:
    date = pd.date_range("2019-01-01", periods=n, freq="D")
    return pd.DataFrame({"date": date}), np.random.default_rng(seed).normal(size=n).cumsum()


SERIES: dict[str, Callable[[int], tuple[Any, np.ndarray]]] = {
    "hourly": hourly, "half_hourly": half_hourly, "airline": airline, "seasonless": seasonless,
    "walk": walk,
}  # fmt: skip


def by_hand(name: str, variance: float) -> dict[str, dict]:
    """Arguments of models that know the series."""
    if name == "mauna":
        season, weather = RBF(4.0, 50.0) * Periodic(period=1.0), Matern32(0.25, 1.0)
        kernel = RBF(1000.0, 50.0) + season + weather + Matern12(0.04, 0.1)
        return {
            "long + season + weather, trend": {"kernel": kernel, "trend": "linear"},
            "long + season + weather": {"kernel": kernel},
            "scikit-learn's example": {"kernel": example()},
        }
    if name in ("hourly", "half_hourly"):
        week = Periodic(0.5 * variance, 0.1, period="1 week")
        both = Periodic(variance, 1.0, period="1 day") + Periodic(variance, 0.3, period="1 week")
        weather = Matern32(4.0, 3.0 * DAY) + Matern12(1.0, 0.1 * DAY)
        return {
            "day + week + weather, trend": {"kernel": both + weather, "trend": "linear"},
            "week + weather, trend": {"kernel": week + Matern12(4.0, 3.0 * DAY), "trend": "linear"},
        }
    if name == "airline":

        def yearly(size: float) -> Kernel:
            return Periodic(size, 1.0, period="1 year") + Matern32(size, 250.0 * DAY)

        return {
            "year + wander, trend, log": {
                "kernel": yearly(0.01), "trend": "linear", "transforms": "log"
            },
            "year + wander, trend": {"kernel": yearly(0.1 * variance), "trend": "linear"},
        }  # fmt: skip
    unit = DAY if name == "walk" else 1.0
    rough = Matern12(variance, 500.0 * unit)
    return {
        "Matérn 1/2": {"kernel": rough},
        "Matérn 1/2, trend": {"kernel": rough, "trend": "linear"},
        "Matérn 3/2 + 1/2": {"kernel": Matern32(variance, 60.0 * unit) + Matern12(1.0, 5.0 * unit)},
        "Matérn 5/2, trend": {"kernel": Matern52(variance, 60.0 * unit), "trend": "linear"},
    }


@contextmanager
def no_search() -> Iterator[None]:
    """Fit without the search for seasons."""
    own = systems.with_seasons
    systems.with_seasons = lambda job: job
    try:
        yield
    finally:
        systems.with_seasons = own


def parts(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Cut off the last fifth."""
    n = y.size * 4 // 5
    early, late = (X[:n], X[n:]) if isinstance(X, np.ndarray) else (X.iloc[:n], X.iloc[n:])
    return early, y[:n], late, y[n:]


def run(name: str, X: Any, y: np.ndarray) -> tuple[list[dict], dict[str, Any]]:
    """Forecast the last fifth by the default, before and after, and by kernels by hand."""
    early, known, late, future = parts(X, y)
    ways = {"before": {}, "default": {}, **by_hand(name, float(known.var()))}
    rows, models = [], {}
    for way, given in ways.items():
        with no_search() if way == "before" else nullcontext(), Meter() as fit:
            model = CommitteeRegressor(random_state=0, **given).fit(early, known)
        low, high = model.predict_interval(late)
        error = future - model.predict(late)
        rows.append({
            "series": name, "model": way, "RMSE": float(np.sqrt(np.mean(error**2))),
            "covers": float(np.mean((low <= future) & (future <= high))),
            "fit CPU s": round(fit.cpu, 2),
        })  # fmt: skip
        models[way] = model
    found = models["default"].model_.sum.seasons
    print(f"{name}: {'nothing found' if found is None else found.words()}")
    print(table(rows), "\n", flush=True)
    return rows, models


def summarised(name: str, runs: list[list[dict]]) -> dict:
    """Average over seeds, and compare the default with the best by hand."""

    def mean(way: int, head: str) -> float:
        return float(np.mean([rows[way][head] for rows in runs]))

    hands = {rows["model"]: k for k, rows in enumerate(runs[0]) if k > 1}
    best = min(hands, key=lambda way: mean(hands[way], "RMSE"))
    own, other = mean(1, "RMSE"), mean(hands[best], "RMSE")
    return {
        "series": name, "seeds": len(runs), "before": mean(0, "RMSE"), "default": own,
        "by hand": other, "ratio": own / other, "covers": mean(1, "covers"),
        "before covers": mean(0, "covers"), "fit before": mean(0, "fit CPU s"),
        "fit": mean(1, "fit CPU s"), "hand": mean(hands[best], "fit CPU s"), "best by hand": best,
    }  # fmt: skip


def false_alarms(name: str) -> dict:
    """Count series without season in which something is found."""
    found = []
    for seed in range(FALSE_SEEDS):
        early, known, *_ = parts(*SERIES[name](seed))
        dates = not isinstance(early, np.ndarray)
        days = DAY * np.arange(known.size)[:, None]
        rows = Rows(days if dates else early, known[:, None], np.ones(known.size))
        found.append(find_seasons(rows, 0, dates=dates))
    some = [one for one in found if one is not None]
    seasons = sum(bool(one.seasons) for one in some)
    counts = {"seasons": seasons, "trends": len(some) - seasons}
    return {"series": name, "seeds": FALSE_SEEDS, **counts}


def draw(drawn: dict[str, tuple[Any, np.ndarray, dict]], path: Path) -> None:
    """The end of the known rows and the forecast of each series, before and now."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(15, 7))
    for axis, (name, (X, y, models)) in zip(axes.flat, drawn.items()):
        early, known, late, _ = parts(X, y)
        shown = {"hourly": 600, "half_hourly": 1000}.get(name, y.size)
        start = max(known.size - shown // 2, 0)
        t = np.asarray(X)[:, 0] if isinstance(X, np.ndarray) else X["date"].to_numpy()
        end = min(known.size + shown // 2, y.size)
        axis.plot(t[start:end], y[start:end], ".", color="black", markersize=1.5)
        late = late[: end - known.size]
        low, high = models["default"].predict_interval(late)
        ahead = t[known.size : end]
        axis.fill_between(ahead, low, high, alpha=0.25, linewidth=0, color="tab:blue")
        axis.plot(ahead, models["default"].predict(late), color="tab:blue", label="default, 95 %")
        axis.plot(ahead, models["before"].predict(late), color="tab:red", label="no search")
        axis.axvline(t[known.size], color="grey", linewidth=0.5)
        axis.set_title(name.replace("_", "-"))
        axis.tick_params(axis="x", labelrotation=20)
    axes[0, 0].legend(loc="upper left")
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    print(f"picture: {path}")


def main() -> None:
    parser = data_parser(__doc__)
    names = ("mauna", *SERIES)
    parser.add_argument("--only", nargs="*", choices=names, default=names)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("."))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines, drawn = [], {}
    for name in options.only:
        runs = []
        for seed in range(1 if name == "mauna" else options.seeds):
            if name == "mauna":
                known = stored(options.folder, "mauna_loa_co2")
                if known is None:
                    break
                X, y = floats(known)
            else:
                X, y = SERIES[name](seed)
            rows, models = run(name, X, y)
            runs.append(rows)
            drawn.setdefault(name, (X, y, models))
        if runs:
            lines.append(summarised(name, runs))
    print(f"{table(lines)}\n", flush=True)
    alarms = [false_alarms(name) for name in ("seasonless", "walk") if name in options.only]
    if alarms:
        print(f"{table(alarms)}\n", flush=True)
    draw(drawn, options.out / "seasons.png")


if __name__ == "__main__":
    main()
