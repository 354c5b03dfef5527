"""Ours and its peers, side by side: every method on every data set, in a process of its own.

python -m benchmarks.harness.driver ../shared/data [--tasks regression] [--sets kin40k protein]
    [--methods "collegium*" gpboost]

Results are stored as they come, in benchmarks/results/<task>/<set>.json; what is stored is not run
again without --again. `benchmarks.harness.render` makes the pages of docs/. --quick: 500 training
rows, to see that everything runs; its results are stored apart.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from benchmarks import tasks
from benchmarks.harness.arguments import data_parser
from benchmarks.harness.machine import machine, resident_gigabytes, total_gigabytes
from benchmarks.harness.task import Method, Task, chosen

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
QUICK_ROWS = 500
#: What sets the threads of each library; read when it is imported.
THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)  # fmt: skip


def drive(asked: list[Task], options: argparse.Namespace) -> None:
    """Measure every method on every set that was asked for."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that `watch` ends its process
    sets = chosen(options.sets, (name for task in asked for name in task.sets))
    methods = chosen(options.methods, (name for task in asked for name in task.methods))
    for task in asked:
        for name in (name for name in task.sets if name in sets):
            if is_there(options.folder, task.file(name)):
                drive_set(task, name, methods, options)


def is_there(folder: Path, file: str | None) -> bool:
    """Whether a set can be read; printed where not."""
    if file is None or (folder / f"{file}.npz").exists():
        return True
    print(f"skipped: no {file}.npz in {folder}; give the data folder (DATA=)")
    return False


def drive_set(task: Task, name: str, methods: list[str], options: argparse.Namespace) -> None:
    path = options.out / task.name / f"{name}.json"
    for label in (m for m in methods if m in task.methods and task.methods[m].runs_on(name)):
        results = stored(path)
        if label in results and "missing" not in results[label] and not options.again:
            continue
        given = further_arguments(task.methods[label], results, options)
        if given is None:
            print(f"{name:17} {label:31} not run: needs another result first", flush=True)
            continue
        row = run([task.name, str(options.folder), name, label], given, options)
        # read again: another run may have stored something meanwhile
        store(path, stored(path) | {label: row | {"machine": machine()}}, task.methods)
        print(f"{name:17} {label:31} {in_a_line(task, row)}", flush=True)


def further_arguments(
    method: Method, results: dict, options: argparse.Namespace
) -> list[str] | None:
    """Arguments of the worker; None where a budget depends on a result that is still missing."""
    given = ["--seed", str(options.seed), "--threads", str(options.threads)]
    if options.quick:
        given += ["--rows", str(QUICK_ROWS)]
    if method.budget_of is None:
        return given
    seconds = results.get(method.budget_of, {}).get("fit_cpu_s")
    return None if seconds is None else [*given, "--budget", str(seconds)]


def run(what: list[str], given: list[str], options: argparse.Namespace) -> dict:
    """One process, stopped where it takes too long or too much memory."""
    environment = os.environ | {name: str(options.threads) for name in THREADS}
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    with tempfile.TemporaryDirectory() as scratch:
        out, log = Path(scratch) / "result.json", Path(scratch) / "log"
        command = [sys.executable, "-m", "benchmarks.harness.worker", *what, str(out), *given]
        with log.open("w") as stream:
            process = subprocess.Popen(
                command, env=environment, stdout=stream, stderr=stream, start_new_session=True
            )
            stopped = watch(process, options.limit, options.memory)
        if out.exists():
            return json.loads(out.read_text())
        return {"failed": stopped or ended(process.returncode, log.read_text())}


def watch(process: subprocess.Popen, limit: float, memory: float) -> str | None:
    """Wait for the end; why it was stopped, if it was."""
    start, reason = time.monotonic(), None
    try:
        while process.poll() is None and reason is None:
            time.sleep(0.2)
            if time.monotonic() - start > limit:
                reason = f"not done within {limit:,.0f} s"
            elif resident_gigabytes(process.pid) > memory:
                reason = f"wants more than {memory:.0f} GB of memory"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return reason


def ended(code: int, log: str) -> str:
    """Why a process left no result."""
    if code == -signal.SIGKILL:
        return "stopped by the system: out of memory"
    last = log.strip().splitlines()[-1:] or ["no output"]
    return f"ended with code {code}: {last[0][:200]}"


def stored(path: Path) -> dict:
    return json.loads(path.read_text()) if path.exists() else {}


def store(path: Path, results: dict, order: Iterable[str]) -> None:
    """Write all, then move the file: a run that is stopped leaves the last state."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ordered = {name: results[name] for name in order if name in results}
    part = path.with_suffix(".part")
    part.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n")
    part.replace(path)


def in_a_line(task: Task, row: dict) -> str:
    """A result on the console: scores, cost and rows, or why there are none."""
    if "fit_cpu_s" not in row:
        return row.get("skipped") or row["failed"]
    cost = f"CPU {row['fit_cpu_s']:.1f} + {row['predict_cpu_s']:.1f} s  {row['peak_gb']:.2f} GB"
    line = task.line.format_map(defaultdict(lambda: float("nan"), row))
    return f"{line}  {cost}  {row['n_train']:,} rows"


def parser() -> argparse.ArgumentParser:
    parser = data_parser(__doc__)
    parser.add_argument("--tasks", nargs="+", choices=tasks.NAMES, default=list(tasks.NAMES))
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--again", action="store_true", help="also what is stored already")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS} training rows")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--limit", type=float, default=1800, help="wall seconds of one run")
    parser.add_argument("--memory", type=float, default=0.8 * total_gigabytes(), help="in GB")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="folder of the results")
    return parser


def main(arguments: list[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    options.out = options.out or (RESULTS / "quick" if options.quick else RESULTS)
    drive([tasks.plan(name) for name in options.tasks], options)


if __name__ == "__main__":
    main()
