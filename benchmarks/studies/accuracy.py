"""kin40k and protein with default arguments: accuracy, honesty, CPU time, memory.

python benchmarks/accuracy.py ../shared/data [--seeds 1] [--sets kin40k protein]
"""

import argparse
import warnings

import numpy as np

from collegium import CommitteeRegressor
from common import Meter, load, peak_gigabytes, random_split, scores, table

#: What has to hold with random_state=0: (RMSE, NLPD) at most, coverage within, CPU s below.
LIMITS = {
    "kin40k": dict(RMSE=0.078, NLPD=-1.18, coverage=(0.93, 0.985), cpu=100.0),
    "protein": dict(RMSE=0.51, NLPD=0.60, coverage=(0.92, 1.0), cpu=100.0),
}


def run(folder: str, name: str, seed: int, **arguments) -> dict:
    split = random_split(load(folder, name))
    with Meter() as fit:
        model = CommitteeRegressor(random_state=seed, **arguments).fit(split.X, split.y)
    with Meter() as predict:
        mean, std = model.predict(split.X_test, return_std=True)
    row = {"set": name, "seed": seed, **scores(split.y_test, mean, std)}
    row |= {"fit CPU s": round(fit.cpu, 1), "predict CPU s": round(predict.cpu, 1)}
    row |= {"wall s": round(fit.wall + predict.wall, 1), "peak GB": round(peak_gigabytes(), 2)}
    row["kernel"] = type(model.kernel_).__name__
    if name in LIMITS and seed == 0 and not arguments:
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


def warm_up() -> None:
    """Compile outside the measurement."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    CommitteeRegressor(chunk_size=100, n_anchors=10, random_state=0).fit(X, X[:, 0]).predict(X)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default="../shared/data")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--sets", nargs="+", default=["kin40k", "protein"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    warm_up()
    print(
        table([run(options.folder, s, seed) for s in options.sets for seed in range(options.seeds)])
    )
