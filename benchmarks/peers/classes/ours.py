"""CommitteeClassifier with default arguments, except those in brackets."""

import numpy as np

from benchmarks.harness.warm_up import SMALL
from collegium import CommitteeClassifier, Inductive


class Model:
    def __init__(self, seed: int, threads: int, sweeps: int | str = "auto", **arguments):
        arguments |= {"inference": Inductive(sweeps), "n_jobs": threads}
        self.model = CommitteeClassifier(random_state=seed, **arguments)

    def fit(self, X, y):
        m = self.model.fit(X, y)
        self.found = f"{m.kernel_!r}, {m.n_chunks_} chunks, {m.n_sweeps_} sweeps"
        self.facts = {"chunks": m.n_chunks_, "sweeps": m.n_sweeps_, "change": m.change_}

    def predict(self, Xs):
        return self.model.predict_proba(Xs), self.model.classes_


def warm_up() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    for given in ({}, {"likelihood": "softmax"}, {"n_local": 0}):
        model = CommitteeClassifier(**SMALL, **given)
        model.fit(X, y).predict_proba(X)
