"""The ledger: rows learnt per second, opening, and forgetting, on one core.

python -m benchmarks.studies.ledger [--rows 1000000] [--commits 2000] [--anchors 200]

Rows of eight columns come in commits of 500, each on the disk when its call returns, with a kept
column of 10,000 customers in random order. The model is that of given hyperparameters: learning
them is not part of adding rows. Times are wall and CPU seconds of one process with one thread.
"""

import argparse
import os
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.harness.tables import table
from collegium import CommitteeRegressor, Ledger, kernels
from collegium.numerics.threads import single_threaded

D, CUSTOMERS = 8, 10_000
#: Commits in a row: the fastest such run tells what a busy machine hides.
RUN = 50


def rows(k: int, n: int):
    rng = np.random.default_rng(k)
    X = rng.uniform(-1.0, 1.0, size=(n, D))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    return X, y, {"customer": rng.integers(0, CUSTOMERS, size=n)}


def start(anchors: int):
    """A model of the first rows, whose basis all others use."""
    kernel = kernels.Matern52(1.0, [1.0] * D)
    model = CommitteeRegressor(
        kernel, noise=0.01, learn=False, anchors=anchors, transforms=None, members=None,
        inference="inductive", random_state=0,
    )  # fmt: skip
    return model.fit(*rows(10**6, 5_000)[:2])


class Watch:
    """Wall and CPU seconds of steps, by name."""

    def __init__(self) -> None:
        self.lines: list[dict] = []

    @contextmanager
    def __call__(self, name: str):
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        self.lines.append({"step": name, "wall, s": wall, "CPU, s": cpu, "memory, MB": anonymous()})


def anonymous() -> float:
    """Anonymous memory of this process in MB; 0 where that is not told."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0.0
    found = [line.split()[1] for line in lines if line.startswith("RssAnon")]
    return float(found[0]) / 1e3 if found else 0.0


def measured(path: str, n: int, commits: int, anchors: int) -> list[dict]:
    watch, each, model = Watch(), n // commits, start(anchors)
    parts = [rows(k, each) for k in range(commits)]
    ledger = Ledger(path, model)
    ledger.add(*rows(10**7, each)[:2], id="first", kept=rows(10**7, each)[2])
    ends = [time.perf_counter()]
    with watch("add all rows"):
        for k, (X, y, kept) in enumerate(parts):
            ledger.add(X, y, id=k, kept=kept, source=f"line {k % 7}")
            ends.append(time.perf_counter())
    added, first = watch.lines[-1], parts[0][0][:1]
    del parts
    quick = min(b - a for a, b in zip(ends, ends[RUN:]))
    with watch("close"):
        ledger.close()
    with watch("open"):
        ledger = Ledger(path)
    ledger._db.close()
    with watch("open, read and check its state"):
        ledger = Ledger(path)
        state = ledger.state
    with watch("forget one chunk"):
        ledger.forget(commits // 2)
    with watch("forget another"):
        ledger.forget(commits // 3)
    with watch("forget one customer"):
        found = ledger.forget(where="customer = 77")
    watch.lines[-1]["step"] += f" ({found.rows} rows in {len(found.chunks)} chunks)"
    with watch("add one chunk"):
        ledger.add(*rows(10**8, each)[:2], id="more", kept=rows(10**8, each)[2])
    ledger._db.close()
    with watch("open after a kill"):
        ledger = Ledger(path)
    assert ledger.state != state
    with watch("model"):
        model = ledger.model()
    with watch("first prediction"):
        model.predict(first, return_std=True)
    with watch("2,000 predictions"):
        model.predict(rows(10**9, 2_000)[0], return_std=True)
    with watch("add one chunk"):
        ledger.add(*rows(10**9, each)[:2], id="last", kept=rows(10**9, each)[2])
    with watch("model after that"):
        ledger.model()
    with watch("ten events back (as_of)"):
        ledger.as_of(ledger.lsn - 10)
    with watch("verify"):
        ledger.verify()
    ledger.close()
    print(f"{os.path.getsize(path) / 1e6:.1f} MB; rows per second: {n / added['wall, s']:,.0f}, "
          f"{RUN * each / quick:,.0f} in the fastest {RUN} commits in a row, "
          f"{n / added['CPU, s']:,.0f} per CPU second")  # fmt: skip
    return watch.lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--commits", type=int, default=2_000)
    parser.add_argument("--anchors", type=int, default=200)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, single_threaded():
        lines = measured(f"{folder}/a.clgdb", asked.rows, asked.commits, asked.anchors)
    print(f"{asked.rows} rows in {asked.commits} commits, {asked.anchors} anchors")
    print(table(lines))


if __name__ == "__main__":
    main()
