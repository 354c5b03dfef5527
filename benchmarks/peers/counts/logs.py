"""CommitteeRegressor on log(1 + y), default: lognormal means, its own quantiles, no likelihood."""

import numpy as np

from benchmarks.peers.regression import ours
from benchmarks.peers.regression.ours import warm_up

__all__ = ["Model", "warm_up"]


class Model:
    def __init__(self, seed: int, threads: int):
        self.logs = ours.Model(seed, threads)

    def fit(self, X, y):
        self.logs.fit(X, np.log1p(y))
        self.found = self.logs.found

    def predict(self, Xs):
        mean, std = self.logs.predict(Xs)
        lower, upper = map(np.expm1, self.logs.model.predict_interval(Xs, 0.95))
        return np.expm1(mean + 0.5 * std**2), np.floor(np.maximum(lower, 0.0)), np.ceil(upper)
