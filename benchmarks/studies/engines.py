"""Dask beside threads of this machine: time of one sum of messages, and memory of the client.

python -m benchmarks.studies.engines [--rows 1000000 10000000]

Two local workers that listen on 127.0.0.1. Overhead: 200 chunks of 600 rows in a Parquet file,
200 anchors. Memory: anonymous memory of the client at the end of a sum over so many rows.
"""

import argparse
import logging
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from distributed import Client, LocalCluster
from pyarrow import parquet

import collegium
from collegium.engines import Threads
from collegium.engines.dask import DaskEngine
from collegium.kernels import Matern52
from collegium.messages.adding import add_up
from collegium.messages.basis import Anchors
from collegium.messages.experts import Block, Diagonal
from collegium.messages.probe import probe
from collegium.messages.total import Total

D, REPEATS = 8, 5


def write(path: Path, rows: int, group: int) -> str:
    """Rows of eight columns and a target, in row groups."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, D))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=rows)
    columns = {f"x{k}": X[:, k] for k in range(D)} | {"y": y}
    parquet.write_table(pa.table(columns), path, row_group_size=group)
    return str(path)


def sender(m: int, expert=Block):
    Z = np.random.default_rng(1).normal(size=(m, D))
    return partial(expert(0.01).send, Anchors.at(Matern52(1.0, np.full(D, 2.0)), Z))


def anonymous() -> float:
    """Anonymous memory of this process in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


def overhead(folder: Path, engines: dict) -> None:
    chunks = collegium.open(write(folder / "small.parquet", 120_000, 600), target="y").chunks
    send, times, sums = sender(200), {name: [] for name in engines}, []
    for _ in range(REPEATS + 1):  # the first warms up
        for name, engine in engines.items():
            start = time.perf_counter()
            sums.append(add_up(engine, send, chunks, Total.zero(200)).message().precision)
            times[name].append(time.perf_counter() - start)
    assert all((one == sums[0]).all() for one in sums)
    for name, found in times.items():
        print(f"{name:8s} {min(found[1:]):6.2f} s  (of {REPEATS}: {np.round(found[1:], 2)})")
    ratio = min(times["dask"][1:]) / min(times["threads"][1:])
    print(f"{len(chunks)} chunks of 600 rows, 200 anchors: Dask takes {ratio:.2f} x threads")


def memory(folder: Path, engine, sizes: list[int]) -> None:
    path, send, at_end = write(folder / "large.parquet", 10**6, 10_000), sender(20, Diagonal), []
    for n in sizes:
        source = collegium.open([path] * (n // 10**6), target="y", chunk_rows=1000)
        start = time.perf_counter()
        add_up(engine, send, source.chunks, Total.zero(20))
        at_end.append(anonymous())
        took = time.perf_counter() - start
        print(
            f"{n:9d} rows, {len(source.chunks)} chunks: {took:6.1f} s, client {at_end[-1]:.1f} MB"
        )
        del source
    print(f"the client's memory moves by {at_end[-1] - at_end[0]:.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7])
    options = {"dashboard_address": "127.0.0.1:0", "silence_logs": logging.ERROR}
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(2, threads_per_worker=1, host="127.0.0.1", **options) as cluster,
        Client(cluster) as client,
    ):
        engine = DaskEngine(client)
        engine.check(probe)
        overhead(Path(folder), {"threads": Threads(2), "dask": engine})
        memory(Path(folder), engine, parser.parse_args().rows)


if __name__ == "__main__":
    main()
