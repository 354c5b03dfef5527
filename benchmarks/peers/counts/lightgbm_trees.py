"""LightGBM with a Poisson objective, otherwise default, stopped early on a held-out tenth.

Intervals are quantiles of a Poisson with the predicted mean.
"""

import numpy as np
from scipy.stats import poisson

from benchmarks.peers.early_stopping import boosted


class Model:
    def __init__(self, seed: int, threads: int, rounds: int = 5_000):
        self.rng, self.rounds = np.random.default_rng(seed), rounds
        self.parameters = {
            "objective": "poisson", "num_threads": threads, "seed": seed, "verbose": -1,
        }  # fmt: skip

    def fit(self, X, y):
        self.model, _ = boosted(self.parameters, X, y, self.rng, self.rounds)
        self.found = f"{self.model.best_iteration} trees"

    def predict(self, Xs):
        mean = self.model.predict(Xs)
        return mean, poisson.ppf(0.025, mean), poisson.ppf(0.975, mean)
