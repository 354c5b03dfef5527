"""Cost against rows, and predictions per second: canopy heights (chm_simes), 10⁴ to 1.5·10⁶ rows.

python -m benchmarks.studies.scaling ../shared/data [--rows 10000 100000 1500000]
"""

import time
from functools import partial

import numpy as np

from benchmarks.harness.arguments import data_parser
from benchmarks.harness.meter import Meter, least, peak_gigabytes
from benchmarks.harness.tables import table
from benchmarks.tasks.regression import sets
from benchmarks.tasks.regression.plan import CONSTANT
from collegium import CommitteeRegressor, kernels

SIZES = (10_000, 100_000, 1_500_000)


def scaling(folder, sizes: list[int]) -> str:
    """CPU seconds of `fit` with one kernel, so that what grows with the rows is all there is."""
    split = sets.split(folder, "chm_simes")
    first = CommitteeRegressor(random_state=0, **CONSTANT)
    first.fit(split.X[:20_000], split.y[:20_000])
    rows = []
    for n in sizes:
        model = CommitteeRegressor(first.kernel_, noise=first.noise_, learn=False, random_state=0)
        with Meter() as fit:
            model.fit(split.X[:n], split.y[:n])
        with Meter() as predict:
            model.predict(split.X_test[:1000], return_std=True)
        rows.append({"rows": n, "fit CPU s": fit.cpu, "1000 predictions CPU s": predict.cpu})
        rows[-1]["peak GB"] = peak_gigabytes()
    logs = np.log([[row["rows"], row["fit CPU s"]] for row in rows])
    return f"{table(rows)}\nexponent of fit: {np.polyfit(*logs.T, 1)[0]:.3f}"


def throughput() -> str:
    """Rows per second by wall time, 500 anchors and eight columns, two threads."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 8))
    kernel = kernels.Matern52(1.0, np.full(8, 3.0))
    arguments = dict(noise=0.01, learn=False, random_state=0, n_jobs=2)
    fast = CommitteeRegressor(kernel, n_local=0, anchors=500, **arguments).fit(X, X[:, 0])
    local = CommitteeRegressor(kernel, **arguments).fit(X, X[:, 0])
    queries = rng.normal(size=(200_000, 8))
    cases = {
        "anchors only, mean": (lambda Xs: fast.predict(Xs), queries),
        "anchors only, with std": (lambda Xs: fast.predict(Xs, return_std=True), queries),
        "default, with std": (lambda Xs: local.predict(Xs, return_std=True), queries[:1000]),
        "default, one row": (lambda Xs: local.predict(Xs, return_std=True), queries[:1]),
    }
    rows = []
    for name, (ask, Xs) in cases.items():
        seconds = least(partial(ask, Xs), 5, time.perf_counter)
        rows.append({"prediction": name, "rows/s": len(Xs) / seconds, "ms": 1e3 * seconds})
    return table(rows)


if __name__ == "__main__":
    parser = data_parser(__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=list(SIZES))
    options = parser.parse_args()
    print(throughput())
    if options.rows:
        print(scaling(options.folder, options.rows))
