"""LightGBM, default trees and learning rate, stopped early on a tenth held out."""

import lightgbm
import numpy as np


class Model:
    def __init__(self, seed: int, threads: int, rounds: int = 2_000, patience: int = 50):
        self.rng, self.rounds, self.patience = np.random.default_rng(seed), rounds, patience
        self.parameters = {"num_threads": threads, "seed": seed, "verbose": -1}

    def fit(self, X, y):
        self.classes = int(y.max()) + 1
        aim = {"objective": "binary"}
        if self.classes > 2:
            aim = {"objective": "multiclass", "num_class": self.classes}
        held, kept = np.split(self.rng.permutation(y.size), [y.size // 10])
        self.model = lightgbm.train(
            self.parameters | aim, lightgbm.Dataset(X[kept], y[kept]), self.rounds,
            valid_sets=[lightgbm.Dataset(X[held], y[held])],
            callbacks=[lightgbm.early_stopping(self.patience, verbose=False)],
        )  # fmt: skip
        self.found = f"{self.model.best_iteration} trees a class"

    def predict(self, Xs):
        P = self.model.predict(Xs)
        P = np.column_stack([1.0 - P, P]) if P.ndim == 1 else P
        return P, np.arange(self.classes)
