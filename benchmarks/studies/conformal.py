"""Intervals with a guarantee beside MAPIE's, of one model: coverage, width, time and memory.

    python -m benchmarks.studies.conformal ../shared/data [--sets protein] [--rows 20000]

The model is a committee whose kernel and noise were learnt from 2,000 of the training rows. "split"
has 2,000 calibration rows beside the training rows, "cv+" ten folds of these. Ours moves intervals
in units of the standard deviation of each row; MAPIE's scores are absolute errors (its default).
`widest tenth` is the coverage of the queries where the model is least sure. CPU seconds are of
fitting and calibrating (MAPIE fits the model of each fold anew, ours subtracts messages when it is
first asked) and of the intervals of 5,000 queries; memory is what the process takes beyond what it
took after it had read its rows and fitted the first model. Each method has a process of its own.

Before that: 500 calibrations of 39 rows each, for models whose noise is far too small for rows with
heavy tails and for skewed errors that vary; and streams of 6,000 rows in their order, in calls of
100, each predicted before it is learnt from.
"""

from __future__ import annotations

import multiprocessing
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.arguments import data_parser
from benchmarks.harness.data import Split, rows, standardised
from benchmarks.harness.meter import Meter, peak_gigabytes
from benchmarks.harness.tables import table
from benchmarks.harness.warm_up import warm_up
from collegium import CommitteeRegressor, OnlineGPRegressor
from collegium.kernels import RBF

Array = np.ndarray
COVERAGE = 0.9
LEARNT, CALIBRATION, QUERIES, FOLDS = 2_000, 2_000, 5_000, 10
METHODS = ("ours, model", "ours, split", "ours, cv+", "MAPIE, split", "MAPIE, cv+")


def cut(folder: Path, name: str, n: int, seed: int) -> tuple[Split, Split] | None:
    """Training and test rows; and calibration rows in the place of test rows."""
    found = rows(folder, name)
    if found is None:
        return None
    order = np.random.default_rng(seed).permutation(found[1].size)
    ends = np.cumsum([n, CALIBRATION, QUERIES])
    train, own, test = order[: ends[0]], order[ends[0] : ends[1]], order[ends[1] : ends[2]]
    return standardised(*found, train, test), standardised(*found, train, own)


def base(data: Split) -> CommitteeRegressor:
    """A committee that is not fitted, with the kernel and noise of some of the rows."""
    some = CommitteeRegressor(noise="constant", transforms=None, members=None, random_state=0)
    some.fit(data.X[:LEARNT], data.y[:LEARNT])
    return CommitteeRegressor(
        some.kernel_, noise=some.noise_, learn=False, anchors=200, n_local=50, random_state=0
    )


def ours(method: str, model: Any, data: Split, more: Split) -> tuple[Any, Any]:
    """A function that calibrates, and one that gives the intervals of the queries."""
    if method == "split":
        return (
            lambda: model.fit(data.X, data.y).calibrate(more.X_test, more.y_test),
            lambda: model.predict_interval(data.X_test, COVERAGE, method=method),
        )
    return (
        lambda: model.fit(data.X, data.y),
        lambda: model.predict_interval(data.X_test, COVERAGE, method=method),
    )


def theirs(method: str, model: Any, data: Split, more: Split) -> tuple[Any, Any]:
    from mapie.regression import CrossConformalRegressor, SplitConformalRegressor

    if method == "split":
        other = SplitConformalRegressor(model, confidence_level=COVERAGE, prefit=False)

        def calibrate() -> None:
            other.fit(data.X, data.y).conformalize(more.X_test, more.y_test)
    else:
        other = CrossConformalRegressor(
            model, confidence_level=COVERAGE, cv=FOLDS, method="plus", random_state=0
        )

        def calibrate() -> None:
            other.fit_conformalize(data.X, data.y)

    def ask() -> tuple[Array, Array]:
        _, ends = other.predict_interval(data.X_test)
        return ends[:, 0, 0], ends[:, 1, 0]

    return calibrate, ask


