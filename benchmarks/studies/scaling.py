"""Cost against rows, with the shares of the phases of a fit, and predictions per second: canopy
heights (chm_simes), 300 to 10⁶ rows.

python -m benchmarks.studies.scaling ../shared/data [--rows 300 10000 1000000]
"""

import time
from functools import partial

import numpy as np

from benchmarks.harness.arguments import data_parser
from benchmarks.harness.meter import Meter, least, peak_gigabytes
from benchmarks.harness.phases import ORDER, phases
from benchmarks.harness.tables import table
from benchmarks.tasks.regression import sets
from collegium import CommitteeRegressor, kernels

SIZES = (300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
#: Rows from which the exponent is fitted: fewer are one chunk, or nearly.
MANY = 10_000


def scaling(folder, sizes: list[int]) -> str:
    """CPU seconds of a default `fit`, one thread, and the share of each phase in percent."""
    split = sets.split(folder, "chm_simes")
    CommitteeRegressor(random_state=0).fit(split.X[:3000], split.y[:3000])  # compiles
    rows = []
    for n in sizes:
        with phases() as seconds:
            model = CommitteeRegressor(random_state=0).fit(split.X[:n], split.y[:n])
        total = sum(seconds.values())
        with Meter() as predict:
            model.predict(split.X_test[:1000], return_std=True)
        shares = {f"{name} %": round(100.0 * seconds[name] / total) for name in ORDER}
        rows.append({"rows": n, "fit CPU s": total, **shares})
        rows[-1] |= {"ms per answer": predict.cpu, "peak GB": peak_gigabytes()}
    return f"{table(rows)}\n{exponent(rows)}"


def exponent(rows: list[dict[str, float]]) -> str:
    """Slope of log seconds in log rows, from MANY rows on."""
    logs = np.log([[row["rows"], row["fit CPU s"]] for row in rows if row["rows"] >= MANY])
    if len(logs) < 2:
        return "exponent of fit: too few sizes"
    return f"exponent of fit from {MANY:,} rows on: {np.polyfit(*logs.T, 1)[0]:.2f}"


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
