"""Cost and accuracy of a prediction: milliseconds per row against error, ours and peers'.

python -m benchmarks.studies.answers ../shared/data [--sets kin40k] [--methods collegium MuyGPyS]
    [--picture docs/pictures]

CPU time of one thread for mean and standard deviation of the test rows (at most 10,000), in the
second call: what a model makes when it is first asked counts as `prepare`. Each method is a process
of its own; what is stored in benchmarks/results/answers.json is not run again without --again.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.arguments import data_parser
from benchmarks.harness.data import Array, Split, stored, thinned
from benchmarks.harness.driver import RESULTS, ROOT, THREADS
from benchmarks.harness.forecast import Forecast
from benchmarks.harness.machine import machine
from benchmarks.harness.meter import Meter, least
from benchmarks.harness.tables import table
from benchmarks.tasks.regression import plan, sets
from benchmarks.tasks.regression.scores import scores
from collegium import AnswerTime

SETS = ("kin40k", "protein", "heaton_satellite", "chm_simes")
FILE = RESULTS / "answers.json"
#: Test rows, pixels of a side of a map, and single rows that are asked for.
MOST, SIDE, SINGLE = 10_000, 1000, 200
#: Settings of ours after one fit: words, and arguments that act after it.
SETTINGS: dict[str, dict] = {
    "default": {},
    **{f"n_local={k}": {"n_local": k} for k in (200, 100, 50, 25, 12)},
    **{f"AnswerTime({t:g})": {"n_local": AnswerTime(t)} for t in (0.05, 0.1, 0.3, 1.0)},
}
FEWER = {
    name: SETTINGS[name] for name in ("default", "n_local=25", "n_local=12", "AnswerTime(0.3)")
}
REFINED = {"default": {}, "AnswerTime(1)": {"n_local": AnswerTime(1.0)}}
#: Ours: arguments of `fit`, settings after it, and sets.
OURS: dict[str, tuple[dict, dict[str, dict], tuple[str, ...]]] = {
    "collegium": ({}, SETTINGS, SETS),
    "collegium, refined": ({"inference": "cg"}, REFINED, ("kin40k", "protein")),
    "collegium, anchors alone": ({"n_local": 0}, {"default": {}}, SETS),
}
OTHERS = {
    **{name: method for name, method in plan.METHODS.items() if name.startswith("exact GP, 2,500")},
    **{name: method for name, method in plan.METHODS.items() if name.startswith("exact GP, 5,000")},
    **{name: method for name, method in plan.PEERS.items() if name not in plan.QUANTILES},
}


def measure(folder: Path, name: str, method: str) -> list[dict]:
    """Lines of one method on one set."""
    split = some_tests(sets.split(folder, name))
    if method in OURS:
        given, settings, _ = OURS[method]
        return list(ours(split, given, FEWER if name == "chm_simes" else settings))
    return [peer(split, OTHERS[method])]


def some_tests(split: Split) -> Split:
    at = np.random.default_rng(0).permutation(split.y_test.size)[:MOST]
    return replace(split, X_test=split.X_test[at], y_test=split.y_test[at])


def ours(split: Split, given: dict, settings: dict[str, dict]) -> Iterator[dict]:
    from benchmarks.harness.warm_up import warm_up
    from collegium import CommitteeRegressor

    warm_up({}, {"n_local": 0}, {"inference": "cg"})
    model = CommitteeRegressor(random_state=0, **given)
    with Meter() as fit:
        model.fit(split.X, split.y)
    usual = {"n_local": model.n_local}
    for words, change in settings.items():
        model.set_params(**{**usual, **change})
        with Meter() as prepare:
            model.predict(split.X_test, return_std=True)
        row = timed(lambda: model.predict(split.X_test, return_std=True), split)
        row |= {"ms_mean": timed(lambda: model.predict(split.X_test), split)["ms"]}
        row |= {
            "ms_all": timed(lambda: model.predict(split.X_test, True, interval=0.9), split)["ms"]
        }
        row |= {"one_row_ms": one_row(model, split.X_test)}
        found = Forecast.own(model, split.X_test, split.y_test)
        yield {"setting": words, **row, **scores(split.y_test, found), "fit_s": fit.cpu,
               "prepare_s": prepare.cpu, "way": way(model)}  # fmt: skip


def way(model: Any) -> str:
    """Describe the way of answering in a few words."""
    own = model._predictor()
    own = getattr(own, "own", own)
    cells = getattr(own, "cells", None)
    if cells is None:
        return type(own).__name__.removesuffix("Predictor")
    return f"cells of {cells.k}, variances of {cells.near}"


def one_row(model: Any, X: Array) -> float:
    """Wall milliseconds of a call with one row, the median."""
    spent = []
    for i in range(min(SINGLE, X.shape[0])):
        start = time.perf_counter()
        model.predict(X[i : i + 1], return_std=True)
        spent.append(time.perf_counter() - start)
    return 1e3 * float(np.median(spent))


def timed(ask: Any, split: Split) -> dict:
    return {"ms": 1e3 * least(ask, 2) / split.y_test.size}


def peer(split: Split, method: Any) -> dict:
    module = importlib.import_module(f"benchmarks.peers.{method.module}")
    split = thinned(split, method.max_rows)
    getattr(module, "warm_up", lambda: None)()
    model = module.Model(seed=0, threads=1, **method.arguments)
    with Meter() as fit:
        model.fit(split.X, split.y)
    with Meter() as prepare:
        answer = model.predict(split.X_test)
    found = Forecast.normal(split.y_test, *answer)
    row = timed(lambda: model.predict(split.X_test), split) | scores(split.y_test, found)
    return {"setting": "", **row, "fit_s": fit.cpu, "prepare_s": prepare.cpu}


def maps(folder: Path, name: str) -> list[dict]:
    """A million pixels with standard deviations: seconds of wall time, one thread and two."""
    from collegium import CommitteeRegressor

    split = sets.split(folder, name)
    model = CommitteeRegressor(random_state=0, n_jobs=2, n_local=AnswerTime(0.3)).fit(
        split.X, split.y
    )
    low, high = split.X.min(axis=0), split.X.max(axis=0)
    axes = [np.linspace(a, b, SIDE) for a, b in zip(low, high)]
    pixels = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    rows = []
    for jobs in (2, 1):
        fresh = model.set_params(n_jobs=jobs)
        fresh._made.others.clear()  # no cell is there yet
        with Meter() as spent:
            mean, std = fresh.predict(pixels, return_std=True)
        rows.append({"setting": f"map, {jobs} threads", "wall_s": spent.wall, "cpu_s": spent.cpu,
                     "way": way(model)})  # fmt: skip

    return rows


def drive(options: argparse.Namespace) -> None:
    for name in options.sets:
        if stored(options.folder, name) is None:
            continue
        wanted = [m for m, (_, _, where) in OURS.items() if name in where] + list(OTHERS)
        wanted += ["map"] if name in SETS[2:] else []
        for method in options.methods or wanted:
            if method not in wanted or (method in known().get(name, {}) and not options.again):
                continue
            environment = os.environ | dict.fromkeys(THREADS, "1")
            command = [sys.executable, "-m", "benchmarks.studies.answers", str(options.folder)]
            command += ["--one", name, method]
            try:
                done = subprocess.run(
                    command, env=environment, cwd=ROOT, capture_output=True, text=True,
                    timeout=options.limit,
                )  # fmt: skip
                ok = done.returncode == 0
                lines = json.loads(done.stdout.splitlines()[-1]) if ok else []
                failed = "" if ok else done.stderr.strip().splitlines()[-1][:200]
            except subprocess.TimeoutExpired:
                lines, failed = [], f"not done within {options.limit:.0f} s"
            keep(name, method, {"lines": lines, "failed": failed, "machine": machine()})
            print(f"## {name}: {method} {failed}\n{table(lines) if lines else ''}", flush=True)


def known() -> dict[str, dict]:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def keep(name: str, method: str, found: dict) -> None:
    """Read again first: another run may have stored something meanwhile."""
    results = known()
    results.setdefault(name, {})[method] = found
    part = FILE.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    part.replace(FILE)


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--methods", nargs="+", choices=[*OURS, *OTHERS, "map"])
    parser.add_argument("--again", action="store_true", help="also what is stored already")
    parser.add_argument("--limit", type=float, default=2400.0, help="wall seconds of one method")
    parser.add_argument("--one", nargs=2, metavar=("set", "method"), help=argparse.SUPPRESS)
    parser.add_argument("--picture", type=Path, help="folder for the picture")
    options = parser.parse_args()
    if options.one:
        name, method = options.one
        lines = (
            maps(options.folder, name) if method == "map" else measure(options.folder, *options.one)
        )
        print(json.dumps(lines))
        return
    drive(options)
    if options.picture:
        from benchmarks.studies.answers_picture import draw, write_table

        print(draw(known(), options.picture))
        write_table(known(), ROOT / "docs" / "answers.md")


if __name__ == "__main__":
    main()
