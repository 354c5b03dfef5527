"""LightGBM with a Poisson objective, default otherwise, stopped early on a tenth held out.

Intervals are quantiles of a Poisson with the predicted mean.
"""

import lightgbm
import numpy as np
from scipy.stats import poisson


class Model:
    def __init__(self, seed: int, threads: int, rounds: int = 5_000, patience: int = 50):
        self.rng, self.rounds, self.patience = np.random.default_rng(seed), rounds, patience
        self.parameters = {
            "objective": "poisson", "num_threads": threads, "seed": seed, "verbose": -1,
        }  # fmt: skip

    def fit(self, X, y):
        held, kept = np.split(self.rng.permutation(y.size), [y.size // 10])
        self.model = lightgbm.train(
            self.parameters, lightgbm.Dataset(X[kept], y[kept]), self.rounds,
            valid_sets=[lightgbm.Dataset(X[held], y[held])],
            callbacks=[lightgbm.early_stopping(self.patience, verbose=False)],
        )  # fmt: skip
        self.found = f"{self.model.best_iteration} trees"

    def predict(self, Xs):
        mean = self.model.predict(Xs)
        return mean, poisson.ppf(0.025, mean), poisson.ppf(0.975, mean)
