"""The sparse online GP on a stream: every row of kin8nm predicted before it is learnt.

python -m benchmarks.studies.online ../shared/data [--budgets 100 200 400] [--seed 0]

Kernel and noise are learnt from the first 500 rows (which count with a given kernel from the
first row on). RMSE in standard deviations of y; rows per second of one call for all rows.
"""

import numpy as np

from benchmarks.harness.arguments import data_parser
from benchmarks.harness.data import floats, load
from benchmarks.harness.meter import Meter
from benchmarks.harness.tables import table
from collegium import OnlineGPRegressor

LEARN = 500
#: What has to hold: the RMSE of all rows.
LIMITS = {200: 0.41}


def run(X: np.ndarray, y: np.ndarray, budget: int, batch: int) -> dict:
    learnt = OnlineGPRegressor(budget=budget, learn_rows=LEARN, random_state=0)
    learnt.partial_fit(X[:LEARN], y[:LEARN])
    given = {"noise": learnt.noise_, "learn": False, "budget": budget}
    model = OnlineGPRegressor(learnt.kernel_, **given)
    error = np.empty(y.size)
    for start in range(0, y.size, batch):
        part = slice(start, start + batch)
        error[part] = y[part] - (model.predict(X[part]) if start else 0.0)
        model.partial_fit(X[part], y[part])
    with Meter() as meter:
        OnlineGPRegressor(learnt.kernel_, **given).partial_fit(X, y)
    rmse = float(np.sqrt(np.mean(error**2)))
    row = {
        "budget": budget,
        "RMSE": rmse,
        "after 500 rows": float(np.sqrt(np.mean(error[500:] ** 2))),
    }
    row |= {"rows/CPU s": int(y.size / meter.cpu)}
    limit = LIMITS.get(budget)
    return row | {"holds": "" if limit is None else "yes" if rmse <= limit else "NO"}


if __name__ == "__main__":
    parser = data_parser(__doc__)
    parser.add_argument("--budgets", type=int, nargs="+", default=[100, 200, 400])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=1, help="rows predicted and learnt at a time")
    options = parser.parse_args()
    X, y = floats(load(options.folder, "kin8nm"))
    order = np.random.default_rng(options.seed).permutation(y.size)
    X, y = ((X - X.mean(axis=0)) / X.std(axis=0))[order], ((y - y.mean()) / y.std())[order]
    print(table([run(X, y, budget, options.batch) for budget in options.budgets]))
