"""One method on one data set, in a process of its own: scores, CPU time, memory, as JSON.

Started by the driver, which sets the number of threads before anything is imported. Scores that
need a second fit of a peer are added when the rest is stored, and omitted where it fails or takes
too long.
"""

from __future__ import annotations

import argparse
import importlib
import json
import warnings
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import tasks
from benchmarks.harness.data import Array, thinned
from benchmarks.harness.meter import Meter, peak_gigabytes
from benchmarks.harness.task import OURS, Method

#: Versions that are reported with every result; a method adds its own packages.
PACKAGES = ("collegium", "numpy", "scipy", "scikit-learn", "numba")


def measure(method: Method, options: argparse.Namespace, store: Callable[[dict], None]) -> dict:
    module = importlib.import_module(f"benchmarks.peers.{method.module}")
    split = tasks.part(options.task, "sets").split(options.folder, options.set, options.rows)
    n_all = split.y.size
    if n_all <= method.needs_more_than:
        return {"skipped": f"the set has {n_all:,} rows"}
    split = thinned(split, method.max_rows)
    getattr(module, "warm_up", lambda: None)()
    given = method.arguments | ({} if options.budget is None else {"budget": options.budget})
    make = partial(module.Model, seed=options.seed, threads=options.threads, **given)
    model = make()
    baseline = peak_gigabytes()
    with Meter() as fit:
        model.fit(split.X, split.y)
    fit = getattr(model, "spent", fit)  # of the last of several fits
    with Meter() as predict:
        answer = model.predict(split.X_test)
    row = costs(fit, predict, baseline)
    told = answer
    if hasattr(model, "forecast"):  # not timed: it asks for more than users do
        told = model.forecast(split.X_test, split.y_test, answer)
    scores = tasks.part(options.task, "scores")
    row = scores.of_answer(split, told) | row
    row |= {"n_train": getattr(model, "n_rows", split.y.size), "n_available": n_all}
    row |= {"n_test": split.y_test.size, "d": split.X.shape[1], "split": split.rule}
    row |= {"found": getattr(model, "found", ""), **getattr(model, "facts", {})}
    if method.group in OURS or not hasattr(scores, "of_peer"):
        return row
    store(row)
    held = getattr(model, "held", None)
    del model  # before there is a second
    return row | further(partial(scores.of_peer, split, answer, held, partial(again, make)))


def again(make: Callable, X: Array, y: Array, Xs: Array) -> tuple:
    """Predictions of a second fit."""
    model = make()
    model.fit(X, y)
    return model.predict(Xs)


def further(ask: Callable[[], dict]) -> dict:
    """Scores that are omitted where they fail, also for lack of memory."""
    try:
        return ask()
    except Exception as error:
        return {"t": {"failed": f"{type(error).__name__}: {str(error).strip()[:200]}"}}


def costs(fit: Meter, predict: Meter, baseline: float) -> dict:
    return {
        "fit_cpu_s": fit.cpu,
        "predict_cpu_s": predict.cpu,
        "fit_wall_s": fit.wall,
        "predict_wall_s": predict.wall,
        "peak_gb": peak_gigabytes(),
        "baseline_gb": baseline,  # imports, data, warm-up
    }


def outcome(method: Method, options: argparse.Namespace, store: Callable[[dict], None]) -> dict:
    """Measurements, or the reason why there are none."""
    try:
        return measure(method, options, store)
    except ModuleNotFoundError as error:  # tried again when it may have been installed
        return {"skipped": f"{error.name} is not installed", "missing": True}
    except MemoryError:
        return {"failed": "out of memory"}
    except Exception as error:  # a peer that cannot do a set says why in its cell
        return {"failed": f"{type(error).__name__}: {str(error).strip()[:200]}"}


def versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Versions of the packages that are installed."""
    found = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=tasks.NAMES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("set")
    parser.add_argument("method")
    parser.add_argument("out", type=Path, help="file for the JSON")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", type=int, help="training rows, at most")
    parser.add_argument("--budget", type=float, help="CPU seconds of a fit")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    method = tasks.plan(options.task).methods[options.method]
    facts = {"versions": versions(PACKAGES + method.packages)}
    facts["configuration"] = asdict(method) | {"seed": options.seed, "threads": options.threads}

    def store(row: dict) -> None:
        """Write all, then move the file: the process may be stopped at any time."""
        part = options.out.with_suffix(".part")
        part.write_text(json.dumps(row | facts))
        part.replace(options.out)

    store(outcome(method, options, store))


if __name__ == "__main__":
    main()
