"""Ways to combine and ways to cut, on the same rows with the same kernel.

python benchmarks/committees.py ../shared/data [--set kin40k] [--rows 10000] [--out folder]

Rows of kin40k (or another set), a tenth for testing. The kernel is learnt once, by the default
model; then every combination answers with it, on chunks cut at random, by k-means, by balanced
bisection and in the order of the file. Screening is timed on the spatial set heaton_satellite.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np

from accuracy import warm_up
from collegium import CommitteeRegressor
from common import Meter, Split, load, random_split, scores, table

COMBINATIONS = ["poe", "gpoe", "rbcm", "grbcm", "barycenter", "npae"]
PARTITIONS = ["random", "time", "kmeans", "balanced"]


def ways() -> dict[str, dict]:
    joint = {
        "bcm, anchors only": {"n_local": 0},
        "bcm, anchors + local": {},
        "bcm, transductive": {"inference": "transductive"},
    }
    return joint | {rule: {"combination": rule} for rule in COMBINATIONS}


def run(split: Split, size: int) -> list[dict]:
    learnt = CommitteeRegressor(random_state=0).fit(split.X, split.y)
    print(f"{len(split.y)} rows; {learnt.kernel_}, noise {learnt.noise_:.3g}")
    given = {"kernel": learnt.kernel_, "noise": learnt.noise_, "learn": False, "random_state": 0}
    rows = []
    for name, arguments in ways().items():
        for partition in PARTITIONS:
            chosen = {**given, **arguments, "partition": partition, "chunk_size": size}
            with Meter() as meter:
                model = CommitteeRegressor(**chosen).fit(split.X, split.y)
                mean, std = model.predict(split.X_test, return_std=True)
            row = {"combination": name, "partition": partition, **scores(split.y_test, mean, std)}
            rows.append(row | {"CPU s": round(meter.cpu, 1)})
            print(table(rows[-1:]).splitlines()[1], flush=True)
    return rows


def screening(folder: str) -> list[dict]:
    """A spatial set, with and without the chunks that cannot matter."""
    split = random_split(load(folder, "heaton_satellite"))
    learnt = CommitteeRegressor(random_state=0, n_local=50).fit(split.X[:20_000], split.y[:20_000])
    given = {"kernel": learnt.kernel_, "noise": learnt.noise_, "learn": False, "random_state": 0}
    rows, answers = [], []
    for tolerance in (0.0, 1e-3):
        model = CommitteeRegressor(
            **given, inference="transductive", screening=tolerance, query_size=500
        ).fit(split.X, split.y)
        with Meter() as meter:
            answers.append(model.predict(split.X_test[:2000], return_std=True, level="function"))
        heard = {"screening": tolerance, "chunks": model.n_chunks_, "predict CPU s": meter.cpu}
        moved = np.abs(answers[-1][0] - answers[0][0]) / answers[0][1]
        rows.append(heard | {"largest move, in std": float(moved.max())})
    return rows


def draw(rows: list[dict], path: Path) -> None:
    """RMSE and NLPD of every combination, one bar a partition."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(ways())
    figure, axes = plt.subplots(1, 3, figsize=(15, 5), sharey=True)
    for axis, score in zip(axes, ("RMSE", "NLPD", "coverage")):
        for k, partition in enumerate(PARTITIONS):
            at = np.arange(len(names)) + 0.2 * (k - 1.5)
            values = [
                row[score] for row in rows if row["partition"] == partition
            ]  # in the order of names
            axis.barh(at, values, height=0.18, label=partition)
        axis.set(title=score, yticks=range(len(names)), yticklabels=names)
        axis.invert_yaxis() if score == "RMSE" else None
    axes[1].set_xlim(-1.6, 2.0)
    axes[2].axvline(0.95, color="black", linewidth=1)
    axes[0].legend(title="chunks", loc="upper right")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default="../shared/data")
    parser.add_argument("--set", default="kin40k")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--chunk", type=int, default=500)
    parser.add_argument("--out", default=".")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    arrays = load(options.folder, options.set)
    pick = np.random.default_rng(0).permutation(len(arrays["y"]))[: options.rows]
    warm_up()
    found = run(random_split({"X": arrays["X"][pick], "y": arrays["y"][pick]}), options.chunk)
    print(table(found))
    draw(found, Path(options.out) / "committees.png")
    print(table(screening(options.folder)))
