"""One method on one data set, in a process of its own: scores, CPU time, memory, as JSON.

Started by bench.py, which sets the number of threads before anything is imported.
"""

from __future__ import annotations

import argparse
import importlib
import json
import warnings
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from common import Meter, peak_gigabytes, scores
from plan import METHODS, ORIGINAL_UNITS, Method
from sets import Task, task, thinned

#: Versions that are reported with every result; a method adds its own packages.
PACKAGES = ("collegium", "numpy", "scipy", "scikit-learn", "numba")


def measure(folder: str, set_name: str, method: Method, seed: int, threads: int) -> dict:
    module = importlib.import_module(f"peers.{method.module}")
    data = task(folder, set_name)
    n_all = data.split.y.size
    if n_all <= method.needs_more_than:
        return {"skipped": f"the set has {n_all:,} rows"}
    split = data.split
    if method.max_rows is not None and n_all > method.max_rows:
        split = thinned(split, method.max_rows)
    getattr(module, "warm_up", lambda: None)()
    model = module.Model(seed=seed, threads=threads, **method.arguments)
    baseline = peak_gigabytes()
    with Meter() as fit:
        model.fit(split.X, split.y)
    with Meter() as predict:
        mean, std = model.predict(split.X_test)
    row = {**scores(split.y_test, mean, std), **costs(fit, predict, baseline)}
    row |= {"n_train": split.y.size, "n_available": n_all, "n_test": split.y_test.size}
    row |= {"d": split.X.shape[1], "found": getattr(model, "found", "")}
    return row | _original(set_name, data, row["RMSE"])


def costs(fit: Meter, predict: Meter, baseline: float) -> dict:
    return {
        "fit_cpu_s": fit.cpu,
        "predict_cpu_s": predict.cpu,
        "fit_wall_s": fit.wall,
        "predict_wall_s": predict.wall,
        "peak_gb": peak_gigabytes(),
        "baseline_gb": baseline,  # imports, data, warm-up
    }


def _original(set_name: str, data: Task, rmse: float) -> dict:
    words = {"split": data.rule}
    if set_name in ORIGINAL_UNITS:
        words |= {"RMSE_original": rmse * data.unit, "unit": ORIGINAL_UNITS[set_name]}
    return words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("set")
    parser.add_argument("method")
    parser.add_argument("out", type=Path, help="file for the JSON")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    method = METHODS[options.method]
    try:
        row = measure(options.folder, options.set, method, options.seed, options.threads)
    except MemoryError:
        row = {"failed": "out of memory"}
    except Exception as error:  # a peer that cannot do a set says why in its cell
        row = {"failed": f"{type(error).__name__}: {str(error).strip()[:200]}"}
    row["versions"] = {name: version(name) for name in PACKAGES + method.packages}
    row["configuration"] = asdict(method) | {"seed": options.seed, "threads": options.threads}
    options.out.write_text(json.dumps(row))


if __name__ == "__main__":
    main()
