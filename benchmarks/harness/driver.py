"""Ours and its peers, side by side: every method on every data set, in a process of its own.

python benchmarks/bench.py ../shared/data [--sets kin40k protein] [--methods "collegium*" gpboost]

Results are stored as they come, in benchmarks/results/<set>.json; what is stored is not run
again without --again. render.py makes the tables and pictures.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from plan import FILES, METHODS, SETS, Method, chosen

HERE = Path(__file__).parent
#: Threads of every library that has a say in it; read when these are imported.
THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)  # fmt: skip


@dataclass(frozen=True)
class Survey:
    """What is measured, and the script that measures one method on one set."""

    sets: tuple[str, ...]
    methods: Mapping[str, Method]
    files: Mapping[str, str | None]  # of sets that are not named as their file; None: no file
    words: Callable[[dict], str]  # a result in a line
    worker: str = "one.py"
    given: Callable[[str, dict], list[str] | None] = lambda method, results: []
    # further arguments of the worker, from what is known of a set; None: not yet


def run(folder: str, set_name: str, method: str, options: argparse.Namespace) -> dict:
    """One process, stopped where it takes too long or too much memory."""
    environment = os.environ | {name: str(options.threads) for name in THREADS}
    with tempfile.TemporaryDirectory() as scratch:
        out, log = Path(scratch) / "result.json", Path(scratch) / "log"
        command = [sys.executable, str(HERE / options.worker), folder, set_name, method]
        command += [str(out), "--seed", str(options.seed), "--threads", str(options.threads)]
        command += options.given
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


def resident_gigabytes(pid: int) -> float:
    """Memory of a process now; 0 where the system does not say."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e9


def ended(code: int, log: str) -> str:
    if code == -signal.SIGKILL:
        return "stopped by the system: out of memory"
    last = log.strip().splitlines()[-1:] or ["no word"]
    return f"ended with code {code}: {last[0][:200]}"


def machine() -> dict:
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "memory_gb": round(total_gigabytes(), 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "date": date.today().isoformat(),
    }


def cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def total_gigabytes() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def stored(path: Path) -> dict:
    return json.loads(path.read_text()) if path.exists() else {}


def store(path: Path, results: dict, order: Mapping[str, Method] = METHODS) -> None:
    """Written whole, then moved: a run that is stopped leaves the last state."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ordered = {name: results[name] for name in order if name in results}
    part = path.with_suffix(".part")
    part.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n")
    part.replace(path)


def words(row: dict) -> str:
    if "RMSE" not in row:
        return row.get("skipped") or row["failed"]
    return (
        f"RMSE {row['RMSE']:.4f}  NLPD {row['NLPD']:.3f}  covers {100 * row['coverage']:.1f} %  "
        f"CPU {row['fit_cpu_s']:.1f} + {row['predict_cpu_s']:.1f} s  {row['peak_gb']:.2f} GB"
    )


def parser(words: str | None, out: Path) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=words)
    parser.add_argument("folder", nargs="?", default="../shared/data")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--again", action="store_true", help="also what is stored already")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--limit", type=float, default=1800, help="wall seconds of one run")
    parser.add_argument("--memory", type=float, default=0.8 * total_gigabytes(), help="in GB")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=out, help="folder of the JSON")
    return parser


def drive(survey: Survey, options: argparse.Namespace) -> None:
    """Every method on every set that was asked for."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that `watch` ends its process
    names = chosen(options.sets, survey.sets)
    methods = chosen(options.methods, tuple(survey.methods))
    for name in names:
        file = survey.files.get(name, name)
        if file is not None and not (Path(options.folder) / f"{file}.npz").exists():
            print(f"skipped: no {file}.npz in {options.folder}; give the data folder (DATA=)")
            continue
        path = options.out / f"{name}.json"
        for method in (m for m in methods if survey.methods[m].runs_on(name)):
            results = stored(path)
            if method in results and "missing" not in results[method] and not options.again:
                continue
            options.worker, options.given = survey.worker, survey.given(method, results)
            if options.given is None:
                print(f"{name:17} {method:31} not run: needs another result first", flush=True)
                continue
            row = run(options.folder, name, method, options)
            # read again: another run may have stored something meanwhile
            store(path, stored(path) | {method: row | {"machine": machine()}}, survey.methods)
            print(f"{name:17} {method:31} {survey.words(row)}", flush=True)


def main() -> None:
    drive(Survey(SETS, METHODS, FILES, words), parser(__doc__, HERE / "results").parse_args())


if __name__ == "__main__":
    main()
