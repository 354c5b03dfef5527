"""Speed of a regression filter, row by row and in batches, beside river's.

python -m benchmarks.studies.filters [--rows 50000] [--functions 100]

CPU seconds of one thread, the least of three runs. The matrix product is ΦᵀΦ of the same rows,
what any batch update has to do at least. river's rows are made into dictionaries beforehand. All
learn the same rows with the same prior: their predictions are compared.
"""

import argparse

import numpy as np

from benchmarks.harness.meter import Meter, least
from benchmarks.harness.tables import table
from collegium import RegressionFilter, kernels
from collegium.engines import single_threaded
from collegium.filter import Empirical, GaussianBumps
from collegium.filter.model import FilterModel, Posterior
from collegium.filter.sums import Sums

D, NOISE = 4, 0.01
#: Rows for what is slow, and in a batch.
FEW, BATCH = 3_000, 1_000


def one_by_one(model: RegressionFilter, X, y) -> None:
    for i in range(y.size):
        model.partial_fit(X[i : i + 1], y[i : i + 1])


def in_batches(model: RegressionFilter, X, y) -> None:
    for start in range(0, y.size, BATCH):
        model.partial_fit(X[start : start + BATCH], y[start : start + BATCH])


def river_means(V, y, V_test):
    """CPU seconds per row, and the predictions; None where river is not installed."""
    try:
        from river.linear_model import BayesianLinearRegression
    except ImportError:
        return None
    rows = [dict(enumerate(row)) for row in V.tolist()]
    model = BayesianLinearRegression(alpha=1.0, beta=1.0 / NOISE)
    with Meter() as meter:
        for x, target in zip(rows, y.tolist()):
            model.learn_one(x, target)
    means = [model.predict_one(dict(enumerate(row))) for row in V_test.tolist()]
    return meter.cpu / y.size, np.array(means)


def run(n: int, m: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, D))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + np.sqrt(NOISE) * rng.normal(size=n)
    kernel = kernels.RBF(1.0, 0.8)
    basis, density = GaussianBumps(X[:m], np.full(D, 0.8)), Empirical(X[:1000])
    model = FilterModel.of(kernel, NOISE, basis, density, None, 1e-10)
    Phi, Y = model.columns(X), y[:, None]
    start = Sums.start(model.k)
    given = {"noise": NOISE, "basis": basis, "density": density, "prior_mean": 0.0}
    begun = RegressionFilter(kernel, **given, linear=False, learn=False, cut=1e-10, start_rows=1)
    begun.partial_fit(X[:1], y[:1])
    few = slice(0, FEW)
    product = least(lambda: Phi.T @ Phi, 3) / n
    rows = {
        "matrix product ΦᵀΦ": product,
        "sums, in a batch": least(lambda: start.add(Phi, Y), 3) / n,
        "sums, row by row": least(lambda: start.add_rows(Phi, Y), 3) / n,
        f"partial_fit, {BATCH} rows a call": least(lambda: in_batches(begun, X, y), 3) / n,
        "partial_fit, one row a call": least(lambda: one_by_one(begun, X[few], y[few]), 1) / FEW,
    }
    V, queries = Phi @ model.weights, slice(n - 200, n)
    theirs = river_means(V[few], y[few], V[queries])
    if theirs is not None:
        rows["river, learn_one"] = theirs[0]
    print(f"{n} rows, {m} functions")
    print(
        table([
            {"": name, "rows/CPU s": int(1.0 / seconds), "matrix products": seconds / product}
            for name, seconds in rows.items()
        ])
    )  # fmt: skip
    if theirs is None:
        print("river is not installed: pip install river==0.26.1")
    else:
        ours = Posterior.of(model, start.add_rows(Phi[few], Y[few]))
        apart = np.abs((V[queries] @ ours.mean)[:, 0] - theirs[1]).max()
        print(f"predictions after {FEW} rows: ours and river's differ by at most {apart:.1e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--functions", type=int, default=100)
    options = parser.parse_args()
    with single_threaded():
        run(options.rows, options.functions)
