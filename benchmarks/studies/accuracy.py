"""Default arguments on kin40k, protein and heaton_satellite: accuracy, calibration, CPU, memory.

python -m benchmarks.studies.accuracy ../shared/data [--seeds 1] [--sets kin40k] [--rows 2000]

A random tenth of kin40k and protein is for testing; heaton_satellite has a published split. X and
y are standardised with the statistics of the training rows.
"""

import warnings

from benchmarks.harness.arguments import data_parser
from benchmarks.harness.forecast import Forecast
from benchmarks.harness.meter import Meter, peak_gigabytes
from benchmarks.harness.tables import table
from benchmarks.harness.warm_up import warm_up
from benchmarks.tasks.regression.scores import scores
from benchmarks.tasks.regression.sets import split
from collegium import CommitteeRegressor

#: What has to hold with random_state=0: (RMSE, NLPD) at most, coverage within, CPU s below.
LIMITS = {
    "kin40k": dict(RMSE=0.078, NLPD=-1.18, coverage=(0.93, 0.985), cpu=100.0),
    "protein": dict(RMSE=0.51, NLPD=0.60, coverage=(0.92, 1.0), cpu=100.0),
    "heaton_satellite": dict(RMSE=0.37, NLPD=0.34, coverage=(0.92, 0.985), cpu=100.0),
}


def run(folder, name: str, seed: int, most: int | None) -> dict:
    """A line of the table."""
    data = split(folder, name, most)
    with Meter() as fit:
        model = CommitteeRegressor(random_state=seed).fit(data.X, data.y)
    with Meter() as predict:
        mean, _ = model.predict(data.X_test, return_std=True)
    own = Forecast.own(model, data.X_test, data.y_test, mean)
    row = {"set": name, "rows": data.y.size, "seed": seed, **scores(data.y_test, own)}
    row |= {"fit CPU s": round(fit.cpu, 1), "predict CPU s": round(predict.cpu, 1)}
    row |= {"wall s": round(fit.wall + predict.wall, 1), "peak GB": round(peak_gigabytes(), 2)}
    row |= {"kernel": type(model.kernel_).__name__, "holds": ""}
    if name in LIMITS and seed == 0 and most is None:
        row["holds"] = holds(row, fit.cpu + predict.cpu, **LIMITS[name])
    return row


def holds(row: dict, seconds: float, *, RMSE, NLPD, coverage, cpu) -> str:
    good = (
        row["RMSE"] <= RMSE
        and row["NLPD"] <= NLPD
        and coverage[0] <= row["coverage"] <= coverage[1]
        and seconds < cpu
        and row["peak GB"] < 2.0
    )
    return "yes" if good else "NO"


if __name__ == "__main__":
    parser = data_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--sets", nargs="+", default=list(LIMITS))
    parser.add_argument("--rows", type=int, help="training rows, at most")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    warm_up()
    jobs = [(name, seed) for name in options.sets for seed in range(options.seeds)]
    print(table([run(options.folder, name, seed, options.rows) for name, seed in jobs]))
