"""CommitteeRegressor of log(1 + y), default: lognormal means and quantiles, no likelihood."""

import numpy as np

from collegium import CommitteeRegressor

from .ours import warm_up

__all__ = ["Model", "warm_up"]


class Model:
    def __init__(self, seed: int, threads: int, **arguments):
        self.model = CommitteeRegressor(random_state=seed, n_jobs=threads, **arguments)

    def fit(self, X, y):
        self.model.fit(X, np.log1p(y))
        self.found = f"{self.model.kernel_!r}, noise {self.model.noise_:.3g}"

    def predict(self, Xs):
        mean, std = self.model.predict(Xs, return_std=True)
        ends = [np.expm1(mean + z * std) for z in (-1.959964, 1.959964)]
        return np.expm1(mean + 0.5 * std**2), np.floor(np.maximum(ends[0], 0.0)), np.ceil(ends[1])
