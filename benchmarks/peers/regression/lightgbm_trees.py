"""LightGBM: boosted trees, stopped early on a held-out tenth; one standard deviation for all rows.

It has no error bars of its own; the standard deviation and the t come from the held-out residuals.
"""

import numpy as np

from benchmarks.peers.early_stopping import boosted

TAKES_CATEGORIES = True


class Model:
    def __init__(
        self, seed: int, threads: int, learning_rate=0.05, num_leaves=64, rounds=5_000,
        categories=(),
    ):  # fmt: skip
        self.rng, self.rounds = np.random.default_rng(seed), rounds
        self.categories = categories
        self.parameters = {
            "objective": "regression", "learning_rate": learning_rate, "num_leaves": num_leaves,
            "num_threads": threads, "seed": seed, "verbose": -1,
        }  # fmt: skip

    def fit(self, X, y):
        self.model, held = boosted(
            self.parameters, X, y, self.rng, self.rounds, categories=self.categories
        )
        mean = self.model.predict(X[held])
        self.std = float(np.sqrt(np.mean((y[held] - mean) ** 2)))
        self.held = y[held], mean, np.full(held.size, self.std)
        self.found = f"{self.model.best_iteration} trees"

    def predict(self, Xs):
        return self.model.predict(Xs), np.full(Xs.shape[0], self.std)
