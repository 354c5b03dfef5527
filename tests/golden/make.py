"""Write golden files: small models of this release, which every later one must read.

python tests/golden/make.py NAME [MODEL ...]

makes the folder `tests/golden/NAME` (a release, such as 0.2.0) with one file per model (all, or
those named) and `answers.json`: queries and the answers to them. What is there is never written
again: a release keeps its files, and a change of the format adds a folder.
"""

import json
import sys
from pathlib import Path

import numpy as np

from collegium import (
    CommitteeClassifier,
    CommitteeOf,
    CommitteeRegressor,
    ExpertsRegressor,
    NystromRegressor,
    OnlineGPClassifier,
    OnlineGPRegressor,
    RegressionFilter,
    RVCRegressor,
    Select,
    SparseGPRegressor,
    kernels,
)

HERE = Path(__file__).parent
ANSWERS = "answers.json"


def data():
    """Rows (40, 2), targets, counts, labels of three classes, and queries (5, 2)."""
    grid = np.arange(90).reshape(45, 2)
    X = (grid * grid * 37 + grid * 101) % 997 / 249.25 - 2.0
    y = X[:, 0] * X[:, 1] + 0.5 * X[:, 1]
    counts, labels = np.floor(3.0 + y - y.min()), np.array(["a", "b", "c"])[grid[:, 0] // 2 % 3]
    return X[:40], y[:40], counts[:40], labels[:40], X[40:]


def uneven():
    """300 rows whose errors grow with the first column."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (300, 2))
    return X, X[:, 0] * X[:, 1] + np.exp(X[:, 0]) / 5.0 * rng.normal(size=300)


def stepped():
    """300 rows of a function of steps, whose errors have steps too."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-2.0, 2.0, (300, 2))
    height = rng.normal(size=24)[np.floor(6.0 * (X[:, 0] + 2.0)).astype(int)]
    return X, 2.0 * height + np.where(X[:, 1] > 0.7, 0.6, 0.05) * rng.normal(size=300)


def models() -> dict:
    """Fitted models by name, one of each kind at least."""
    X, y, counts, labels, _ = data()
    both = kernels.Matern32(2.0, [0.8, 1.5]) + kernels.Linear()
    latent = {"kernel": kernels.Matern52(1.5, 1.2), "learn": False, "random_state": 0}
    given = {"kernel": both, "noise": 0.1, "learn": False, "random_state": 0}
    chunks = {"chunks": 10, "anchors": 6}
    rough = np.arange(40) ** 2 * 37 % 11 / 5.0 - 1.0  # noise, so that rounding is not enlarged
    members = [("one", CommitteeRegressor(**given)), ("two", OnlineGPRegressor(**given))]
    return {
        "exact": CommitteeRegressor(random_state=0).fit(X, y + rough),
        "local": CommitteeRegressor(**given, **chunks).fit(X, np.column_stack([y, -2.0 * y])),
        "anchors": CommitteeRegressor(**given, chunks=10, anchors=Select("random", 7),
                                      n_local=0).fit(X, y),
        "named": CommitteeRegressor(**given, chunks=10, anchors=X[::6], n_local=0).partial_fit(
            X[:25], y[:25], chunk_id="first").partial_fit(X[25:], y[25:], chunk_id=7),
        "waiting": CommitteeRegressor(**given).partial_fit(
            X[:25], y[:25], chunk_id="first").partial_fit(X[25:], y[25:]),
        "counts": CommitteeRegressor(**latent, **chunks, likelihood="poisson").fit(X, counts),
        "outliers": CommitteeRegressor(**given, likelihood="student-t").fit(X, y),
        "classes": CommitteeClassifier(**latent, **chunks).fit(X, labels),
        "softmax": CommitteeClassifier(**latent, likelihood="softmax").fit(X, labels),
        "experts": ExpertsRegressor(**given, chunks=10, combination="grbcm").fit(X, y),
        "members": CommitteeOf(members, random_state=0, query_size=10).fit(X, y),
        "sparse": SparseGPRegressor(**given, **chunks, method="pic").fit(X, y),
        "nystrom": NystromRegressor(**{**given, "noise": 2.0}, anchors=30).fit(X, y),
        "online": OnlineGPRegressor(**given, budget=12).fit(X, y),
        "online classes": OnlineGPClassifier(**latent, budget=12).fit(X, labels),
        "filter": RegressionFilter(**given, n_basis=9).fit(X, y),
        "averaged": CommitteeRegressor(noise="constant", random_state=0).fit(X, y + rough),
        "uneven": CommitteeRegressor(
            **{**given, "kernel": both + kernels.White(0.1), "noise": "varying"}, **chunks
        ).fit(*uneven()),
        "prices": CommitteeRegressor(**given, transforms="log").fit(X, np.exp(y)),
        "trees": CommitteeRegressor(kernels.Linear(), members="trees", random_state=0).fit(
            *stepped()),
        "odds": CommitteeClassifier(kernels.Linear(), members="trees", random_state=0).fit(
            stepped()[0], stepped()[1] > 0.5),
        "rvc": RVCRegressor(width=0.7, max_experts=4, random_state=0).fit(X, y),
    }  # fmt: skip


def answers(model, Xs) -> dict[str, list]:
    """Of a classifier probabilities, of a regressor means and deviations, in numbers of JSON."""
    if hasattr(model, "predict_proba"):
        return {"probability": model.predict_proba(Xs).tolist()}
    mean, std = model.predict(Xs, return_std=True)
    return {"mean": mean.tolist(), "std": std.tolist()}


def main() -> None:
    folder = HERE / sys.argv[1]
    folder.mkdir()
    Xs, found = data()[-1], {}
    for name, model in models().items():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        model.save(folder / f"{name}.clg")
        found[name] = answers(model, Xs)
    text = json.dumps({"queries": Xs.tolist(), "answers": found}, indent=1)
    (folder / ANSWERS).write_text(text + "\n")


if __name__ == "__main__":
    main()
