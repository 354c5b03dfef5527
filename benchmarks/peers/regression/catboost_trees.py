"""CatBoost: boosted trees, stopped early on a held-out tenth, otherwise with its defaults.

The loss RMSEWithUncertainty gives each row a mean and a variance. There is no posterior sampling
and there are no virtual ensembles: these are for the uncertainty of the function. With the loss
RMSE, which stops later, all rows have one standard deviation, that of the held-out residuals.
"""

import numpy as np
from catboost import CatBoostRegressor

from benchmarks.peers.catboost_stopping import boosted, settings, table

TAKES_CATEGORIES = True


class Model:
    def __init__(
        self, seed: int, threads: int, loss="RMSEWithUncertainty", rounds=5_000, patience=50,
        categories=(),
    ):  # fmt: skip
        self.rng, self.categories, self.std = np.random.default_rng(seed), categories, None
        given = settings(seed, threads, rounds, patience)
        self.model = CatBoostRegressor(loss_function=loss, **given)

    def fit(self, X, y):
        held = boosted(self.model, X, y, self.rng, self.categories)
        found = self.model.predict(table(X[held], self.categories))
        if found.ndim == 1:
            self.std = float(np.sqrt(np.mean((y[held] - found) ** 2)))
        self.held = y[held], *self._moments(found)
        self.found = f"{self.model.tree_count_} trees"

    def predict(self, Xs):
        return self._moments(self.model.predict(table(Xs, self.categories)))

    def _moments(self, found):
        if self.std is not None:
            return found, np.full(found.size, self.std)
        return found[:, 0], np.sqrt(found[:, 1])
