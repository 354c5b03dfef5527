"""Rates of forgetting: forgetting="auto" beside fixed rates, where functions stay, jump and drift.

    python -m benchmarks.studies.forgetting [folder of data sets] [--seeds 3] [--picture FILE]

Prints the mean log density of rows that are predicted before they are learnt from, in calls of 25,
for the best of several fixed rates and for "auto"; and the CPU time of learning, relative to that
of the fixed rate that is best where nothing changes. With the folder also tables in time order.
"""

import argparse
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import collegium

SLOW_TO_FAST = (1.0, 0.999, 0.998, 0.995, 0.99, 0.98, 0.95)
SYSTEMS = {
    "OnlineGPRegressor": SLOW_TO_FAST,
    "RegressionFilter": SLOW_TO_FAST,
    "RVCRegressor": (1.0, 0.99, 0.95, 0.9, 0.8, 0.7, 0.5),
}
#: Rows of a stream, the row at which it changes, rows of a call, rows learnt from at first.
ROWS, CHANGE, CALL, FIRST = 5_000, 2_500, 25, 500
#: Rows after the change over which scores are averaged.
WINDOWS = {"300-600": (300, 600), "600-1500": (600, 1500), "1500-2500": (1500, 2500)}


def stays(late):
    return 0.0, 0.0


def jumps(late):
    return 1.5 * (late > 0), 0.0


def turns(late):
    return 0.0, np.pi * (late > 0)


def drifts(late):
    return 0.0, 0.001 * late


def creeps(late):
    return 0.0, 0.0002 * late


def drifts_and_stays(late):
    return 0.0, 0.003 * np.minimum(late, 500)


KINDS = (stays, jumps, turns, drifts, creeps, drifts_and_stays)


