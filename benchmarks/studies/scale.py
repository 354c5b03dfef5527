"""Rows in Parquet against time, memory and accuracy: a robot arm, 10⁶ to 10⁸ rows.

    python -m benchmarks.studies.scale [--rows 1000000 10000000] [--columns 8] [--memory 1000000]
                                       [--dask] [--folder some/folder]

Rows are written to Parquet once, in `--folder`. Each size is fitted in a process of its own, rows
on disk (`store=`), n_jobs=2; `--memory n` fits the first n rows in memory beside it, `--dask` runs
the messages on two local Dask workers. Memory is anonymous memory (RssAnon), its largest value in
samples ten times a second. 4,000 queries of the same function score the answers; the noise has the
standard deviation 0.05.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

import collegium
from benchmarks.harness.meter import Meter
from benchmarks.harness.tables import table
from collegium import CommitteeRegressor

Array = np.ndarray
NOISE, BLOCK = 0.05, 250_000


def arm(n: int, d: int, seed: int) -> tuple[Array, Array]:
    """Noisy distance of the end of a planar arm with d joints from its shoulder."""
    rng = np.random.default_rng(seed)
    angles = rng.uniform(-np.pi / 3, np.pi / 3, size=(n, d)).astype(np.float32)
    turned = np.cumsum(angles, axis=1, dtype=np.float64)
    lengths = np.linspace(1.0, 0.4, d)
    end = np.cos(turned) @ lengths, np.sin(turned) @ lengths
    return angles, np.hypot(*end) + NOISE * rng.normal(size=n)


def write_rows(folder: str, n: int, d: int) -> list[str]:
    """Parquet files of n rows, 10⁶ in each but the last; those that are there stay."""
    import pyarrow as pa
    from pyarrow import parquet

    paths = []
    for k, first in enumerate(range(0, n, 10**6)):
        rows = min(10**6, n - first)
        path = os.path.join(folder, f"arm{d}-{k:04d}-{rows}.parquet")
        paths.append(path)
        if os.path.exists(path):
            continue
        X, y = arm(rows, d, 1000 + k)
        columns = {f"x{j}": X[:, j] for j in range(d)}
        parquet.write_table(
            pa.table({**columns, "y": y.astype(np.float32)}), path + ".part", row_group_size=BLOCK
        )
        os.replace(path + ".part", path)
    return paths


class Anonymous:
    """The largest anonymous memory of this process while a block runs, in GB."""

    def __enter__(self) -> Anonymous:
        self.most, self._done = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.1):
            with open("/proc/self/status") as file:
                found = next(line for line in file if line.startswith("RssAnon"))
            self.most = max(self.most, int(found.split()[1]) / 1e6)


def measure(paths: list[str], d: int, where: str, folder: str) -> dict:
    """One fit, in this process."""
    source = collegium.open(paths, target="y")
    store = os.path.join(folder, f"bench-{os.getpid()}.rows")
    arguments = {} if where == "memory" else {"store": store}
    client = None
    if where == "dask":
        from distributed import Client, LocalCluster

        from collegium.engines.dask import DaskEngine

        cluster = LocalCluster(2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None)
        client = Client(cluster)
        arguments["engine"] = DaskEngine(client)
    else:
        arguments["n_jobs"] = 2
    Xs, ys = arm(4_000, d, 1)
    queries = dict(zip(source.columns, Xs.T))
    import pandas

    frame = pandas.DataFrame(queries)[list(source.columns)]
    try:
        with Anonymous() as memory, Meter() as fit:
            model = CommitteeRegressor(random_state=0, verbose=1, **arguments).fit(source)
        with Meter() as predict:
            mean = model.predict(frame)
            density = model.log_density(frame, ys)
            lower, upper = model.predict_interval(frame)
    finally:
        shutil.rmtree(store, ignore_errors=True)
        if client is not None:
            client.close()
            cluster.close()
    return {
        "rows": source.n_rows, "columns": d, "rows are": where, "fit s": fit.wall,
        "fit CPU s": fit.cpu, "anonymous GB": memory.most,
        "RMSE": float(np.sqrt(np.mean((mean - ys) ** 2))), "NLPD": -float(density.mean()),
        "covers": float(((lower <= ys) & (ys <= upper)).mean()),
        "ms a query": 1e3 * predict.wall / (3 * len(ys)),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7])
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--memory", type=int, default=10**6)
    parser.add_argument("--dask", action="store_true")
    parser.add_argument("--folder", default=os.path.join(tempfile.gettempdir(), "collegium-scale"))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    if options.one is not None:
        paths = write_rows(options.folder, options.rows[0], options.columns)
        found = measure(paths, options.columns, options.one, options.folder)
        print("RESULT " + json.dumps(found), flush=True)
        return
    cases = [(n, "disk") for n in options.rows]
    cases += [(n, "dask") for n in options.rows if options.dask]
    cases += [(options.memory, "memory")] if options.memory else []
    rows = []
    for n, where in cases:
        arguments = ["--rows", n, "--columns", options.columns, "--folder", options.folder]
        command = [sys.executable, "-m", "benchmarks.studies.scale", *arguments, "--one", where]
        start = time.time()
        done = subprocess.run([str(one) for one in command], capture_output=True, text=True)
        lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        if not lines:
            raise SystemExit(done.stdout[-2000:] + done.stderr[-4000:])
        rows.append(json.loads(lines[0].removeprefix("RESULT ")))
        print(f"{n} rows, {where}: {time.time() - start:.0f} s", flush=True)
    print(table(rows))
    on_disk = [row for row in rows if row["rows are"] == "disk"]
    if len(on_disk) > 1:
        logs = np.log([[row["rows"], row["fit CPU s"]] for row in on_disk])
        print(f"exponent of CPU seconds in rows: {np.polyfit(*logs.T, 1)[0]:.3f}")


if __name__ == "__main__":
    main()
