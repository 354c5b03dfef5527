"""CommitteeRegressor on counts, with default arguments except the likelihood."""

import numpy as np

from benchmarks.harness.warm_up import SMALL
from collegium import CommitteeRegressor


class Model:
    def __init__(self, seed: int, threads: int, **arguments):
        self.model = CommitteeRegressor(random_state=seed, n_jobs=threads, **arguments)

    def fit(self, X, y):
        self.model.fit(X, y)
        self.found = f"{self.model.kernel_!r}"

    def predict(self, Xs):
        lower, upper = self.model.predict_interval(Xs, 0.95)
        return self.model.predict(Xs), lower, upper


def warm_up() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = rng.poisson(np.exp(X[:, 0]))
    CommitteeRegressor(likelihood="poisson", **SMALL).fit(X, y).predict_interval(X, 0.95)
