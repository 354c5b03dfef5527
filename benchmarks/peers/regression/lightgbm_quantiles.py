"""LightGBM, one model for each of 21 quantiles, each stopped early on the same held-out tenth.

The objective is "quantile"; trees and learning rate are those of LightGBM above. Quantiles that
cross are sorted. Between levels they are interpolated, and beyond 2.5 % and 97.5 % constant.
"""

import numpy as np

from benchmarks.peers.early_stopping import boosted
from benchmarks.peers.regression.quantiles_common import ASKED, QuantileModel, moments

TAKES_CATEGORIES = True


class Model(QuantileModel):
    def __init__(
        self, seed: int, threads: int, learning_rate=0.05, num_leaves=64, rounds=5_000,
        categories=(),
    ):  # fmt: skip
        self.seed, self.rounds, self.categories = seed, rounds, categories
        self.parameters = {
            "objective": "quantile", "learning_rate": learning_rate, "num_leaves": num_leaves,
            "num_threads": threads, "seed": seed, "verbose": -1,
        }  # fmt: skip

    def fit(self, X, y):
        self.models = []
        for level in ASKED:
            rng = np.random.default_rng(self.seed)  # the same rows are held out for all levels
            model, held = boosted(
                self.parameters | {"alpha": level}, X, y, rng, self.rounds,
                categories=self.categories,
            )  # fmt: skip
            self.models.append(model)
        self.held = y[held], *moments(self.quantiles(X[held]))
        trees = [model.best_iteration for model in self.models]
        self.found = f"{min(trees)} to {max(trees)} trees a quantile"

    def quantiles(self, Xs):
        return np.sort(np.column_stack([model.predict(Xs) for model in self.models]), axis=1)
