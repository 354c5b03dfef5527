"""CommitteeRegressor, default but for the arguments in the plan's table."""

import numpy as np

from collegium import CommitteeRegressor


class Model:
    def __init__(self, seed: int, threads: int, **arguments):
        self.model = CommitteeRegressor(random_state=seed, n_jobs=threads, **arguments)

    def fit(self, X, y):
        self.model.fit(X, y)
        self.found = f"{self.model.kernel_!r}, noise {self.model.noise_:.3g}"

    def predict(self, Xs):
        return self.model.predict(Xs, return_std=True)


def warm_up() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    for inference in ({}, {"n_local": 0}, {"refine": "cg"}):
        model = CommitteeRegressor(chunk_size=100, n_anchors=10, random_state=0, **inference)
        model.fit(X, X[:, 0]).predict(X, return_std=True)