def score(label: str, data: Split, more: Split) -> dict[str, Any]:
    """One line of the table, in the process that calls it."""
    warnings.simplefilter("ignore")
    warm_up()
    model = base(data)
    unsure = clone_fitted(model, data).predict(data.X_test, return_std=True)[1]
    system, method = label.split(", ")
    before = peak_gigabytes()
    calibrate, ask = (ours if system == "ours" else theirs)(method, model, data, more)
    with Meter() as first:
        calibrate()
    with Meter() as then:
        lower, upper = ask()
    inside = (lower <= data.y_test) & (data.y_test <= upper)
    widest = unsure >= np.quantile(unsure, 0.9)
    return {
        "": label, "coverage": float(inside.mean()), "widest tenth": float(inside[widest].mean()),
        "mean width": float(np.mean(upper - lower)), "fit s": first.cpu, "intervals s": then.cpu,
        "GB": peak_gigabytes() - before,
    }  # fmt: skip


def drawn(kind: str, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    skewed = rng.exponential(1.0 + 4.0 * (X[:, 1] > 0.5)) - 1.0
    errors = rng.standard_cauchy(n) if kind == "heavy tails" else skewed
    return X, np.sin(2.0 * X[:, 0]) + errors


def repeated(kind: str, repeats: int = 500, n: int = 39, new: int = 8) -> dict[str, Any]:
    """Share of new rows covered, over calibrations of one model, with its standard error."""
    rng, shares, plain = np.random.default_rng(0), [], []
    kernel = RBF(variance=1.0, length_scale=[0.8, 2.5])
    model = CommitteeRegressor(kernel, noise=0.05, learn=False).fit(*drawn(kind, 60, rng))
    for _ in range(repeats):
        X, y = drawn(kind, n + new, rng)
        model.calibrate(X[new:], y[new:])
        for found, method in ((shares, "split"), (plain, "model")):
            lower, upper = model.predict_interval(X[:new], COVERAGE, method=method)
            found.append(float(((lower <= y[:new]) & (y[:new] <= upper)).mean()))
    return {
        "": kind, "model": float(np.mean(plain)), "split": float(np.mean(shares)),
        "standard error": float(np.std(shares) / np.sqrt(repeats)),
        "at most": COVERAGE + 1.0 / (n + 1),
    }  # fmt: skip


def streamed(folder: Path, name: str, most: int = 6_000, size: int = 100) -> dict[str, Any] | None:
    """Coverage of rows of a stream that were not learnt from yet; the worst of runs of 500."""
    found = rows(folder, name)
    if found is None:
        return None
    X, y = found[0][:most], found[1][:most]
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    model, inside = OnlineGPRegressor(random_state=0), {"model": [], "adaptive": []}
    for start in range(0, len(y), size):
        part = slice(start, start + size)
        if start >= 5 * size:
            for method, own in inside.items():
                lower, upper = model.predict_interval(X[part], COVERAGE, method=method)
                own.extend((lower <= y[part]) & (y[part] <= upper))
        model.partial_fit(X[part], y[part])
    line: dict[str, Any] = {"": name}
    for method, own in inside.items():
        line[method] = float(np.mean(own))
        runs = [np.mean(own[i : i + 500]) for i in range(0, len(own) - 499, 500)]
        line[f"{method}, worst 500"] = float(min(runs))
    return line


def clone_fitted(model: CommitteeRegressor, data: Split) -> CommitteeRegressor:
    return CommitteeRegressor(**model.get_params(deep=False)).fit(data.X, data.y)


def run(folder: Path, name: str, n: int, seed: int) -> list[dict[str, Any]]:
    """All methods on one split, each in a process of its own, one after the other."""
    found, lines = cut(folder, name, n, seed), []
    for label in METHODS if found is not None else ():
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            lines.append(pool.apply(score, (label, *found)))
    return lines


def mean_of(splits: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Average numbers over splits."""
    return [
        {
            head: value if head == "" else float(np.mean([one[head] for one in lines]))
            for head, value in lines[0].items()
        }
        for lines in zip(*splits)
    ]


if __name__ == "__main__":
    parser = data_parser(__doc__)
    parser.add_argument("--sets", nargs="+", default=["protein", "kin40k"])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--splits", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(table([repeated(kind) for kind in ("heavy tails", "misspecified")]), flush=True)
    lines = [streamed(options.folder, name) for name in ("kin8nm", "protein", "bike_hour")]
    if any(lines):
        print("\n" + table([line for line in lines if line is not None]), flush=True)
    for name in options.sets:
        splits = [run(options.folder, name, options.rows, seed) for seed in range(options.splits)]
        if all(splits):
            print(f"\n{name}: {options.rows} rows, {QUERIES} queries, coverage {COVERAGE}")
            print(table(mean_of(splits)), flush=True)
