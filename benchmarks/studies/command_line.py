"""CPU time and memory of commands: --help, and predictions of many rows.

python -m benchmarks.studies.command_line [--rows 10000000]

A model of 50 anchors with n_local=0; rows in Parquet, and a tenth of them in CSV. CPU seconds are
those of the process and its children, memory is the largest that it had.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from multiprocessing import get_context

GROUP = 500_000


def measured(*args: str) -> tuple[float, float]:
    """CPU seconds and megabytes of one command."""
    process = subprocess.Popen(
        [sys.executable, "-m", "collegium", *args],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"collegium {' '.join(args)}: status {status}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3


def write_files(rows: int) -> None:
    """Write a model, and places to predict at, into this folder.

    In a process of its own: the memory of a command is counted from that of the one it came from.
    """
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    from pyarrow import csv, parquet

    from collegium import CommitteeRegressor

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(0, 10, (20_000, 2)), columns=["east", "north"])
    y = np.sin(X["east"]) + 0.3 * X["north"] + 0.1 * rng.normal(size=len(X))
    given = {"n_local": 0, "anchors": 50, "members": None, "random_state": 0}
    CommitteeRegressor(**given).fit(X, y).save("m.clg")
    places = pa.table({name: rng.uniform(0, 10, GROUP) for name in X})
    with parquet.ParquetWriter("q.parquet", places.schema) as file:
        for k in range(0, rows, GROUP):
            file.write_table(places.slice(0, rows - k))
    csv.write_csv(pa.concat_tables([places] * -(-rows // GROUP)).slice(0, rows // 10), "q.csv")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    rows = parser.parse_args().rows
    asked = ("--interval", "0.9", "--jobs", "1")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        writing = get_context("spawn").Process(target=write_files, args=(rows,))
        writing.start()
        writing.join()
        large, small = ("m.clg", "q.parquet", "-o", "a.parquet"), ("m.clg", "q.csv", "-o", "a.csv")
        commands = {
            "--help": ("--help",),
            f"{rows:,} rows of Parquet": ("predict", *large, *asked),
            f"{rows // 10:,} rows of CSV": ("predict", *small, *asked),
        }
        for words, args in commands.items():
            seconds, megabytes = measured(*args)
            print(f"{words:28}{seconds:8.2f} CPU s{megabytes:8.0f} MB")
        os.chdir(os.path.dirname(os.path.abspath(__file__)))


if __name__ == "__main__":
    main()