def stream(kind, seed):
    """sin(2x₀ + phase) + x₁² + level, with noise .1; level and phase depend on rows since."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (ROWS, 2))
    level, phase = kind(np.maximum(np.arange(ROWS) - CHANGE + 1.0, 0.0))
    f = np.sin(2.0 * X[:, 0] + phase) + X[:, 1] ** 2 + level
    return X, f + 0.1 * rng.normal(size=ROWS)


@dataclass
class Scores:
    """Rows of a stream, each predicted before it was learnt from."""

    density: np.ndarray
    covered: np.ndarray
    microseconds: float  # of learning, per row
    rate: float  # followed in the end


def streamed(name, forgetting, X, y):
    model = getattr(collegium, name)(forgetting=forgetting, random_state=0)
    density, covered, seconds = np.full(len(y), np.nan), np.full(len(y), np.nan), 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.partial_fit(X[:FIRST], y[:FIRST])
        for at in range(FIRST, len(y), CALL):
            part = slice(at, at + CALL)
            density[part] = model.log_density(X[part], y[part])
            lower, upper = model.predict_interval(X[part])
            covered[part] = (lower <= y[part]) & (y[part] <= upper)
            start = time.process_time()
            model.partial_fit(X[part], y[part])
            seconds += time.process_time() - start
    return Scores(density, covered, 1e6 * seconds / (len(y) - FIRST), model.forgetting_)


def line(name, *figures):
    print(f"{name:20s}" + "".join(f"{figure:>22}" for figure in figures), flush=True)


def best(fixed, part):
    """The fixed rate with the highest mean over seeds and rows."""
    return max(fixed, key=lambda rate: np.mean([one.density[part].mean() for one in fixed[rate]]))


def beside(fixed, auto, part):
    """auto, the best fixed rate, and their difference with its standard error over seeds."""
    rate = best(fixed, part)
    own = np.array([one.density[part].mean() for one in auto])
    other = np.array([one.density[part].mean() for one in fixed[rate]])
    error = (own - other).std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else np.nan
    return f"{own.mean():.3f} {(own - other).mean():+.3f}±{error:.3f} ({rate:g})"


def table(name, rates, seeds, kinds):
    print(f"\n{name}: auto, minus the best fixed rate, which is in brackets")
    before = slice(1000, CHANGE)
    line("", "before", *WINDOWS, "auto covers", "CPU time")
    for kind in kinds:
        data = [stream(kind, seed) for seed in range(seeds)]
        fixed = {rate: [streamed(name, rate, *own) for own in data] for rate in rates}
        auto = [streamed(name, "auto", *own) for own in data]
        after = [slice(CHANGE + a, CHANGE + b) for a, b in WINDOWS.values()]
        usual = fixed[best(fixed, slice(1000, ROWS))]
        times = [np.mean([one.microseconds for one in each]) for each in (auto, usual)]
        covers = np.mean([one.covered[CHANGE + 300 :].mean() for one in auto])
        line(
            kind.__name__, *(beside(fixed, auto, part) for part in (before, *after)),
            f"{covers:.3f}", f"{times[0]:.0f} / {times[1]:.0f} = {times[0] / times[1]:.2f}",
        )  # fmt: skip


def real(folder, names, rows=8_000):
    """Tables in time order: log density of all rows after the first 1,000."""
    sets = {}
    elec = np.load(folder / "elec2.npz")["X"][:rows]
    sets["elec2 (demand)"] = np.delete(elec, 2, axis=1), elec[:, 2]
    bike = np.load(folder / "bike_hour.npz")
    sets["bike_hour (log counts)"] = bike["X"][:rows], np.log(bike["y"].ravel()[:rows] + 1.0)
    null = np.load(folder / "tamielectric.npz")
    sets["tamielectric (no signal)"] = null["X"][:rows], null["y"].ravel()[:rows]
    part = slice(1000, None)
    for name in names:
        print(f"\n{name}: rows after the first 1,000, by rate")
        rates = (*SYSTEMS[name][:1], *SYSTEMS[name][2::2], "auto")
        line("", *rates, "CPU time of auto, 1.0")
        for title, (X, y) in sets.items():
            found = {rate: streamed(name, rate, X, y) for rate in rates}
            cells = [
                f"{one.density[part].mean():.3f} ({one.covered[part].mean():.3f})"
                for one in found.values()
            ]
            times = [found[rate].microseconds for rate in ("auto", 1.0)]
            line(title[:19], *cells, f"{times[0]:.0f} / {times[1]:.0f}")


def smooth(values, width=100):
    """Mean over the last rows."""
    total = np.cumsum(np.insert(np.nan_to_num(values), 0, 0.0))
    return (total[width:] - total[:-width]) / width


def picture(path, name="OnlineGPRegressor", seed=0):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    kinds = {"a jump": jumps, "a slow drift": drifts}
    figure, axes = plt.subplots(2, 2, figsize=(10, 5.5), sharex=True, sharey="row")
    for column, (title, kind) in enumerate(kinds.items()):
        X, y = stream(kind, seed)
        for rate, colour in ((1.0, "0.6"), (0.999, "C0"), (0.99, "C2"), ("auto", "C3")):
            found = streamed(name, rate, X, y)
            rows = np.arange(ROWS - 99) + 99 - CHANGE
            shown = (rows > -600) & (rows < 1800)
            thick = 2.2 if rate == "auto" else 1.2
            for axis, values in zip(axes[:, column], (found.density, found.covered), strict=True):
                axis.plot(
                    rows[shown], smooth(values)[shown], color=colour, lw=thick,
                    label=f"forgetting={rate!r}",
                )  # fmt: skip
        axes[0, column].set_title(f"{name}: {title} at row 0")
        axes[1, column].axhline(0.95, color="0.8", lw=0.8, zorder=0)
        axes[1, column].set_xlabel("rows since the change")
    axes[0, 0].set(ylabel="log density, mean of 100 rows", ylim=(-3.0, 1.1))
    axes[1, 0].set(ylabel="95 % intervals cover", ylim=(-0.02, 1.02))
    axes[0, 1].legend(fontsize=8, loc="lower left")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--kinds", nargs="*", default=[kind.__name__ for kind in KINDS])
    parser.add_argument("--picture", type=Path)
    asked = parser.parse_args()
    kinds = [kind for kind in KINDS if kind.__name__ in asked.kinds]
    for name in asked.systems if kinds else ():
        table(name, SYSTEMS[name], asked.seeds, kinds)
    if asked.folder is not None:
        real(asked.folder, asked.systems)
    if asked.picture is not None:
        picture(asked.picture)


if __name__ == "__main__":
    main()
