"""Means refined to those of the exact GP: iterations, accuracy, CPU time and memory as rows grow.

python -m benchmarks.studies.refine ../shared/data [--rows 4500 9000 18000] [--long] [--art 150000]

kin40k with Matérn 3/2: first all 36,000 rows, learning included; then fewer rows with the kernel
and noise learnt from all. `exact` is the RMSE of the exact GP with the same hyperparameters, by a
dense factorisation up to 9,000 rows, beyond that and with --long by iterations to a residual of
1e-6. --art: so many rows of `make_art`, and a third and a tenth of them.
"""

import multiprocessing
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np

from benchmarks.harness.arguments import data_parser
from benchmarks.harness.data import Split, load, random_split
from benchmarks.harness.forecast import Forecast
from benchmarks.harness.meter import Meter, peak_gigabytes
from benchmarks.harness.tables import table
from benchmarks.harness.warm_up import warm_up
from benchmarks.tasks.regression.scores import scores
from collegium import CG, CommitteeRegressor
from collegium.datasets import make_art
from collegium.kernels import Matern32

DENSE = 9000


def kin40k(folder, n: int) -> Split:
    split = random_split(load(folder, "kin40k"))
    return replace(split, X=split.X[:n], y=split.y[:n])


def art(n: int) -> Split:
    return Split(*make_art(n, random_state=0), *make_art(4000, random_state=1))


def run(split: Split, given: dict) -> tuple[dict, dict]:
    """A line of the table, and the hyperparameters used."""
    warnings.simplefilter("ignore")
    warm_up({"kernel": Matern32(), "chunks": 200, "inference": "cg"}, rows=1600)
    with Meter() as fit:
        model = CommitteeRegressor(inference="cg", random_state=0, **given).fit(split.X, split.y)
    with Meter() as predict:
        mean, _ = model.predict(split.X_test, return_std=True)
    peak = peak_gigabytes()
    found = scores(split.y_test, Forecast.own(model, split.X_test, split.y_test, mean))
    fixed = {"kernel": model.kernel_, "noise": model.noise_, "learn": False}
    own = CommitteeRegressor(random_state=0, **fixed).fit(split.X, split.y).predict(split.X_test)
    row = {"rows": split.y.size, "iterations": model.residuals_.size - 1}
    row |= {"residual": model.residuals_[-1], "committee": rmse(split, own)}
    row |= {"refined": found["RMSE"], "exact": ""}
    row |= {"NLPD": found["NLPD"], "coverage": found["coverage"]}
    row |= {"fit CPU s": round(fit.cpu, 1), "predict CPU s": round(predict.cpu, 1)}
    row |= {"wall s": round(fit.wall + predict.wall, 1), "peak GB": round(peak, 2)}
    return row, fixed


def exact(split: Split, fixed: dict) -> float:
    n = split.y.size
    how = {"chunks": n} if n <= DENSE else {"inference": CG(tol=1e-6, max_iter=400)}
    model = CommitteeRegressor(random_state=0, **how, **fixed)
    return rmse(split, model.fit(split.X, split.y).predict(split.X_test))


def rmse(split: Split, mean: np.ndarray) -> float:
    return float(np.sqrt(np.mean((split.y_test - mean) ** 2)))


def alone(f, *arguments):
    """Call f in a process of its own, so that its peak of memory is its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(f, *arguments).result()


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[4500, 9000, 18_000])
    parser.add_argument("--long", action="store_true", help="exact means of many rows, too")
    parser.add_argument("--art", type=int, default=0)
    options = parser.parse_args()
    if options.art:
        rows, given = [], {}
        for n in (options.art, options.art // 3, options.art // 10):
            row, given = alone(run, art(n), given)
            rows.append(row)
            print(table(rows[-1:]), flush=True)
        print(f"ART: {given['kernel']!r}, noise {given['noise']:.3g}\n{table(rows)}")
        return
    rows, given = [], {"kernel": Matern32()}
    for n in (36_000, *options.rows):
        split = kin40k(options.folder, n)
        row, given = alone(run, split, given)
        if n <= DENSE or options.long:
            row["exact"] = alone(exact, split, given)
        rows.append(row)
        print(table(rows[-1:]), flush=True)
    print(f"kin40k: {given['kernel']!r}, noise {given['noise']:.3g}\n{table(rows)}")


if __name__ == "__main__":
    main()
