"""The model file: seconds and bytes beside pickle's, and the first answer of a new process.

python -m benchmarks.studies.modelfile ../shared/data

The robot arm (kin40k), 36,000 rows, default arguments. Times are the best of several; every file
is on the disk when `save` returns, which pickle does not wait for. The first and the second
answer are those of a process that finds compiled functions in numba's cache.
"""

import os
import pickle
import subprocess
import sys
import tempfile
import time

from benchmarks.harness.arguments import data_parser
from benchmarks.harness.data import load, random_split
from benchmarks.harness.tables import table
from collegium import CommitteeClassifier, CommitteeRegressor, kernels
from collegium import load as load_model

REPEATS, QUERIES = 7, (1, 100)
CHILD = """
import sys, time
import numpy as np
import collegium
from collegium import CommitteeRegressor
model = collegium.load(sys.argv[1])
if sys.argv[3] == "warm":
    collegium.warm_up(model)
X = np.random.default_rng(0).uniform(-1.0, 1.0, (int(sys.argv[2]), model.n_features_in_))
for _ in range(3):
    start = time.perf_counter()
    model.predict(X, return_std=True)
    print(time.perf_counter() - start)
"""


def best(call, *arguments, **keywords) -> float:
    """Milliseconds."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call(*arguments, **keywords)
        seconds.append(time.perf_counter() - start)
    return round(1e3 * min(seconds), 1)


def pickled(model, path: str) -> None:
    with open(path, "wb") as file:
        pickle.dump(model, file)


def unpickled(path: str):
    with open(path, "rb") as file:
        return pickle.load(file)


def costs(name: str, model, folder: str) -> dict:
    """A line of the table of files."""
    path, other = os.path.join(folder, f"{name}.clg"), os.path.join(folder, f"{name}.pickle")
    row = {"model": name, "save ms": best(model.save, path)}
    row["load ms"] = best(load_model, path)
    row["not verified ms"] = best(load_model, path, verify=False)
    row["not mapped ms"] = best(load_model, path, mmap=False)
    row["pickle ms"], row["unpickle ms"] = best(pickled, model, other), best(unpickled, other)
    sizes = os.path.getsize(path), os.path.getsize(other)
    return row | {"MB": round(sizes[0] / 1e6, 2), "of pickle's": round(sizes[0] / sizes[1], 3)}


def answers(path: str, q: int, warm: str) -> dict:
    """A line of the table of first answers: the median of three processes."""
    ratios, first = [], []
    for _ in range(3):
        code = [sys.executable, "-c", CHILD, path, str(q), warm]
        out = subprocess.run(code, capture_output=True, text=True, check=True).stdout
        times = [float(word) for word in out.split()]
        ratios.append(times[0] / times[1])
        first.append(times[0])
    middle = len(ratios) // 2
    row = {"queries": q, "warm_up(model)": warm == "warm"}
    row["first ms"] = round(1e3 * sorted(first)[middle], 1)
    return row | {"first / second": round(sorted(ratios)[middle], 2)}


def main() -> None:
    folder = data_parser(__doc__).parse_args().folder
    split = random_split(load(folder, "kin40k"))
    model = CommitteeRegressor(random_state=0).fit(split.X, split.y)
    few = slice(0, 6000)
    given = {"kernel": kernels.Matern32(2.0, 1.5), "learn": False, "random_state": 0}
    classes = CommitteeClassifier(**given, chunks=100, anchors=30)
    classes.fit(split.X[few], split.y[few] > 0.0)
    with tempfile.TemporaryDirectory() as where:
        models = {"robot arm": model, "60 chunks of labels": classes}
        print(table([costs(name, one, where) for name, one in models.items()]))
        path = os.path.join(where, "robot arm.clg")
        print(table([answers(path, q, warm) for q in QUERIES for warm in ("cold", "warm")]))


if __name__ == "__main__":
    main()
