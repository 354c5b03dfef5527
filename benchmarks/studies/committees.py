"""Ways to combine and ways to cut, on the same rows with the same kernel.

python -m benchmarks.studies.committees ../shared/data [--set kin40k] [--rows 10000] [--out folder]

Rows of kin40k (or another set), a tenth for testing. The kernel is learnt once, by the default
model; then every combination answers with it, on chunks cut at random, by k-means, by balanced
bisection and in the order of the file. Screening is timed on a map, chm_simes.
"""

import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness.arguments import data_parser
from benchmarks.harness.data import Split, load, random_split
from benchmarks.harness.forecast import Forecast
from benchmarks.harness.meter import Meter
from benchmarks.harness.tables import table
from benchmarks.harness.warm_up import warm_up
from benchmarks.tasks.regression.plan import CONSTANT
from benchmarks.tasks.regression.scores import scores
from collegium import Chunks, CommitteeRegressor, ExpertsRegressor, Transductive

COMBINATIONS = ["poe", "gpoe", "rbcm", "grbcm", "barycenter", "npae"]
PARTITIONS = ["random", "time", "kmeans", "balanced"]


def ways() -> dict[str, Callable]:
    """Makers of models, by name."""
    joint = {
        "bcm, anchors only": partial(CommitteeRegressor, n_local=0),
        "bcm, anchors + local": CommitteeRegressor,
        "bcm, transductive": partial(CommitteeRegressor, inference="transductive"),
    }
    return joint | {rule: partial(ExpertsRegressor, combination=rule) for rule in COMBINATIONS}


def some_rows(folder, name: str, n: int) -> Split:
    """A random subset of a data set, a tenth of it for testing."""
    arrays = load(folder, name)
    pick = np.random.default_rng(0).permutation(len(arrays["y"]))[:n]
    return random_split({"X": arrays["X"][pick], "y": arrays["y"][pick]})


def learnt_prior(split: Split, **arguments) -> dict:
    """Arguments of a model with the kernel and noise that another has learnt."""
    given = {**CONSTANT, **arguments}
    learnt = CommitteeRegressor(random_state=0, **given).fit(split.X, split.y)
    return {"kernel": learnt.kernel_, "noise": learnt.noise_, "learn": False, "random_state": 0}


def run(split: Split, size: int) -> list[dict]:
    given = learnt_prior(split)
    print(f"{len(split.y)} rows; {given['kernel']}, noise {given['noise']:.3g}")
    rows = []
    for name, make in ways().items():
        for partition in PARTITIONS:
            chosen = {**given, "chunks": Chunks(size, partition)}
            with Meter() as meter:
                model = make(**chosen).fit(split.X, split.y)
                mean, _ = model.predict(split.X_test, return_std=True)
            own = Forecast.own(model, split.X_test, split.y_test, mean)
            row = {"combination": name, "partition": partition, **scores(split.y_test, own)}
            rows.append(row | {"CPU s": round(meter.cpu, 1)})
            print(table(rows[-1:]).splitlines()[1], flush=True)
    return rows


def query_batches(split: Split, size: int, batch: int = 250) -> list[dict]:
    """The joint committee asked in batches of queries that lie together, and in random ones."""
    given = learnt_prior(split, inference="transductive")
    model = CommitteeRegressor(**given, inference=Transductive(batch), chunks=size).fit(
        split.X, split.y
    )
    rows = [
        {"query batches": "clustered"} | _joint_scores(model, split, [np.arange(len(split.y_test))])
    ]
    order = np.random.default_rng(0).permutation(len(split.y_test))
    parts = [order[start : start + batch] for start in range(0, order.size, batch)]
    return [*rows, {"query batches": "random"} | _joint_scores(model, split, parts)]


def _joint_scores(model: CommitteeRegressor, split: Split, parts: list) -> dict[str, float]:
    told = [Forecast.own(model, split.X_test[part], split.y_test[part]) for part in parts]
    return scores(split.y_test, Forecast.joined(told, np.concatenate(parts)))


def screening(folder, n: int = 200_000) -> list[dict]:
    """A tile of a map: the thousand test rows nearest to one, with and without far chunks."""
    split = some_rows(folder, "chm_simes", n)
    given = learnt_prior(split)
    distance = ((split.X_test - split.X_test[0]) ** 2).sum(axis=1)
    tile = split.X_test[np.argsort(distance)[:1000]]
    rows, answers = [], []
    for tolerance in (0.0, 1e-6, 1e-3):
        model = CommitteeRegressor(**given, inference=Transductive(500, screening=tolerance)).fit(
            split.X, split.y
        )
        model.predict(tile[:1])  # the neighbour index is made once
        with Meter() as meter:
            answers.append(model.predict(tile, return_std=True, level="function"))
        moved = np.abs(answers[-1][0] - answers[0][0]) / answers[0][1]
        row = {"rows": len(split.y), "chunks": model.n_chunks_, "screening": tolerance}
        rows.append(row | {"CPU s": meter.cpu, "largest move, in std": float(moved.max())})
    return rows


def draw(rows: list[dict], path: Path) -> None:
    """RMSE and NLPD of every combination, one bar per partition."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(ways())
    figure, axes = plt.subplots(1, 3, figsize=(15, 5), sharey=True)
    for axis, score in zip(axes, ("RMSE", "NLPD", "coverage")):
        for k, partition in enumerate(PARTITIONS):
            at = np.arange(len(names)) + 0.2 * (k - 1.5)
            values = [row[score] for row in rows if row["partition"] == partition]  # as names
            axis.barh(at, values, height=0.18, label=partition)
        axis.set(title=score, yticks=range(len(names)), yticklabels=names)
        axis.invert_yaxis() if score == "RMSE" else None
    axes[1].set_xlim(-1.6, 2.0)
    axes[2].axvline(0.95, color="black", linewidth=1)
    axes[0].legend(title="chunks", loc="upper right")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    parser = data_parser(__doc__)
    parser.add_argument("--set", default="kin40k")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--chunk", type=int, default=500)
    parser.add_argument("--out", default=".")
    parser.add_argument("--only-screening", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    warm_up()
    if options.only_screening:
        print(table(screening(options.folder)))
        sys.exit(0)
    split = some_rows(options.folder, options.set, options.rows)
    found = run(split, options.chunk)
    print(table(found))
    print(table(query_batches(split, options.chunk)))
    draw(found, Path(options.out) / "committees.png")
    print(table(screening(options.folder)))
