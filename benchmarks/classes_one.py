"""One method on one set of classes, counts or spoilt targets, in a process of its own.

Started by classes.py, as one.py is by bench.py.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import warnings
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import numpy as np

from classes_plan import CLASSES, COUNTS, METHODS
from classes_scores import of_classes, of_counts
from classes_sets import RULE, task
from collegium import CommitteeRegressor
from common import Meter, Split, peak_gigabytes, scores
from one import PACKAGES, costs
from plan import Method


def measure(options: argparse.Namespace, method: Method) -> dict:
    if missing := not_there(method):
        return {"skipped": missing, "missing": True}
    module = importlib.import_module(f"peers.{method.module}")
    split = task(options.folder, options.set, options.rows)
    getattr(module, "warm_up", lambda: None)()
    given = method.arguments | ({} if options.budget is None else {"budget": options.budget})
    model = module.Model(seed=options.seed, threads=options.threads, **given)
    baseline = peak_gigabytes()
    with Meter() as fit:
        model.fit(split.X, split.y)
    fit = getattr(model, "spent", fit)  # of the last of several fits
    with Meter() as predict:
        answer = model.predict(split.X_test)
    row = {**score(options.set, split, answer), **costs(fit, predict, baseline)}
    row |= {"n_train": getattr(model, "n_rows", split.y.size), "n_available": split.y.size}
    row |= {"n_test": split.y_test.size, "d": split.X.shape[1], "split": RULE}
    return row | {"found": getattr(model, "found", ""), **getattr(model, "facts", {})}


def score(name: str, split: Split, answer) -> dict:
    if name in CLASSES:
        K = int(max(split.y.max(), split.y_test.max())) + 1
        P, known = answer
        table = np.zeros((P.shape[0], K))
        table[:, known] = P  # a subset may lack a class
        return {"classes": K, **of_classes(split.y_test, table)}
    if name in COUNTS:
        return of_counts(split.y_test, *answer)
    return scores(split.y_test, *answer)


def not_there(method: Method) -> str | None:
    """What a method of ours needs, and this version does not have."""
    known = inspect.signature(CommitteeRegressor).parameters
    wants = method.arguments.get("likelihood")
    if method.module in ("ours", "counts_ours") and wants and "likelihood" not in known:
        return f"CommitteeRegressor has no likelihood={wants!r} in this version"
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("set")
    parser.add_argument("method")
    parser.add_argument("out", type=Path, help="file for the JSON")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", type=int, help="training rows, at most")
    parser.add_argument("--budget", type=float, help="CPU seconds of a fit")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    method = METHODS[options.method]
    try:
        row = measure(options, method)
    except MemoryError:
        row = {"failed": "out of memory"}
    except Exception as error:  # as in one.py: the cell says why
        row = {"failed": f"{type(error).__name__}: {str(error).strip()[:200]}"}
    row["versions"] = {name: version(name) for name in PACKAGES + method.packages}
    row["configuration"] = asdict(method) | {"seed": options.seed, "threads": options.threads}
    options.out.write_text(json.dumps(row))


if __name__ == "__main__":
    main()
